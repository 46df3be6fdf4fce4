// f8e5m2 and f8e4m3fn: between their bits and f32, in integer arithmetic that every target has.
#include "analysis/ir/numeric.h"
#include "codegen/scalar_ops.h"

#include <cmath>
#include <limits>

namespace tilewright {

namespace {

struct Eight {
  unsigned mantissaBits;
  int bias;
  uint32_t firstSpecial; ///< smallest magnitude that is no number
  bool hasInfinity;
};

Eight formatOf(DType type) {
  FloatFormat format = floatFormat(type);
  bool hasInfinity = format.specials == FloatSpecials::Ieee;
  return {format.mantissaBits, format.bias, hasInfinity ? 0x7cu : 0x7fu, hasInfinity};
}

} // namespace

/// A magnitude shifted to f32's fields has an exponent that is too small by the difference of the
/// biases, subnormals included: one exact multiplication puts it right.
llvm::Value *ScalarOps::decodeEight(DType type, llvm::Value *bits) {
  Eight format = formatOf(type);
  llvm::Value *wide = b.CreateZExt(bits, k.i32);
  llvm::Value *magnitude = b.CreateAnd(wide, k.c32(0x7f));
  llvm::Value *shifted = b.CreateBitCast(b.CreateShl(magnitude, 23 - format.mantissaBits), k.f32);
  double scale = std::ldexp(1.0, 127 - format.bias);
  llvm::Value *value = b.CreateFMul(shifted, k.cf(scale));
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  llvm::Value *special = k.cf(nan);
  if (format.hasInfinity)
    special = b.CreateSelect(b.CreateICmpEQ(magnitude, k.c32(format.firstSpecial)), k.cf(infinity),
                             special);
  value = b.CreateSelect(b.CreateICmpUGE(magnitude, k.c32(format.firstSpecial)), special, value);
  llvm::Value *sign = b.CreateShl(b.CreateAnd(wide, k.c32(0x80)), 24);
  return b.CreateBitCast(b.CreateOr(b.CreateBitCast(value, k.i32), sign), k.f32);
}

/// Rounded once, to nearest even: in the bits for normal results, by adding a number whose last
/// place is the type's smallest step for subnormal ones.
llvm::Value *ScalarOps::encodeEight(DType type, llvm::Value *value) {
  Eight format = formatOf(type);
  unsigned dropped = 23 - format.mantissaBits;
  llvm::Value *bits = b.CreateBitCast(value, k.i32);
  llvm::Value *sign = b.CreateAnd(b.CreateLShr(bits, 24), k.c32(0x80));
  llvm::Value *magnitude = b.CreateAnd(bits, k.c32(0x7fffffff));
  llvm::Value *odd = b.CreateAnd(b.CreateLShr(magnitude, dropped), k.c32(1));
  llvm::Value *rounded =
      b.CreateAdd(b.CreateAdd(magnitude, odd), k.c32((int64_t(1) << (dropped - 1)) - 1));
  llvm::Value *normal = b.CreateSub(b.CreateLShr(rounded, dropped),
                                    k.c32(int64_t(127 - format.bias) << format.mantissaBits));
  int smallest = 1 - format.bias; // exponent of the smallest normal number
  double step = std::ldexp(1.0, smallest - static_cast<int>(format.mantissaBits) + 23);
  llvm::Value *sum = b.CreateFAdd(b.CreateBitCast(magnitude, k.f32), k.cf(step));
  llvm::Value *subnormal =
      b.CreateSub(b.CreateBitCast(sum, k.i32), b.CreateBitCast(k.cf(step), k.i32));
  llvm::Value *isSubnormal = b.CreateICmpULT(magnitude, k.c32(int64_t(smallest + 127) << 23));
  llvm::Value *code = b.CreateSelect(isSubnormal, subnormal, normal);
  llvm::Value *limit = k.c32(format.firstSpecial);
  code = b.CreateSelect(b.CreateICmpSGT(code, limit), limit, code);
  code = b.CreateSelect(b.CreateICmpUGT(magnitude, k.c32(0x7f800000)), k.c32(0x7f), code);
  return b.CreateTrunc(b.CreateOr(code, sign), k.i8);
}

} // namespace tilewright
