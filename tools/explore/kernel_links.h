// Which kernels of a model read the results of which. Internal to the folder.
#pragma once

#include "tools/explore/explore.h"

#include <span>

namespace tilewright {

/// For each kernel of a computation, finds the kernels that wrote its inputs, looking through ops
/// without a kernel. An op recomputed in several kernels is written by none of them unless it is a
/// root. `firstIndex` is the number of the first kernel in the model.
void linkKernels(const Graph &graph, std::span<ExploredKernel> kernels, size_t firstIndex);

} // namespace tilewright
