// What a reducer computes, read off its computation.
#pragma once

#include "analysis/ir/graph.h"

#include <optional>

namespace tilewright {

/// The op that combines the two parameters of a reducer, seen through conversions to another type
/// and back, which is how sums in lower precision are written. Nothing where it is more than one op
/// on the two parameters.
std::optional<Opcode> reducerOpcode(const Graph &reducer);

} // namespace tilewright
