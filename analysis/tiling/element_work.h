// The work and registers that one element of an elementwise kernel takes in its thread.
#pragma once

#include "analysis/ir/graph.h"

#include <span>
#include <string>

namespace tilewright {

/// True if an element of such an op takes a loop in an elementwise kernel.
bool takesLoop(Opcode opcode);

/// Approximate scalar operations of the elementwise ops for one element, plus one.
int64_t workPerElement(const Graph &graph, std::span<const OpId> ops);

/// Upper bound on a thread's elements in flight: more would spill or gain nothing. 0 if an element
/// takes a loop: then one vector.
int64_t pendingElements(const Graph &graph, std::span<const OpId> ops,
                        std::span<const OpId> inputs);
/// Why no kernel can make each element of the results on its own: they differ in size, or an op
/// would loop for the same element again and again. Empty if one can. Ops of the graph that are not
/// among `ops` are read from memory. Errors: of the ops' index maps.
llvm::Expected<std::string> whyNotElementwise(const Graph &graph, std::span<const OpId> ops,
                                              std::span<const OpId> results);

/// Upper bound on a thread's vectors in flight: all their loads are issued before the first store.
constexpr int64_t maxPendingVectors = 8;

/// Smallest vector: whole bytes of every result.
unsigned leastLanes(const Graph &graph, std::span<const OpId> results);
/// Largest vector, a power of two: smaller than a full vector if its elements would spill.
int64_t maxLanes(const Graph &graph, std::span<const OpId> ops, std::span<const OpId> inputs);

} // namespace tilewright
