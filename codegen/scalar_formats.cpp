// Float types of eight bits and less, and reduce-precision, out of the description of a format:
// integer arithmetic on f32's and f64's bits, which every target has.
#include "analysis/ir/numeric.h"
#include "codegen/scalar_ops.h"

#include <algorithm>
#include <cmath>

namespace tilewright {

namespace {

constexpr int64_t infinityBits = 0x7f800000, quietBit = 0x400000, smallestNormalBits = 0x800000;

int64_t lowBits(unsigned count) { return (int64_t(1) << count) - 1; }

/// A format and the codes, without the sign, at which its magnitudes end.
struct NarrowFormat : FloatFormat {
  explicit NarrowFormat(DType type) : FloatFormat(floatFormat(type)) {
    magnitudeBits = exponentBits + mantissaBits;
    dropped = 23 - mantissaBits;
    signBit = int64_t(1) << magnitudeBits;
    infinity = lowBits(exponentBits) << mantissaBits;
    allOnes = lowBits(magnitudeBits);
    maxFinite = specials == FloatSpecials::Ieee      ? infinity - 1
                : specials == FloatSpecials::NanOnly ? allOnes - 1
                                                     : allOnes;
  }
  unsigned magnitudeBits, dropped;
  int64_t signBit, infinity, allOnes, maxFinite;
};

} // namespace

/// Powers of two: the code is f32's exponent field, but for 2^-127, a denormal there.
llvm::Value *ScalarOps::decodeScale(llvm::Value *bits) {
  llvm::Value *code = b.CreateZExt(bits, k.i32);
  llvm::Value *value = b.CreateShl(code, 23);
  value = select(b.CreateICmpEQ(code, k.c32(0)), k.c32(smallestNormalBits >> 1), value);
  value =
      select(b.CreateICmpEQ(code, k.c32(0xff)), k.c32(infinityBits | quietBit), value); // not inf
  return b.CreateBitCast(value, k.f32);
}

llvm::Value *ScalarOps::encodeScale(llvm::Value *value) {
  llvm::Value *bits = b.CreateBitCast(value, k.i32);
  llvm::Value *normal = b.CreateLShr(b.CreateAdd(bits, k.c32(smallestNormalBits >> 1)), 23);
  // A denormal is 2^-127 or, from the middle on, 2^-126.
  llvm::Value *denormal = b.CreateZExt(b.CreateICmpSGE(bits, k.c32(0x600000)), k.i32);
  llvm::Value *code = select(b.CreateICmpSLT(bits, k.c32(smallestNormalBits)), denormal, normal);
  llvm::Value *isValue = b.CreateAnd(b.CreateICmpSGT(bits, k.c32(0)),
                                     b.CreateICmpSLT(code, k.c32(0xff))); // no sign, no zero
  return b.CreateTrunc(select(isValue, code, k.c32(0xff)), k.i8);
}

/// A magnitude shifted to f32's fields has an exponent that is too small by the difference of the
/// biases, subnormals included: one exact multiplication puts it right.
llvm::Value *ScalarOps::decodeNarrow(DType type, llvm::Value *bits) {
  NarrowFormat format(type);
  if (format.specials == FloatSpecials::ScaleOnly)
    return decodeScale(bits);
  llvm::Value *wide = b.CreateZExt(bits, k.i32);
  llvm::Value *magnitude = b.CreateAnd(wide, k.c32(format.allOnes));
  llvm::Value *shifted = b.CreateShl(magnitude, format.dropped);
  llvm::Value *scaled =
      b.CreateFMul(b.CreateBitCast(shifted, k.f32), k.cf(std::ldexp(1.0, 127 - format.bias)));
  llvm::Value *value = b.CreateBitCast(scaled, k.i32);
  if (format.specials == FloatSpecials::Ieee) // the mantissa is that of the infinity or NaN
    value = select(b.CreateICmpUGE(magnitude, k.c32(format.infinity)),
                   b.CreateOr(shifted, k.c32(infinityBits)), value);
  else if (format.specials == FloatSpecials::NanOnly)
    value = select(b.CreateICmpEQ(magnitude, k.c32(format.allOnes)), k.c32(infinityBits | quietBit),
                   value);
  llvm::Value *sign =
      b.CreateShl(b.CreateAnd(wide, k.c32(format.signBit)), 31 - format.magnitudeBits);
  value = b.CreateOr(value, sign);
  if (format.specials == FloatSpecials::NegZeroNan)
    value =
        select(b.CreateICmpEQ(wide, k.c32(format.signBit)), k.c32(infinityBits | quietBit), value);
  return b.CreateBitCast(value, k.f32);
}

/// Rounded once, to nearest even: in the bits for normal results, by adding a number whose last
/// place is the type's smallest step for subnormal ones.
llvm::Value *ScalarOps::encodeNarrow(DType type, llvm::Value *value) {
  NarrowFormat format(type);
  if (format.specials == FloatSpecials::ScaleOnly)
    return encodeScale(value);
  llvm::Value *bits = b.CreateBitCast(value, k.i32);
  llvm::Value *sign =
      b.CreateAnd(b.CreateLShr(bits, 31 - format.magnitudeBits), k.c32(format.signBit));
  llvm::Value *magnitude = b.CreateAnd(bits, k.c32(0x7fffffff));
  llvm::Value *odd = b.CreateAnd(b.CreateLShr(magnitude, format.dropped), k.c32(1));
  llvm::Value *rounded =
      b.CreateAdd(b.CreateAdd(magnitude, odd), k.c32(lowBits(format.dropped - 1)));
  llvm::Value *normal = b.CreateSub(b.CreateLShr(rounded, format.dropped),
                                    k.c32(int64_t(127 - format.bias) << format.mantissaBits));
  int smallest = 1 - format.bias; // exponent of the smallest normal number
  double step = std::ldexp(1.0, smallest - static_cast<int>(format.mantissaBits) + 23);
  llvm::Value *sum = b.CreateFAdd(b.CreateBitCast(magnitude, k.f32), k.cf(step));
  llvm::Value *subnormal =
      b.CreateSub(b.CreateBitCast(sum, k.i32), b.CreateBitCast(k.cf(step), k.i32));
  llvm::Value *isSubnormal = b.CreateICmpULT(magnitude, k.c32(int64_t(smallest + 127) << 23));
  llvm::Value *code = select(isSubnormal, subnormal, normal);
  llvm::Value *isNan = b.CreateICmpUGT(magnitude, k.c32(infinityBits));
  llvm::Value *isTooLarge = b.CreateICmpSGT(code, k.c32(format.maxFinite));
  switch (format.specials) {
  case FloatSpecials::Ieee: {
    code = select(isTooLarge, k.c32(format.infinity), code);
    llvm::Value *payload =
        b.CreateAnd(b.CreateLShr(magnitude, format.dropped), k.c32(lowBits(format.mantissaBits)));
    payload = select(b.CreateICmpEQ(payload, k.c32(0)),
                     k.c32(int64_t(1) << (format.mantissaBits - 1)), payload);
    code = select(isNan, b.CreateOr(payload, k.c32(format.infinity)), code);
    code = b.CreateOr(code, sign);
    break;
  }
  case FloatSpecials::NanOnly:
    code = b.CreateOr(select(b.CreateOr(isTooLarge, isNan), k.c32(format.allOnes), code), sign);
    break;
  case FloatSpecials::NegZeroNan: {
    llvm::Value *isZero = b.CreateICmpEQ(code, k.c32(0));
    code = b.CreateOr(code, select(isZero, k.c32(0), sign));
    code = select(b.CreateOr(isTooLarge, isNan), k.c32(format.signBit), code);
    break;
  }
  case FloatSpecials::None:
  case FloatSpecials::ScaleOnly:
    code = b.CreateOr(select(isTooLarge, k.c32(format.maxFinite), code), sign);
    code = select(isNan, b.CreateXor(sign, k.c32(format.signBit)), code);
    break;
  }
  return b.CreateTrunc(code, k.i8);
}

/// The double's value in an f32, inexact ones with an odd last place: rounding that to a type with
/// fewer bits, by two at least, is rounding the double once.
llvm::Value *ScalarOps::truncateToOdd(llvm::Value *value) {
  llvm::Value *near = b.CreateFPTrunc(value, k.f32), *back = b.CreateFPExt(near, k.f64);
  llvm::Value *bits = b.CreateBitCast(near, k.i32);
  llvm::Value *isBelow =
      b.CreateFCmpOLT(unary(llvm::Intrinsic::fabs, back), unary(llvm::Intrinsic::fabs, value));
  llvm::Value *neighbour = b.CreateAdd(bits, select(isBelow, k.c32(1), k.c32(-1)));
  llvm::Value *isEven = b.CreateICmpEQ(b.CreateAnd(bits, k.c32(1)), k.c32(0));
  llvm::Value *isMoved = b.CreateAnd(isEven, b.CreateFCmpONE(back, value));
  // Zero has the sign already; a negative value's magnitude grows with its bits as well.
  return b.CreateBitCast(select(isMoved, neighbour, bits), k.f32);
}

/// An integer for a type narrower than f32: what f32 can't hold is folded into an odd last place.
llvm::Value *ScalarOps::integerToOdd(DType from, llvm::Value *value) {
  unsigned bits = bitWidth(from);
  bool isSignedType = dtypeClass(from) == DTypeClass::Signed;
  if (bits <= 16)
    return isSignedType ? b.CreateSIToFP(value, k.f32) : b.CreateUIToFP(value, k.f32);
  llvm::Type *type = value->getType();
  auto literal = [&](int64_t number) { return llvm::ConstantInt::getSigned(type, number); };
  llvm::Value *isNegative =
      isSignedType ? b.CreateICmpSLT(value, literal(0)) : static_cast<llvm::Value *>(b.getFalse());
  llvm::Value *magnitude = select(isNegative, b.CreateNeg(value), value);
  llvm::Value *zeros = k.intrinsic(llvm::Intrinsic::ctlz, {type}, {magnitude, b.getFalse()});
  llvm::Value *cut = b.CreateSub(literal(bits - 24), zeros);
  cut = select(b.CreateICmpSGT(cut, literal(0)), cut, literal(0));
  llvm::Value *kept = b.CreateLShr(magnitude, cut);
  llvm::Value *isInexact = b.CreateICmpNE(b.CreateShl(kept, cut), magnitude);
  llvm::Value *folded = b.CreateOr(kept, b.CreateZExt(isInexact, type));
  llvm::Value *scale = b.CreateShl(b.CreateAdd(b.CreateZExtOrTrunc(cut, k.i32), k.c32(127)), 23);
  llvm::Value *result = b.CreateFMul(b.CreateUIToFP(b.CreateZExtOrTrunc(folded, k.i32), k.f32),
                                     b.CreateBitCast(scale, k.f32));
  return select(isNegative, b.CreateFNeg(result), result);
}

/// As numeric.h's reducePrecision(): the mantissa rounded in the bits, a carry moving into the
/// exponent. f32's denormals are rounded as the normal numbers that they are in a double.
llvm::Value *ScalarOps::reducePrecision(llvm::Value *value, unsigned exponentBits,
                                        unsigned mantissaBits) {
  bool isDouble = value->getType() == k.f64;
  llvm::Type *integer = isDouble ? k.i64 : k.i32;
  unsigned width = isDouble ? 64 : 32, mantissa = isDouble ? 52 : 23;
  int ownBias = isDouble ? 1023 : 127;
  auto literal = [&](int64_t bits) { return llvm::ConstantInt::getSigned(integer, bits); };
  auto number = [&](double x) { return llvm::ConstantFP::get(value->getType(), x); };
  int64_t infinity = int64_t(2 * ownBias + 1) << mantissa;
  llvm::Value *bits = b.CreateBitCast(value, integer);
  llvm::Value *magnitude =
      b.CreateAnd(bits, literal(static_cast<int64_t>(~uint64_t(0) >> 1) >> (64 - width)));
  llvm::Value *isDenormal = b.CreateICmpULT(magnitude, literal(int64_t(1) << mantissa));
  llvm::Value *work = magnitude;
  if (!isDouble) {
    llvm::Value *raised = b.CreateFMul(b.CreateBitCast(magnitude, k.f32), k.cf(0x1p32));
    work = select(isDenormal, b.CreateBitCast(raised, integer), magnitude);
  }
  if (mantissaBits < mantissa) {
    unsigned shift = mantissa - mantissaBits;
    llvm::Value *odd = b.CreateAnd(b.CreateLShr(work, shift), literal(1));
    work = b.CreateAdd(b.CreateAdd(work, odd), literal(lowBits(shift - 1)));
    work = b.CreateAnd(work, literal(~lowBits(shift)));
  }
  llvm::Value *result = b.CreateBitCast(work, value->getType());
  if (!isDouble)
    result = select(isDenormal, b.CreateFMul(result, k.cf(0x1p-32)), result);
  int bias = static_cast<int>(lowBits(std::clamp(exponentBits, 1u, 11u) - 1));
  if (bias < ownBias)
    result = select(b.CreateFCmpOGE(result, number(std::ldexp(1.0, bias + 1))),
                    llvm::ConstantFP::getInfinity(value->getType()), result);
  if (bias <= ownBias)
    result = select(b.CreateFCmpOLT(result, number(std::ldexp(1.0, 1 - bias))), number(0), result);
  result = binary(llvm::Intrinsic::copysign, result, value);
  return select(b.CreateICmpUGE(magnitude, literal(infinity)), value, result);
}

/// Integers that are ordered as -NaN < -∞ < … < -0 < +0 < … < ∞ < NaN.
llvm::Value *ScalarOps::totalOrderKey(llvm::Value *value) {
  bool isDouble = value->getType() == k.f64;
  llvm::Value *bits = b.CreateBitCast(value, isDouble ? k.i64 : k.i32);
  unsigned width = isDouble ? 64 : 32;
  llvm::Value *flipped = b.CreateLShr(b.CreateAShr(bits, width - 1), 1); // all but the sign, if set
  return b.CreateXor(bits, flipped);
}

} // namespace tilewright
