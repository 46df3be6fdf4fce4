#include "analysis/ir/numeric.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

namespace tilewright {

namespace {
constexpr uint64_t doubleSign = uint64_t(1) << 63;
constexpr uint64_t doubleMantissa = (uint64_t(1) << 52) - 1;
constexpr uint64_t doubleInfinity = uint64_t(0x7ff) << 52;

uint64_t lowBits(unsigned count) { return count >= 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1; }

/// bits >> shift, rounded to nearest, ties to even. bits < 2^53.
uint64_t shiftRightRounded(uint64_t bits, unsigned shift) {
  if (shift == 0)
    return bits;
  if (shift > 54)
    return 0;
  uint64_t quotient = bits >> shift, rest = bits & lowBits(shift),
           half = uint64_t(1) << (shift - 1);
  return quotient + (rest > half || (rest == half && (quotient & 1)));
}

/// The largest finite magnitude's encoding without the sign.
uint64_t maxFinite(const FloatFormat &format) {
  uint64_t allOnes = lowBits(format.exponentBits + format.mantissaBits);
  switch (format.specials) {
  case FloatSpecials::Ieee:
    return (lowBits(format.exponentBits) << format.mantissaBits) - 1;
  case FloatSpecials::NanOnly:
  case FloatSpecials::ScaleOnly:
    return allOnes - 1;
  case FloatSpecials::NegZeroNan:
  case FloatSpecials::None:
    return allOnes;
  }
  return allOnes;
}

uint64_t encodeNan(const FloatFormat &format, uint64_t sign, uint64_t doubleBits) {
  unsigned magnitudeBits = format.exponentBits + format.mantissaBits;
  switch (format.specials) {
  case FloatSpecials::Ieee: {
    uint64_t payload = (doubleBits & doubleMantissa) >> (52 - format.mantissaBits);
    if (payload == 0) // the NaN's payload is below the bits that fit
      payload = uint64_t(1) << (format.mantissaBits - 1);
    return sign | (lowBits(format.exponentBits) << format.mantissaBits) | payload;
  }
  case FloatSpecials::NanOnly:
    return sign | lowBits(magnitudeBits);
  case FloatSpecials::ScaleOnly:
    return lowBits(magnitudeBits);
  case FloatSpecials::NegZeroNan:
    return uint64_t(1) << magnitudeBits;
  case FloatSpecials::None:
    return sign ^ (uint64_t(1) << magnitudeBits);
  }
  return 0;
}

uint64_t encodeOverflow(const FloatFormat &format, uint64_t sign) {
  if (format.specials == FloatSpecials::Ieee)
    return sign | (maxFinite(format) + 1);
  if (format.specials == FloatSpecials::None)
    return sign | maxFinite(format);
  return encodeNan(format, sign, 0);
}

uint64_t encodeIn(const FloatFormat &format, double value) {
  uint64_t bits = std::bit_cast<uint64_t>(value);
  uint64_t magnitude = bits & ~doubleSign;
  bool isScale = format.specials == FloatSpecials::ScaleOnly;
  uint64_t sign = 0;
  if ((bits & doubleSign) && !isScale)
    sign = uint64_t(1) << (format.exponentBits + format.mantissaBits);
  if (magnitude > doubleInfinity || (isScale && (magnitude == 0 || (bits & doubleSign))))
    return encodeNan(format, sign, bits);
  if (magnitude == doubleInfinity)
    return encodeOverflow(format, sign);
  uint64_t zero = format.specials == FloatSpecials::NegZeroNan ? 0 : sign;
  // Subnormal doubles lie far below the smallest value of every narrower type.
  int exponent = static_cast<int>(magnitude >> 52) - 1023;
  if (exponent == -1023)
    return isScale ? 0 : zero;
  uint64_t significand = (magnitude & doubleMantissa) | (uint64_t(1) << 52);
  int smallest = isScale ? -format.bias : 1 - format.bias;
  unsigned shift = 52 - format.mantissaBits;
  uint64_t encoded;
  if (exponent >= smallest) {
    // The implicit one is added to the exponent field, and so is a carry out of the mantissa.
    uint64_t field = static_cast<uint64_t>(exponent - smallest) + (isScale ? 0 : 1);
    encoded = (field << format.mantissaBits) + shiftRightRounded(significand, shift) -
              (uint64_t(1) << format.mantissaBits);
  } else if (isScale) {
    return 0;
  } else {
    encoded = shiftRightRounded(significand, shift + std::min(smallest - exponent, 60));
  }
  if (encoded > maxFinite(format))
    return encodeOverflow(format, sign);
  return encoded == 0 ? zero : sign | encoded;
}

double decodeIn(const FloatFormat &format, uint64_t bits) {
  unsigned magnitudeBits = format.exponentBits + format.mantissaBits;
  bool isScale = format.specials == FloatSpecials::ScaleOnly;
  uint64_t magnitude = bits & lowBits(magnitudeBits);
  uint64_t sign = !isScale && (bits >> magnitudeBits & 1) ? doubleSign : 0;
  if (format.specials == FloatSpecials::NegZeroNan && sign && magnitude == 0)
    return std::numeric_limits<double>::quiet_NaN();
  if (magnitude > maxFinite(format)) {
    uint64_t payload = uint64_t(1) << 51;
    if (format.specials == FloatSpecials::Ieee)
      payload = (magnitude & lowBits(format.mantissaBits)) << (52 - format.mantissaBits);
    return std::bit_cast<double>(sign | doubleInfinity | payload);
  }
  int exponent = static_cast<int>(magnitude >> format.mantissaBits);
  uint64_t mantissa = magnitude & lowBits(format.mantissaBits);
  double result;
  if (exponent != 0 || isScale) {
    result = std::bit_cast<double>(static_cast<uint64_t>(exponent - format.bias + 1023) << 52 |
                                   mantissa << (52 - format.mantissaBits));
  } else {
    result = std::ldexp(static_cast<double>(mantissa),
                        1 - format.bias - static_cast<int>(format.mantissaBits));
  }
  return sign ? -result : result;
}
} // namespace

FloatFormat floatFormat(DType type) {
  switch (type) {
  case DType::F4E2M1FN:
    return {2, 1, 1, FloatSpecials::None};
  case DType::F8E3M4:
    return {3, 4, 3, FloatSpecials::Ieee};
  case DType::F8E4M3:
    return {4, 3, 7, FloatSpecials::Ieee};
  case DType::F8E4M3FN:
    return {4, 3, 7, FloatSpecials::NanOnly};
  case DType::F8E4M3B11FNUZ:
    return {4, 3, 11, FloatSpecials::NegZeroNan};
  case DType::F8E4M3FNUZ:
    return {4, 3, 8, FloatSpecials::NegZeroNan};
  case DType::F8E5M2:
    return {5, 2, 15, FloatSpecials::Ieee};
  case DType::F8E5M2FNUZ:
    return {5, 2, 16, FloatSpecials::NegZeroNan};
  case DType::F8E8M0FNU:
    return {8, 0, 127, FloatSpecials::ScaleOnly};
  case DType::F16:
    return {5, 10, 15, FloatSpecials::Ieee};
  case DType::BF16:
    return {8, 7, 127, FloatSpecials::Ieee};
  case DType::F32:
    return {8, 23, 127, FloatSpecials::Ieee};
  case DType::F64:
    return {11, 52, 1023, FloatSpecials::Ieee};
  default:
    assert(false && "not a float type");
    return {};
  }
}

uint64_t encodeFloat(DType type, double value) {
  if (type == DType::F64)
    return std::bit_cast<uint64_t>(value);
  return encodeIn(floatFormat(type), value);
}

double decodeFloat(DType type, uint64_t bits) {
  if (type == DType::F64)
    return std::bit_cast<double>(bits);
  return decodeIn(floatFormat(type), bits);
}

double lowestFinite(DType type) {
  const FloatFormat format = floatFormat(type);
  if (format.specials == FloatSpecials::ScaleOnly)
    return decodeIn(format, 0);
  return -decodeIn(format, maxFinite(format));
}

double roundFloat(DType type, double value) {
  if (type == DType::F64)
    return value;
  if (type == DType::F32 && value == value)
    return static_cast<double>(static_cast<float>(value));
  FloatFormat format = floatFormat(type);
  return decodeIn(format, encodeIn(format, value));
}

double reducePrecision(double value, unsigned exponentBits, unsigned mantissaBits) {
  uint64_t bits = std::bit_cast<uint64_t>(value), sign = bits & doubleSign;
  uint64_t magnitude = bits & ~doubleSign;
  if (magnitude >= doubleInfinity)
    return value;
  exponentBits = std::clamp(exponentBits, 1u, 11u);
  unsigned shift = 52 - std::min(mantissaBits, 52u);
  // A carry out of the mantissa moves into the exponent, as it should.
  uint64_t rounded =
      shift == 0 ? magnitude
                 : (magnitude + (uint64_t(1) << (shift - 1)) - 1 + (magnitude >> shift & 1)) &
                       ~lowBits(shift);
  int bias = static_cast<int>(lowBits(exponentBits - 1));
  int exponent = static_cast<int>(rounded >> 52) - 1023;
  if (exponent > bias)
    rounded = doubleInfinity;
  else if (exponent < 1 - bias)
    rounded = 0;
  return std::bit_cast<double>(sign | rounded);
}

int64_t wrapInteger(DType type, int64_t value) {
  if (type == DType::Pred)
    return value != 0;
  unsigned bits = bitWidth(type);
  if (bits >= 64)
    return value;
  uint64_t low = static_cast<uint64_t>(value) & lowBits(bits);
  if (dtypeClass(type) == DTypeClass::Signed && (low >> (bits - 1) & 1))
    low |= ~lowBits(bits);
  return static_cast<int64_t>(low);
}

int64_t integerFromFloat(DType type, double value) {
  if (type == DType::Pred)
    return value != 0;
  if (value != value)
    return 0;
  unsigned bits = bitWidth(type);
  bool isSigned = dtypeClass(type) == DTypeClass::Signed;
  // Both bounds are powers of two, so that they are exact as doubles.
  double limit = std::ldexp(1.0, static_cast<int>(bits) - (isSigned ? 1 : 0));
  double least = isSigned ? -limit : 0;
  if (value >= limit)
    return static_cast<int64_t>(lowBits(isSigned ? bits - 1 : bits));
  if (value <= least)
    return isSigned ? -static_cast<int64_t>(lowBits(bits - 1)) - 1 : 0;
  if (isSigned)
    return static_cast<int64_t>(value);
  return static_cast<int64_t>(static_cast<uint64_t>(value));
}

double doubleFromInteger(DType from, int64_t value) {
  if (from == DType::U64)
    return static_cast<double>(static_cast<uint64_t>(value));
  return static_cast<double>(value);
}

double floatFromInteger(DType to, DType from, int64_t value) {
  bool isNegative = from != DType::U64 && value < 0;
  uint64_t magnitude = isNegative ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  if (to == DType::F64 || magnitude >> 53 == 0)
    return roundFloat(to, doubleFromInteger(from, value));
  // Over 53 bits, the double would round a first time; keep what is cut off as a sticky bit, which
  // the narrower type's rounding sees.
  uint64_t sticky = (magnitude >> 11) | ((magnitude & lowBits(11)) != 0);
  double exact = std::ldexp(static_cast<double>(sticky), 11);
  return roundFloat(to, isNegative ? -exact : exact);
}

} // namespace tilewright
