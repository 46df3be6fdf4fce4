// The functions that f32 and f64 make alike.
#include "codegen/scalar_math.h"

#include <cmath>

namespace tilewright {

namespace {
/// Where sinh, cosh and tanh no longer feel e^-x.
constexpr double largeAngle = 22;
/// Where x² hides a 1.
constexpr double hugeArgument = 0x1p28;
} // namespace

llvm::Value *ScalarMath::copySign(llvm::Value *magnitude, llvm::Value *sign) {
  return k.intrinsic(llvm::Intrinsic::copysign, {type}, {magnitude, sign});
}

llvm::Value *ScalarMath::fma(llvm::Value *x, llvm::Value *y, llvm::Value *z) {
  return k.intrinsic(llvm::Intrinsic::fma, {type}, {x, y, z});
}

llvm::Value *ScalarMath::polynomial(llvm::Value *x, std::initializer_list<double> coefficients) {
  llvm::Value *sum = nullptr;
  for (double coefficient : coefficients)
    sum = sum ? fma(sum, x, number(coefficient)) : number(coefficient);
  return sum;
}

llvm::Value *ScalarMath::withLogLimits(llvm::Value *x, llvm::Value *result) {
  llvm::Value *isNumber =
      b.CreateAnd(b.CreateFCmpOGT(x, number(0)), b.CreateFCmpOLT(x, infinity()));
  llvm::Value *special = select(b.CreateFCmpOLT(x, number(0)), nan(), x); // infinity, NaN
  special = select(b.CreateFCmpOEQ(x, number(0)), b.CreateFNeg(infinity()), special);
  return select(isNumber, result, special);
}

llvm::Value *ScalarMath::logistic(llvm::Value *x) {
  // With e = e^-|x|: 1/(1 + e) or e/(1 + e), so that small results keep their digits.
  llvm::Value *e = exp(b.CreateFNeg(abs(x)));
  llvm::Value *above = select(b.CreateFCmpOLT(x, number(0)), e, number(1));
  return quotient(above, b.CreateFAdd(e, number(1)));
}

llvm::Value *ScalarMath::power(llvm::Value *x, llvm::Value *y) {
  // |x|^y with the sign of x where y is an odd integer; NaN for negative x and fractional y.
  llvm::Value *magnitude = raise(abs(x), y);
  llvm::Value *isInteger = b.CreateFCmpOEQ(floor(y), y);
  llvm::Value *half = b.CreateFMul(y, number(0.5));
  llvm::Value *isOdd = b.CreateAnd(isInteger, b.CreateFCmpUNE(floor(half), half));
  llvm::Value *isNegative =
      b.CreateAnd(b.CreateFCmpOLT(x, number(0)), b.CreateFCmpOGT(x, b.CreateFNeg(infinity())));
  llvm::Value *zeroOrOdd = b.CreateAnd(isOdd, b.CreateFCmpOLE(x, number(0)));
  llvm::Value *result = select(zeroOrOdd, copySign(magnitude, x), magnitude);
  result = select(b.CreateAnd(isNegative, b.CreateNot(isInteger)), nan(), result);
  llvm::Value *unitToInfinity =
      b.CreateAnd(b.CreateFCmpOEQ(abs(x), number(1)), b.CreateFCmpOEQ(abs(y), infinity()));
  llvm::Value *isOne =
      b.CreateOr(b.CreateFCmpOEQ(y, number(0)), b.CreateFCmpOEQ(x, number(1))); // even of NaN
  isOne = b.CreateOr(isOne, unitToInfinity);
  return select(isOne, number(1), result);
}

ScalarMath::Angle ScalarMath::reduceAngle(llvm::Value *x) {
  llvm::Value *magnitude = abs(x);
  llvm::Value *isFar = b.CreateAnd(b.CreateFCmpOGT(magnitude, number(angleLimit())),
                                   b.CreateFCmpOLT(magnitude, infinity()));
  auto parts = [](const Angle &angle) { return Values{angle.quarters, angle.high, angle.low}; };
  Values angle = k.choose(
      isFar, [&] { return parts(farAngle(x)); }, [&] { return parts(nearAngle(x)); });
  return {angle[0], angle[1], angle[2]};
}

/// Payne and Hanek's way: x = m·2^e with an integer m, so that of 1/(2π) in binary only the bits
/// from place e on matter for the fraction of the turn, and of those 192 are enough: no double
/// comes nearer to a multiple of π/2 than 2^-61, which leaves 2^-76 relative.
ScalarMath::Angle ScalarMath::farAngle(llvm::Value *x) {
  // 1/(2π) after the point, with a word of zeros before it.
  static constexpr uint64_t turns[] = {0,
                                       0x28be60db9391054a,
                                       0x7f09d5f47d4d3770,
                                       0x36d8a5664f10e410,
                                       0x7f9458eaf7aef158,
                                       0x6dc91b8e909374b8,
                                       0x01924bba82746487,
                                       0x3f877ac72c4a69cf,
                                       0xba208d7d4baed121,
                                       0x3a671c09ad17df90,
                                       0x4e64758e60d4ce7d,
                                       0x272117e2ef7e4a0e,
                                       0xc7fe25fff7816603,
                                       0xfbcbc462d6829b47,
                                       0xdb4d9fb3c9f2c26d,
                                       0xd3d18fd9a797fa8b,
                                       0x5d49eeb1faf97c5e,
                                       0xcf41ce7de294a4ba,
                                       0x9afed7ec47e35742,
                                       0x1580cc11bf1edaea};
  std::vector<llvm::Constant *> table;
  for (uint64_t word : turns)
    table.push_back(llvm::ConstantInt::get(k.i64, word));
  auto funnel = [&](llvm::Value *high, llvm::Value *low, llvm::Value *by) {
    return k.intrinsic(llvm::Intrinsic::fshl, {k.i64}, {high, low, by});
  };
  auto highProduct = [&](llvm::Value *p, llvm::Value *q) {
    llvm::Type *wide = b.getInt128Ty();
    llvm::Value *product = b.CreateMul(b.CreateZExt(p, wide), b.CreateZExt(q, wide));
    return b.CreateTrunc(b.CreateLShr(product, 64), k.i64);
  };

  llvm::Value *magnitude = isDouble ? abs(x) : b.CreateFPExt(abs(x), k.f64);
  llvm::Value *bits = b.CreateBitCast(magnitude, k.i64);
  llvm::Value *m =
      b.CreateOr(b.CreateAnd(bits, k.c64((int64_t(1) << 52) - 1)), k.c64(int64_t(1) << 52));
  llvm::Value *place = b.CreateAdd(b.CreateLShr(bits, 52), k.c64(64 - 1075)); // e + 64 > 0
  llvm::Value *word = b.CreateLShr(place, 6), *shift = b.CreateAnd(place, k.c64(63));
  Values words, window;
  for (int i = 0; i < 4; ++i)
    words.push_back(k.loadTable(table, b.CreateAdd(word, k.c64(i))));
  for (size_t i = 0; i < 3; ++i)
    window.push_back(funnel(words[i], words[i + 1], shift));
  // m times the window, modulo a whole turn.
  llvm::Value *third = b.CreateMul(m, window[2]);
  llvm::Value *middle = b.CreateMul(m, window[1]);
  llvm::Value *second = b.CreateAdd(middle, highProduct(m, window[2]));
  llvm::Value *carry = b.CreateZExt(b.CreateICmpULT(second, middle), k.i64);
  llvm::Value *first =
      b.CreateAdd(b.CreateAdd(b.CreateMul(m, window[0]), carry), highProduct(m, window[1]));
  // The nearest quarter, and what is left: two's complement, negated where negative (by one in the
  // last of 192 places too little).
  llvm::Value *quarters = b.CreateLShr(b.CreateAdd(first, k.c64(int64_t(1) << 61)), 62);
  first = b.CreateSub(first, b.CreateShl(quarters, 62));
  llvm::Value *sign = b.CreateAShr(first, 63);
  first = b.CreateXor(first, sign);
  second = b.CreateXor(second, sign);
  third = b.CreateXor(third, sign);
  llvm::Value *zeros = k.intrinsic(llvm::Intrinsic::ctlz, {k.i64}, {first, b.getFalse()});
  zeros = select(b.CreateICmpULT(zeros, k.c64(63)), zeros, k.c64(63));
  llvm::Value *top = funnel(first, second, zeros), *next = funnel(second, third, zeros);
  // 53 bits and the next 64, then times 2π.
  llvm::Value *rest = b.CreateOr(b.CreateShl(top, 53), b.CreateLShr(next, 11));
  llvm::Value *scale =
      b.CreateBitCast(b.CreateShl(b.CreateSub(k.c64(1023 - 64), zeros), 52), k.f64);
  auto literal = [&](double value) { return llvm::ConstantFP::get(k.f64, value); };
  llvm::Value *high = b.CreateFMul(b.CreateUIToFP(b.CreateAnd(top, k.c64(-2048)), k.f64), scale);
  llvm::Value *low =
      b.CreateFMul(b.CreateFMul(b.CreateUIToFP(rest, k.f64), literal(0x1p-53)), scale);
  llvm::Value *turn = literal(0x1.921fb54442d18p+2), *turnLow = literal(0x1.1a62633145c07p-52);
  auto fma64 = [&](llvm::Value *p, llvm::Value *q, llvm::Value *r) {
    return k.intrinsic(llvm::Intrinsic::fma, {k.f64}, {p, q, r});
  };
  llvm::Value *angle = b.CreateFMul(high, turn);
  llvm::Value *error = fma64(high, turn, b.CreateFNeg(angle));
  error = fma64(low, turn, fma64(high, turnLow, error));
  llvm::Value *sum = b.CreateFAdd(angle, error);
  error = b.CreateFAdd(b.CreateFSub(angle, sum), error);
  llvm::Value *isNegative =
      b.CreateXor(b.CreateICmpSLT(sign, k.c64(0)), b.CreateFCmpOLT(x, number(0)));
  sum = select(isNegative, b.CreateFNeg(sum), sum);
  error = select(isNegative, b.CreateFNeg(error), error);
  quarters = b.CreateTrunc(quarters, k.i32);
  quarters = select(b.CreateFCmpOLT(x, number(0)), b.CreateNeg(quarters), quarters);
  if (isDouble)
    return {quarters, sum, error};
  return {quarters, b.CreateFPTrunc(sum, k.f32), number(0)};
}

llvm::Value *ScalarMath::circular(llvm::Value *x, int quarters) {
  Angle angle = reduceAngle(x);
  llvm::Value *turn = b.CreateAdd(angle.quarters, k.c32(quarters));
  auto bit = [&](int64_t which) {
    return b.CreateICmpNE(b.CreateAnd(turn, k.c32(which)), k.c32(0));
  };
  llvm::Value *value = select(bit(1), cosineOf(angle), sineOf(angle));
  return select(bit(2), b.CreateFNeg(value), value);
}

llvm::Value *ScalarMath::sin(llvm::Value *x) {
  return select(b.CreateFCmpOLT(abs(x), number(0x1p-27)), x, circular(x, 0)); // -0 too
}

llvm::Value *ScalarMath::cos(llvm::Value *x) { return circular(x, 1); }

llvm::Value *ScalarMath::tan(llvm::Value *x) {
  Angle angle = reduceAngle(x);
  llvm::Value *sine = sineOf(angle), *cosine = cosineOf(angle);
  llvm::Value *isOdd = b.CreateICmpNE(b.CreateAnd(angle.quarters, k.c32(1)), k.c32(0));
  llvm::Value *result = divide(select(isOdd, cosine, sine), select(isOdd, sine, cosine));
  result = select(isOdd, b.CreateFNeg(result), result);
  return select(b.CreateFCmpOLT(abs(x), number(0x1p-27)), x, result);
}

/// Of the smaller over the larger, which above tan(π/8) is turned by π/4 first:
/// atan q = π/4 + atan((q - 1)/(q + 1)). The result is k·π/4 ± that.
llvm::Value *ScalarMath::atan2(llvm::Value *y, llvm::Value *x) {
  constexpr double tanOfEighth = 0.41421356237309503;
  llvm::Value *p = abs(y), *q = abs(x);
  llvm::Value *isSteep = b.CreateFCmpOGT(p, q),
              *isBack = b.CreateICmpSLT(
                  b.CreateBitCast(x, isDouble ? k.i64 : k.i32),
                  llvm::Constant::getNullValue(isDouble ? k.i64 : k.i32)); // of -0, too
  llvm::Value *small = select(isSteep, q, p), *large = select(isSteep, p, q);
  llvm::Value *isDiagonal = b.CreateFCmpOEQ(small, infinity()); // both infinite
  small = select(isDiagonal, number(1), small);
  large = select(b.CreateOr(isDiagonal, b.CreateFCmpOEQ(large, number(0))), number(1), large);
  // Sums must not overflow; f32's division is best in the middle.
  llvm::Value *factor = select(b.CreateFCmpOGT(large, number(isDouble ? 0x1p1000 : 0x1p60)),
                               number(isDouble ? 0x1p-100 : 0x1p-60), number(1));
  if (!isDouble)
    factor = select(b.CreateFCmpOLT(large, number(0x1p-60)), number(0x1p60), factor);
  small = b.CreateFMul(small, factor);
  large = b.CreateFMul(large, factor);
  llvm::Value *isTurned = b.CreateFCmpOGT(small, b.CreateFMul(large, number(tanOfEighth)));
  llvm::Value *above = select(isTurned, b.CreateFSub(small, large), small);
  llvm::Value *below = select(isTurned, b.CreateFAdd(small, large), large);
  llvm::Value *part = nearAtan(divide(above, below));
  part = select(b.CreateXor(isSteep, isBack), b.CreateFNeg(part), part);
  // k is 1 or 3 when turned, otherwise 2 when steep, otherwise 0 or 4.
  auto offset = [&](double one, double two, double three, double four) {
    return select(isTurned, select(isBack, number(three), number(one)),
                  select(isSteep, number(two), select(isBack, number(four), number(0))));
  };
  constexpr double quarter = 0x1.921fb54442d18p-1, quarterLow = 0x1.1a62633145c07p-55;
  constexpr double three = 0x1.2d97c7f3321d2p+1, threeLow = 0x1.a79394c9e8a0ap-54;
  auto rounded = [&](double value) {
    return isDouble ? value : static_cast<double>(static_cast<float>(value));
  };
  auto rest = [&](double value, double low) { return value - rounded(value) + low; };
  llvm::Value *high = offset(quarter, 2 * quarter, three, 4 * quarter);
  llvm::Value *low = offset(rest(quarter, quarterLow), rest(2 * quarter, 2 * quarterLow),
                            rest(three, threeLow), rest(4 * quarter, 4 * quarterLow));
  llvm::Value *result = b.CreateFAdd(high, b.CreateFAdd(part, low));
  return select(b.CreateFCmpUNO(x, y), b.CreateFAdd(x, y), copySign(result, y));
}

llvm::Value *ScalarMath::asin(llvm::Value *x) {
  return atan2(x, sqrt(fma(b.CreateFNeg(x), x, number(1))));
}

llvm::Value *ScalarMath::acos(llvm::Value *x) {
  return atan2(sqrt(fma(b.CreateFNeg(x), x, number(1))), x);
}

llvm::Value *ScalarMath::sinh(llvm::Value *x) {
  // With e = e^|x| - 1: (e + e/(e + 1))/2.
  llvm::Value *magnitude = abs(x), *e = expm1(magnitude);
  llvm::Value *near = b.CreateFAdd(e, quotient(e, b.CreateFAdd(e, number(1))));
  llvm::Value *result = select(b.CreateFCmpOGT(magnitude, number(largeAngle)), exp2n(magnitude, -1),
                               b.CreateFMul(near, number(0.5)));
  return copySign(result, x);
}

llvm::Value *ScalarMath::cosh(llvm::Value *x) {
  llvm::Value *magnitude = abs(x), *e = exp(magnitude);
  llvm::Value *near = fma(e, number(0.5), quotient(number(0.5), e));
  return select(b.CreateFCmpOGT(magnitude, number(largeAngle)), exp2n(magnitude, -1), near);
}

llvm::Value *ScalarMath::asinh(llvm::Value *x) {
  // log(a + √(a² + 1)) = log1p(a + a²/(1 + √(a² + 1))).
  llvm::Value *a = abs(x), *square = b.CreateFMul(a, a);
  llvm::Value *root = sqrt(b.CreateFAdd(square, number(1)));
  llvm::Value *near = log1p(b.CreateFAdd(a, quotient(square, b.CreateFAdd(root, number(1)))));
  llvm::Value *far = b.CreateFAdd(log(a), number(std::log(2.0)));
  return copySign(select(b.CreateFCmpOGT(a, number(hugeArgument)), far, near), x);
}

llvm::Value *ScalarMath::acosh(llvm::Value *x) {
  // With t = x - 1: log(x + √(x² - 1)) = log1p(t + √(2t + t²)).
  llvm::Value *t = b.CreateFSub(x, number(1));
  llvm::Value *root = sqrt(fma(t, t, b.CreateFAdd(t, t)));
  llvm::Value *near = log1p(b.CreateFAdd(t, root));
  llvm::Value *far = b.CreateFAdd(log(x), number(std::log(2.0)));
  llvm::Value *result = select(b.CreateFCmpOGT(x, number(hugeArgument)), far, near);
  return select(b.CreateFCmpOLT(x, number(1)), nan(), result);
}

llvm::Value *ScalarMath::atanh(llvm::Value *x) {
  // ½·log((1 + a)/(1 - a)) = ½·log1p(2a/(1 - a)).
  llvm::Value *a = abs(x);
  llvm::Value *ratio = quotient(b.CreateFAdd(a, a), b.CreateFSub(number(1), a));
  return copySign(b.CreateFMul(log1p(ratio), number(0.5)), x);
}

/// Long division of the significands: 2^n·r mod m, as many bits at once as a word has room for.
llvm::Value *ScalarMath::remainder(llvm::Value *x, llvm::Value *y) {
  int mantissa = isDouble ? 52 : 23;
  llvm::Type *integer = isDouble ? k.i64 : k.i32;
  auto split = [&](llvm::Value *magnitude) {
    llvm::Value *bits = b.CreateZExt(b.CreateBitCast(magnitude, integer), k.i64);
    llvm::Value *exponent = b.CreateLShr(bits, mantissa);
    llvm::Value *fraction = b.CreateAnd(bits, k.c64((int64_t(1) << mantissa) - 1));
    llvm::Value *isNormal = b.CreateICmpNE(exponent, k.c64(0));
    return std::pair(
        select(isNormal, b.CreateOr(fraction, k.c64(int64_t(1) << mantissa)), fraction),
        select(isNormal, exponent, k.c64(1)));
  };
  llvm::Value *a = abs(x), *d = abs(y);
  auto [m, e] = split(a);
  auto [divisor, f] = split(d);
  llvm::Value *isNumber =
      b.CreateAnd(b.CreateFCmpOLT(a, infinity()), b.CreateFCmpOGT(d, number(0))); // of NaN: neither
  divisor = select(b.CreateICmpEQ(divisor, k.c64(0)), k.c64(1), divisor);
  llvm::Value *places = b.CreateSub(e, f);
  llvm::Value *isDivided = b.CreateAnd(isNumber, b.CreateFCmpOGE(a, d));
  places = select(isDivided, places, k.c64(0));
  int64_t most = 64 - (mantissa + 1);
  Values rest = k.forLoop(k.c64(0), places, k.c64(most), {b.CreateURem(m, divisor)},
                          [&](llvm::Value *done, const Values &carried) {
                            llvm::Value *left = b.CreateSub(places, done);
                            llvm::Value *by =
                                select(b.CreateICmpSLT(left, k.c64(most)), left, k.c64(most));
                            return Values{b.CreateURem(b.CreateShl(carried[0], by), divisor)};
                          });
  // r·2^(f - bias - mantissa): the scale that may be a denormal, in two steps.
  llvm::Value *scale = b.CreateBitCast(b.CreateTrunc(b.CreateShl(f, mantissa), integer),
                                       type); // 2^(f - bias), normal
  llvm::Value *value =
      b.CreateFMul(b.CreateUIToFP(rest[0], type), number(std::ldexp(1, -mantissa)));
  value = b.CreateFMul(value, scale);
  llvm::Value *result = select(isDivided, value, a);
  return select(isNumber, copySign(result, x), nan());
}

} // namespace tilewright
