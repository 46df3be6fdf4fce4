#include "analysis/ir/evaluator_arithmetic.h"

#include "analysis/ir/numeric.h"

#include <bit>
#include <cmath>

namespace tilewright::eval {

namespace {
using Complex = std::complex<double>;

int64_t wrappedAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrappedMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
int64_t negated(int64_t a) { return static_cast<int64_t>(-static_cast<uint64_t>(a)); }

int64_t divideIntegers(DType type, int64_t a, int64_t b) {
  if (b == 0)
    return -1;
  if (type == DType::U64)
    return static_cast<int64_t>(static_cast<uint64_t>(a) / static_cast<uint64_t>(b));
  return b == -1 ? negated(a) : a / b;
}

int64_t remainderOfIntegers(DType type, int64_t a, int64_t b) {
  if (b == 0)
    return a;
  if (type == DType::U64)
    return static_cast<int64_t>(static_cast<uint64_t>(a) % static_cast<uint64_t>(b));
  return b == -1 ? 0 : a % b;
}

int64_t powerOfIntegers(bool isUnsigned, int64_t base, int64_t exponent) {
  if (!isUnsigned && exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  int64_t result = 1;
  for (uint64_t left = static_cast<uint64_t>(exponent); left != 0; left >>= 1) {
    if (left & 1)
      result = wrappedMul(result, base);
    base = wrappedMul(base, base);
  }
  return result;
}

int64_t shifted(Opcode opcode, DType type, int64_t value, int64_t amount) {
  unsigned bits = type == DType::Pred ? 1 : bitWidth(type);
  uint64_t mask = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  uint64_t by = static_cast<uint64_t>(amount) & mask; // amounts are read as unsigned
  bool isTooFar = by >= bits;
  switch (opcode) {
  case Opcode::ShiftLeft:
    return isTooFar ? 0 : static_cast<int64_t>(static_cast<uint64_t>(value) << by);
  case Opcode::ShiftRightLogical:
    return isTooFar ? 0 : static_cast<int64_t>((static_cast<uint64_t>(value) & mask) >> by);
  default: {
    // Unsigned types keep their pattern: the sign is their top bit.
    int64_t extended =
        static_cast<int64_t>(static_cast<uint64_t>(value) << (64 - bits)) >> (64 - bits);
    return extended >> (isTooFar ? 63 : by);
  }
  }
}

bool isLess(DType type, int64_t a, int64_t b) {
  return type == DType::U64 ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
}

double minimum(double a, double b) { return a != a ? a : b != b ? b : b < a ? b : a; }
double maximum(double a, double b) { return a != a ? a : b != b ? b : b > a ? b : a; }
double sign(double a) { return a != a || a == 0 ? a : a < 0 ? -1 : 1; }

} // namespace

unsigned arithmeticKinds(Opcode opcode) {
  switch (opcode) {
  case Opcode::Add:
  case Opcode::Subtract:
  case Opcode::Multiply:
  case Opcode::Divide:
  case Opcode::Power:
  case Opcode::Negate:
  case Opcode::Sign:
    return onIntegers | onReals | onComplex;
  case Opcode::Remainder:
  case Opcode::Maximum:
  case Opcode::Minimum:
  case Opcode::Clamp:
  case Opcode::Abs:
    return onIntegers | onReals;
  case Opcode::And:
  case Opcode::Or:
  case Opcode::Xor:
  case Opcode::Not:
  case Opcode::PopulationCount:
  case Opcode::Clz:
  case Opcode::ShiftLeft:
  case Opcode::ShiftRightArithmetic:
  case Opcode::ShiftRightLogical:
    return onIntegers;
  case Opcode::Exp:
  case Opcode::Expm1:
  case Opcode::Log:
  case Opcode::Log1p:
  case Opcode::Logistic:
  case Opcode::Sqrt:
  case Opcode::Rsqrt:
  case Opcode::Sine:
  case Opcode::Cosine:
  case Opcode::Tan:
  case Opcode::Tanh:
    return onReals | onComplex;
  case Opcode::Atan2:
  case Opcode::Acos:
  case Opcode::Acosh:
  case Opcode::Asin:
  case Opcode::Asinh:
  case Opcode::Atanh:
  case Opcode::Cbrt:
  case Opcode::Ceil:
  case Opcode::Cosh:
  case Opcode::Erf:
  case Opcode::Floor:
  case Opcode::RoundNearestAfz:
  case Opcode::RoundNearestEven:
  case Opcode::Sinh:
    return onReals;
  default:
    return 0;
  }
}

Scalar integerOp(const ScalarOp &op, const Scalar *in) {
  int64_t a = in[0].integer(), b = in[1].integer();
  DType type = op.type;
  bool isUnsigned = dtypeClass(type) != DTypeClass::Signed;
  unsigned bits = bitWidth(type);
  uint64_t pattern =
      static_cast<uint64_t>(a) & (bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1);
  auto result = [&]() -> int64_t {
    switch (op.opcode) {
    case Opcode::Add:
      return wrappedAdd(a, b);
    case Opcode::Subtract:
      return wrappedAdd(a, negated(b));
    case Opcode::Multiply:
      return wrappedMul(a, b);
    case Opcode::Divide:
      return divideIntegers(type, a, b);
    case Opcode::Remainder:
      return remainderOfIntegers(type, a, b);
    case Opcode::Power:
      return powerOfIntegers(isUnsigned, a, b);
    case Opcode::Maximum:
      return isLess(type, a, b) ? b : a;
    case Opcode::Minimum:
      return isLess(type, b, a) ? b : a;
    case Opcode::Clamp: {
      int64_t raised = isLess(type, b, a) ? a : b, high = in[2].integer();
      return isLess(type, high, raised) ? high : raised;
    }
    case Opcode::And:
      return a & b;
    case Opcode::Or:
      return a | b;
    case Opcode::Xor:
      return a ^ b;
    case Opcode::Not:
      return type == DType::Pred ? !a : ~a;
    case Opcode::Negate:
      return negated(a);
    case Opcode::Abs:
      return !isUnsigned && a < 0 ? negated(a) : a;
    case Opcode::Sign:
      return isUnsigned ? a != 0 : (a > 0) - (a < 0);
    case Opcode::PopulationCount:
      return std::popcount(pattern);
    case Opcode::Clz:
      return std::countl_zero(pattern) - (64 - static_cast<int>(bits));
    default: // the shifts: make() lets nothing else through
      return shifted(op.opcode, type, a, b);
    }
  }();
  return Scalar::of(wrapInteger(type, result));
}

Scalar realOp(const ScalarOp &op, const Scalar *in) {
  double a = in[0].real(), b = in[1].real();
  auto result = [&]() -> double {
    switch (op.opcode) {
    case Opcode::Add:
      return a + b;
    case Opcode::Subtract:
      return a - b;
    case Opcode::Multiply:
      return a * b;
    case Opcode::Divide:
      return a / b;
    case Opcode::Remainder:
      return std::fmod(a, b);
    case Opcode::Power:
      return std::pow(a, b);
    case Opcode::Maximum:
      return maximum(a, b);
    case Opcode::Minimum:
      return minimum(a, b);
    case Opcode::Clamp:
      return minimum(maximum(a, b), in[2].real());
    case Opcode::Atan2:
      return std::atan2(a, b);
    case Opcode::Abs:
      return std::fabs(a);
    case Opcode::Negate:
      return -a;
    case Opcode::Sign:
      return sign(a);
    case Opcode::Acos:
      return std::acos(a);
    case Opcode::Acosh:
      return std::acosh(a);
    case Opcode::Asin:
      return std::asin(a);
    case Opcode::Asinh:
      return std::asinh(a);
    case Opcode::Atanh:
      return std::atanh(a);
    case Opcode::Cbrt:
      return std::cbrt(a);
    case Opcode::Ceil:
      return std::ceil(a);
    case Opcode::Cosine:
      return std::cos(a);
    case Opcode::Cosh:
      return std::cosh(a);
    case Opcode::Erf:
      return std::erf(a);
    case Opcode::Exp:
      return std::exp(a);
    case Opcode::Expm1:
      return std::expm1(a);
    case Opcode::Floor:
      return std::floor(a);
    case Opcode::Log:
      return std::log(a);
    case Opcode::Log1p:
      return std::log1p(a);
    case Opcode::Logistic:
      return 1 / (1 + std::exp(-a));
    case Opcode::RoundNearestAfz:
      return std::round(a);
    case Opcode::RoundNearestEven:
      return std::nearbyint(a);
    case Opcode::Rsqrt:
      return 1 / std::sqrt(a);
    case Opcode::Sine:
      return std::sin(a);
    case Opcode::Sinh:
      return std::sinh(a);
    case Opcode::Sqrt:
      return std::sqrt(a);
    case Opcode::Tan:
      return std::tan(a);
    default: // make() lets nothing else through
      return std::tanh(a);
    }
  }();
  return Scalar::of(result);
}

Scalar complexOp(const ScalarOp &op, const Scalar *in) {
  Complex a = in[0].complex(), b = in[1].complex();
  auto result = [&]() -> Complex {
    switch (op.opcode) {
    case Opcode::Add:
      return a + b;
    case Opcode::Subtract:
      return a - b;
    case Opcode::Multiply:
      return a * b;
    case Opcode::Divide:
      return a / b;
    case Opcode::Power:
      return a == Complex(0) ? (b == Complex(0) ? Complex(1) : Complex(0)) : std::pow(a, b);
    case Opcode::Negate:
      return -a;
    case Opcode::Sign:
      return a == Complex(0) ? a : a / std::abs(a);
    case Opcode::Exp:
      return std::exp(a);
    case Opcode::Expm1:
      return std::exp(a) - 1.0;
    case Opcode::Log:
      return std::log(a);
    case Opcode::Log1p:
      return std::log(a + 1.0);
    case Opcode::Logistic:
      return 1.0 / (1.0 + std::exp(-a));
    case Opcode::Sqrt:
      return std::sqrt(a);
    case Opcode::Rsqrt:
      return 1.0 / std::sqrt(a);
    case Opcode::Sine:
      return std::sin(a);
    case Opcode::Cosine:
      return std::cos(a);
    case Opcode::Tan:
      return std::tan(a);
    default: // make() lets nothing else through
      return std::tanh(a);
    }
  }();
  return Scalar::of(result);
}

} // namespace tilewright::eval
