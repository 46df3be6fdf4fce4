// Elementwise ops, and ops with few rules beyond the operand count.
#include "analysis/ir/verifier_internal.h"

#include <array>

namespace tilewright {

namespace {

/// The element types that an elementwise op takes.
enum class Domain {
  Any,
  Number,
  NumberOrPred,
  FloatOrComplex,
  Float,
  Integer,
  IntegerOrPred,
  Pred
};

struct Rule {
  size_t operands;
  Domain domain;
};

Rule ruleOf(Opcode opcode) {
  switch (opcode) {
  case Opcode::Abs:
  case Opcode::Negate:
  case Opcode::Sign:
    return {1, Domain::Number};
  case Opcode::Acos:
  case Opcode::Acosh:
  case Opcode::Asin:
  case Opcode::Asinh:
  case Opcode::Atanh:
  case Opcode::Cbrt:
  case Opcode::Cosine:
  case Opcode::Cosh:
  case Opcode::Erf:
  case Opcode::Exp:
  case Opcode::Expm1:
  case Opcode::Log:
  case Opcode::Log1p:
  case Opcode::Logistic:
  case Opcode::Rsqrt:
  case Opcode::Sine:
  case Opcode::Sinh:
  case Opcode::Sqrt:
  case Opcode::Tan:
  case Opcode::Tanh:
  case Opcode::Imag:
  case Opcode::Real:
    return {1, Domain::FloatOrComplex};
  case Opcode::Ceil:
  case Opcode::Floor:
  case Opcode::IsFinite:
  case Opcode::ReducePrecision:
  case Opcode::RoundNearestAfz:
  case Opcode::RoundNearestEven:
    return {1, Domain::Float};
  case Opcode::Clz:
  case Opcode::PopulationCount:
    return {1, Domain::Integer};
  case Opcode::Not:
    return {1, Domain::IntegerOrPred};
  case Opcode::Atan2:
    return {2, Domain::FloatOrComplex};
  case Opcode::Complex:
    return {2, Domain::Float};
  case Opcode::And:
  case Opcode::Or:
  case Opcode::Xor:
    return {2, Domain::IntegerOrPred};
  case Opcode::ShiftLeft:
  case Opcode::ShiftRightArithmetic:
  case Opcode::ShiftRightLogical:
    return {2, Domain::Integer};
  case Opcode::Divide:
  case Opcode::Power:
  case Opcode::Remainder:
  case Opcode::Subtract:
    return {2, Domain::Number};
  case Opcode::Add:
  case Opcode::Compare:
  case Opcode::Maximum:
  case Opcode::Minimum:
  case Opcode::Multiply:
  case Opcode::StochasticConvert:
    return {2, Domain::NumberOrPred};
  default: // convert, copy, …
    return {1, Domain::Any};
  }
}

bool isIn(Domain domain, DType dtype) {
  DTypeClass cls = dtypeClass(dtype);
  bool isInt = cls == DTypeClass::Signed || cls == DTypeClass::Unsigned;
  bool isReal = cls == DTypeClass::Float, isComplex = cls == DTypeClass::Complex;
  switch (domain) {
  case Domain::Any:
    return true;
  case Domain::Number:
    return isInt || isReal || isComplex;
  case Domain::NumberOrPred:
    return isInt || isReal || isComplex || cls == DTypeClass::Pred;
  case Domain::FloatOrComplex:
    return isReal || isComplex;
  case Domain::Float:
    return isReal;
  case Domain::Integer:
    return isInt;
  case Domain::IntegerOrPred:
    return isInt || cls == DTypeClass::Pred;
  case Domain::Pred:
    return cls == DTypeClass::Pred;
  }
  return true;
}

std::string_view describe(Domain domain) {
  constexpr std::array<std::string_view, 8> texts = {
      "anything", "numbers",  "numbers or pred",  "floats or complex numbers",
      "floats",   "integers", "integers or pred", "pred"};
  return texts[static_cast<size_t>(domain)];
}

DType partOfComplex(DType dtype) { return dtype == DType::C128 ? DType::F64 : DType::F32; }

} // namespace

bool OpCheck::elementwise() {
  switch (op.opcode) {
  case Opcode::Convert:
  case Opcode::BitcastConvert:
    return convertLike();
  case Opcode::Copy:
  case Opcode::Domain:
    return operandCount(1) && resultIs(operand(0));
  case Opcode::Select:
  case Opcode::Clamp: {
    // select(pred, a, b), clamp(low, x, high): the pred and the bounds may be scalars.
    if (!operandCount(3) || !areTensors(0, 3))
      return false;
    bool isSelect = op.opcode == Opcode::Select;
    if (isSelect && operand(0).dtype != DType::Pred)
      return fail("{} must be pred", name(0));
    for (size_t i = 0; i < 3; ++i) {
      bool mayBeScalar = isSelect ? i == 0 : i != 1;
      if (operand(i).dims != op.shape.dims && !(mayBeScalar && operand(i).isScalar()))
        return fail("{} and the result {} differ in dims", name(i), briefText(op.shape));
    }
    return resultTypeLike(1) &&
           (isSelect ? resultTypeLike(2) : resultTypeLike(0) && resultTypeLike(2));
  }
  default:
    break;
  }

  Rule rule = ruleOf(op.opcode);
  if (!operandCount(rule.operands) || !areTensors(0, rule.operands))
    return false;
  for (size_t i = 0; i < rule.operands; ++i) {
    if (!isIn(rule.domain, operand(i).dtype))
      return fail("takes {}, {} is something else", describe(rule.domain), name(i));
    if (op.shape.isTuple || operand(i).dims != op.shape.dims)
      return fail("{} and the result {} differ in dims", name(i), briefText(op.shape));
    bool isBitSource = op.opcode == Opcode::StochasticConvert && i == 1;
    if (i > 0 && !isBitSource && !typesAgree(operand(0).dtype, operand(i).dtype))
      return fail("{} and {} differ in element type", name(0), name(i));
  }
  DType first = operand(0).dtype;
  bool isComplex = dtypeClass(first) == DTypeClass::Complex;
  switch (op.opcode) {
  case Opcode::Compare:
  case Opcode::IsFinite:
    return op.shape.dtype == DType::Pred || fail("the result {} must be pred", briefText(op.shape));
  case Opcode::Complex:
    return (dtypeClass(op.shape.dtype) == DTypeClass::Complex &&
            partOfComplex(op.shape.dtype) == first) ||
           fail("the result {} is not made of pairs of {}", briefText(op.shape), toString(first));
  case Opcode::Abs:
  case Opcode::Real:
  case Opcode::Imag:
    return isComplex ? op.shape.dtype == partOfComplex(first) ||
                           fail("the result {} must be {}", briefText(op.shape),
                                toString(partOfComplex(first)))
                     : resultTypeLike(0);
  case Opcode::StochasticConvert:
    return isInteger(operand(1).dtype) || fail("{} must be integers", name(1));
  case Opcode::ReducePrecision:
    if (op.attrs.exponentBits < 1)
      return failIn("exponent_bits", "needs at least 1 exponent bit, {} given",
                    op.attrs.exponentBits);
    if (op.attrs.mantissaBits < 0)
      return failIn("mantissa_bits", "mantissa_bits {} is negative", op.attrs.mantissaBits);
    return resultTypeLike(0);
  default:
    return resultTypeLike(0);
  }
}

bool OpCheck::convertLike() {
  if (!operandCount(1) || !areTensors(0, 1))
    return false;
  if (op.shape.isTuple || dtypeClass(op.shape.dtype) == DTypeClass::NonNumeric)
    return fail("the result {} is not a tensor", briefText(op.shape));
  if (op.opcode == Opcode::Convert)
    return resultDims(operand(0).dims);
  // A wider type takes the minor dim of the narrower one together.
  std::vector<int64_t> expected = operand(0).dims;
  unsigned from = bitWidth(operand(0).dtype), to = bitWidth(op.shape.dtype);
  if (from > to) {
    expected.push_back(from / to);
  } else if (from < to) {
    if (expected.empty() || expected.back() != to / from)
      return fail("the minor dim of {} must be {} to make {}", name(0), to / from,
                  toString(op.shape.dtype));
    expected.pop_back();
  }
  return resultDims(expected);
}

bool OpCheck::countsOnly(bool &handled) {
  auto between = [&](size_t least, size_t most) {
    return (operands() >= least && operands() <= most) ||
           fail("needs {} to {} operands, {} given", least, most, operands());
  };
  switch (op.opcode) {
  case Opcode::Parameter:
  case Opcode::Constant:
    return operandCount(0);
  case Opcode::PartitionId:
  case Opcode::ReplicaId:
    return operandCount(0) && resultIs(Shape::tensor(DType::U32, {}));
  case Opcode::RngGetAndUpdateState:
    return operandCount(0);
  case Opcode::Rng:
    return operandCount(2) && isScalar(0) && isScalar(1);
  case Opcode::Infeed:
    return between(0, 1);
  case Opcode::Outfeed:
    return between(1, 2);
  case Opcode::CustomCall: // it may compute anything from anything
    return true;
  default:
    handled = false;
    return true;
  }
}

} // namespace tilewright
