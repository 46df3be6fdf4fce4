// The lowering of groups with one dot or one convolution.
//
// A CTA makes one tile of the root, which is BM rows by BN columns of the dot: rows come from the
// root dims that decide the dot's lhs dims, columns from those of its rhs dims. A loop visits K,
// the contracted dims as one, in steps of BK; shared memory holds the operand tiles of `stages`
// steps, so that loads run ahead of the arithmetic.
//
//   mma.sync  operands in 16-byte chunks, swizzled so that fragments are loaded without bank
//             conflicts; see staged_tile.h
//   wgmma     operands copied by TMA; see tensor_operand.h, dot_wgmma.cpp
//   fma       operands in the accumulator's type; each thread makes a grid of elements
//
// Where f32 operands are to be multiplied more exactly than TF32 does, mma.sync adds up three
// products: those of the bits that TF32 leaves out of one operand with the other, then the large
// one.
//
// A convolution is the product of its image's windows (a row for each batch and position, a column
// for each window element and input feature) with its kernel; the windows are gathered on the way
// to shared memory and never written to global memory (implicit GEMM); padding is zeros. See
// dot_convolution.cpp.
//
// For mma.sync and fma, operands that are parameters (seen through transposes, slices and the like)
// with contiguous, aligned chunks are copied with cp.async. Everything else (unaligned rows,
// converted or computed operands) is evaluated element by element and stored to shared memory.
#pragma once

#include "codegen/dot_sides.h"
#include "codegen/producer_warps.h"
#include "codegen/staged_tile.h"
#include "codegen/tensor_operand.h"

namespace tilewright {

class DotLowering {
public:
  DotLowering(const KernelSpec &spec, Instruction instruction, CodeMode mode)
      : spec(spec), instruction(instruction), mode(mode) {}
  llvm::Expected<KernelModule> run();
  /// After run() failed: true if the instruction can't take these operands.
  bool needsOtherInstruction() const { return isWrongInstruction; }

private:
  using Side = DotSide;

  /// One operand's tile in shared memory.
  struct OperandTile : StagedTile {
    Side side = Side::Rows;
    DType type = DType::F32; ///< of the elements in shared memory
    TensorOperand tensor;    ///< wgmma only
  };

  llvm::Error analyse();
  // Convolutions.
  bool isConvolution() const { return spec.graph()[dot].opcode == Opcode::Convolution; }
  llvm::Error analyseConvolution();
  llvm::Error planConvolution();
  Coordinates convolved(const OperandTile &tile, const Coordinates &at, Expr k, Guard *guard) const;
  bool isContracted(const OperandTile &tile, int64_t dim) const;
  llvm::Error chooseTiles();
  llvm::Error emitProgram(Expr batch);
  llvm::Error loadStage(Expr kTile, llvm::Value *stageOffset);
  llvm::Error loadOperand(const OperandTile &tile, Expr kTile, llvm::Value *stageOffset);
  void chooseOrientation(OperandTile &tile, Expr kTile);
  Coordinates operandCoordinates(const OperandTile &tile, Expr position, Expr k) const;
  Guard operandGuard(const OperandTile &tile, Expr position, Expr kWithin, Expr k) const;
  Coordinates dotCoordinates(const Coordinates &root) const;
  Coordinates dotPlace(const OperandTile &tile, Expr position) const;
  Values computeMma(llvm::Value *stageOffset, Values sums);
  Values computeFma(llvm::Value *stageOffset, Values sums);
  // wgmma
  llvm::Error chooseWarpgroups(int64_t rows, int64_t columns);
  TensorTile tensorTile(const OperandTile &tile, int64_t padded);
  llvm::Error planTensorOperands();
  llvm::Error emitWarpgroupProgram();
  void emitCopies();
  Values emitProducts(llvm::Value *group);
  Values finishProducts(const Values &started);

  llvm::Error planSplits();
  llvm::Error emitSplitResults(const Values &sums);
  void ctaBarrier();
  // Results, dot_results.cpp.
  struct Exchange;
  llvm::Error emitResults(const Values &sums);
  std::optional<Exchange> planExchange() const;
  llvm::Error emitExchange(const Exchange &exchange, const Values &sums);
  void storeSums(const Exchange &exchange, int64_t pass, const Values &sums);
  llvm::Error loadSums(const Exchange &exchange, int64_t pass, Expr first, int64_t count);
  llvm::Error emitResult(Expr row, Expr column, unsigned lanes, const Guard &extra,
                         const Values &sums);

  /// Visits the accumulator fragments: calls `use` with the row and column in the tile (the part
  /// that is the same for all threads) of each pair of neighbours.
  using PairBody = std::function<llvm::Error(int64_t row, int64_t column, const Values &pair)>;
  llvm::Error forPairs(const Values &sums, const PairBody &use) const;

  unsigned inputBits() const { return bitWidth(lhs.type); } ///< the right operand's are as wide
  Values multiply(const Values &left, const Values &right, Values sums);
  bool usesMma() const { return instruction == Instruction::MmaSync; }
  bool usesWgmma() const { return instruction == Instruction::Wgmma; }
  RootSide &side(Side which) { return sides[static_cast<size_t>(which)]; }
  const RootSide &side(Side which) const { return sides[static_cast<size_t>(which)]; }

  const KernelSpec &spec;
  Instruction instruction;
  CodeMode mode;
  bool isWrongInstruction = false;
  std::unique_ptr<Lowering> lowering;
  OpId dot;
  DType sumType = DType::F32;
  int products = 1; ///< of TF32 for one of f32, see tf32Products()
  std::vector<RootSide> sides;
  std::vector<int64_t> kExtents;
  int64_t kTotal = 1, kStep = 1, kPadded = 1, kTiles = 1;
  OperandTile lhs, rhs;
  int64_t stageBytes = 0;
  int64_t sumsPerThread = 0;
  int64_t splitTiles = 1, partialBytes = 0; ///< K steps of a split, bytes of a split's partial sums
  Lowering::Extras extras;
  // mma.sync: warps in a grid, each with its rows and columns
  int64_t warpRows = 1, warpColumns = 1, rowsOfWarp = 16, columnsOfWarp = 8;
  // wgmma: warpgroups in a grid, one below the other as long as there are rows; each has
  // rowBlocks x columnBlocks products of 64 x columnsOfBlock a step
  int64_t groupRows = 1, groupColumns = 1, rowBlocks = 1, columnBlocks = 1, columnsOfBlock = 8;
  int64_t columnsOfGroup() const { return columnBlocks * columnsOfBlock; }
  int64_t paddedRows = 64, paddedColumns = 8;
  ProducerWarps producers;
  StageRing ring;
  std::vector<TensorMap> tensorMaps;
  // fma: threads in a grid, each with every threadRows-th row
  int64_t threadRows = 1, threadColumns = 1, rowsOfThread = 1, columnsOfThread = 1;

  OpIndexing convolution;          ///< maps of the convolution
  std::vector<DotSide> dotSides;   ///< of the dot's dims
  Coordinates placeholders, dotAt; ///< where a root element reads the dot
  std::vector<bool> mayMiss;       ///< dims in which some root element reads outside the dot
  Coordinates currentDot;          ///< of the current element
  Values currentSums;
  Expr batchPosition;
  Expr tileOfCta, splitOfCta;
  llvm::Value *firstStep = nullptr, *endStep = nullptr; ///< K steps of this CTA
};

} // namespace tilewright
