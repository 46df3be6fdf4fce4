#include "analysis/ir/evaluator_scalar.h"

#include "analysis/ir/evaluator_arithmetic.h"
#include "analysis/ir/numeric.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tilewright::eval {

namespace {
using Complex = std::complex<double>;

template <typename T> bool holds(Comparison comparison, T a, T b) {
  switch (comparison) {
  case Comparison::Eq:
    return a == b;
  case Comparison::Ne:
    return a != b;
  case Comparison::Lt:
    return a < b;
  case Comparison::Le:
    return a <= b;
  case Comparison::Gt:
    return a > b;
  default:
    return a >= b;
  }
}

Scalar compareOp(const ScalarOp &op, const Scalar *in) {
  bool result;
  if (dtypeClass(op.operandType) == DTypeClass::Complex) {
    bool isEqual = in[0].complex() == in[1].complex();
    result = op.comparison == Comparison::Eq ? isEqual : !isEqual;
  } else if (isFloat(op.operandType)) {
    result = op.isTotalOrder
                 ? holds(op.comparison, totalOrderKey(in[0].real()), totalOrderKey(in[1].real()))
                 : holds(op.comparison, in[0].real(), in[1].real());
  } else if (op.operandType == DType::U64) {
    result = holds(op.comparison, in[0].words[0], in[1].words[0]);
  } else {
    result = holds(op.comparison, in[0].integer(), in[1].integer());
  }
  return Scalar::of(int64_t(result));
}

Scalar copyOp(const ScalarOp &, const Scalar *in) { return in[0]; }
Scalar selectOp(const ScalarOp &, const Scalar *in) { return in[0].integer() ? in[1] : in[2]; }
Scalar isFiniteOp(const ScalarOp &, const Scalar *in) {
  return Scalar::of(int64_t(std::isfinite(in[0].real())));
}
Scalar complexMakeOp(const ScalarOp &, const Scalar *in) {
  return {{in[0].words[0], in[1].words[0]}};
}
Scalar realPartOp(const ScalarOp &, const Scalar *in) { return {{in[0].words[0], 0}}; }
Scalar imaginaryPartOp(const ScalarOp &op, const Scalar *in) {
  return dtypeClass(op.operandType) == DTypeClass::Complex ? Scalar{{in[0].words[1], 0}}
                                                           : Scalar::of(0.0);
}
Scalar absComplexOp(const ScalarOp &, const Scalar *in) {
  return Scalar::of(std::abs(in[0].complex()));
}
Scalar reducePrecisionOp(const ScalarOp &op, const Scalar *in) {
  return Scalar::of(reducePrecision(in[0].real(), op.exponentBits, op.mantissaBits));
}
Scalar bitcastConvertOp(const ScalarOp &op, const Scalar *in) {
  uint64_t bits =
      isFloat(op.operandType) ? encodeFloat(op.operandType, in[0].real()) : in[0].words[0];
  return isFloat(op.type) ? Scalar::of(decodeFloat(op.type, bits))
                          : Scalar::of(wrapInteger(op.type, static_cast<int64_t>(bits)));
}

/// Floats come out unrounded (apply() rounds), but integers over 2^53 are rounded once here.
Scalar convertOp(const ScalarOp &op, const Scalar *in) {
  DTypeClass from = dtypeClass(op.operandType), to = dtypeClass(op.type);
  bool isFromFloat = from == DTypeClass::Float || from == DTypeClass::Complex;
  if (to == DTypeClass::Float || to == DTypeClass::Complex) {
    if (isFromFloat)
      return from == to ? in[0] : Scalar{{in[0].words[0], 0}};
    return Scalar::of(doubleFromInteger(op.operandType, in[0].integer()));
  }
  if (isFromFloat)
    return Scalar::of(integerFromFloat(op.type, in[0].real()));
  return Scalar::of(wrapInteger(op.type, in[0].integer()));
}
Scalar convertIntegerToFloatOp(const ScalarOp &op, const Scalar *in) {
  return Scalar::of(floatFromInteger(op.type, op.operandType, in[0].integer()));
}

size_t arity(Opcode opcode) {
  switch (opcode) {
  case Opcode::Add:
  case Opcode::Subtract:
  case Opcode::Multiply:
  case Opcode::Divide:
  case Opcode::Remainder:
  case Opcode::Power:
  case Opcode::Maximum:
  case Opcode::Minimum:
  case Opcode::Atan2:
  case Opcode::And:
  case Opcode::Or:
  case Opcode::Xor:
  case Opcode::ShiftLeft:
  case Opcode::ShiftRightArithmetic:
  case Opcode::ShiftRightLogical:
  case Opcode::Compare:
  case Opcode::Complex:
    return 2;
  case Opcode::Select:
  case Opcode::Clamp:
    return 3;
  default:
    return 1;
  }
}

/// Results that are one of the operands' values up to sign: rounding again would change nothing.
bool keepsPrecision(Opcode opcode) {
  switch (opcode) {
  case Opcode::Maximum:
  case Opcode::Minimum:
  case Opcode::Clamp:
  case Opcode::Abs:
  case Opcode::Negate:
  case Opcode::Select:
  case Opcode::Copy:
  case Opcode::CopyDone:
  case Opcode::Domain:
  case Opcode::Complex:
  case Opcode::Real:
  case Opcode::Imag:
  case Opcode::BitcastConvert:
  case Opcode::Sign:
    return true;
  default:
    return false;
  }
}
} // namespace

