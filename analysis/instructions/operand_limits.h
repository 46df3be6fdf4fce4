// Limits on operands that stand in descriptors, which no assembler reads: documented, not
// assembled.
#pragma once

#include "analysis/instructions/ptx_instruction.h"

namespace tilewright {

/// Why TMA does not copy a box of elements (fastest dim last) with a swizzle of so many bytes (0:
/// none); empty: it does. From cuTensorMapEncodeTiled in the CUDA driver API 13.0: at most five
/// dims of at most 256 elements, lines of a multiple of 16 bytes, no longer than the swizzle.
std::vector<std::string> tmaBoxRefusals(const std::vector<int64_t> &box, unsigned bits,
                                        int64_t swizzleBytes);

/// A matrix descriptor of wgmma and of tcgen05, in bytes.
struct MatrixDescriptor {
  int64_t address = 0;             ///< of the operand in shared memory
  int64_t leading = 0, stride = 0; ///< offsets between its tiles
  int64_t swizzleBytes = 0;
};

/// Why a descriptor can't say that; empty: it can. From "matrix descriptor" in the PTX ISA 9.0:
/// addresses and offsets are 14 bits of units of 16 bytes, and what is swizzled begins at a
/// multiple of its pattern, 8 lines.
std::vector<std::string> descriptorRefusals(const MatrixDescriptor &descriptor);

} // namespace tilewright
