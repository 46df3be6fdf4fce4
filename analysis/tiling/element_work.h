// What an element of an elementwise kernel takes of the thread that makes it.
#pragma once

#include "analysis/ir/graph.h"

#include <span>
#include <string>

namespace tilewright {

/// Does an element of such an op take a loop, in a kernel that makes each element on its own?
bool takesLoop(Opcode opcode);

/// Scalar operations that the elementwise ops take for one element, roughly, and one.
int64_t workPerElement(const Graph &graph, std::span<const OpId> ops);

/// Elements that a thread of such a kernel has under way at once, at most: more would spill, or
/// gain nothing. 0 where one takes a loop: then it is one vector.
int64_t pendingElements(const Graph &graph, std::span<const OpId> ops,
                        std::span<const OpId> inputs);
/// Why no kernel can make each element of the results on its own: they differ in size, or an op
/// would loop for the same element again and again. Empty if one can. Ops of the graph that are not
/// among `ops` are read from memory. Errors: of the ops' index maps.
llvm::Expected<std::string> whyNotElementwise(const Graph &graph, std::span<const OpId> ops,
                                              std::span<const OpId> results);

/// Vectors of elements that it has under way, at most: all their loads are issued before the first
/// store.
constexpr int64_t maxPendingVectors = 8;

/// Neighbours that it makes at once, at least: whole bytes of every result.
unsigned leastLanes(const Graph &graph, std::span<const OpId> results);
/// Neighbours that it makes at once, at most, a power of two: fewer than a vector has where each
/// takes so much that they would spill.
int64_t mostLanes(const Graph &graph, std::span<const OpId> ops, std::span<const OpId> inputs);

} // namespace tilewright
