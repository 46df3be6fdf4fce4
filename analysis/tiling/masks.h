// Masks that are computed from indices: iota compared with iota.
//
// The predicate  compare(iota(dim 0), iota(dim 1) + 4), direction=GE  of shape [8, 8] is true where
// index 0 - index 1 - 4 ≥ 0. A mask is a conjunction of such affine conditions; other predicates
// have none.
#pragma once

#include "analysis/ir/graph.h"

#include <map>
#include <optional>
#include <vector>

namespace tilewright {

/// Σ coefficients[i] · index i + constant, over the dims of one op.
struct AffineValue {
  std::vector<int64_t> coefficients;
  int64_t constant = 0;
};

/// Finds affine values and predicates in a graph; memoized.
class MaskReader {
public:
  explicit MaskReader(const Graph &graph) : graph(graph) {}

  /// The value of an integer op in terms of its indices, if it is affine and never wraps.
  std::optional<AffineValue> valueOf(OpId op) { return value(op, 0); }

  /// Conditions `≥ 0` that all hold wherever the predicate is true. Empty: none is known.
  std::vector<AffineValue> conditionsOf(OpId predicate) { return conditions(predicate, 0); }

  /// Is the predicate true wherever all of conditionsOf() hold?
  bool isExact(OpId predicate);

private:
  std::optional<AffineValue> value(OpId op, unsigned depth);
  std::optional<AffineValue> computeValue(OpId id, unsigned depth);
  std::vector<AffineValue> conditions(OpId id, unsigned depth);
  std::optional<AffineValue> moved(const Op &op, const AffineValue &operand) const;

  const Graph &graph;
  std::map<OpId, std::optional<AffineValue>> values;
};

/// Can it be shown that for any indices of the other dims some index of dim `along` fulfils all
/// conditions? `dims` are the extents of the dims that the conditions are over.
bool alwaysHoldSomewhere(const std::vector<AffineValue> &conditions,
                         const std::vector<int64_t> &dims, size_t along);

/// The value of a scalar constant; of any constant whose elements are all the same.
std::optional<double> uniformConstant(const Op &op);

} // namespace tilewright
