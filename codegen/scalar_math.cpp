#include "codegen/scalar_math.h"

#include <limits>

namespace tilewright {

namespace {
constexpr double log2OfE = 1.4426950408889634, ln2 = 0.6931471805599453;
using Approx = KernelBuilder::Approx;
} // namespace

llvm::Value *ScalarMath::abs(llvm::Value *x) {
  return k.intrinsic(llvm::Intrinsic::fabs, {k.f32}, {x});
}

llvm::Value *ScalarMath::copySign(llvm::Value *magnitude, llvm::Value *sign) {
  return k.intrinsic(llvm::Intrinsic::copysign, {k.f32}, {magnitude, sign});
}

llvm::Value *ScalarMath::fma(llvm::Value *x, llvm::Value *y, llvm::Value *z) {
  return k.intrinsic(llvm::Intrinsic::fma, {k.f32}, {x, y, z});
}

llvm::Value *ScalarMath::polynomial(llvm::Value *x, std::initializer_list<double> coefficients) {
  llvm::Value *sum = nullptr;
  for (double coefficient : coefficients)
    sum = sum ? fma(sum, x, k.cf(coefficient)) : k.cf(coefficient);
  return sum;
}

llvm::Value *ScalarMath::exp(llvm::Value *x) {
  return k.approx(Approx::Exp2, b.CreateFMul(x, k.cf(log2OfE)));
}

llvm::Value *ScalarMath::expm1(llvm::Value *x) {
  // e^x - 1 = tanh(x/2) · (e^x + 1), which loses nothing near zero; far away there is nothing to
  // lose, and tanh's limits would give infinity times one in any case.
  llvm::Value *e = exp(x);
  llvm::Value *near = b.CreateFMul(tanh(b.CreateFMul(x, k.cf(0.5))), b.CreateFAdd(e, k.cf(1)));
  llvm::Value *far = b.CreateFSub(e, k.cf(1));
  return b.CreateSelect(b.CreateFCmpOLT(abs(x), k.cf(1)), near, far);
}

llvm::Value *ScalarMath::log(llvm::Value *x) {
  return b.CreateFMul(k.approx(Approx::Log2, x), k.cf(ln2));
}

llvm::Value *ScalarMath::log1p(llvm::Value *x) {
  // With u = fl(1 + x), log(u)·x/(u - 1) cancels the rounding of u (Higham, Accuracy and Stability
  // of Numerical Algorithms, problem 1.5). Below 2^-6 the series is better than log2's absolute
  // error.
  llvm::Value *u = b.CreateFAdd(x, k.cf(1));
  llvm::Value *d = b.CreateFSub(u, k.cf(1));
  llvm::Value *corrected = b.CreateFMul(log(u), b.CreateFDiv(x, d));
  llvm::Value *plain = log(u);
  llvm::Value *series =
      b.CreateFMul(x, polynomial(x, {-1.0 / 6, 1.0 / 5, -1.0 / 4, 1.0 / 3, -1.0 / 2, 1.0}));
  llvm::Value *result = b.CreateSelect(b.CreateFCmpOLT(abs(x), k.cf(1 << 20)), corrected, plain);
  return b.CreateSelect(b.CreateFCmpOLT(abs(x), k.cf(0.015625)), series, result);
}

llvm::Value *ScalarMath::tanh(llvm::Value *x) {
  // Near zero the Maclaurin series; elsewhere 1 - 2/(e^2x + 1), whose limits are right.
  llvm::Value *magnitude = abs(x);
  llvm::Value *e = exp(b.CreateFMul(magnitude, k.cf(2)));
  llvm::Value *far = b.CreateFSub(k.cf(1), b.CreateFDiv(k.cf(2), b.CreateFAdd(e, k.cf(1))));
  llvm::Value *square = b.CreateFMul(x, x);
  llvm::Value *near = b.CreateFMul(
      x, polynomial(square, {-1382.0 / 155925, 62.0 / 2835, -17.0 / 315, 2.0 / 15, -1.0 / 3, 1.0}));
  return b.CreateSelect(b.CreateFCmpOLT(magnitude, k.cf(0.25)), near, copySign(far, x));
}

llvm::Value *ScalarMath::logistic(llvm::Value *x) {
  return b.CreateFDiv(k.cf(1), b.CreateFAdd(exp(b.CreateFNeg(x)), k.cf(1)));
}

llvm::Value *ScalarMath::erf(llvm::Value *x) {
  // Abramowitz and Stegun 7.1.26 (absolute error 1.5e-7) away from zero, the Maclaurin series
  // 2/√π · Σ (-1)^n x^(2n+1) / (n! (2n+1)) near it.
  llvm::Value *magnitude = abs(x);
  llvm::Value *t = b.CreateFDiv(k.cf(1), fma(magnitude, k.cf(0.3275911), k.cf(1)));
  llvm::Value *sum = b.CreateFMul(
      t, polynomial(t, {1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592}));
  llvm::Value *square = b.CreateFMul(x, x);
  llvm::Value *far = b.CreateFSub(k.cf(1), b.CreateFMul(sum, exp(b.CreateFNeg(square))));
  constexpr double scale = 1.1283791670955126; // 2/√π
  llvm::Value *near = b.CreateFMul(x, polynomial(square, {-scale / 1320, scale / 216, -scale / 42,
                                                          scale / 10, -scale / 3, scale}));
  return b.CreateSelect(b.CreateFCmpOLT(magnitude, k.cf(0.5)), near, copySign(far, x));
}

llvm::Value *ScalarMath::rsqrt(llvm::Value *x) { return k.approx(Approx::Rsqrt, x); }

llvm::Value *ScalarMath::power(llvm::Value *x, llvm::Value *y) {
  // |x|^y with the sign of x where y is an odd integer; NaN for negative x and fractional y.
  llvm::Value *magnitude = k.approx(Approx::Exp2, b.CreateFMul(y, k.approx(Approx::Log2, abs(x))));
  auto floorOf = [&](llvm::Value *v) { return k.intrinsic(llvm::Intrinsic::floor, {k.f32}, {v}); };
  llvm::Value *isInteger = b.CreateFCmpOEQ(floorOf(y), y);
  llvm::Value *half = b.CreateFMul(y, k.cf(0.5));
  llvm::Value *isOdd = b.CreateAnd(isInteger, b.CreateFCmpUNE(floorOf(half), half));
  llvm::Value *isNegative = b.CreateFCmpOLT(x, k.cf(0));
  llvm::Value *zeroOrOdd = b.CreateAnd(isOdd, b.CreateFCmpOLE(x, k.cf(0)));
  llvm::Value *result = b.CreateSelect(zeroOrOdd, copySign(magnitude, x), magnitude);
  llvm::Value *nan = k.cf(std::numeric_limits<double>::quiet_NaN());
  result = b.CreateSelect(b.CreateAnd(isNegative, b.CreateNot(isInteger)), nan, result);
  llvm::Value *isOne =
      b.CreateOr(b.CreateFCmpOEQ(y, k.cf(0)), b.CreateFCmpOEQ(x, k.cf(1))); // even of NaN
  return b.CreateSelect(isOne, k.cf(1), result);
}

llvm::Value *ScalarMath::cbrt(llvm::Value *x) {
  llvm::Value *root =
      k.approx(Approx::Exp2, b.CreateFMul(k.approx(Approx::Log2, abs(x)), k.cf(1.0 / 3)));
  return copySign(root, x);
}

llvm::Value *ScalarMath::withinPi(llvm::Value *x) {
  // x - round(x / 2π)·2π with 2π in three parts (Cody and Waite); good up to |x| of about 1e5.
  llvm::Value *turns =
      k.intrinsic(llvm::Intrinsic::rint, {k.f32}, {b.CreateFMul(x, k.cf(0.15915494309189535))});
  llvm::Value *minusTurns = b.CreateFNeg(turns);
  llvm::Value *r = fma(minusTurns, k.cf(6.28125), x);
  r = fma(minusTurns, k.cf(1.9350051879882812e-3), r);
  return fma(minusTurns, k.cf(3.0199159819e-7), r);
}

llvm::Value *ScalarMath::sin(llvm::Value *x) { return k.approx(Approx::Sin, withinPi(x)); }
llvm::Value *ScalarMath::cos(llvm::Value *x) { return k.approx(Approx::Cos, withinPi(x)); }

} // namespace tilewright
