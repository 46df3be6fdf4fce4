// The two kinds of ScalarMath, for the files that define them.
#pragma once

#include "codegen/scalar_math.h"

namespace tilewright {

class SingleMath final : public ScalarMath {
public:
  explicit SingleMath(KernelBuilder &builder) : ScalarMath(builder, false) {}

  llvm::Value *divide(llvm::Value *x, llvm::Value *y) override;
  llvm::Value *sqrt(llvm::Value *x) override;
  llvm::Value *rsqrt(llvm::Value *x) override;
  llvm::Value *cbrt(llvm::Value *x) override;
  llvm::Value *expm1(llvm::Value *x) override;
  llvm::Value *log(llvm::Value *x) override;
  llvm::Value *log1p(llvm::Value *x) override;
  llvm::Value *tanh(llvm::Value *x) override;
  llvm::Value *erf(llvm::Value *x) override;

protected:
  Angle nearAngle(llvm::Value *x) override;
  double angleLimit() const override { return 1e4; }
  llvm::Value *sineOf(const Angle &angle) override;
  llvm::Value *cosineOf(const Angle &angle) override;
  llvm::Value *nearAtan(llvm::Value *t) override;
  llvm::Value *quotient(llvm::Value *x, llvm::Value *y) override { return k.divideFull(x, y); }
  llvm::Value *exp2n(llvm::Value *x, int n) override;
  llvm::Value *raise(llvm::Value *x, llvm::Value *y) override;

private:
  /// Is 2^-100 ≤ |x| ≤ 2^100? Not for NaN.
  llvm::Value *isModerate(llvm::Value *x);
};

class DoubleMath final : public ScalarMath {
public:
  explicit DoubleMath(KernelBuilder &builder) : ScalarMath(builder, true) {}

  llvm::Value *divide(llvm::Value *x, llvm::Value *y) override { return b.CreateFDiv(x, y); }
  llvm::Value *sqrt(llvm::Value *x) override { return unary(llvm::Intrinsic::sqrt, x); }
  llvm::Value *rsqrt(llvm::Value *x) override { return divide(number(1), sqrt(x)); }
  llvm::Value *cbrt(llvm::Value *x) override;
  llvm::Value *expm1(llvm::Value *x) override;
  llvm::Value *log(llvm::Value *x) override;
  llvm::Value *log1p(llvm::Value *x) override;
  llvm::Value *tanh(llvm::Value *x) override;
  llvm::Value *erf(llvm::Value *x) override;

protected:
  Angle nearAngle(llvm::Value *x) override;
  double angleLimit() const override { return 0x1p30; }
  llvm::Value *sineOf(const Angle &angle) override;
  llvm::Value *cosineOf(const Angle &angle) override;
  llvm::Value *nearAtan(llvm::Value *t) override;
  llvm::Value *quotient(llvm::Value *x, llvm::Value *y) override { return divide(x, y); }
  llvm::Value *exp2n(llvm::Value *x, int n) override { return exp2n(x, number(0), n); }
  llvm::Value *raise(llvm::Value *x, llvm::Value *y) override;

private:
  /// A sum of two, the second of at most half a last place of the first.
  struct Pair {
    llvm::Value *high, *low;
  };
  Pair sum(llvm::Value *x, llvm::Value *y);     ///< exact
  Pair fastSum(llvm::Value *x, llvm::Value *y); ///< exact where |x| ≥ |y| or x is 0
  Pair product(llvm::Value *x, llvm::Value *y); ///< exact
  /// x = n·ln 2 + high + low.
  struct Exponent {
    llvm::Value *n; ///< i32
    Pair rest;
  };
  Exponent splitExponent(llvm::Value *x, llvm::Value *low);
  /// e^r - 1 of a rest.
  llvm::Value *nearExpm1(const Pair &rest);
  llvm::Value *powerOfTwo(llvm::Value *n);            ///< -1022 ≤ n ≤ 1023
  llvm::Value *scale(llvm::Value *x, llvm::Value *n); ///< x·2^n, |n| ≤ 2000, rounded once
  llvm::Value *exp2n(llvm::Value *x, llvm::Value *low, int n);
  /// The logarithm of high + low, 2^-64 relative; high positive and finite.
  Pair logOf(const Pair &x);
};

} // namespace tilewright
