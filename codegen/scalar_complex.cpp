// Arithmetic of complex numbers. Results overflow or lose digits only where they must: quotients
// and magnitudes are scaled by the larger part first.
#include "codegen/scalar_ops.h"

namespace tilewright {

namespace intr = llvm::Intrinsic;

llvm::Value *ScalarOps::complexOf(llvm::Value *real, llvm::Value *imaginary) {
  auto *type = llvm::FixedVectorType::get(real->getType(), 2);
  llvm::Value *z = b.CreateInsertElement(llvm::PoisonValue::get(type), real, uint64_t(0));
  return b.CreateInsertElement(z, imaginary, uint64_t(1));
}

llvm::Value *ScalarOps::multiplyComplex(llvm::Value *x, llvm::Value *y) {
  llvm::Value *a = realPart(x), *i = imaginaryPart(x), *c = realPart(y), *j = imaginaryPart(y);
  return complexOf(b.CreateFSub(b.CreateFMul(a, c), b.CreateFMul(i, j)),
                   b.CreateFAdd(b.CreateFMul(a, j), b.CreateFMul(i, c)));
}

/// Smith's way: with the divisor's larger part taken out, its square is never made.
llvm::Value *ScalarOps::divideComplex(llvm::Value *x, llvm::Value *y) {
  llvm::Value *a = realPart(x), *i = imaginaryPart(x), *c = realPart(y), *j = imaginaryPart(y);
  llvm::Value *isRealLarger = b.CreateFCmpOGE(unary(intr::fabs, c), unary(intr::fabs, j));
  llvm::Value *large = select(isRealLarger, c, j), *small = select(isRealLarger, j, c);
  llvm::Value *ratio = real(Opcode::Divide, {small, large});
  llvm::Value *divisor = b.CreateFAdd(large, b.CreateFMul(small, ratio));
  llvm::Value *top = select(isRealLarger, a, i), *other = select(isRealLarger, i, a);
  llvm::Value *first = b.CreateFAdd(top, b.CreateFMul(other, ratio));
  llvm::Value *second = b.CreateFSub(other, b.CreateFMul(top, ratio));
  second = select(isRealLarger, second, b.CreateFNeg(second));
  return complexOf(real(Opcode::Divide, {first, divisor}), real(Opcode::Divide, {second, divisor}));
}

llvm::Value *ScalarOps::absComplex(llvm::Value *z) {
  llvm::Value *x = unary(intr::fabs, realPart(z)), *y = unary(intr::fabs, imaginaryPart(z));
  llvm::Value *large = binary(intr::maxnum, x, y), *small = binary(intr::minnum, x, y);
  auto literal = [&](double value) { return llvm::ConstantFP::get(x->getType(), value); };
  llvm::Value *isPlain =
      b.CreateAnd(b.CreateFCmpOGT(large, literal(0)),
                  b.CreateFCmpOLT(large, llvm::ConstantFP::getInfinity(x->getType())));
  llvm::Value *ratio = real(Opcode::Divide, {small, select(isPlain, large, literal(1))});
  llvm::Value *root = real(Opcode::Sqrt, {b.CreateFAdd(literal(1), b.CreateFMul(ratio, ratio))});
  llvm::Value *result = select(isPlain, b.CreateFMul(large, root), large);
  // An infinite part wins over one that is not a number, which wins over the rest.
  llvm::Value *isNan = b.CreateFCmpUNO(x, y);
  llvm::Value *isInfinite = b.CreateFCmpOEQ(large, llvm::ConstantFP::getInfinity(x->getType()));
  return select(b.CreateAnd(isNan, b.CreateNot(isInfinite)), b.CreateFAdd(x, y), result);
}

llvm::Value *ScalarOps::real(Opcode opcode, const Values &x) {
  Op op;
  op.opcode = opcode;
  op.shape = Shape::tensor(x[0]->getType()->isDoubleTy() ? DType::F64 : DType::F32, {});
  return applyFloat(op, x);
}

llvm::Value *ScalarOps::applyComplex(const Op &op, DType operandType, const Values &x) {
  switch (op.opcode) {
  case Opcode::Add:
    return b.CreateFAdd(x[0], x[1]);
  case Opcode::Subtract:
    return b.CreateFSub(x[0], x[1]);
  case Opcode::Multiply:
    return multiplyComplex(x[0], x[1]);
  case Opcode::Divide:
    return divideComplex(x[0], x[1]);
  case Opcode::Negate:
    return b.CreateFNeg(x[0]);
  case Opcode::Complex:
    return complexOf(x[0], x[1]);
  case Opcode::Real:
    return dtypeClass(operandType) == DTypeClass::Complex ? realPart(x[0]) : x[0];
  case Opcode::Imag:
    return imaginaryPart(x[0]);
  case Opcode::Abs:
    return absComplex(x[0]);
  case Opcode::Sign: {
    llvm::Value *size = absComplex(x[0]);
    llvm::Value *isZero = b.CreateFCmpOEQ(size, llvm::ConstantFP::get(size->getType(), 0));
    llvm::Value *by = select(isZero, llvm::ConstantFP::get(size->getType(), 1), size);
    return complexOf(real(Opcode::Divide, {realPart(x[0]), by}),
                     real(Opcode::Divide, {imaginaryPart(x[0]), by}));
  }
  case Opcode::Exp: {
    llvm::Value *size = real(Opcode::Exp, {realPart(x[0])}), *angle = imaginaryPart(x[0]);
    llvm::Value *cosine = real(Opcode::Cosine, {angle}), *sine = real(Opcode::Sine, {angle});
    if (!size || !cosine || !sine)
      return nullptr;
    // exp of a real number is real, whatever infinity times zero would be.
    llvm::Value *isReal = b.CreateFCmpOEQ(angle, llvm::ConstantFP::get(angle->getType(), 0));
    return complexOf(b.CreateFMul(size, cosine), select(isReal, angle, b.CreateFMul(size, sine)));
  }
  case Opcode::Compare: {
    llvm::Value *isEqual = b.CreateAnd(b.CreateFCmpOEQ(realPart(x[0]), realPart(x[1])),
                                       b.CreateFCmpOEQ(imaginaryPart(x[0]), imaginaryPart(x[1])));
    if (op.attrs.comparison == Comparison::Eq)
      return isEqual;
    return op.attrs.comparison == Comparison::Ne ? b.CreateNot(isEqual) : nullptr;
  }
  default:
    return nullptr;
  }
}

} // namespace tilewright
