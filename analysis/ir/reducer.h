// Recognises the op that a reducer computes.
#pragma once

#include "analysis/ir/graph.h"

#include <optional>

namespace tilewright {

/// The op that combines the two parameters of a reducer, looking through conversions to another
/// type and back, which is how sums in lower precision are written. Empty if it is more than one op
/// on the two parameters.
std::optional<Opcode> reducerOpcode(const Graph &reducer);

} // namespace tilewright
