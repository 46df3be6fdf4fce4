#include "analysis/import/maths.h"

#include <cmath>
#include <fmt/format.h>

namespace tilewright {

OpId Maths::number(double value) {
  if (std::isnan(value))
    return l.splat(shape, "nan");
  auto [it, isNew] = numbers.emplace(value, OpId{});
  if (isNew) {
    const std::string text =
        std::isinf(value) ? (value < 0 ? "-inf" : "inf") : fmt::format("{}", value);
    const bool isComplex = dtypeClass(shape.dtype) == DTypeClass::Complex;
    it->second = l.splat(shape, isComplex ? fmt::format("({}, 0)", text) : text);
  }
  return it->second;
}

OpId Maths::compare(OpId a, Comparison comparison, OpId b) {
  OpAttributes attrs;
  attrs.comparison = comparison;
  return l.add(Opcode::Compare, boolean(), {a, b}, std::move(attrs));
}

OpId Maths::both(OpId a, OpId b) { return l.add(Opcode::And, boolean(), {a, b}); }

OpId Maths::select(OpId which, OpId a, OpId b) {
  return l.add(Opcode::Select, shape, {which, a, b});
}

OpId Maths::polynomial(OpId x, std::span<const double> coefficients) {
  OpId sum = number(coefficients[0]);
  for (double c : coefficients.subspan(1))
    sum = add(multiply(sum, x), number(c));
  return sum;
}

OpId Maths::chebyshev(OpId x, std::span<const double> coefficients) {
  OpId b0 = number(coefficients[0]), b1 = number(0), b2 = b1;
  for (double c : coefficients.subspan(1)) {
    b2 = b1;
    b1 = b0;
    b0 = add(subtract(multiply(x, b1), b2), number(c));
  }
  return multiply(subtract(b0, b2), number(0.5));
}

} // namespace tilewright
