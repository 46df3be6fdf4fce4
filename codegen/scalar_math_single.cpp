// f32: out of what the special function unit has and fused multiply-adds.
#include "codegen/scalar_math_types.h"

namespace tilewright {

namespace {
constexpr double log2OfE = 1.4426950408889634, ln2 = 0.6931471805599453;
using Approx = KernelBuilder::Approx;
} // namespace

llvm::Value *SingleMath::isModerate(llvm::Value *x) {
  llvm::Value *magnitude = abs(x);
  return b.CreateAnd(b.CreateFCmpOGE(magnitude, k.cf(0x1p-100)),
                     b.CreateFCmpOLE(magnitude, k.cf(0x1p100)));
}

llvm::Value *SingleMath::divide(llvm::Value *x, llvm::Value *y) {
  if (const auto *number = llvm::dyn_cast<llvm::ConstantFP>(y)) { // of a power of two
    llvm::APFloat inverse(number->getValueAPF());
    if (inverse.getExactInverse(&inverse))
      return b.CreateFMul(x, llvm::ConstantFP::get(y->getType(), inverse));
  }
  // One Newton step with the residual x - y·q, which is exact: a quotient that is a float is found.
  llvm::Value *q = k.divideFull(x, y);
  llvm::Value *residual = fma(b.CreateFNeg(y), q, x);
  llvm::Value *refined = fma(residual, k.approx(Approx::Reciprocal, y), q);
  llvm::Value *isSafe = b.CreateAnd(isModerate(y), b.CreateAnd(isModerate(x), isModerate(q)));
  return b.CreateSelect(isSafe, refined, q);
}

llvm::Value *SingleMath::sqrt(llvm::Value *x) {
  llvm::Value *root = k.approx(Approx::Sqrt, x);
  llvm::Value *residual = fma(b.CreateFNeg(root), root, x);
  llvm::Value *half = b.CreateFMul(k.approx(Approx::Rsqrt, x), k.cf(0.5));
  return b.CreateSelect(isModerate(x), fma(residual, half, root), root);
}

llvm::Value *SingleMath::exp2n(llvm::Value *x, int n) {
  // 2^t with t = fl(x·log2 e); what t lacks of the product is made good by a factor 1 + ln2·lack.
  // Beyond these limits the result is infinite or zero in any case.
  constexpr double low = -104.5, high = 90.0;
  x = b.CreateSelect(b.CreateFCmpOGT(x, k.cf(high)), k.cf(high), x);
  x = b.CreateSelect(b.CreateFCmpOLT(x, k.cf(low)), k.cf(low), x);
  llvm::Value *t = b.CreateFMul(x, k.cf(log2OfE));
  llvm::Value *lack = fma(x, k.cf(log2OfE), b.CreateFNeg(t));
  lack = fma(x, k.cf(log2OfE - static_cast<double>(static_cast<float>(log2OfE))), lack);
  if (n != 0) // exact over one
    t = b.CreateFAdd(t, k.cf(n));
  return b.CreateFMul(k.approx(Approx::Exp2, t), fma(lack, k.cf(ln2), k.cf(1)));
}

llvm::Value *SingleMath::expm1(llvm::Value *x) {
  // Near zero x + x²·P(x) with the coefficients of the Cephes library's expf (Moshier); then
  // e^x - 1 = tanh(x/2)·(e^x + 1); far away there is nothing to lose, and tanh's limits would give
  // infinity times one.
  llvm::Value *e = exp(x), *magnitude = abs(x);
  llvm::Value *p = polynomial(x, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3,
                                  4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1});
  llvm::Value *near = fma(b.CreateFMul(x, x), p, x);
  llvm::Value *middle = b.CreateFMul(tanh(b.CreateFMul(x, k.cf(0.5))), b.CreateFAdd(e, k.cf(1)));
  llvm::Value *far = b.CreateFSub(e, k.cf(1));
  llvm::Value *result = b.CreateSelect(b.CreateFCmpOLT(magnitude, k.cf(1.25)), middle, far);
  result = b.CreateSelect(b.CreateFCmpOLT(magnitude, k.cf(0.34)), near, result);
  return copySign(result, x); // of zero, too
}

