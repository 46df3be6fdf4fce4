// Ops without a kernel of ours whose time is taken from the bytes that they move.
//
// A batch norm, a top-k or a reduction of several operands has no plan here: nothing is known of
// the kernel that somebody else's library runs for it. It goes over its operands in memory, though,
// once or twice, and writes its results. That is priced as a copy of so many bytes, with a wide
// spread.
#pragma once

#include "analysis/ir/graph.h"

#include <optional>
#include <string>

namespace tilewright {

struct AssumedTraffic {
  double readBytes = 0, writtenBytes = 0;
  std::string text; ///< "2 passes over the operands, 1 over the results"
};

/// The passes over memory that such an op makes, or a fusion that has such ops beside others whose
/// arithmetic costs less than the memory's time. Nothing for all other ops, and for shapes whose
/// size is not known.
std::optional<AssumedTraffic> assumedTraffic(const Module &module, const Graph &graph, OpId op);

} // namespace tilewright
