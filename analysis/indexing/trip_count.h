// Trip counts of loops.
#pragma once

#include "analysis/ir/graph.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct TripCount {
  std::optional<int64_t> count;
  std::string reason; ///< why it is unknown; empty if known
  std::string note;   ///< that the file states another count; else empty
};

/// How often the body of a `while` runs. Read off a counter: an element i of the loop's state that
/// starts as a constant, that the body changes by a constant, and that the condition compares (<,
/// <=, >, >=, !=) with a constant; tuples, their elements and copies are looked through. A counter
/// that would wrap around before the loop ends is not counted. Where that tells nothing,
/// `known_trip_count` in the loop's backend_config is taken.
TripCount tripCount(const Module &module, const Graph &graph, OpId whileOp);

/// Of the ops of a loop's body: scalar integers and predicates that the number of the step decides,
/// such as counters and what is computed of them and of constants alone.
std::vector<bool> followsFromStep(const Graph &body);

} // namespace tilewright
