// Domain-aware simplification of expressions.
#pragma once

#include "analysis/affine/expr.h"

#include <span>
#include <vector>

namespace tilewright {

/// Rewrites expressions to a deterministic normal form that has the same value for every point
/// within the bounds. Memoized over the DAG: each node is rewritten once per Simplifier, so keep
/// one for all expressions that share bounds.
///
/// Sums are flattened to Σ coefficient·term + constant with terms in a fixed order; // and mod
/// are cancelled against multiples, merged when nested and dropped when the range of their
/// operand lies in one period; min and max are decided by ranges. Poison stays poison; a rewrite
/// that would overflow is not made.
class Simplifier {
public:
  Simplifier(ExprContext &context, Bounds bounds);
  ~Simplifier();

  Expr simplify(Expr expr);
  std::vector<Expr> simplify(std::span<const Expr> exprs);

  /// Interval of the simplified expression: tighter than rangeOf(), since sums are combined.
  Interval range(Expr expr);

  /// Largest known positive divisor of every value of the expression (0 for the constant 0).
  int64_t knownDivisor(Expr expr);

  const Bounds &bounds() const;

  struct Impl; ///< simplify_impl.h

private:
  std::unique_ptr<Impl> impl;
};

} // namespace tilewright
