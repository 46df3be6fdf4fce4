// Overflow-checked 64-bit arithmetic for sizes, offsets, bytes and FLOP counts.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

namespace tilewright {

/// a + b, or nothing when the sum does not fit in 64 bits.
inline std::optional<int64_t> checkedAdd(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result))
    return std::nullopt;
  return result;
}

/// a - b, or nothing on overflow.
inline std::optional<int64_t> checkedSub(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_sub_overflow(a, b, &result))
    return std::nullopt;
  return result;
}

/// a · b, or nothing on overflow.
inline std::optional<int64_t> checkedMul(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result))
    return std::nullopt;
  return result;
}

/// ⌊a / b⌋, rounding towards minus infinity. Nothing for b = 0 and for INT64_MIN / -1.
inline std::optional<int64_t> checkedFloorDiv(int64_t a, int64_t b) {
  if (b == 0 || (b == -1 && a == INT64_MIN))
    return std::nullopt;
  int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

/// ⌈a / b⌉. Nothing for b = 0 and for INT64_MIN / -1.
inline std::optional<int64_t> checkedCeilDiv(int64_t a, int64_t b) {
  if (b == 0 || (b == -1 && a == INT64_MIN))
    return std::nullopt;
  int64_t quotient = a / b;
  return quotient + (a % b != 0 && (a < 0) == (b < 0));
}

/// a mod b for b > 0, always in [0, b). Nothing for b ≤ 0.
inline std::optional<int64_t> checkedMod(int64_t a, int64_t b) {
  if (b <= 0)
    return std::nullopt;
  int64_t remainder = a % b;
  return remainder < 0 ? remainder + b : remainder;
}

/// The least power of two that is at least a: 1 for a ≤ 1. Nothing above 2^62.
inline std::optional<int64_t> checkedPow2Ceil(int64_t a) {
  constexpr int64_t largest = int64_t{1} << 62;
  if (a > largest)
    return std::nullopt;
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(a < 1 ? 1 : a)));
}

/// The largest power of two that divides a, for a ≥ 1.
inline std::optional<int64_t> checkedPow2Divisor(int64_t a) {
  return a >= 1 ? std::optional(a & -a) : std::nullopt;
}

/// ⌊log₂ a⌋, for a ≥ 1.
inline std::optional<int64_t> checkedLog2(int64_t a) {
  if (a < 1)
    return std::nullopt;
  return static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(a))) - 1;
}

/// The product, where both are known and it is in range.
inline std::optional<int64_t> checkedMul(std::optional<int64_t> a, std::optional<int64_t> b) {
  return a && b ? checkedMul(*a, *b) : std::nullopt;
}

/// ⌈a / b⌉ for a ≥ 0 and b > 0, where overflow is impossible.
inline int64_t ceilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/// The least multiple of `multiple` > 0 that is at least `value` ≥ 0, where overflow is impossible.
inline int64_t roundUp(int64_t value, int64_t multiple) {
  return ceilDiv(value, multiple) * multiple;
}

} // namespace tilewright
