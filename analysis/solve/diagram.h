// The candidates that a constraint accepts, as a decision diagram (internal to analysis/solve).
//
// Level by level over the constraint's parameters, an edge is a run of candidate indices with the
// same continuation. Equal continuations are one node, so "t0 · t1 · t2 ≤ 4096" over powers of two
// needs a few dozen nodes instead of thousands of tuples. For Z3 a node is a conjunction of bounds
// on one integer: linear, whatever the formula was.
#pragma once

#include "analysis/solve/program.h"

#include <optional>

namespace tilewright::detail {

struct Diagram {
  static constexpr uint32_t reject = 0, accept = 1; ///< terminals; inner nodes count from 2

  struct Edge {
    uint32_t last; ///< candidate indices up to this one, from where the edge before ended
    uint32_t target;
    auto operator<=>(const Edge &) const = default;
  };
  struct Node {
    unsigned parameter;
    std::vector<Edge> edges;
  };

  uint32_t root = accept;
  std::vector<Node> nodes; ///< nodes[target - 2]; targets stand before what points to them
  /// Some candidates were rejected because the constraint has no value there.
  bool hasUndecided = false;

  const Node &operator[](uint32_t target) const { return nodes[target - 2]; }
};

/// Empty if more than `maxSteps` prefixes must be visited.
std::optional<Diagram> tabulate(const Program &program, RegisterId truth,
                                std::span<const std::vector<int64_t>> lists, size_t maxSteps);

} // namespace tilewright::detail
