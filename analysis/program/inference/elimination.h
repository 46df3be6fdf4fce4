// One round of labelling.h: the least sum of tables of costs over some nodes' labels.
#pragma once

#include "analysis/program/inference/labelling.h"

#include <optional>

namespace tilewright::inference {

/// Costs of the labels of one or two nodes; the last node's are neighbours.
struct CostTable {
  std::vector<uint32_t> scope;
  std::vector<Cost> cells;
};

struct EliminationLimits {
  uint64_t maxTable = 0, maxCells = 0;
};

/// Eliminates all nodes; node n has sizes[n] labels. Nodes with fewer neighbours come first, of
/// equal ones those with fewer labels, then by number.
class Elimination {
public:
  Elimination(std::vector<uint32_t> sizes, std::vector<CostTable> tables);

  enum class Outcome : uint8_t { Done, TableTooLarge, BudgetSpent };
  Outcome run(const EliminationLimits &limits);

  Cost least() const { return total; }
  uint64_t cells() const { return used; }
  size_t width() const { return widest; }
  /// The neighbour-richest of the nodes whose table was too large.
  uint32_t nodeToFix() const { return fixNode; }

  /// Labels with the least sum: of each node, last eliminated first, the first one that has it.
  std::vector<uint32_t> labels() const;
  /// All labels with the least sum in this order, up to `most`.
  std::vector<std::vector<uint32_t>> allLabels(size_t most) const;
  /// By node and label, the least sum of all labels with this one.
  std::vector<std::vector<Cost>> marginals() const;

private:
  struct Bucket {
    uint32_t node;
    std::vector<uint32_t> around;
    std::vector<Cost> cells;   ///< over (around…, node)
    std::vector<Cost> message; ///< over around: the least over the node
  };
  size_t cellOf(const Bucket &bucket, const std::vector<uint32_t> &labels) const;
  Bucket eliminate(uint32_t node, std::vector<uint32_t> around);
  void enumerate(size_t bucket, std::vector<uint32_t> &labels, size_t most,
                 std::vector<std::vector<uint32_t>> &into) const;

  std::vector<uint32_t> sizes;
  std::vector<CostTable> tables;
  std::vector<Bucket> buckets;
  Cost total = 0;
  uint64_t used = 0;
  size_t widest = 0;
  uint32_t fixNode = 0;
};

} // namespace tilewright::inference
