// The cheapest labels of a graph's nodes, exactly.
//
// Each node takes one of its labels, at a cost of its own; each edge costs what the labels at its
// ends say. Edges are dear to price, so that there are two functions of them: a *bound* from below
// and the price. The least sum is found by eliminating one node after another over bounds, and by
// pricing what the best labels use until all of that is priced: bounds are never above prices, so
// that labels which are then best are best by price.
//
// - Eliminating a node costs a table over its neighbours' labels. In the graphs of tile programs
//   these are one or two. Where a table would be larger than a limit, a node is fixed to each of
//   its labels in turn.
// - Between rounds labels are dropped that no solution as cheap as the best one known can have: by
//   what is least for each of a node's labels over all others', which the tables tell.
// - Nodes are taken by name, never by position: the answer is the same in whatever order they come.
// - The budget counts cells of tables, never time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::inference {

using Cost = int64_t;
/// At least this: not allowed.
constexpr Cost impossible = Cost(1) << 56;
inline Cost sumOf(Cost a, Cost b) { return a + b < impossible ? a + b : impossible; }
inline Cost timesOf(Cost a, int64_t n) {
  return a >= impossible || (n > 0 && a > impossible / n) ? impossible : a * n;
}

struct LabelledNode {
  std::string name;             ///< no two have one name
  std::vector<Cost> own;        ///< by label; `impossible` where it may not be taken
  std::vector<uint32_t> ties{}; ///< of equal costs the least sum of these is taken; none: 0
};
/// Several edges may join the same nodes.
struct LabelledEdge {
  uint32_t from, to;
};

class LabelCosts {
public:
  virtual ~LabelCosts() = default;
  virtual Cost bound(size_t edge, uint32_t from, uint32_t to) = 0; ///< at most the price
  virtual Cost price(size_t edge, uint32_t from, uint32_t to) = 0;
};

struct LabelProblem {
  std::vector<LabelledNode> nodes;
  std::vector<LabelledEdge> edges;
  LabelCosts *costs = nullptr;
};

struct LabelOptions {
  uint64_t maxCells = 400'000'000; ///< of all tables together
  uint64_t maxTable = 8'000'000;   ///< of one; above it a node is fixed to each label in turn
  size_t maxOptima = 0;            ///< that are listed
};

struct LabelAnswer {
  enum class Outcome : uint8_t {
    Found,
    None,        ///< no labels are allowed together
    BudgetSpent, ///< neither is known
  };
  Outcome outcome = Outcome::None;
  Cost cost = impossible;
  std::vector<uint32_t> labels; ///< by node
  /// Labels of least cost, whatever their ties, in a fixed order; up to maxOptima.
  std::vector<std::vector<uint32_t>> optima;
  bool hasMoreOptima = false;
  uint64_t cells = 0;
  size_t rounds = 0, priced = 0, width = 0;
};

LabelAnswer solveLabels(const LabelProblem &problem, const LabelOptions &options = {});

/// The sum of some labels' prices.
Cost costOf(const LabelProblem &problem, const std::vector<uint32_t> &labels);

} // namespace tilewright::inference
