#include "codegen/scalar_ops.h"

#include "codegen/scalar_math.h"

#include <limits>

namespace tilewright {

namespace intr = llvm::Intrinsic;

namespace {

bool isSixteenBit(DType type) { return type == DType::F16 || type == DType::BF16; }
bool isNarrowFloat(DType type) { return isFloat(type) && bitWidth(type) <= 8; }
bool isSigned(DType type) { return dtypeClass(type) == DTypeClass::Signed; }
/// Integers of less than a byte.
bool isNarrowInteger(DType type) { return isInteger(type) && bitWidth(type) < 8; }

llvm::Error unsupported(const Op &op, const std::string &why) {
  return makeError(DiagClass::Unsupported, "%{}: no code for {} {}", op.name, toString(op.opcode),
                   why);
}

} // namespace

bool ScalarOps::isSupported(DType type) {
  switch (type) {
  case DType::Pred:
  case DType::S1:
  case DType::S2:
  case DType::S4:
  case DType::U1:
  case DType::U2:
  case DType::U4:
  case DType::S8:
  case DType::S16:
  case DType::S32:
  case DType::S64:
  case DType::U8:
  case DType::U16:
  case DType::U32:
  case DType::U64:
  case DType::F16:
  case DType::BF16:
  case DType::F32:
  case DType::F64:
  case DType::F4E2M1FN:
  case DType::F8E3M4:
  case DType::F8E4M3:
  case DType::F8E4M3FN:
  case DType::F8E4M3B11FNUZ:
  case DType::F8E4M3FNUZ:
  case DType::F8E5M2:
  case DType::F8E5M2FNUZ:
  case DType::F8E8M0FNU:
    return true;
  default:
    return false;
  }
}

llvm::Type *ScalarOps::valueType(DType type) {
  if (type == DType::Pred)
    return k.i1;
  if (type == DType::F64)
    return k.f64;
  return isFloat(type) ? k.f32 : b.getIntNTy(bitWidth(type));
}

llvm::Type *ScalarOps::memoryType(DType type) {
  if (type == DType::F64 || type == DType::F32)
    return valueType(type);
  return b.getIntNTy(std::max(bitWidth(type), 8u));
}

llvm::Value *ScalarOps::fromMemory(DType type, llvm::Value *bits) {
  if (type == DType::Pred)
    return b.CreateICmpNE(bits, llvm::ConstantInt::get(k.i8, 0));
  if (isNarrowFloat(type))
    return decodeNarrow(type, bits);
  if (isNarrowInteger(type))
    return b.CreateTrunc(bits, valueType(type));
  return isSixteenBit(type) ? k.from16(type, bits) : bits;
}

llvm::Value *ScalarOps::toMemory(DType type, llvm::Value *value) {
  if (type == DType::Pred)
    return b.CreateZExt(value, k.i8);
  if (isNarrowFloat(type))
    return encodeNarrow(type, value);
  if (isNarrowInteger(type))
    return b.CreateZExt(value, k.i8);
  return isSixteenBit(type) ? k.to16(type, value) : value;
}

llvm::Value *ScalarOps::constant(DType type, double value) {
  if (isFloat(type))
    return llvm::ConstantFP::get(valueType(type), value);
  return constant(type, static_cast<int64_t>(value));
}

llvm::Value *ScalarOps::constant(DType type, int64_t value) {
  if (isFloat(type))
    return constant(type, static_cast<double>(value));
  if (type == DType::Pred)
    return b.getInt1(value != 0);
  return llvm::ConstantInt::getSigned(valueType(type), value);
}

llvm::Value *ScalarOps::round(DType type, llvm::Value *value) {
  return isSixteenBit(type) || isNarrowFloat(type) ? fromMemory(type, toMemory(type, value))
                                                   : value;
}

llvm::Value *ScalarOps::convert(DType from, DType to, llvm::Value *value) {
  if (from == to)
    return value;
  llvm::Type *type = valueType(to);
  if (isFloat(from) && isFloat(to)) {
    if (from == DType::F64)
      value = to == DType::F32 ? b.CreateFPTrunc(value, k.f32) : truncateToOdd(value);
    if (to == DType::F64)
      return b.CreateFPExt(value, k.f64);
    return round(to, value);
  }
  if (isFloat(from)) {
    if (to == DType::Pred)
      return b.CreateFCmpUNE(value, llvm::ConstantFP::get(value->getType(), 0));
    return k.intrinsic(isSigned(to) ? intr::fptosi_sat : intr::fptoui_sat, {type, value->getType()},
                       {value});
  }
  if (isNarrowFloat(to) || isSixteenBit(to))
    return round(to, integerToOdd(from, value));
  if (isFloat(to))
    return isSigned(from) ? b.CreateSIToFP(value, type) : b.CreateUIToFP(value, type);
  if (to == DType::Pred)
    return b.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
  return isSigned(from) ? b.CreateSExtOrTrunc(value, type) : b.CreateZExtOrTrunc(value, type);
}

llvm::Value *ScalarOps::compare(Comparison comparison, DType type, llvm::Value *x, llvm::Value *y) {
  using P = llvm::CmpInst::Predicate;
  struct Row {
    P floating, isSigned, isUnsigned;
  };
  static constexpr Row rows[] = {
      {P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ},   {P::FCMP_UNE, P::ICMP_NE, P::ICMP_NE},
      {P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT}, {P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE},
      {P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT}, {P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE}};
  const Row &row = rows[static_cast<size_t>(comparison)];
  if (isFloat(type))
    return b.CreateFCmp(row.floating, x, y);
  return b.CreateICmp(isSigned(type) ? row.isSigned : row.isUnsigned, x, y);
}

llvm::Expected<llvm::Value *> ScalarOps::apply(const Op &op, DType operandType, const Values &x) {
  DType type = op.shape.dtype;
  if (!isSupported(type) || !isSupported(operandType))
    return unsupported(op, fmt::format("on {}", toString(isSupported(type) ? operandType : type)));
  auto isTotalOrder = [&] {
    for (const RawAttribute &attribute : op.rawAttrs)
      if (attribute.name == "type" && attribute.text == "TOTALORDER")
        return true;
    return false;
  };
  switch (op.opcode) {
  case Opcode::Copy:
  case Opcode::CopyDone:
  case Opcode::Domain:
    return x[0];
  case Opcode::Convert:
    return convert(operandType, type, x[0]);
  case Opcode::BitcastConvert: {
    if (bitWidth(type) != bitWidth(operandType))
      return unsupported(op, fmt::format("from {} to {}", toString(operandType), toString(type)));
    return fromMemory(type, b.CreateBitCast(toMemory(operandType, x[0]), memoryType(type)));
  }
  case Opcode::Real:
    return x[0];
  case Opcode::Imag:
    if (isFloat(operandType))
      return constant(type, 0.0);
    break;
  case Opcode::Compare:
    if (isFloat(operandType) && isTotalOrder())
      return compare(op.attrs.comparison, operandType == DType::F64 ? DType::S64 : DType::S32,
                     totalOrderKey(x[0]), totalOrderKey(x[1]));
    return compare(op.attrs.comparison, operandType, x[0], x[1]);
  case Opcode::Select:
    return select(x[0], x[1], x[2]);
  case Opcode::IsFinite: {
    if (!isFloat(operandType))
      break;
    llvm::Value *magnitude = unary(intr::fabs, x[0]);
    return b.CreateFCmpOLT(magnitude, llvm::ConstantFP::getInfinity(magnitude->getType()));
  }
  case Opcode::Clamp: {
    llvm::Value *low = combine(Combiner::Maximum, type, x[0], x[1]);
    return combine(Combiner::Minimum, type, low, x[2]);
  }
  case Opcode::Minimum:
    return combine(Combiner::Minimum, type, x[0], x[1]);
  case Opcode::Maximum:
    return combine(Combiner::Maximum, type, x[0], x[1]);
  case Opcode::ReducePrecision:
    return round(type, reducePrecision(x[0], static_cast<unsigned>(op.attrs.exponentBits),
                                       static_cast<unsigned>(op.attrs.mantissaBits)));
  default:
    break;
  }
  llvm::Value *result = isFloat(type) ? applyFloat(op, x) : applyInteger(op, type, x);
  if (!result)
    return unsupported(op, fmt::format("on {}", toString(type)));
  return round(type, result);
}

llvm::Value *ScalarOps::applyFloat(const Op &op, const Values &x) {
  llvm::Type *type = valueType(op.shape.dtype);
  auto literal = [&](double value) { return llvm::ConstantFP::get(type, value); };
  switch (op.opcode) {
  case Opcode::Add:
    return b.CreateFAdd(x[0], x[1]);
  case Opcode::Subtract:
    return b.CreateFSub(x[0], x[1]);
  case Opcode::Multiply:
    return b.CreateFMul(x[0], x[1]);
  case Opcode::Negate:
    return b.CreateFNeg(x[0]);
  case Opcode::Abs:
    return unary(intr::fabs, x[0]);
  case Opcode::Floor:
    return unary(intr::floor, x[0]);
  case Opcode::Ceil:
    return unary(intr::ceil, x[0]);
  case Opcode::RoundNearestAfz:
    return unary(intr::round, x[0]);
  case Opcode::RoundNearestEven:
    return unary(intr::rint, x[0]);
  case Opcode::Sign: {
    llvm::Value *isZeroOrNan = b.CreateFCmpUEQ(x[0], literal(0));
    return select(isZeroOrNan, x[0], binary(intr::copysign, literal(1), x[0]));
  }
  default:
    break;
  }
  std::unique_ptr<ScalarMath> math = ScalarMath::make(k, type == k.f64);
  switch (op.opcode) {
  case Opcode::Divide:
    return math->divide(x[0], x[1]);
  case Opcode::Remainder:
    return math->remainder(x[0], x[1]);
  case Opcode::Sqrt:
    return math->sqrt(x[0]);
  case Opcode::Rsqrt:
    return math->rsqrt(x[0]);
  case Opcode::Cbrt:
    return math->cbrt(x[0]);
  case Opcode::Exp:
    return math->exp(x[0]);
  case Opcode::Expm1:
    return math->expm1(x[0]);
  case Opcode::Log:
    return math->log(x[0]);
  case Opcode::Log1p:
    return math->log1p(x[0]);
  case Opcode::Power:
    return math->power(x[0], x[1]);
  case Opcode::Logistic:
    return math->logistic(x[0]);
  case Opcode::Erf:
    return math->erf(x[0]);
  case Opcode::Sine:
    return math->sin(x[0]);
  case Opcode::Cosine:
    return math->cos(x[0]);
  case Opcode::Tan:
    return math->tan(x[0]);
  case Opcode::Asin:
    return math->asin(x[0]);
  case Opcode::Acos:
    return math->acos(x[0]);
  case Opcode::Atan2:
    return math->atan2(x[0], x[1]);
  case Opcode::Sinh:
    return math->sinh(x[0]);
  case Opcode::Cosh:
    return math->cosh(x[0]);
  case Opcode::Tanh:
    return math->tanh(x[0]);
  case Opcode::Asinh:
    return math->asinh(x[0]);
  case Opcode::Acosh:
    return math->acosh(x[0]);
  case Opcode::Atanh:
    return math->atanh(x[0]);
  default:
    return nullptr;
  }
}

llvm::Value *ScalarOps::applyInteger(const Op &op, DType type, const Values &x) {
  auto literal = [&](int64_t value) { return constant(type, value); };
  // A divisor that hardware accepts: HLO has results for the others.
  auto safeDivisor = [&] {
    llvm::Value *bad = b.CreateICmpEQ(x[1], literal(0));
    if (isSigned(type)) {
      auto smallest = llvm::APInt::getSignedMinValue(bitWidth(type));
      llvm::Value *overflows =
          b.CreateAnd(b.CreateICmpEQ(x[0], llvm::ConstantInt::get(x[0]->getType(), smallest)),
                      b.CreateICmpEQ(x[1], literal(-1)));
      bad = b.CreateOr(bad, overflows);
    }
    return select(bad, literal(1), x[1]);
  };
  // Shifting by the width or more is poison in LLVM; HLO gives 0 or the sign.
  auto shift = [&](auto make, llvm::Value *tooFar) {
    llvm::Value *isFine = b.CreateICmpULT(x[1], literal(bitWidth(type)));
    return select(isFine, make(select(isFine, x[1], literal(0))), tooFar);
  };
  bool isPred = type == DType::Pred;
  switch (op.opcode) {
  case Opcode::And:
    return b.CreateAnd(x[0], x[1]);
  case Opcode::Or:
    return b.CreateOr(x[0], x[1]);
  case Opcode::Xor:
    return b.CreateXor(x[0], x[1]);
  case Opcode::Not:
    return b.CreateNot(x[0]);
  case Opcode::Add:
    return combine(Combiner::Add, type, x[0], x[1]);
  case Opcode::Multiply:
    return combine(Combiner::Multiply, type, x[0], x[1]);
  default:
    if (isPred)
      return nullptr;
  }
  switch (op.opcode) {
  case Opcode::Subtract:
    return b.CreateSub(x[0], x[1]);
  case Opcode::Negate:
    return b.CreateNeg(x[0]);
  case Opcode::Abs:
    return isSigned(type) ? select(b.CreateICmpSLT(x[0], literal(0)), b.CreateNeg(x[0]), x[0])
                          : x[0];
  case Opcode::Sign: {
    llvm::Value *isNonZero = b.CreateZExt(b.CreateICmpNE(x[0], literal(0)), x[0]->getType());
    return isSigned(type) ? b.CreateOr(b.CreateAShr(x[0], literal(bitWidth(type) - 1)), isNonZero)
                          : isNonZero;
  }
  case Opcode::Divide: {
    llvm::Value *by = safeDivisor();
    llvm::Value *quotient = isSigned(type) ? b.CreateSDiv(x[0], by) : b.CreateUDiv(x[0], by);
    return select(b.CreateICmpEQ(x[1], literal(0)), literal(-1), quotient);
  }
  case Opcode::Remainder: {
    llvm::Value *by = safeDivisor();
    llvm::Value *rest = isSigned(type) ? b.CreateSRem(x[0], by) : b.CreateURem(x[0], by);
    return select(b.CreateICmpEQ(x[1], literal(0)), x[0], rest);
  }
  case Opcode::Power:
    return integerPower(type, x[0], x[1]);
  case Opcode::ShiftLeft:
    return shift([&](llvm::Value *n) { return b.CreateShl(x[0], n); }, literal(0));
  case Opcode::ShiftRightLogical:
    return shift([&](llvm::Value *n) { return b.CreateLShr(x[0], n); }, literal(0));
  case Opcode::ShiftRightArithmetic:
    return shift([&](llvm::Value *n) { return b.CreateAShr(x[0], n); },
                 b.CreateAShr(x[0], literal(bitWidth(type) - 1)));
  case Opcode::PopulationCount:
    return unary(intr::ctpop, x[0]);
  case Opcode::Clz:
    return k.intrinsic(intr::ctlz, {x[0]->getType()}, {x[0], b.getInt1(false)});
  default:
    return nullptr;
  }
}

/// By squaring, modulo 2^bits. Below zero only 1 and -1 have powers that are not 0.
llvm::Value *ScalarOps::integerPower(DType type, llvm::Value *base, llvm::Value *exponent) {
  auto literal = [&](int64_t value) { return constant(type, value); };
  unsigned bits = bitWidth(type);
  llvm::Value *zeros = k.intrinsic(intr::ctlz, {base->getType()}, {exponent, b.getInt1(false)});
  llvm::Value *places = b.CreateSub(k.c32(bits), b.CreateZExtOrTrunc(zeros, k.i32));
  Values raised = k.forLoop(
      k.c32(0), places, k.c32(1), {literal(1), base, exponent},
      [&](llvm::Value *, const Values &carried) {
        llvm::Value *isTaken = b.CreateICmpNE(b.CreateAnd(carried[2], literal(1)), literal(0));
        return Values{select(isTaken, b.CreateMul(carried[0], carried[1]), carried[0]),
                      b.CreateMul(carried[1], carried[1]), b.CreateLShr(carried[2], literal(1))};
      });
  if (!isSigned(type))
    return raised[0];
  llvm::Value *isOdd = b.CreateICmpNE(b.CreateAnd(exponent, literal(1)), literal(0));
  llvm::Value *isMinusOne = b.CreateICmpEQ(base, literal(-1));
  llvm::Value *inverse =
      select(b.CreateICmpEQ(base, literal(1)), literal(1),
             select(isMinusOne, select(isOdd, literal(-1), literal(1)), literal(0)));
  return select(b.CreateICmpSLT(exponent, literal(0)), inverse, raised[0]);
}

llvm::Value *ScalarOps::combine(Combiner combiner, DType type, llvm::Value *x, llvm::Value *y) {
  bool floats = isFloat(type), isPred = type == DType::Pred;
  switch (combiner) {
  case Combiner::Add:
    return floats ? b.CreateFAdd(x, y) : isPred ? b.CreateOr(x, y) : b.CreateAdd(x, y);
  case Combiner::Multiply:
    return floats ? b.CreateFMul(x, y) : isPred ? b.CreateAnd(x, y) : b.CreateMul(x, y);
  case Combiner::Minimum:
    return isPred ? b.CreateAnd(x, y)
                  : binary(floats           ? intr::minimum
                           : isSigned(type) ? intr::smin
                                            : intr::umin,
                           x, y);
  case Combiner::Maximum:
    return isPred ? b.CreateOr(x, y)
                  : binary(floats           ? intr::maximum
                           : isSigned(type) ? intr::smax
                                            : intr::umax,
                           x, y);
  case Combiner::And:
    return b.CreateAnd(x, y);
  case Combiner::Or:
    return b.CreateOr(x, y);
  }
  llvm_unreachable("every combiner has its instruction");
}

llvm::Value *ScalarOps::identity(Combiner combiner, DType type) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  unsigned bits = bitWidth(type);
  auto integer = [&](const llvm::APInt &value) {
    return llvm::ConstantInt::get(valueType(type), value);
  };
  bool isPred = type == DType::Pred;
  switch (combiner) {
  case Combiner::Add:
  case Combiner::Or:
    return llvm::Constant::getNullValue(valueType(type));
  case Combiner::Multiply:
    return constant(type, int64_t(1));
  case Combiner::And:
    return llvm::Constant::getAllOnesValue(valueType(type));
  case Combiner::Minimum:
    if (isFloat(type))
      return constant(type, infinity);
    return isPred           ? b.getInt1(true)
           : isSigned(type) ? integer(llvm::APInt::getSignedMaxValue(bits))
                            : integer(llvm::APInt::getMaxValue(bits));
  case Combiner::Maximum:
    if (isFloat(type))
      return constant(type, -infinity);
    return isPred           ? b.getInt1(false)
           : isSigned(type) ? integer(llvm::APInt::getSignedMinValue(bits))
                            : integer(llvm::APInt::getMinValue(bits));
  }
  llvm_unreachable("every combiner has its identity");
}

} // namespace tilewright
