// The constraints of one map in normal form, and what they say about the domains.
#pragma once

#include "analysis/affine/index_map.h"

namespace tilewright {

/// Constraints over variables with domains, rewritten until nothing changes:
///   c·e + k ∈ [lo, hi]      → e ∈ […]              e // c ∈ [lo, hi]  → e ∈ [c·lo, c·hi + c - 1]
///   e mod m ∈ [r, r]        → e ≡ r (mod m)        v ∈ [lo, hi]       → the domain of v
///   8·a + b ∈ [16, 31]      → a ∈ [2, 3]           for b in [0, 7]
///   e ≡ r (mod m), e ≡ r' (mod m') → one constraint modulo lcm(m, m')
/// Domains of dims and range variables are narrowed to what a constraint leaves; constraints that
/// always hold go away. Constraints on a single variable of a small domain are decided by trying
/// every value.
///
/// "Empty" is only reported when proved; not every empty system is recognised.
class MapConstraints {
public:
  MapConstraints(ExprContext &context, std::vector<MapVariable> &variables,
                 std::vector<MapConstraint> constraints)
      : ctx(context), vars(variables), constraints(std::move(constraints)) {}

  /// Rewrites the constraints and narrows the variables' domains. False: no point satisfies them.
  [[nodiscard]] bool solve();

  /// Sorted, one for each expression and kind.
  const std::vector<MapConstraint> &result() const { return constraints; }

private:
  enum class Outcome { Keep, Drop, Empty };

  bool narrow(Expr var, Interval interval);
  Outcome normalise(MapConstraint &c, Simplifier &simplifier);
  Outcome normaliseRange(MapConstraint &c, Simplifier &simplifier);
  Outcome normaliseModulus(MapConstraint &c, Simplifier &simplifier);
  bool merge();
  bool propagate(const MapConstraint &c, Simplifier &simplifier);
  bool tryEveryValue();
  MapVariable *find(Expr var);
  /// Is its domain ours to narrow? Runtime variables are clamped to theirs.
  bool isNarrowable(const MapVariable &v) const;

  ExprContext &ctx;
  std::vector<MapVariable> &vars;
  std::vector<MapConstraint> constraints;
};

} // namespace tilewright