llvm::Value *SingleMath::log(llvm::Value *x) {
  // x = m·2^e with m in [√½, √2); log m = f - f²/2 + f³·P(f), f = m - 1, with the coefficients of
  // the Cephes library's logf (Moshier), and ln2 in two parts.
  constexpr int rootHalf = 0x3f3504f3;
  llvm::Value *isTiny = b.CreateFCmpOLT(x, k.cf(0x1p-126));
  llvm::Value *scaled = b.CreateSelect(isTiny, b.CreateFMul(x, k.cf(0x1p23)), x);
  llvm::Value *bits = b.CreateBitCast(scaled, k.i32);
  llvm::Value *exponent = b.CreateAShr(b.CreateSub(bits, k.c32(rootHalf)), 23);
  llvm::Value *m = b.CreateBitCast(b.CreateSub(bits, b.CreateShl(exponent, 23)), k.f32);
  exponent = b.CreateSub(exponent, b.CreateSelect(isTiny, k.c32(23), k.c32(0)));
  llvm::Value *e = b.CreateSIToFP(exponent, k.f32);
  llvm::Value *f = b.CreateFSub(m, k.cf(1)), *square = b.CreateFMul(f, f);
  llvm::Value *p = polynomial(f, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1,
                                  -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
                                  2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
  llvm::Value *tail = b.CreateFMul(b.CreateFMul(f, square), p);
  tail = fma(e, k.cf(-2.12194440e-4), tail);
  tail = fma(square, k.cf(-0.5), tail);
  llvm::Value *result = fma(e, k.cf(0.693359375), b.CreateFAdd(f, tail));
  return withLogLimits(x, result);
}

llvm::Value *SingleMath::log1p(llvm::Value *x) {
  // With u = fl(1 + x), log(u)·x/(u - 1) cancels the rounding of u (Higham, Accuracy and Stability
  // of Numerical Algorithms, problem 1.5). Below 2^-6 the series is better than log2's absolute
  // error.
  llvm::Value *u = b.CreateFAdd(x, k.cf(1));
  llvm::Value *d = b.CreateFSub(u, k.cf(1));
  llvm::Value *corrected = b.CreateFMul(log(u), k.divideFull(x, d));
  llvm::Value *plain = log(u);
  llvm::Value *series =
      b.CreateFMul(x, polynomial(x, {-1.0 / 6, 1.0 / 5, -1.0 / 4, 1.0 / 3, -1.0 / 2, 1.0}));
  llvm::Value *result = b.CreateSelect(b.CreateFCmpOLT(abs(x), k.cf(1 << 20)), corrected, plain);
  return b.CreateSelect(b.CreateFCmpOLT(abs(x), k.cf(0.015625)), series, result);
}

llvm::Value *SingleMath::tanh(llvm::Value *x) {
  // Near zero an odd polynomial with the coefficients of the Cephes library's tanhf (Moshier);
  // elsewhere 1 - 2/(e^2x + 1), whose limits are right.
  llvm::Value *magnitude = abs(x);
  llvm::Value *e = exp(b.CreateFMul(magnitude, k.cf(2)));
  llvm::Value *far = b.CreateFSub(k.cf(1), k.divideFull(k.cf(2), b.CreateFAdd(e, k.cf(1))));
  llvm::Value *square = b.CreateFMul(x, x);
  llvm::Value *p = polynomial(square, {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2,
                                       1.33314422036e-1, -3.33332819422e-1});
  llvm::Value *near = fma(b.CreateFMul(x, square), p, x);
  return copySign(b.CreateSelect(b.CreateFCmpOLT(magnitude, k.cf(0.625)), near, far), x);
}

llvm::Value *SingleMath::erf(llvm::Value *x) {
  // Abramowitz and Stegun 7.1.26 (absolute error 1.5e-7) away from zero, the Maclaurin series
  // 2/√π · Σ (-1)^n x^(2n+1) / (n! (2n+1)) near it.
  llvm::Value *magnitude = abs(x);
  llvm::Value *t = k.divideFull(k.cf(1), fma(magnitude, k.cf(0.3275911), k.cf(1)));
  llvm::Value *sum = b.CreateFMul(
      t, polynomial(t, {1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592}));
  llvm::Value *square = b.CreateFMul(x, x);
  llvm::Value *far = b.CreateFSub(k.cf(1), b.CreateFMul(sum, exp(b.CreateFNeg(square))));
  constexpr double scale = 1.1283791670955126; // 2/√π
  llvm::Value *near = b.CreateFMul(x, polynomial(square, {-scale / 1320, scale / 216, -scale / 42,
                                                          scale / 10, -scale / 3, scale}));
  return b.CreateSelect(b.CreateFCmpOLT(magnitude, k.cf(0.5)), near, copySign(far, x));
}

llvm::Value *SingleMath::rsqrt(llvm::Value *x) { return k.approx(Approx::Rsqrt, x); }

llvm::Value *SingleMath::cbrt(llvm::Value *x) {
  // r = e^(log x / 3) and one Newton step, r - (r - x/r²)/3.
  llvm::Value *magnitude = abs(x);
  llvm::Value *r = exp(b.CreateFMul(log(magnitude), k.cf(1.0 / 3)));
  llvm::Value *lack = b.CreateFSub(r, k.divideFull(magnitude, b.CreateFMul(r, r)));
  llvm::Value *root = fma(lack, k.cf(-1.0 / 3), r);
  llvm::Value *isNumber =
      b.CreateAnd(b.CreateFCmpONE(magnitude, k.cf(0)), b.CreateFCmpONE(magnitude, infinity()));
  return copySign(b.CreateSelect(isNumber, root, magnitude), x);
}

llvm::Value *SingleMath::raise(llvm::Value *x, llvm::Value *y) {
  return exp(b.CreateFMul(y, log(x)));
}

ScalarMath::Angle SingleMath::nearAngle(llvm::Value *x) {
  // r = x - n·π/2 with π/2 in three parts (Cody and Waite).
  llvm::Value *n =
      k.intrinsic(llvm::Intrinsic::rint, {k.f32}, {b.CreateFMul(x, k.cf(0.6366197723675814))});
  llvm::Value *minusN = b.CreateFNeg(n);
  llvm::Value *r = fma(minusN, k.cf(0x1.921fb6p0), x);
  r = fma(minusN, k.cf(-0x1.777a5cp-25), r);
  r = fma(minusN, k.cf(-0x1.ee59dap-50), r);
  return {toInt(n), r, k.cf(0)};
}

// In [-π/4, π/4] the minimax polynomials of the Cephes library's sinf and cosf (Moshier).
llvm::Value *SingleMath::sineOf(const Angle &angle) {
  llvm::Value *r = angle.high, *z = b.CreateFMul(r, r);
  return fma(b.CreateFMul(r, z),
             polynomial(z, {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1}), r);
}

llvm::Value *SingleMath::cosineOf(const Angle &angle) {
  llvm::Value *z = b.CreateFMul(angle.high, angle.high);
  return fma(b.CreateFMul(z, z),
             polynomial(z, {2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2}),
             fma(z, k.cf(-0.5), k.cf(1)));
}

llvm::Value *SingleMath::nearAtan(llvm::Value *t) {
  // t + t³·A(t²): degree 4 through Chebyshev's nodes in t² on [0, tan²(π/8)], 2^-28.3 relative.
  llvm::Value *z = b.CreateFMul(t, t);
  llvm::Value *p =
      polynomial(z, {-0x1.082f6cp-4, 0x1.b80990p-4, -0x1.241fe6p-3, 0x1.99972ep-3, -0x1.555554p-2});
  return fma(b.CreateFMul(t, z), p, t);
}

} // namespace tilewright
