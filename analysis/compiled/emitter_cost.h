// Instructions of one element of an op as XLA's emitters make it. Internal to the folder.
#pragma once

#include "analysis/ir/graph.h"

namespace tilewright {

struct EmitterCost {
  double instructions = 0, half = 0, special = 0; ///< see emitter_cost.def
};

/// Of an element of the result; of a reduction of its operand. Views and constants are free.
EmitterCost emitterCost(const Module &module, const Graph &graph, const Op &op);

} // namespace tilewright
