#include "analysis/ir/graph_algorithms.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <functional>
#include <queue>

namespace tilewright {

namespace {
using Dataflow = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
} // namespace

bool isConvex(const Graph &graph, std::span<const OpId> set) {
  if (set.size() < 2)
    return true;
  auto [first, last] = std::minmax_element(set.begin(), set.end());
  // Ids are topological: only ops between the first and the last of the set can lie on a path.
  uint32_t base = first->index, count = last->index - base + 1;
  std::vector<bool> inSet(count);
  for (OpId id : set)
    inSet[id.index - base] = true;

  Dataflow flow(count);
  for (uint32_t i = 0; i < count; ++i)
    for (OpId operand : graph.op(OpId{base + i}).operands)
      if (operand.index >= base)
        boost::add_edge(operand.index - base, i, flow);

  // A path leaves the set and returns iff an outside op that is reached from the set reaches it.
  std::vector<bool> escaped(count); // outside, and reached from the set
  for (uint32_t v = 0; v < count; ++v) {
    bool fromSet = inSet[v], fromOutside = !inSet[v] && escaped[v];
    if (!fromSet && !fromOutside)
      continue;
    auto [edge, end] = boost::out_edges(v, flow);
    for (; edge != end; ++edge) {
      uint32_t target = static_cast<uint32_t>(boost::target(*edge, flow));
      if (!inSet[target])
        escaped[target] = true;
      else if (fromOutside)
        return false;
    }
  }
  return true;
}

std::vector<int> topologicalOrder(int count, const std::set<std::pair<int, int>> &edges) {
  Dataflow nodes(edges.begin(), edges.end(), static_cast<size_t>(count));
  // Kahn's algorithm with the smallest number first.
  std::vector<int> waiting(static_cast<size_t>(count));
  for (auto [from, to] : edges)
    ++waiting[static_cast<size_t>(to)];
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int k = 0; k < count; ++k)
    if (waiting[static_cast<size_t>(k)] == 0)
      ready.push(k);
  std::vector<int> order;
  while (!ready.empty()) {
    int node = ready.top();
    ready.pop();
    order.push_back(node);
    auto [edge, end] = boost::out_edges(static_cast<size_t>(node), nodes);
    for (; edge != end; ++edge) {
      int target = static_cast<int>(boost::target(*edge, nodes));
      if (--waiting[static_cast<size_t>(target)] == 0)
        ready.push(target);
    }
  }
  if (order.size() != static_cast<size_t>(count))
    return {}; // a cycle: its nodes never became ready
  return order;
}

} // namespace tilewright
