// Formulas as ops, for functions that HLO has no op of.
#pragma once

#include "analysis/import/op_builder.h"

#include <map>
#include <span>

namespace tilewright {

/// Ops on tensors of one shape and float or complex type. Constants are made once each.
class Maths {
public:
  Maths(OpBuilder &l, Shape shape) : l(l), shape(std::move(shape)) {}

  OpId number(double value);
  /// i, of complex tensors.
  OpId imaginaryUnit() { return l.splat(shape, "(0, 1)"); }
  OpId unary(Opcode opcode, OpId a) { return l.add(opcode, shape, {a}); }
  OpId binary(Opcode opcode, OpId a, OpId b) { return l.add(opcode, shape, {a, b}); }
  OpId add(OpId a, OpId b) { return binary(Opcode::Add, a, b); }
  OpId subtract(OpId a, OpId b) { return binary(Opcode::Subtract, a, b); }
  OpId multiply(OpId a, OpId b) { return binary(Opcode::Multiply, a, b); }
  OpId divide(OpId a, OpId b) { return binary(Opcode::Divide, a, b); }
  OpId compare(OpId a, Comparison comparison, OpId b);
  OpId both(OpId a, OpId b);
  OpId select(OpId which, OpId a, OpId b);
  /// c[0] x^(n-1) + … + c[n-1], by Horner's rule.
  OpId polynomial(OpId x, std::span<const double> coefficients);
  /// The same of Chebyshev polynomials of x / 2, halved at the end, by Clenshaw's rule: how Cephes
  /// keeps the series of Bessel functions.
  OpId chebyshev(OpId x, std::span<const double> coefficients);

private:
  Shape boolean() const { return Shape::tensor(DType::Pred, shape.dims); }

  OpBuilder &l;
  Shape shape;
  std::map<double, OpId> numbers;
};

} // namespace tilewright
