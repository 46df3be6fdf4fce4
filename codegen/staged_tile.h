// A tile of 16-bit elements in shared memory, swizzled so that ldmatrix meets no bank conflict.
#pragma once

#include "codegen/lowering.h"

namespace tilewright {

/// Lines of chunks of 16 bytes. One of the two directions is K, the other goes across (rows of a
/// left operand, columns of a right one).
struct StagedTile {
  OpId op;
  bool isKMinor = true;          ///< K runs along a line
  int64_t rows = 0, columns = 0; ///< lines, and elements of a line
  int64_t offset = 0, bytes = 0; ///< within a stage

  int64_t chunks() const { return columns / 8; }
  /// Bits of the line number that are xored into the chunk: lines 8 apart are the same.
  int64_t swizzlePeriod() const;
  int64_t swizzleShift() const;

  /// Shared offset, from the stage's start, of a chunk.
  llvm::Value *chunkAddress(KernelBuilder &k, llvm::Value *row, llvm::Value *chunk) const;
  /// Where this lane's row of an 8x8 matrix is: that of element (across + 8·acrossHalf,
  /// 16·kBlock + 8·kHalf), of which ldmatrix wants row lane mod 8.
  llvm::Value *matrixAddress(KernelBuilder &k, llvm::Value *across, llvm::Value *acrossHalf,
                             llvm::Value *kHalf, int64_t kBlock) const;

  /// Registers of one 16x16 fragment of A (four) at `across` and K block `kBlock`; of the 16
  /// columns of B that start there (b0, b1 of the first eight, then of the next).
  Values loadLeft(KernelBuilder &k, llvm::Value *stage, llvm::Value *across, int64_t kBlock) const;
  Values loadRight(KernelBuilder &k, llvm::Value *stage, llvm::Value *across, int64_t kBlock,
                   bool isPair) const;
};

/// Where element `column` of line `row` of a tile comes from, and when it counts: others are zeros.
using StagedPlace = std::function<std::pair<Coordinates, Guard>(Expr row, Expr column)>;

/// Brings a tile to shared memory by all threads: with cp.async where chunks lie in memory as they
/// are, element by element, converted to `type`, where they don't. The caller commits and waits.
llvm::Error loadStagedTile(Lowering &lowering, const StagedTile &tile, DType type,
                           const StagedPlace &place, llvm::Value *stageOffset);

} // namespace tilewright
