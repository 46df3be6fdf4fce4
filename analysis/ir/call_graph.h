// Which computations call which.
#pragma once

#include "analysis/ir/graph.h"

#include "llvm/Support/Error.h"

#include <vector>

namespace tilewright {

/// All computations, each behind those that it calls; otherwise in file order. BadInput, located
/// at the call, if a computation calls itself, directly or through others.
llvm::Expected<std::vector<GraphId>> calleesFirst(const Module &module);

} // namespace tilewright
