// f32 elementary functions out of what the special function unit has.
//
// Errors are those of the approximate instructions (2 ulp or so; CUDA C programming guide,
// "Intrinsic functions") unless said otherwise at the function.
#pragma once

#include "codegen/kernel_builder.h"

namespace tilewright {

class ScalarMath {
public:
  explicit ScalarMath(KernelBuilder &builder) : k(builder), b(builder.b) {}

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
  llvm::Value *withinPi(llvm::Value *x);

  KernelBuilder &k;
  llvm::IRBuilder<> &b;
};

} // namespace tilewright
