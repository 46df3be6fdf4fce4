#include "analysis/ir/fill.h"

#include "analysis/ir/numeric.h"

#include <bit>
#include <cmath>

namespace tilewright {

namespace {
/// Small values that the type has, so that sums of products stay small.
FillRange defaultIntegerRange(DType type) {
  int64_t bits = type == DType::Pred ? 1 : bitWidth(type);
  if (dtypeClass(type) != DTypeClass::Signed)
    return {true, 0, bits < 4 ? (int64_t(1) << bits) - 1 : 15};
  if (bits > 4)
    return {true, -8, 8};
  return {true, -(int64_t(1) << (bits - 1)), (int64_t(1) << (bits - 1)) - 1};
}
} // namespace

uint64_t splitmix64(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

DType partType(DType type) {
  if (type == DType::C64)
    return DType::F32;
  return type == DType::C128 ? DType::F64 : type;
}

uint64_t encodeWord(DType part, uint64_t word) {
  if (isFloat(part))
    return encodeFloat(part, std::bit_cast<double>(word));
  return word;
}

uint64_t decodeWord(DType part, uint64_t bits) {
  if (isFloat(part))
    return std::bit_cast<uint64_t>(decodeFloat(part, bits));
  return static_cast<uint64_t>(wrapInteger(part, static_cast<int64_t>(bits)));
}

WordFiller::WordFiller(DType type, uint64_t seed, FillRange given)
    : part(partType(type)), isReal(isFloat(part)), seed(seed), range(given) {
  if (!range.isGiven && !isReal)
    range = defaultIntegerRange(part);
  span = static_cast<uint64_t>(range.high) - static_cast<uint64_t>(range.low) + 1;
}

uint64_t WordFiller::operator()(uint64_t index) const {
  uint64_t h = splitmix64(seed, index);
  if (isReal) {
    double unit = static_cast<double>(h >> 40) / (1 << 24); // 24 bits in [0, 1)
    double value = range.isGiven ? static_cast<double>(range.low) +
                                       static_cast<double>(range.high - range.low) * unit
                                 : 2 * unit - 1;
    if (part == DType::F8E8M0FNU)
      value = std::ldexp(1.0, static_cast<int>(h % 5) - 2);
    return std::bit_cast<uint64_t>(roundFloat(part, value));
  }
  uint64_t value = static_cast<uint64_t>(range.low) + (span == 0 ? h : h % span);
  return static_cast<uint64_t>(wrapInteger(part, static_cast<int64_t>(value)));
}

uint64_t WordFiller::code(uint64_t index) const {
  bool isCommon = part == DType::F32 || part == DType::BF16 || part == DType::F16;
  if (!isCommon || range.isGiven)
    return encodeWord(part, (*this)(index));
  // A whole number of at most 24 bits over 2^23: exact in f32, so that one rounding is left.
  auto whole = static_cast<int32_t>(splitmix64(seed, index) >> 40) - (1 << 23);
  uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(whole) * 0x1p-23f);
  if (part == DType::F32)
    return bits;
  if (part == DType::BF16)
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  uint32_t magnitude = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;
  constexpr uint32_t smallestNormal = (127 - 14) << 23; // of f16, as an f32
  if (magnitude < smallestNormal)
    return encodeWord(part, (*this)(index));
  return sign | (magnitude - ((127 - 15) << 23) + 0xfff + (bits >> 13 & 1)) >> 13;
}

} // namespace tilewright
