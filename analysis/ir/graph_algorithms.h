// Path and order questions on a Graph, answered with Boost.Graph.
#pragma once

#include "analysis/ir/graph.h"

#include <span>
#include <vector>

namespace tilewright {

/// Is the set convex: does no path between two of its ops leave it? Kernels must be convex, else
/// they would have to wait for something that waits for them.
bool isConvex(const Graph &graph, std::span<const OpId> set);

/// A topological order of contracted kernels. `kernelOf[op]` is the kernel of each op, or -1 for
/// ops in no kernel (parameters, constants). Returns kernel indices in an order in which every
/// kernel follows what it reads, or an empty vector if the kernels wait for each other.
std::vector<int> scheduleKernels(const Graph &graph, std::span<const int> kernelOf,
                                 int kernelCount);

} // namespace tilewright
