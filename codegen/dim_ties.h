// DimTies: what an op says about the extents of its operands and of its result.
//
// Equalities go into DimFactors at once; the other relations are kept as a list over factors, which
// the choice of smaller extents (shrink.cpp) checks and repairs.
#pragma once

#include "analysis/ir/graph.h"
#include "codegen/dim_factors.h"

#include <optional>

namespace tilewright {

/// How the extent `result` follows from `sources`.
struct DimRelation {
  enum class Kind : uint8_t {
    Sum,    ///< result = Σ sources
    Pad,    ///< result = low + high + source + interior·(source - 1)
    Window, ///< result = positions of a window of extent sources[1] over sources[0]
    AtMost, ///< step·(result - 1) + 1 ≤ source
  };
  Kind kind;
  DimFactors::List result;
  std::vector<DimFactors::List> sources;
  PadDim pad;
  WindowDim window;
  int64_t step = 1;
};

/// True for a window over a whole dim, as in running sums: its size and padding follow the dim.
bool windowFollowsExtent(const WindowDim &window, int64_t extent);

/// The same window at `size` elements: padding that reached its end still does.
WindowDim resizedWindow(const WindowDim &window, int64_t size);

class DimTies {
public:
  explicit DimTies(const Graph &graph);

  const DimFactors &factors() const { return dims; }
  const std::vector<DimRelation> &relations() const { return all; }
  /// The factors of each dim of a tensor-shaped op, or of the tensors of a tuple-shaped one.
  const std::vector<DimFactors::List> &of(OpId op) const { return extents[op.index]; }
  /// Feature groups of a convolution.
  const DimFactors::List &groupsOf(OpId op) const { return groups[op.index]; }

private:
  using Lists = std::vector<DimFactors::List>;
  void tie(OpId id);
  void tieResults();
  void tieElementwise(OpId id);
  void tieReshape(OpId id);
  void tieConvolution(OpId id);
  void tieWindow(OpId id);
  void tieGather(OpId id);
  void tieScatter(OpId id);
  void tieDot(OpId id);
  void freezeAround(OpId id);
  void same(const DimFactors::List &a, const DimFactors::List &b) { dims.unify(a, b); }
  void atMost(const DimFactors::List &part, const DimFactors::List &whole, bool isWhole,
              int64_t step = 1);
  const Lists &operand(const Op &op, size_t i) const { return extents[op.operands[i].index]; }

  const Graph &graph;
  DimFactors dims;
  std::vector<Lists> extents;
  Lists groups;
  std::vector<DimRelation> all;
};

} // namespace tilewright
