// The lowering of groups with one dot.
//
// A program makes one tile of the root, which is BM rows by BN columns of the dot: rows come from
// the root dims that decide the dot's lhs dims, columns from those of its rhs dims. K, the
// contracted dims as one, is gone through in steps of BK; each step's operand tiles stand in
// shared memory, `stages` of them at a time, so that loads run ahead of the arithmetic.
//
//   mma.sync  16-bit operands in 16-byte chunks, swizzled so that ldmatrix meets no bank conflict
//   fma       operands in the accumulator's type; each thread makes a grid of elements
//
// Operands that are parameters (seen through transposes, slices and the like) whose chunks are
// contiguous and aligned are copied with cp.async. Everything else (unaligned rows, converted or
// computed operands) is evaluated element by element and stored to shared memory.
#pragma once

#include "codegen/lowering.h"

namespace tilewright {

class DotLowering {
public:
  DotLowering(const KernelSpec &spec, CodeMode mode) : spec(spec), mode(mode) {}
  llvm::Expected<KernelModule> run() &&;

private:
  enum class Side : uint8_t { Batch, Rows, Columns };

  /// The dims of the root that belong to one side.
  struct RootSide {
    std::vector<size_t> dims;
    std::vector<int64_t> extents, tile, order; ///< order: positions, fastest-varying first
    int64_t size = 1;                          ///< elements of the tile
    int64_t tiles = 1;
    Coordinates pids; ///< tile of each dim
  };

  /// One operand's tile in shared memory: `rows` of `columns` elements, one of the two being K.
  struct OperandTile {
    OpId op;
    Side side;
    bool isKMinor = true; ///< columns are K
    int64_t rows = 0, columns = 0;
    int64_t offset = 0, bytes = 0;                 ///< within a stage
    int64_t chunks() const { return columns / 8; } ///< of 16 bytes, a row (mma.sync only)
    /// Bits of the row that are xored into the chunk: rows 8 apart are the same.
    int64_t swizzlePeriod() const;
    int64_t swizzleShift() const;
  };

  llvm::Error analyse();
  llvm::Error chooseTiles();
  llvm::Error emitProgram(Expr batch);
  llvm::Error loadStage(Expr kTile, llvm::Value *stageOffset);
  llvm::Error loadOperand(const OperandTile &tile, Expr kTile, llvm::Value *stageOffset);
  void chooseOrientation(OperandTile &tile, Expr kTile);
  Coordinates operandCoordinates(const OperandTile &tile, Expr position, Expr k) const;
  Guard operandGuard(const OperandTile &tile, Expr position, Expr kWithin, Expr k) const;
  Coordinates sideCoordinates(const RootSide &side, Expr position) const;
  Coordinates dotCoordinates(const Coordinates &root) const;
  Coordinates dotPlace(const OperandTile &tile, Expr position) const;
  Values computeMma(llvm::Value *stageOffset, Values sums);
  Values computeFma(llvm::Value *stageOffset, Values sums);
  llvm::Value *chunkAddress(const OperandTile &tile, llvm::Value *row, llvm::Value *chunk);
  llvm::Error planSplits();
  llvm::Error emitSplitResults(const Values &sums);
  void blockBarrier();
  llvm::Error emitResults(const Values &sums);
  llvm::Error emitResult(Expr row, Expr column, unsigned lanes, const Guard &extra,
                         const Values &sums);
  std::pair<Expr, Expr> rasterize(Expr linear);

  bool usesMma() const { return spec.schedule.instruction == Instruction::MmaSync; }
  RootSide &side(Side which) { return sides[static_cast<size_t>(which)]; }
  const RootSide &side(Side which) const { return sides[static_cast<size_t>(which)]; }

  const KernelSpec &spec;
  CodeMode mode;
  std::unique_ptr<Lowering> lowering;
  OpId dot;
  DType inputType = DType::F32, sumType = DType::F32;
  std::vector<Side> sideOfRootDim;
  RootSide sides[3];
  std::vector<int64_t> kExtents;
  int64_t kTotal = 1, kStep = 1, kPadded = 1, kTiles = 1;
  OperandTile lhs, rhs;
  int64_t stageBytes = 0;
  int64_t sumsPerThread = 0;
  int64_t splitTiles = 1, partialBytes = 0; ///< K steps of a split, bytes that one leaves behind
  Lowering::Extras extras;
  // mma.sync: warps in a grid, each with its rows and columns
  int64_t warpRows = 1, warpColumns = 1, rowsOfWarp = 16, columnsOfWarp = 8;
  // fma: threads in a grid, each with every threadRows-th row
  int64_t threadRows = 1, threadColumns = 1, rowsOfThread = 1, columnsOfThread = 1;

  Coordinates placeholders, dotAt; ///< where a root element reads the dot
  std::vector<bool> mayMiss;       ///< dims of the dot that some root element reads outside of it
  Coordinates currentDot;          ///< of the element that is being made
  Values currentSums;
  Expr batchPosition;
  Expr tileOfBlock, splitOfBlock;
  llvm::Value *firstStep = nullptr, *endStep = nullptr; ///< K steps of this block
};

} // namespace tilewright
