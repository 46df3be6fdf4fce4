#include "analysis/prove/terms.h"

#include <fmt/format.h>

namespace tilewright::prove {

z3::expr runtimeValue(z3::context &context, uint32_t tensor, const std::vector<z3::expr> &element) {
  const std::string name = fmt::format("value!{}", tensor);
  if (element.empty())
    return context.int_const(name.c_str());
  z3::sort_vector domain(context);
  z3::expr_vector arguments(context);
  for (const z3::expr &e : element) {
    domain.push_back(context.int_sort());
    arguments.push_back(e);
  }
  return context.function(name.c_str(), domain, context.int_sort())(arguments);
}

z3::expr within(const z3::expr &x, Interval range) {
  z3::context &c = x.ctx();
  z3::expr result = c.bool_val(true);
  if (range.lo != INT64_MIN)
    result = result && x >= c.int_val(range.lo);
  if (range.hi != INT64_MAX)
    result = result && x <= c.int_val(range.hi);
  return result;
}

z3::expr clamped(const z3::expr &x, Interval range) {
  z3::context &c = x.ctx();
  z3::expr result = x;
  if (range.hi != INT64_MAX)
    result = z3::ite(result <= c.int_val(range.hi), result, c.int_val(range.hi));
  if (range.lo != INT64_MIN)
    result = z3::ite(result >= c.int_val(range.lo), result, c.int_val(range.lo));
  return result;
}

z3::expr holds(Terms &terms, const MapConstraint &constraint) {
  z3::expr x = terms.term(constraint.expr);
  z3::expr result = within(x, constraint.range);
  if (constraint.modulus > 1)
    result = result &&
             z3::mod(x - terms.number(constraint.residue), terms.number(constraint.modulus)) == 0;
  return result;
}

void Terms::bindRuntime(const IndexMap &map) {
  std::vector<MapVariable> open = map.variables(VarKind::Runtime);
  while (!open.empty()) {
    std::vector<MapVariable> later;
    for (MapVariable &v : open) {
      std::vector<VarId> used = variablesOf(v.source->element);
      bool ready = std::none_of(open.begin(), open.end(), [&](const MapVariable &other) {
        return std::binary_search(used.begin(), used.end(), other.var.variable());
      });
      if (!ready) {
        later.push_back(std::move(v));
        continue;
      }
      std::vector<z3::expr> element;
      for (Expr e : v.source->element)
        element.push_back(term(e));
      bind(v.var, clamped(runtimeValue(z3, v.source->tensor, element), v.domain));
    }
    if (later.size() == open.size())
      return; // a cycle: they stay free
    open = std::move(later);
  }
}

z3::expr Terms::quotient(const z3::expr &x, const z3::expr &d, bool remainder) {
  if (d.is_numeral())
    return remainder ? z3::mod(x, d) : x / d;
  z3::expr q(z3, Z3_mk_fresh_const(z3, "q", z3.int_sort()));
  z3::expr r(z3, Z3_mk_fresh_const(z3, "r", z3.int_sort()));
  sideConditions.push_back(x == d * q + r && r >= 0 && r < d);
  divisors.push_back(d);
  return remainder ? r : q;
}

z3::expr Terms::term(Expr expr) {
  // Depth is that of one op's tile or map: shallow.
  if (auto it = memo.find(expr.id()); it != memo.end())
    return it->second;
  z3::expr made = make(expr).simplify();
  memo.insert({expr.id(), made});
  return made;
}

z3::expr Terms::make(Expr e) {
  switch (e.kind()) {
  case ExprKind::Constant:
    return number(e.constant());
  case ExprKind::Variable: {
    const VarId var = e.variable();
    if (auto it = bound.find(var); it != bound.end())
      return it->second;
    if (std::optional<int64_t> value = fixed.get(var))
      return number(*value);
    const Variable &info = e.context().info(var);
    return z3.int_const(fmt::format("{}!{}", info.name, static_cast<int>(info.kind)).c_str());
  }
  case ExprKind::Add:
    return term(e.lhs()) + term(e.rhs());
  case ExprKind::Mul:
    return term(e.lhs()) * term(e.rhs());
  case ExprKind::FloorDiv:
    return quotient(term(e.lhs()), term(e.rhs()), false);
  case ExprKind::CeilDiv:
    return -quotient(-term(e.lhs()), term(e.rhs()), false);
  case ExprKind::Mod:
    return quotient(term(e.lhs()), term(e.rhs()), true);
  case ExprKind::Min: {
    z3::expr a = term(e.lhs()), b = term(e.rhs());
    return z3::ite(a <= b, a, b);
  }
  case ExprKind::Max: {
    z3::expr a = term(e.lhs()), b = term(e.rhs());
    return z3::ite(a >= b, a, b);
  }
  case ExprKind::IsAtLeast:
    return z3::ite(term(e.lhs()) >= term(e.rhs()), number(1), number(0));
  case ExprKind::IsEqual:
    return z3::ite(term(e.lhs()) == term(e.rhs()), number(1), number(0));
  case ExprKind::Select:
    return z3::ite(term(e.third()) != number(0), term(e.lhs()), term(e.rhs()));
  case ExprKind::Pow2Ceil:
  case ExprKind::Pow2Divisor:
  case ExprKind::Log2: // of numbers alone; no rule of a tile speaks of them
  case ExprKind::Poison:
    break;
  }
  // Never a number: nothing can be proved about it.
  return z3::expr(z3, Z3_mk_fresh_const(z3, "poison", z3.int_sort()));
}

z3::expr Terms::truth(const Formula &formula) {
  z3::expr result = z3.bool_val(true);
  switch (formula.kind()) {
  case Formula::Kind::True:
    return result;
  case Formula::Kind::False:
    return z3.bool_val(false);
  case Formula::Kind::LessEqual:
    return term(formula.lhs()) <= term(formula.rhs());
  case Formula::Kind::Equal:
    return term(formula.lhs()) == term(formula.rhs());
  case Formula::Kind::Divides:
    return quotient(term(formula.rhs()), term(formula.lhs()), true) == 0;
  case Formula::Kind::And:
    for (const Formula &part : formula.parts())
      result = result && truth(part);
    return result;
  case Formula::Kind::Or:
    result = z3.bool_val(false);
    for (const Formula &part : formula.parts())
      result = result || truth(part);
    return result;
  case Formula::Kind::Not:
    return !truth(formula.parts().front());
  }
  return result;
}

} // namespace tilewright::prove
