// Elementary functions out of fused multiply-adds, for f32 (with the special function unit) and
// f64, the same on a device and emulated.
//
// No function calls into slow paths, so that they cost few registers; the long reduction of large
// angles is the one branch. Infinities, NaNs, signed zeros and denormals come out as C's functions
// have them. Largest errors over all floats in ulp, as scalar_math_test.cpp and
// scalar_functions_test.cpp hold them, the special function unit erring as much as the PTX
// manual lets it:
//
//                            f32                        f64
//   divide, sqrt             1, exact where the         0.5
//                            result is; 4 beyond 2^±100
//   exp                      5                          1
//   cbrt                     5                          1
//   expm1                    8                          2
//   log                      4                          1
//   log1p                    6                          1
//   tanh, logistic           8                          4
//   erf                      8                          2
//   rsqrt                    3                          1.5
//   sin, cos                 1.2e-7 absolute, 2 of sin  1
//                            near zero
//   tan                      6                          3
//   asin, acos, atan2        5                          4
//   sinh, cosh               10                         4
//   asinh, acosh, atanh      10                         4
//   power                    2^-16 relative             1.5
//   remainder                exact                      exact
#pragma once

#include "codegen/kernel_builder.h"

#include <memory>

namespace tilewright {

class ScalarMath {
public:
  virtual ~ScalarMath() = default;
  /// The functions of f32 or, `isDouble`, of f64.
  static std::unique_ptr<ScalarMath> make(KernelBuilder &builder, bool isDouble);

  virtual llvm::Value *divide(llvm::Value *x, llvm::Value *y) = 0;
  virtual llvm::Value *sqrt(llvm::Value *x) = 0;
  virtual llvm::Value *rsqrt(llvm::Value *x) = 0;
  virtual llvm::Value *cbrt(llvm::Value *x) = 0;
  virtual llvm::Value *expm1(llvm::Value *x) = 0;
  virtual llvm::Value *log(llvm::Value *x) = 0;
  virtual llvm::Value *log1p(llvm::Value *x) = 0;
  virtual llvm::Value *tanh(llvm::Value *x) = 0;
  virtual llvm::Value *erf(llvm::Value *x) = 0;
  llvm::Value *exp(llvm::Value *x) { return exp2n(x, 0); }
  llvm::Value *logistic(llvm::Value *x);
  llvm::Value *power(llvm::Value *x, llvm::Value *y);
  llvm::Value *sin(llvm::Value *x);
  llvm::Value *cos(llvm::Value *x);
  llvm::Value *tan(llvm::Value *x);
  llvm::Value *asin(llvm::Value *x);
  llvm::Value *acos(llvm::Value *x);
  llvm::Value *atan2(llvm::Value *y, llvm::Value *x);
  llvm::Value *sinh(llvm::Value *x);
  llvm::Value *cosh(llvm::Value *x);
  llvm::Value *asinh(llvm::Value *x);
  llvm::Value *acosh(llvm::Value *x);
  llvm::Value *atanh(llvm::Value *x);
  /// C's fmod.
  llvm::Value *remainder(llvm::Value *x, llvm::Value *y);

protected:
  ScalarMath(KernelBuilder &builder, bool isDouble)
      : k(builder), b(builder.b), isDouble(isDouble), type(isDouble ? builder.f64 : builder.f32) {}

  /// An angle as quarters·π/2 + high + low, |high| ≤ π/4 and a little.
  struct Angle {
    llvm::Value *quarters; ///< i32, modulo 4
    llvm::Value *high, *low;
  };
  /// Of angles up to angleLimit(), NaN for infinite ones.
  virtual Angle nearAngle(llvm::Value *x) = 0;
  virtual double angleLimit() const = 0;
  virtual llvm::Value *sineOf(const Angle &angle) = 0; ///< of high + low
  virtual llvm::Value *cosineOf(const Angle &angle) = 0;
  /// atan t for |t| ≤ tan(π/8) and a little.
  virtual llvm::Value *nearAtan(llvm::Value *t) = 0;
  /// x / y to 2 ulp.
  virtual llvm::Value *quotient(llvm::Value *x, llvm::Value *y) = 0;
  /// e^x·2^n; where n isn't 0, x must be over 1.
  virtual llvm::Value *exp2n(llvm::Value *x, int n) = 0;
  /// x^y, x ≥ 0.
  virtual llvm::Value *raise(llvm::Value *x, llvm::Value *y) = 0;

  llvm::Value *number(double value) { return llvm::ConstantFP::get(type, value); }
  llvm::Value *infinity() { return llvm::ConstantFP::getInfinity(type); }
  llvm::Value *nan() { return llvm::ConstantFP::getNaN(type); }
  llvm::Value *select(llvm::Value *condition, llvm::Value *x, llvm::Value *y) {
    return b.CreateSelect(condition, x, y);
  }
  llvm::Value *abs(llvm::Value *x) { return unary(llvm::Intrinsic::fabs, x); }
  llvm::Value *floor(llvm::Value *x) { return unary(llvm::Intrinsic::floor, x); }
  llvm::Value *rint(llvm::Value *x) { return unary(llvm::Intrinsic::rint, x); }
  llvm::Value *unary(llvm::Intrinsic::ID id, llvm::Value *x) {
    return k.intrinsic(id, {type}, {x});
  }
  llvm::Value *toInt(llvm::Value *x) { ///< i32, for small integers; 0 for NaN
    return k.intrinsic(llvm::Intrinsic::fptosi_sat, {k.i32, type}, {x});
  }
  llvm::Value *copySign(llvm::Value *magnitude, llvm::Value *sign);
  llvm::Value *fma(llvm::Value *x, llvm::Value *y, llvm::Value *z);
  /// Horner's rule; the coefficient of the highest power comes first.
  llvm::Value *polynomial(llvm::Value *x, std::initializer_list<double> coefficients);
  /// `result` where x is positive and finite; log's limits elsewhere.
  llvm::Value *withLogLimits(llvm::Value *x, llvm::Value *result);

  KernelBuilder &k;
  llvm::IRBuilder<> &b;
  bool isDouble;
  llvm::Type *type;

private:
  Angle reduceAngle(llvm::Value *x);
  Angle farAngle(llvm::Value *x);
  /// sin(x + quarters·π/2).
  llvm::Value *circular(llvm::Value *x, int quarters);
};

} // namespace tilewright
