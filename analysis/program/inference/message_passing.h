// A bound from below for labelling.h, and labels that it rules out.
//
// Costs are moved between nodes and edges without changing any sum (sequential message passing:
// Kolmogorov, Convergent tree-reweighted message passing, 2006): going through the nodes in order
// and back, each takes from its edges what is least for each of its labels, and hands equal shares
// to the edges ahead. What is least at each node and edge then bounds the sum from below, and a
// label that costs more than the least of its node by more than a known solution lies above the
// bound is in no better solution. All numbers are integers: shares are rounded, sums are not.
#pragma once

#include "analysis/program/inference/elimination.h"

namespace tilewright::inference {

class MessagePassing {
public:
  /// Tables of one node (each node has one) or of two different ones.
  MessagePassing(std::vector<uint32_t> sizes, std::vector<CostTable> tables);

  /// There and back. Returns the bound.
  Cost pass();
  /// Labels that are cheap together: node by node the one that is best beside those before it.
  std::vector<uint32_t> labels() const;
  /// What the label costs above the least of its node.
  Cost excess(uint32_t node, uint32_t label) const;

private:
  struct Edge {
    uint32_t a, b;
    std::vector<Cost> cells; ///< a slower
  };
  void take(Edge &edge, uint32_t node);
  void give(Edge &edge, uint32_t node, Cost parts);
  void visit(uint32_t node, bool isForward);

  std::vector<uint32_t> sizes;
  std::vector<std::vector<Cost>> own;
  std::vector<Edge> edges;
  std::vector<std::vector<size_t>> touching;
};

} // namespace tilewright::inference
