// The constraints of one map in normal form, and what they say about the domains.
#pragma once

#include "analysis/affine/expr_internal.h"
#include "analysis/affine/map_pool.h"
#include "analysis/affine/simplify_impl.h"

namespace tilewright {

/// Constraints over variables with domains, rewritten until nothing changes:
///   c·e + k ∈ [lo, hi]      → e ∈ […]              e // c ∈ [lo, hi]  → e ∈ [c·lo, c·hi + c - 1]
///   e mod m ∈ [r, r]        → e ≡ r (mod m)        v ∈ [lo, hi]       → the domain of v
///   8·a + b ∈ [16, 31]      → a ∈ [2, 3]           for b in [0, 7]
///   e ≡ r (mod m), e ≡ r' (mod m') → one constraint modulo lcm(m, m')
/// Domains of dims and range variables are narrowed to the values that a constraint allows;
/// constraints that always hold are dropped. Constraints on a single variable of a small domain are
/// decided by trying every value.
///
/// "Empty" is only reported when proved; not every empty system is recognised.
class MapConstraints {
public:
  MapConstraints(ExprContext &context, detail::MapDraft &map) : ctx(context), map(map) {}

  /// Rewrites the map's constraints and narrows its variables' domains; afterwards there is one
  /// constraint for each expression and kind, in order. False: no point satisfies them.
  [[nodiscard]] bool solve();

  /// Declares that these constraints of the map are in normal form and have already narrowed the
  /// current domains.
  void know(std::span<const MapConstraint> solved) { known.assign(solved.begin(), solved.end()); }

  /// Narrows the domain of a variable where it may be. True if it now implies the interval.
  bool narrow(Expr var, Interval interval);

  /// True if the domain of a variable in the expression may have been narrowed (conservative).
  bool isAffected(Expr expr) const { return detail::nodeOf(expr)->variables & narrowed; }

  /// A simplifier for the current domains, valid until a domain changes.
  Simplifier::Impl &simplifier();

private:
  enum class Outcome { Keep, Drop, Empty };

  void setDomain(MapVariable &v, Interval domain);
  Outcome normalise(MapConstraint &c);
  bool isKnown(const MapConstraint &c) const;
  Outcome narrowToValues(MapConstraint &c, Interval values);
  Outcome normaliseRange(MapConstraint &c);
  bool keepHighDigits(MapConstraint &c, const LinearForm &form, Interval values);
  Outcome normaliseModulus(MapConstraint &c);
  bool normaliseAll();
  bool merge();
  bool propagate(const MapConstraint &c, const LinearForm &form);
  bool narrowSums(llvm::SmallVectorImpl<LinearForm> &forms, int &round);
  bool tryEveryValue();
  MapVariable *find(Expr var);
  bool hasEmptyDomain() const;
  /// True if its domain may be narrowed. Runtime variables are clamped to theirs.
  bool isNarrowable(const MapVariable &v) const;

  ExprContext &ctx;
  detail::MapDraft &map;
  std::optional<Simplifier::Impl> current;
  llvm::SmallVector<MapConstraint, 4> known; ///< constraints that are in normal form
  uint64_t narrowed = 0;                     ///< ExprNode::variables of variables with new domains
  uint64_t narrowedSince = 0;                ///< the same, since `current` was made
  bool isStale = true;                       ///< domains have changed since `current` was created
  bool isSettled = true;                     ///< another round would change nothing
};

} // namespace tilewright