Scalar roundScalar(DType type, const Scalar &value) {
  switch (dtypeClass(type)) {
  case DTypeClass::Float:
    return Scalar::of(roundFloat(type, value.real()));
  case DTypeClass::Complex: {
    DType part = type == DType::C64 ? DType::F32 : DType::F64;
    std::complex<double> z = value.complex();
    return Scalar::of(Complex(roundFloat(part, z.real()), roundFloat(part, z.imag())));
  }
  case DTypeClass::NonNumeric:
    return value;
  default:
    return Scalar::of(wrapInteger(type, value.integer()));
  }
}

llvm::Expected<ScalarOp> ScalarOp::make(const Op &op, std::span<const DType> operandTypes,
                                        Rounding rounding) {
  ScalarOp result;
  result.opcode = op.opcode;
  result.type = op.shape.dtype;
  result.comparison = op.attrs.comparison;
  result.exponentBits = static_cast<unsigned>(op.attrs.exponentBits);
  result.mantissaBits = static_cast<unsigned>(op.attrs.mantissaBits);
  for (const RawAttribute &attribute : op.rawAttrs)
    if (attribute.name == "type" && attribute.text == "TOTALORDER")
      result.isTotalOrder = true;
  if (operandTypes.size() != arity(op.opcode))
    return makeError(DiagClass::BadInput, "{} takes {} operands, not {}", toString(op.opcode),
                     arity(op.opcode), operandTypes.size());
  result.operandType = operandTypes[op.opcode == Opcode::Select ? 1 : 0];
  DTypeClass in = dtypeClass(result.operandType), out = dtypeClass(result.type);
  bool isFloating = out == DTypeClass::Float || out == DTypeClass::Complex;
  // Float operands may differ in precision; all are held as doubles.
  bool isOneClass =
      std::all_of(operandTypes.begin() + (op.opcode == Opcode::Select ? 1 : 0), operandTypes.end(),
                  [&](DType type) {
                    return type == result.operandType || (isFloat(type) && in == DTypeClass::Float);
                  });
  switch (op.opcode) {
  case Opcode::Compare:
    result.function = compareOp;
    break;
  case Opcode::Convert:
    result.function =
        out == DTypeClass::Float && (isInteger(result.operandType)) && rounding != Rounding::None
            ? convertIntegerToFloatOp
            : convertOp;
    break;
  case Opcode::BitcastConvert:
    if (bitWidth(result.type) == bitWidth(result.operandType) && in != DTypeClass::Complex &&
        out != DTypeClass::Complex)
      result.function = bitcastConvertOp;
    break;
  case Opcode::Select:
    result.function = selectOp;
    break;
  case Opcode::Copy:
  case Opcode::CopyDone:
  case Opcode::Domain:
    result.function = copyOp;
    break;
  case Opcode::IsFinite:
    if (in == DTypeClass::Float)
      result.function = isFiniteOp;
    break;
  case Opcode::Complex:
    if (out == DTypeClass::Complex && in == DTypeClass::Float)
      result.function = complexMakeOp;
    break;
  case Opcode::Real:
    result.function = realPartOp;
    break;
  case Opcode::Imag:
    if (out == DTypeClass::Float)
      result.function = imaginaryPartOp;
    break;
  case Opcode::ReducePrecision:
    if (in == DTypeClass::Float)
      result.function = rounding == Rounding::None ? copyOp : reducePrecisionOp;
    break;
  default: {
    unsigned kinds = arithmeticKinds(op.opcode);
    if (op.opcode == Opcode::Abs && in == DTypeClass::Complex && out == DTypeClass::Float) {
      result.function = absComplexOp;
    } else if (in == out) {
      if (in == DTypeClass::Float && (kinds & onReals))
        result.function = realOp;
      else if (in == DTypeClass::Complex && (kinds & onComplex))
        result.function = complexOp;
      else if (in != DTypeClass::Float && in != DTypeClass::Complex && (kinds & onIntegers))
        result.function = integerOp;
    }
  }
  }
  if (!result.function || in == DTypeClass::NonNumeric)
    return makeError(DiagClass::Unsupported, "{} of {} to {} is not evaluated", toString(op.opcode),
                     toString(result.operandType), toString(result.type));
  if (!isOneClass)
    return makeError(DiagClass::BadInput, "{} has operands of different types",
                     toString(op.opcode));
  bool isOneType = std::all_of(operandTypes.begin(), operandTypes.end(), [&](DType type) {
    return type == result.type || type == DType::Pred;
  });
  bool isConvert = op.opcode == Opcode::Convert || op.opcode == Opcode::ReducePrecision;
  if (isFloating && result.function != convertIntegerToFloatOp)
    result.isRounded = rounding == Rounding::All ? !keepsPrecision(op.opcode) || !isOneType
                                                 : rounding == Rounding::ConvertsOnly && isConvert;
  return result;
}

} // namespace tilewright::eval
