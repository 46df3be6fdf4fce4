// How a dot's tile maps to tensor-core instructions: operand traffic from shared memory, number of
// instructions, and transposition of operands whose layout an instruction cannot read. Internal to
// the cost model.
#pragma once

#include "analysis/tiling/plan.h"
#include "costmodel/device.h"
#include "costmodel/trace.h"

namespace tilewright {

/// One operand as it lies in shared memory.
struct DotOperandShape {
  double bytesPerElement = 2;
  bool contractedMinor = true; ///< elements along k are contiguous ("K-major")
  bool fromShared = true;      ///< false: already in registers
};

/// The tile of a dot: [batch, rows, k] x [batch, k, columns], all as tiled.
template <class Q> struct DotShape {
  Q batch = 1, rows = 1, columns = 1, depth = 1;
  DType type = DType::BF16; ///< type of the multiplication; f32 on tensor cores means TF32
  bool tensorCores = true;  ///< false: not allowed (`algorithm=dot_f32_f32_f32`)
  int products = 1;         ///< products of operand parts for each product (`algorithm=…_x3`)
  DotOperandShape lhs, rhs;
  /// The result is an operand of another dot, so every warp keeps whole rows of it. Warps beyond
  /// the number of 16-row blocks then do redundant work.
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
  Q serialGroups = 0;  ///< wgmma instructions that the compiler waits for one by one
  Q relayoutWords = 0; ///< registers per thread for it
  Q accumulators = 0;  ///< f32 registers per thread
};

template <class Q>
DotWork<Q> dotWork(const DotShape<Q> &dot, Instruction instruction, const Q &warps,
                   const Device &device);

/// True if an operand must be transposed through registers: wgmma reads operands of 8 and 32 bit
/// only if k is the contiguous dim (PTX ISA, matrix descriptors).
bool needsRelayout(const DotOperandShape &operand);

/// True if an operand is transposed while it is copied to shared memory, element by element:
/// possible from 32 bit on, the smallest unit of an asynchronous copy. Smaller elements go through
/// registers.
bool isScattered(const DotOperandShape &operand, Instruction instruction);

} // namespace tilewright
