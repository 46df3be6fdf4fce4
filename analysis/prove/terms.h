// Expressions and formulas as Z3 terms over the unbounded integers (internal to analysis/prove).
#pragma once

#include "analysis/affine/expr.h"
#include "analysis/affine/index_map.h"
#include "analysis/tiling/constraint.h"

#include <map>
#include <z3++.h>

namespace tilewright::prove {

/// Translates with some variables fixed to numbers and some bound to terms; the others are integer
/// constants of their name, the same ones for all translators of a context. A quotient by
/// something that is not a number is named: x = d·q + r with 0 <= r < d is a side condition.
class Terms {
public:
  Terms(z3::context &context, const Assignment &fixed) : z3(context), fixed(fixed) {}

  void bind(Expr variable, z3::expr value) { bound.insert_or_assign(variable.variable(), value); }
  /// Binds the runtime variables of a map: each is the (clamped) value of an unknown function of
  /// its tensor at the coordinates of its source, so that equal reads give equal values.
  void bindRuntime(const IndexMap &map);

  z3::expr term(Expr expr);
  z3::expr truth(const Formula &formula);
  z3::expr number(int64_t value) { return z3.int_val(value); }

  /// Definitions of named quotients. Each is satisfiable by exactly one value where its divisor is
  /// positive, which `divisors` must be.
  std::vector<z3::expr> sideConditions, divisors;

private:
  z3::expr quotient(const z3::expr &x, const z3::expr &d, bool remainder);
  z3::expr make(Expr expr);

  z3::context &z3;
  const Assignment &fixed;
  std::map<VarId, z3::expr> bound;
  std::map<uint32_t, z3::expr> memo; ///< by expression id
};

/// The value of scalar op `tensor` (or of an element of it), before clamping.
z3::expr runtimeValue(z3::context &context, uint32_t tensor, const std::vector<z3::expr> &element);

/// lo <= x <= hi, leaving out ends that stand for "unbounded".
z3::expr within(const z3::expr &x, Interval range);
/// x clamped to the range.
z3::expr clamped(const z3::expr &x, Interval range);
/// range and residue of a constraint.
z3::expr holds(Terms &terms, const MapConstraint &constraint);

} // namespace tilewright::prove
