// Path and order questions on a Graph, answered with Boost.Graph.
#pragma once

#include "analysis/ir/graph.h"

#include <set>
#include <span>
#include <utility>
#include <vector>

namespace tilewright {

/// True if the set is convex: no path between two of its ops leaves it. Kernels must be convex,
/// since otherwise they would depend on their own result.
bool isConvex(const Graph &graph, std::span<const OpId> set);

/// A topological order of nodes 0 … count-1 in which every edge goes forward; where the edges
/// leave it open, smaller numbers come first. Empty if there is a cycle.
std::vector<int> topologicalOrder(int count, const std::set<std::pair<int, int>> &edges);

} // namespace tilewright
