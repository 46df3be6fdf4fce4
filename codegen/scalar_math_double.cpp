// f64: fused multiply-adds, division and square root, which round correctly, and sums of two
// numbers where one is not enough. All polynomials go through Chebyshev's nodes of the interval
// that is stated; errors are relative to the function, with the coefficients as rounded.
#include "codegen/scalar_math_types.h"

#include <cmath>

namespace tilewright {

std::unique_ptr<ScalarMath> ScalarMath::make(KernelBuilder &builder, bool isDouble) {
  if (isDouble)
    return std::make_unique<DoubleMath>(builder);
  return std::make_unique<SingleMath>(builder);
}

DoubleMath::Pair DoubleMath::sum(llvm::Value *x, llvm::Value *y) {
  llvm::Value *high = b.CreateFAdd(x, y), *ofY = b.CreateFSub(high, x);
  llvm::Value *lostOfX = b.CreateFSub(x, b.CreateFSub(high, ofY));
  return {high, b.CreateFAdd(lostOfX, b.CreateFSub(y, ofY))};
}

DoubleMath::Pair DoubleMath::fastSum(llvm::Value *x, llvm::Value *y) {
  llvm::Value *high = b.CreateFAdd(x, y);
  return {high, b.CreateFAdd(b.CreateFSub(x, high), y)};
}

DoubleMath::Pair DoubleMath::product(llvm::Value *x, llvm::Value *y) {
  llvm::Value *high = b.CreateFMul(x, y);
  return {high, fma(x, y, b.CreateFNeg(high))};
}

llvm::Value *DoubleMath::powerOfTwo(llvm::Value *n) {
  llvm::Value *field = b.CreateZExt(b.CreateAdd(n, k.c32(1023)), k.i64);
  return b.CreateBitCast(b.CreateShl(field, 52), k.f64);
}

llvm::Value *DoubleMath::scale(llvm::Value *x, llvm::Value *n) {
  llvm::Value *half = b.CreateAShr(n, 1);
  x = b.CreateFMul(x, powerOfTwo(half)); // exact: far from both ends
  return b.CreateFMul(x, powerOfTwo(b.CreateSub(n, half)));
}

DoubleMath::Exponent DoubleMath::splitExponent(llvm::Value *x, llvm::Value *low) {
  // ln 2 in two parts, the first of 32 bits, so that n times it is exact.
  llvm::Value *n = rint(b.CreateFMul(x, number(0x1.71547652b82fep+0)));
  llvm::Value *minusN = b.CreateFNeg(n);
  llvm::Value *r = fma(minusN, number(0x1.62e42fee00000p-1), x);
  return {toInt(n), sum(r, fma(minusN, number(0x1.a39ef35793c76p-33), low))};
}

llvm::Value *DoubleMath::nearExpm1(const Pair &rest) {
  // r + r²·P(r): degree 10 on [-ln2/2, ln2/2], 2^-60.
  llvm::Value *r = rest.high;
  llvm::Value *p =
      polynomial(r, {0x1.1f730349868cep-29, 0x1.af4de97ca4194p-26, 0x1.27e4db646b17ep-22,
                     0x1.71de0231960ebp-19, 0x1.a01a01a6d889cp-16, 0x1.a01a01abe7fe1p-13,
                     0x1.6c16c16c162d4p-10, 0x1.11111111100dcp-7, 0x1.5555555555556p-5,
                     0x1.5555555555557p-3, 0x1.0000000000000p-1});
  llvm::Value *tail = fma(b.CreateFMul(r, r), p, fma(rest.low, r, rest.low));
  return b.CreateFAdd(r, tail);
}

llvm::Value *DoubleMath::exp2n(llvm::Value *x, llvm::Value *low, int n) {
  // Beyond these limits the result is infinite or zero in any case.
  constexpr double least = -746, most = 711;
  x = select(b.CreateFCmpOGT(x, number(most)), number(most), x);
  x = select(b.CreateFCmpOLT(x, number(least)), number(least), x);
  Exponent split = splitExponent(x, low);
  llvm::Value *value = b.CreateFAdd(nearExpm1(split.rest), number(1));
  return scale(value, b.CreateAdd(split.n, k.c32(n)));
}

llvm::Value *DoubleMath::expm1(llvm::Value *x) {
  // 2^n·((e^r - 1) + (1 - 2^-n)).
  constexpr double least = -50, most = 711;
  llvm::Value *clamped = select(b.CreateFCmpOGT(x, number(most)), number(most), x);
  clamped = select(b.CreateFCmpOLT(x, number(least)), number(least), clamped);
  Exponent split = splitExponent(clamped, number(0));
  llvm::Value *isLarge = b.CreateICmpSGT(split.n, k.c32(60)); // 2^-n is lost
  llvm::Value *inverse = powerOfTwo(b.CreateNeg(select(isLarge, k.c32(60), split.n)));
  llvm::Value *value = b.CreateFAdd(nearExpm1(split.rest), b.CreateFSub(number(1), inverse));
  return select(b.CreateFCmpOLT(abs(x), number(0x1p-54)), x, scale(value, split.n)); // -0 too
}

/// x = m·2^e, m in [√½, √2), and log m = 2·atanh s with s = (m - 1)/(m + 1). Its first two terms
/// are pairs, and s too.
DoubleMath::Pair DoubleMath::logOf(const Pair &x) {
  constexpr int64_t rootHalf = 0x3fe6a09e667f3bcd;
  llvm::Value *isTiny = b.CreateFCmpOLT(x.high, number(0x1p-1022));
  llvm::Value *scaled = select(isTiny, b.CreateFMul(x.high, number(0x1p54)), x.high);
  llvm::Value *bits = b.CreateBitCast(scaled, k.i64);
  llvm::Value *exponent = b.CreateAShr(b.CreateSub(bits, k.c64(rootHalf)), 52);
  llvm::Value *m = b.CreateBitCast(b.CreateSub(bits, b.CreateShl(exponent, 52)), k.f64);
  exponent = b.CreateTrunc(exponent, k.i32);
  // What the second part adds to m. It is zero for a tiny x, and nothing for a huge one.
  llvm::Value *isHuge = b.CreateICmpSGT(exponent, k.c32(1000));
  llvm::Value *unit = powerOfTwo(b.CreateNeg(select(isHuge, k.c32(1000), exponent)));
  Pair f = sum(b.CreateFSub(m, number(1)), b.CreateFMul(x.low, unit));
  exponent = b.CreateSub(exponent, select(isTiny, k.c32(54), k.c32(0)));
  llvm::Value *e = b.CreateSIToFP(exponent, k.f64);

  Pair t = fastSum(number(2), f.high);
  llvm::Value *inverse = divide(number(1), t.high);
  llvm::Value *s = b.CreateFMul(f.high, inverse), *minusS = b.CreateFNeg(s);
  llvm::Value *lack = fma(minusS, t.high, f.high);
  lack = fma(minusS, b.CreateFAdd(t.low, f.low), lack);
  llvm::Value *sLow = b.CreateFMul(b.CreateFAdd(lack, f.low), inverse);
  // atanh s = s·(1 + z/3 + z²·Q(z)), z = s²: degree 7 on [0, (3 - 2√2)²], 2^-66.
  Pair z = product(s, s);
  z.low = fma(b.CreateFAdd(s, s), sLow, z.low);
  llvm::Value *q =
      polynomial(z.high, {0x1.e03a7acf07f85p-5, 0x1.df7ba1f4809c3p-5, 0x1.1118cd67251c5p-4,
                          0x1.3b1395b82701ep-4, 0x1.745d177ad436ap-4, 0x1.c71c71c6ea5acp-4,
                          0x1.2492492492522p-3, 0x1.999999999999ap-3});
  llvm::Value *third = number(0x1.5555555555555p-2);
  Pair w = product(z.high, third);
  w.low = fma(z.low, third, fma(z.high, number(0x1.5555555555555p-56), w.low));
  Pair series = fastSum(w.high, b.CreateFMul(b.CreateFMul(z.high, z.high), q));
  series.low = b.CreateFAdd(series.low, w.low);
  // 2s + 2s·series + e·ln 2.
  llvm::Value *twice = b.CreateFAdd(s, s), *twiceLow = b.CreateFAdd(sLow, sLow);
  Pair more = product(twice, series.high);
  more.low = fma(twice, series.low, fma(twiceLow, series.high, more.low));
  Pair log = fastSum(twice, more.high);
  log.low = b.CreateFAdd(log.low, b.CreateFAdd(more.low, twiceLow));
  Pair result = fastSum(b.CreateFMul(e, number(0x1.62e42fee00000p-1)), log.high);
  result.low = b.CreateFAdd(result.low, fma(e, number(0x1.a39ef35793c76p-33), log.low));
  return fastSum(result.high, result.low);
}

llvm::Value *DoubleMath::log(llvm::Value *x) {
  return withLogLimits(x, logOf({x, number(0)}).high);
}

llvm::Value *DoubleMath::log1p(llvm::Value *x) {
  Pair whole = sum(number(1), x);
  llvm::Value *result = withLogLimits(whole.high, logOf(whole).high);
  return select(b.CreateFCmpOLT(abs(x), number(0x1p-54)), x, result); // -0 too
}

llvm::Value *DoubleMath::raise(llvm::Value *x, llvm::Value *y) {
  Pair log = logOf({x, number(0)});
  Pair exponent = product(y, withLogLimits(x, log.high));
  llvm::Value *low = fma(y, log.low, exponent.low);
  // Where the first part alone decides, the second may be no number.
  llvm::Value *isModerate = b.CreateFCmpOLT(abs(exponent.high), number(1000));
  return exp2n(exponent.high, select(isModerate, low, number(0)), 0);
}

llvm::Value *DoubleMath::tanh(llvm::Value *x) {
  // With e = e^2|x| - 1: e/(e + 2).
  llvm::Value *magnitude = abs(x), *e = expm1(b.CreateFMul(magnitude, number(2)));
  llvm::Value *near = divide(e, b.CreateFAdd(e, number(2)));
  return copySign(select(b.CreateFCmpOGT(magnitude, number(22)), number(1), near), x);
}

llvm::Value *DoubleMath::erf(llvm::Value *x) {
  // Up to 1: x + x·E(x²), degree 12, 2^-55.5. From 1 to 6: 1 - e^-x²·F(t), t = (x - 2½)/(x + 2½),
  // degree 16, 2^-54.4 of erfc; beyond, one.
  llvm::Value *magnitude = abs(x), *square = b.CreateFMul(x, x);
  llvm::Value *near =
      polynomial(square, {0x1.05ffd737fb32ep-34, -0x1.389d4f2641625p-30, 0x1.f7b4bf3b13964p-27,
                          -0x1.5f1ecb6f0764cp-23, 0x1.b9df224ca4b97p-20, -0x1.f4d1e3183f7aep-17,
                          0x1.f9a321d5b8e1ep-14, -0x1.c02db3dac435fp-11, 0x1.565bcd0dbaa38p-8,
                          -0x1.b82ce31284e00p-6, 0x1.ce2f21a042b30p-4, -0x1.812746b0379e6p-2,
                          0x1.06eba8214db69p-3});
  near = fma(x, near, x);
  llvm::Value *a = select(b.CreateFCmpOGT(magnitude, number(6)), number(6), magnitude);
  llvm::Value *t = divide(b.CreateFSub(a, number(2.5)), b.CreateFAdd(a, number(2.5)));
  llvm::Value *far =
      polynomial(t, {0x1.6963acf7d435fp-22, 0x1.16766f2184636p-23, -0x1.e2653bc7ba480p-20,
                     -0x1.3697a24d6b62bp-19, 0x1.fac26072946c3p-18, 0x1.3857b73aad27dp-16,
                     -0x1.1ebd6c2acd263p-15, -0x1.0e46891800d71p-13, 0x1.def2c67e7a541p-13,
                     0x1.cb3b6224d655cp-11, -0x1.5a5716cc0a84ap-9, -0x1.05bb2fe61ffbcp-8,
                     0x1.470ba1f67df6bp-5, -0x1.0011543716bf5p-3, 0x1.01c11a735cd9bp-2,
                     -0x1.7ca88dec217a7p-2, 0x1.afbb3f3b7343bp-3});
  llvm::Value *decay = exp(b.CreateFNeg(b.CreateFMul(a, a)));
  far = copySign(fma(b.CreateFNeg(decay), far, number(1)), x);
  return select(b.CreateFCmpOLT(magnitude, number(1)), near, far);
}

llvm::Value *DoubleMath::cbrt(llvm::Value *x) {
  // m·8^q with m in [1, 8): a polynomial of degree 4, 2^-7.7, and two of Halley's steps,
  // r·(1 - (r³ - m)/(2r³ + m)), each of which cubes the error; the last with r³ - m exact enough.
  llvm::Value *magnitude = abs(x);
  llvm::Value *isTiny = b.CreateFCmpOLT(magnitude, number(0x1p-1022));
  llvm::Value *scaled = select(isTiny, b.CreateFMul(magnitude, number(0x1p54)), magnitude);
  llvm::Value *bits = b.CreateBitCast(scaled, k.i64);
  // 1023 and 3·341 are alike.
  llvm::Value *exponent = b.CreateTrunc(b.CreateLShr(bits, 52), k.i32);
  llvm::Value *third = b.CreateUDiv(exponent, k.c32(3));
  llvm::Value *rest = b.CreateSub(exponent, b.CreateMul(third, k.c32(3)));
  llvm::Value *field = b.CreateShl(b.CreateZExt(b.CreateAdd(rest, k.c32(1023)), k.i64), 52);
  llvm::Value *m =
      b.CreateBitCast(b.CreateOr(b.CreateAnd(bits, k.c64((int64_t(1) << 52) - 1)), field), k.f64);
  llvm::Value *r =
      polynomial(m, {-0x1.2e387317adddep-12, 0x1.ca0ace5bab84ep-8, -0x1.166aa5a8ad33cp-4,
                     0x1.a612e6bf7887cp-2, 0x1.4ecb7ee28e2bbp-1});
  for (bool isLast : {false, true}) {
    Pair square = product(r, r);
    llvm::Value *excess = fma(square.high, r, b.CreateFNeg(m));
    if (isLast)
      excess = fma(square.low, r, excess);
    llvm::Value *cube = b.CreateFMul(square.high, r);
    llvm::Value *divisor = fma(cube, number(2), m);
    r = fma(b.CreateFNeg(r), divide(excess, divisor), r);
  }
  llvm::Value *q = b.CreateSub(third, select(isTiny, k.c32(341 + 18), k.c32(341)));
  llvm::Value *isNumber =
      b.CreateAnd(b.CreateFCmpONE(magnitude, number(0)), b.CreateFCmpONE(magnitude, infinity()));
  return copySign(select(isNumber, b.CreateFMul(r, powerOfTwo(q)), magnitude), x);
}

/// x - n·π/2 with π/2 in three parts: up to 2^30 the first product's rest is exact, and the error
/// of the whole below 2^-130.
ScalarMath::Angle DoubleMath::nearAngle(llvm::Value *x) {
  llvm::Value *n = rint(b.CreateFMul(x, number(0x1.45f306dc9c883p-1)));
  llvm::Value *minusN = b.CreateFNeg(n);
  llvm::Value *r = fma(minusN, number(0x1.921fb54442d18p+0), x);
  Pair second = product(minusN, number(0x1.1a62633145c07p-54));
  Pair angle = sum(r, second.high);
  angle.low = b.CreateFAdd(angle.low, second.low);
  angle = fastSum(angle.high, fma(minusN, number(-0x1.f1976b7ed8fbcp-110), angle.low));
  return {toInt(n), angle.high, angle.low};
}

llvm::Value *DoubleMath::sineOf(const Angle &angle) {
  // r + r³·S(r²), degree 6 on [0, (π/4)²], 2^-57; the second part times the cosine.
  llvm::Value *r = angle.high, *z = b.CreateFMul(r, r);
  llvm::Value *p =
      polynomial(z, {-0x1.ab17a79237a19p-41, 0x1.61217ec01749dp-33, -0x1.ae64541266378p-26,
                     0x1.71de3a54605eep-19, -0x1.a01a01a019936p-13, 0x1.1111111111110p-7,
                     -0x1.5555555555555p-3});
  llvm::Value *more =
      fma(angle.low, fma(z, number(-0.5), number(1)), b.CreateFMul(b.CreateFMul(r, z), p));
  return b.CreateFAdd(r, more);
}

llvm::Value *DoubleMath::cosineOf(const Angle &angle) {
  // 1 - r²/2 + r⁴·C(r²), degree 6 on [0, (π/4)²], 2^-59.5; what 1 - r²/2 lacks is added at the end.
  llvm::Value *r = angle.high, *z = b.CreateFMul(r, r), *half = b.CreateFMul(z, number(0.5));
  llvm::Value *p =
      polynomial(z, {0x1.ab783376962cfp-45, -0x1.9394b9c9c20a4p-37, 0x1.1eed8deb6d561p-29,
                     -0x1.27e4fb7712bdfp-22, 0x1.a01a01a019d0ap-16, -0x1.6c16c16c16c16p-10,
                     0x1.5555555555555p-5});
  Pair main = fastSum(number(1), b.CreateFNeg(half));
  llvm::Value *more = fma(b.CreateFNeg(r), angle.low, b.CreateFMul(b.CreateFMul(z, z), p));
  return b.CreateFAdd(main.high, b.CreateFAdd(main.low, more));
}

llvm::Value *DoubleMath::nearAtan(llvm::Value *t) {
  // t + t³·A(t²), degree 11 on [0, tan²(π/8)], 2^-58.
  llvm::Value *z = b.CreateFMul(t, t);
  llvm::Value *p =
      polynomial(z, {0x1.0a997ba33c1dbp-6, -0x1.1b1992aa413c9p-5, 0x1.74d3a7b43351ap-5,
                     -0x1.ac7858539e493p-5, 0x1.e199c62156609p-5, -0x1.110e84aa36d9dp-4,
                     0x1.3b1392a9c2d8bp-4, -0x1.745d165c497f3p-4, 0x1.c71c71c2fc236p-4,
                     -0x1.249249248d739p-3, 0x1.9999999999952p-3, -0x1.5555555555555p-2});
  return fma(b.CreateFMul(t, z), p, t);
}

} // namespace tilewright
