// The arithmetic of matrix instructions in the emulator.
#pragma once

#include "analysis/ir/numeric.h"

#include <bit>

namespace tilewright {

/// An element of an operand from its bits. f32 is taken as tf32: the low 13 bits don't count.
inline double matrixElement(DType type, uint32_t bits) {
  switch (type) {
  case DType::BF16:
    return std::bit_cast<float>(bits << 16);
  case DType::F32:
    return std::bit_cast<float>(bits & 0xffffe000u);
  case DType::S8:
    return static_cast<int8_t>(bits);
  case DType::U8:
    return static_cast<uint8_t>(bits);
  default:
    return decodeFloat(type, bits);
  }
}

/// The sum a register holds after a product of two elements: s32 that wraps round for 8-bit
/// integers, f32 otherwise.
inline uint32_t accumulated(DType type, uint32_t sum, double left, double right) {
  if (isInteger(type))
    return sum + static_cast<uint32_t>(static_cast<int32_t>(left) * static_cast<int32_t>(right));
  return std::bit_cast<uint32_t>(std::bit_cast<float>(sum) +
                                 static_cast<float>(left) * static_cast<float>(right));
}

} // namespace tilewright
