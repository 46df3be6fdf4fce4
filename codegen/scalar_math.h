// f32 elementary functions out of what the special function unit has and fused multiply-adds.
//
// No function calls into slow paths, so that they cost few registers. Largest errors over all
// floats, as scalar_math_test.cpp holds them against double precision, the special function unit
// erring as much as the PTX manual lets it:
//
//   divide, sqrt             1 ulp, exact where the result is; 4 ulp beyond 2^±100
//   exp, cbrt                5 ulp
//   expm1, tanh, erf         8 ulp
//   logistic                 8 ulp
//   log                      4 ulp
//   log1p                    6 ulp
//   rsqrt                    3 ulp
//   sin, cos                 1.2e-7 absolute, 2 ulp near zero, up to |x| = 1e4
//   power                    2^-16 relative: the exponent is a rounded product
#pragma once

#include "codegen/kernel_builder.h"

namespace tilewright {

class ScalarMath {
public:
  explicit ScalarMath(KernelBuilder &builder) : k(builder), b(builder.b) {}

  llvm::Value *divide(llvm::Value *x, llvm::Value *y);
  llvm::Value *sqrt(llvm::Value *x);
  llvm::Value *exp(llvm::Value *x);
  llvm::Value *expm1(llvm::Value *x);
  llvm::Value *log(llvm::Value *x);
  llvm::Value *log1p(llvm::Value *x);
  llvm::Value *tanh(llvm::Value *x);
  llvm::Value *logistic(llvm::Value *x);
  llvm::Value *erf(llvm::Value *x);
  llvm::Value *rsqrt(llvm::Value *x);
  llvm::Value *power(llvm::Value *x, llvm::Value *y);
  llvm::Value *cbrt(llvm::Value *x);
  llvm::Value *sin(llvm::Value *x);
  llvm::Value *cos(llvm::Value *x);

private:
  llvm::Value *abs(llvm::Value *x);
  llvm::Value *copySign(llvm::Value *magnitude, llvm::Value *sign);
  llvm::Value *fma(llvm::Value *x, llvm::Value *y, llvm::Value *z);
  /// Horner's rule; the coefficient of the highest power comes first.
  llvm::Value *polynomial(llvm::Value *x, std::initializer_list<double> coefficients);
  /// sin(x + quarters·π/2).
  llvm::Value *circular(llvm::Value *x, int quarters);
  /// Is 2^-100 ≤ |x| ≤ 2^100? Not for NaN.
  llvm::Value *isModerate(llvm::Value *x);

  KernelBuilder &k;
  llvm::IRBuilder<> &b;
};

} // namespace tilewright
