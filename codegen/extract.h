// Extracts a group from its graph into a module of its own.
#pragma once

#include "analysis/ir/graph.h"
#include "analysis/tiling/group.h"

#include <memory>

namespace tilewright {

/// A module whose entry computes the group: one parameter for each of the group's inputs in order,
/// then one for each constant whose values the dump left out; the root is the group's root, or a
/// tuple of its roots in order. Layouts and the names of ops and computations are kept. Errors:
/// Unsupported for an input that is a tuple or has no elements of numbers.
llvm::Expected<std::shared_ptr<const Module>> extractGroup(const Module &module, GraphId graph,
                                                           const Group &group);

/// All ops of a graph.
std::vector<OpId> idsOf(const Graph &graph);

/// The ops whose values the entry of such a module returns: the root, or the operands of the tuple.
std::vector<OpId> resultsOf(const Graph &graph);

} // namespace tilewright
