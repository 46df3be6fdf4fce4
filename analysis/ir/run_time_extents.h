// Extents that are known at run time only: `f32[<=8]`, `f32[?,4]`.
//
// Such a tensor holds fewer elements than its type says, and what an op makes of it may depend on
// how many there are: a sum over f32[<=8] adds no more than are there. No map, tile, price or
// kernel here takes the run-time extent into account, so that all of them, and the reference
// evaluator, ask this one question first and refuse.
#pragma once

#include "analysis/ir/graph.h"

#include <optional>
#include <string>

namespace tilewright {

/// Why nothing can be said of an op that reads, makes, or passes on a tensor with an extent that is
/// known at run time only: "%x is f32[<=8]: …". Nothing for all other ops, and for parameters,
/// tuples and their elements, which only name what others make.
std::optional<std::string> runTimeExtentRefusal(const Graph &graph, const Op &op);

} // namespace tilewright
