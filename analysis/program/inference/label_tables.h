// The tables of labelling.h: labels in play, and what pairs of nodes cost with them.
//
// Nodes are counted by *rank*, their place by name; a *place* is that of a label in its node's
// domain.
#pragma once

#include "analysis/program/inference/elimination.h"

namespace tilewright::inference {

/// Costs of the edges between two nodes together, over the labels that are in play.
struct PairTable {
  uint32_t from, to; ///< ranks
  std::vector<size_t> edges;
  std::vector<Cost> cells;
  std::vector<bool> isPriced; ///< else a bound
};

class LabelTables {
public:
  static constexpr int tieBits = 20;                 ///< sums of ties stay below
  using Places = std::vector<std::vector<uint32_t>>; ///< by rank: some of the domain's

  /// All labels that may be taken are in play.
  explicit LabelTables(const LabelProblem &problem);

  size_t size() const { return order.size(); }
  /// Has a node no label?
  bool isEmpty() const;
  size_t labelsLeft() const;
  Cost ownOf(uint32_t rank, uint32_t label) const { return problem.nodes[order[rank]].own[label]; }
  Cost tieOf(uint32_t rank, uint32_t label) const;
  Cost boundOf(const PairTable &pair, uint32_t a, uint32_t b) const;
  Cost priceOf(const PairTable &pair, uint32_t a, uint32_t b) const;

  void fillPairs(); ///< with bounds
  /// Keeps the labels of each node that are named by `kept`: places, ascending.
  void keep(const Places &kept);
  Places allPlaces() const;

  struct Tables {
    std::vector<uint32_t> sizes;
    std::vector<CostTable> tables;
  };
  /// Of these places alone. `withTies`: costs times 2^tieBits, plus ties.
  Tables tablesOf(const Places &places, bool withTies) const;
  /// Prices what a solution uses, and counts that. Did anything rise?
  bool priceAll(const std::vector<uint32_t> &places, size_t &priced);

  std::vector<uint32_t> labelsAt(const std::vector<uint32_t> &places) const; ///< by rank
  /// By node, of labels by rank.
  std::vector<uint32_t> byNode(const std::vector<uint32_t> &labels) const;

  std::vector<std::vector<uint32_t>> domains; ///< labels by rank
  std::vector<PairTable> pairs;
  std::vector<std::vector<size_t>> touching; ///< pairs by rank

private:
  void groupEdges();

  const LabelProblem &problem;
  std::vector<uint32_t> order, rankOf;
};

} // namespace tilewright::inference
