// A time that no grouping of a computation and no kernels for it can beat.
#pragma once

#include "analysis/ir/graph.h"
#include "costmodel/estimate.h"

namespace tilewright {

/// In ns: the arithmetic at the device's highest peak, or the bytes moved once, whichever takes
/// longer. Only what must happen counts: ops of which the results need every element (not what is
/// dead, sliced or looked up), arguments that are read whole, results that are written. What L2
/// may hold where the cache is warm comes at L2's bandwidth.
double lowerBoundNs(const Module &module, GraphId graph, const Device &device, CacheState cache);

} // namespace tilewright
