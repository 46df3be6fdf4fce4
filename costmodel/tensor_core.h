// How a dot's tile maps to tensor-core instructions: operand traffic from shared memory, number of
// instructions, re-layout of operands that an instruction can not read as they lie.
// Internal to the cost model.
#pragma once

#include "analysis/tiling/plan.h"
#include "costmodel/device.h"
#include "costmodel/trace.h"

namespace tilewright {

/// One operand as it lies in shared memory.
struct DotOperandShape {
  double bytesPerElement = 2;
  bool contractedMinor = true; ///< elements along k are contiguous ("K-major")
  bool fromShared = true;      ///< false: it is in registers already
};

/// The tile of a dot: [batch, rows, k] x [batch, k, columns], all as tiled.
template <class Q> struct DotShape {
  Q batch = 1, rows = 1, columns = 1, depth = 1;
  DType type = DType::BF16; ///< in which operands are multiplied; f32 on tensor cores is TF32
  bool tensorCores = true;  ///< false: they may not take part (`algorithm=dot_f32_f32_f32`)
  int products = 1;         ///< of parts of the operands, for each (`algorithm=…_x3`)
  DotOperandShape lhs, rhs;
  /// The result feeds another dot, so that every warp keeps whole rows of it. More warps than
  /// blocks of 16 rows then do the same work again.
  bool feedsDot = false;

  Q repeats(const Q &warps) const;
};

/// Work of one CTA for one dot tile.
template <class Q> struct DotWork {
  Q wgmmaClocks = 0, mmaSyncClocks = 0, fmaClocks = 0;
  Q steps = 0;          ///< 32-byte steps along k
  Q instructions = 0;   ///< mma and ldmatrix, all warps
  Q operandBytes = 0;   ///< read from shared memory by the pipes
  Q relayoutClocks = 0; ///< shared memory, to store operands element by element
  Q relayoutRoundTrips = 0;
  Q scatterClocks = 0; ///< L1, to copy operands element by element
  Q serialGroups = 0;  ///< wgmma that the compiler waits for before anything else goes on
  Q relayoutWords = 0; ///< registers per thread that it takes
  Q accumulators = 0;  ///< f32 registers per thread
};

template <class Q>
DotWork<Q> dotWork(const DotShape<Q> &dot, Instruction instruction, const Q &warps,
                   const Device &device);

/// Whether an operand must be re-laid out by way of registers: wgmma reads operands of 8 and of 32
/// bit only where k is the contiguous dim (PTX ISA, matrix descriptors).
bool needsRelayout(const DotOperandShape &operand);

/// Whether the copies of an operand to shared memory move single elements, because wgmma wants it
/// the other way round: 32 bit is the smallest that an asynchronous copy can move. Smaller ones go
/// through registers.
bool isScattered(const DotOperandShape &operand, Instruction instruction);

} // namespace tilewright
