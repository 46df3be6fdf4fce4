// Windows that make running sums.
#pragma once

#include "analysis/ir/graph.h"

namespace tilewright {

/// Whether a reduce-window combines each element with all before it, or all behind it, along one
/// dim: JAX writes cumsum so. As it stands that is n²/2 operations a line; compilers make a scan of
/// it (XLA: ReduceWindowRewriter). Windows of fewer than 32 elements are left as they are.
bool isCumulative(const Op &op);

/// Whether it is such an op, or a fusion with one.
bool hasRunningSum(const Module &module, const Op &op);

} // namespace tilewright
