// A tile of a matrix instruction's operand in shared memory, swizzled so that fragments are loaded
// without bank conflicts.
//
// Counted in bytes, fragments are the same for all types (PTX ISA, "Matrix fragments for
// mma.m16n8k8, m16n8k16 and m16n8k32"): an instruction takes 32 bytes of K, and a register holds
// four of them, of one row of A or column of B. Where K runs along the lines, ldmatrix brings them.
// Where it runs across, ldmatrix can transpose 16-bit elements; words are loaded one by one; and
// tiles of bytes are never laid like that: they are transposed on their way to shared memory.
#pragma once

#include "codegen/lowering.h"

namespace tilewright {

/// Lines of chunks of 16 bytes. One of the two directions is K, the other goes across (rows of a
/// left operand, columns of a right one).
struct StagedTile {
  OpId op;
  int64_t elementBytes = 2;      ///< 1, 2 or 4
  bool isKMinor = true;          ///< K runs along a line
  bool isTransposed = false;     ///< K runs along a line here, but not in memory
  int64_t rows = 0, columns = 0; ///< lines, and elements of a line
  int64_t offset = 0, bytes = 0; ///< within a stage

  int64_t chunkElements() const { return 16 / elementBytes; }
  int64_t chunks() const { return columns / chunkElements(); }
  /// Bits of the line number that are xored into the chunk: lines 8 apart are the same.
  int64_t swizzlePeriod() const;
  int64_t swizzleShift() const;
  /// True if fragments are loaded word by word: four lines and two chunks at a time.
  bool isByWords() const { return elementBytes == 4 && !isKMinor; }

  /// Shared offset, from the stage's start, of a chunk.
  llvm::Value *chunkAddress(KernelBuilder &k, llvm::Value *row, llvm::Value *chunk) const;
  /// Address for ldmatrix of this lane's row (lane mod 8) of a matrix of 8 rows of 16 bytes: at
  /// `across` + 8·acrossHalf, and byte 32·kBlock + 16·kHalf of K.
  llvm::Value *matrixAddress(KernelBuilder &k, llvm::Value *across, llvm::Value *acrossHalf,
                             llvm::Value *kHalf, int64_t kBlock) const;

  /// The word of K block `kBlock` that this lane has of register (acrossHalf, kHalf) of a fragment.
  llvm::Value *loadWord(KernelBuilder &k, llvm::Value *stage, llvm::Value *across,
                        int64_t acrossHalf, int64_t kHalf, int64_t kBlock) const;

  /// Registers of one fragment of A (four) of 16 rows at `across` and K block `kBlock`; of the 16
  /// columns of B that start there (b0, b1 of the first eight, then of the next).
  Values loadLeft(KernelBuilder &k, llvm::Value *stage, llvm::Value *across, int64_t kBlock) const;
  Values loadRight(KernelBuilder &k, llvm::Value *stage, llvm::Value *across, int64_t kBlock,
                   bool isPair) const;
};

/// The source of element `column` of line `row` of a tile, with the guard outside which it is zero.
using StagedPlace = std::function<std::pair<Coordinates, Guard>(Expr row, Expr column)>;

/// All threads load a tile to shared memory: with cp.async where its chunks are contiguous in
/// memory, otherwise element by element, converted to `type`. The caller commits and waits.
llvm::Error loadStagedTile(Lowering &lowering, const StagedTile &tile, DType type,
                           const StagedPlace &place, llvm::Value *stageOffset);

} // namespace tilewright
