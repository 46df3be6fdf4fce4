// The cheapest layouts of a tile program, with the proof, or why there are none.
#pragma once

#include "analysis/program/inference/layout_problem.h"

namespace tilewright::inference {

/// A value's (or buffer's) layout in the answer.
struct InferredNode {
  uint32_t node; ///< in the graph
  NodeLabel label;
};
/// A conversion that the answer has.
struct InferredMove {
  uint32_t from, to; ///< nodes
  std::string value;
  Move move;
  int64_t trips = 1;
  std::string form; ///< of shared memory
};

struct InferredLayouts {
  Cost cost = 0, floor = 0;
  std::vector<InferredNode> nodes;
  std::vector<InferredMove> moves; ///< those that cost something or need shared memory
};

/// A layout of one node, with the least cost of all that have it.
struct RankedLayout {
  NodeLabel label;
  Cost cost;
};

struct InferenceAnswer {
  enum class Outcome : uint8_t {
    Found,
    Impossible,   ///< for every layout, by arithmetic
    NoneInFamily, ///< what was searched in full has none
    NoLabel,      ///< an op takes none of the layouts
    BudgetSpent,  ///< neither is known
  };
  Outcome outcome = Outcome::Found;
  InferredLayouts layouts;
  /// Other choices of the same cost, on request.
  std::vector<InferredLayouts> optima;
  bool hasMoreOptima = false;
  size_t labels = 0;
  bool isClosed = true; ///< the family is closed under the ops' images
  LabelAnswer search;
  /// The layouts that the program has, by the same prices; none where its layouts contradict the
  /// rules, or nobody asked.
  std::optional<InferredLayouts> given;
  /// What else a node could have, on request, cheapest first.
  std::vector<RankedLayout> ranked;
  std::vector<std::string> notGiven; ///< names whose given layout was not looked at
  /// Impossible: the arithmetic; NoneInFamily: a smallest set of constraints that contradict each
  /// other; NoLabel: op and reason.
  std::vector<std::string> reasons;
  struct Repair {
    Cost cost;
    std::string words;
  };
  std::vector<Repair> repairs; ///< cheapest first
  bool isCertified = false;    ///< NoneInFamily: Z3 finds the same
};

InferenceAnswer inferLayouts(LayoutProblem &problem);
/// Of a choice of labels, one a node.
InferredLayouts layoutsFor(LayoutProblem &problem, const std::vector<uint32_t> &labels);
/// The cheapest layouts of a node, up to `most`; of equal costs by fewer registers, then by text.
std::vector<RankedLayout> rankLayouts(LayoutProblem &problem, uint32_t node, size_t most);
/// Fills `given` of an answer with layouts.
void priceGiven(LayoutProblem &problem, InferenceAnswer &answer);

} // namespace tilewright::inference
