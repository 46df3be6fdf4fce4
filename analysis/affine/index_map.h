// IndexMap: from the coordinates of one tensor to the coordinates that it reads in another.
//
//   (d0, d1)[s0] -> (d0 * 2 + s0 - 1, d1)   d0 in [0, 6], d1 in [0, 16], s0 in [0, 2],
//                                           d0 * 2 + s0 in [1, 13]
//
// reads as: for every d0, d1 in their domains and every s0 such that the constraints hold, the
// element (2·d0+s0-1, d1) is read. Range variables enumerate the elements read by one output
// element; runtime variables stand for values that are only known when the kernel runs and record
// which tensor they come from.
#pragma once

#include "analysis/affine/expr.h"
#include "analysis/affine/simplify.h"

#include <llvm/ADT/ArrayRef.h>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

namespace detail {
struct MapNode;
} // namespace detail

/// Where the value of a runtime variable comes from: element `element` of the tensor made by op
/// `tensor` (an id of the graph that the map was made for), an index map of its own from the map's
/// variables to that tensor's coordinates.
struct RuntimeSource {
  uint32_t tensor = UINT32_MAX; ///< OpId::index
  std::string tensorName;       ///< for printing: "%start"
  std::vector<Expr> element;    ///< coordinates in that tensor, over the map's variables
  bool operator==(const RuntimeSource &) const = default;

  /// The source with every coordinate of its element replaced.
  template <typename Replace> const RuntimeSource *mapped(const Replace &replace) const {
    std::vector<Expr> coordinates;
    for (Expr e : element)
      coordinates.push_back(replace(e));
    return withElement(std::move(coordinates));
  }
  const RuntimeSource *withElement(std::vector<Expr> coordinates) const;
};

/// A variable of a map with its domain. The value of a runtime variable is its source's element
/// clamped to the domain, so that the domains of runtime variables are never narrowed.
struct MapVariable {
  Expr var;
  Interval domain;
  /// Of runtime variables. Kept by the context, each once: equal sources are equal pointers.
  const RuntimeSource *source = nullptr;

  MapVariable() = default;
  MapVariable(Expr var, Interval domain, std::optional<RuntimeSource> source = std::nullopt);
  bool operator==(const MapVariable &) const = default;
};

/// expr ∈ range and expr ≡ residue (mod modulus).
struct MapConstraint {
  Expr expr;
  Interval range;
  int64_t modulus = 1, residue = 0;

  bool operator==(const MapConstraint &) const = default;
  std::string str() const;
};

/// An immutable value as cheap to copy as a pointer: its context keeps every map once, with its
/// normal form and its compositions, for as long as the context lives.
class IndexMap {
public:
  /// A map without constraints; its variables are the dims d0…d(n-1) with the given extents.
  static IndexMap overExtents(ExprContext &context, std::span<const int64_t> extents,
                              std::vector<Expr> results);
  static IndexMap identity(ExprContext &context, std::span<const int64_t> extents);
  /// A map of `resultCount` results that reads nothing.
  static IndexMap knownEmpty(ExprContext &context, std::span<const int64_t> extents,
                             unsigned resultCount);

  IndexMap(ExprContext &context, const std::vector<MapVariable> &variables,
           const std::vector<Expr> &results, const std::vector<MapConstraint> &constraints = {});

  ExprContext &context() const;
  llvm::ArrayRef<MapVariable> variables() const;
  llvm::ArrayRef<Expr> results() const;
  llvm::ArrayRef<MapConstraint> constraints() const;
  std::vector<MapVariable> variables(VarKind kind) const;

  /// Proved to read nothing; false means "not known to be".
  bool isKnownEmpty() const;

  /// The domains of all variables as bounds.
  Bounds bounds() const;

  /// Same set of reads, in normal form: simplified results and constraints, variables that occur
  /// nowhere dropped (dims stay), always-true constraints dropped, domains tightened, points
  /// substituted, runtime variables of the same source and domain merged, an empty domain
  /// recognised. Range variables keep their identity.
  /// Found out once for each map.
  IndexMap simplified() const;

  /// The simplified map with range variables that must be r modulo k replaced by k·s + r, so that
  /// they count what is read: s0 in [0, 41], s0 mod 6 = 3 becomes s0 in [0, 6] in s0 * 6 + 3.
  IndexMap rescaled() const;

  /// Range variables renamed to s0, s1, … and runtime variables to rt0, rt1, … in list order.
  IndexMap renumbered() const;

  /// The results at a point; empty if the point is outside the domain or violates a constraint.
  std::optional<std::vector<int64_t>> evaluate(const Assignment &point) const;

  /// Structural equality after renaming range and runtime variables in order.
  bool equivalent(const IndexMap &other) const;

  /// "(d0, d1)[s0]{rt0} -> (d0 * 2 + s0 - 1, d1), domain: d0 in [0, 6], …, d0 * 2 + s0 in [1, 13]".
  /// Range and runtime variables are numbered in order of the variable list.
  std::string str() const;

private:
  friend IndexMap compose(const IndexMap &first, const IndexMap &second);
  explicit IndexMap(const detail::MapNode *node) : node(node) {}
  IndexMap canonicallyNamed() const;

  const detail::MapNode *node;
};

/// first: A → B (coordinates of B read by an element of A); second: B → C. The composition A → C:
/// second's dims are replaced by first's results, range and runtime variables of second are
/// renamed apart, and first's results are constrained to second's dim domains. Simplified.
/// Both maps are of one context and first has one result for each dim of second. The context
/// remembers what it has composed.
IndexMap compose(const IndexMap &first, const IndexMap &second);

} // namespace tilewright
