// Maps between ops of a group that are not adjacent.
#pragma once

#include "analysis/indexing/indexing.h"

namespace tilewright {

/// As mapsToOps(), along paths that don't go on behind `ends`: with a group's inputs they stay
/// within the group, whatever its inputs are made of.
llvm::Expected<std::vector<MapsOrRefusal>> mapsWithin(const Graph &graph, OpId from,
                                                      std::span<const OpId> targets,
                                                      std::span<const OpId> ends,
                                                      ExprContext &context);

} // namespace tilewright
