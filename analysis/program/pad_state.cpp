#include "analysis/program/pad_state.h"

#include <cmath>
#include <limits>
#include <optional>

namespace tilewright::program {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

/// Whether an operation leaves x alone where the other operand is y.
bool isNeutral(Opcode opcode, const Pad &y, bool isRight) {
  switch (opcode) {
  case Opcode::Add:
    return y.is(0);
  case Opcode::Subtract:
    return isRight && y.is(0);
  case Opcode::Multiply:
    return y.is(1);
  case Opcode::Divide:
    return isRight && y.is(1);
  case Opcode::Maximum:
    return y.is(-inf);
  case Opcode::Minimum:
    return y.is(inf);
  default:
    return false;
  }
}

double apply(Opcode opcode, double a, double b) {
  switch (opcode) {
  case Opcode::Add:
    return a + b;
  case Opcode::Subtract:
    return a - b;
  case Opcode::Multiply:
    return a * b;
  case Opcode::Divide:
    return a / b;
  case Opcode::Maximum:
    return std::max(a, b);
  case Opcode::Minimum:
    return std::min(a, b);
  case Opcode::Power:
    return std::pow(a, b);
  case Opcode::And:
    return a != 0 && b != 0;
  case Opcode::Or:
    return a != 0 || b != 0;
  default:
    return std::numeric_limits<double>::quiet_NaN();
  }
}

std::optional<double> apply(Opcode opcode, double a) {
  switch (opcode) {
  case Opcode::Exp:
    return std::exp(a);
  case Opcode::Negate:
    return -a;
  case Opcode::Abs:
    return std::abs(a);
  case Opcode::Sqrt:
    return std::sqrt(a);
  case Opcode::Tanh:
    return std::tanh(a);
  case Opcode::Not:
    return a == 0;
  case Opcode::Convert:
  case Opcode::Floor:
  case Opcode::Ceil:
    return a == std::floor(a) || std::isinf(a) ? std::optional(a) : std::nullopt;
  default:
    return std::nullopt;
  }
}

} // namespace

Pad unaryPad(Opcode opcode, const Pad &a) {
  std::optional<double> value = a.isConstant() ? apply(opcode, a.number) : std::nullopt;
  return value ? Pad::constant(*value) : a.kind == Pad::Kind::Other ? a : Pad{};
}

Pad binaryPad(Opcode opcode, const Pad &a, const Pad &b) {
  if (a.isConstant() && b.isConstant())
    return Pad::constant(apply(opcode, a.number, b.number));
  if (opcode == Opcode::And && (a.is(0) || b.is(0)))
    return Pad::constant(0);
  if (opcode == Opcode::Or && (a.is(1) || b.is(1)))
    return Pad::constant(1);
  if (isNeutral(opcode, b, true))
    return a;
  if (isNeutral(opcode, a, false))
    return b;
  bool hasOther = a.kind == Pad::Kind::Other || b.kind == Pad::Kind::Other;
  if (a.kind == Pad::Kind::Other && b.kind == Pad::Kind::Other)
    return a;
  const Pad &known = a.isConstant() ? a : b;
  if (!hasOther || !known.isConstant())
    return {};
  bool isRight = b.isConstant();
  if (std::isinf(known.number) && (opcode == Opcode::Add || opcode == Opcode::Subtract))
    return Pad::constant(opcode == Opcode::Subtract && isRight ? -known.number : known.number);
  if (known.number == 0 && (opcode == Opcode::Multiply || (opcode == Opcode::Divide && !isRight)))
    return Pad::constant(0);
  return {};
}

bool holds(Comparison comparison, double a, double b) {
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
  case Comparison::Ge:
    return a >= b;
  }
  return false;
}

} // namespace tilewright::program
