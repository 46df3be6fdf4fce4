// Kinds of programs that are predicted about equally well.
#pragma once

#include "analysis/tiling/plan.h"

#include <string>

namespace tilewright {

/// "dot wgmma", "dot mma.sync", "dot fma", "chain wgmma", "chain mma.sync", "reduction" or
/// "elementwise" for code whose program is at hand; empty for other code.
std::string spreadKindOf(const KernelPlan &plan);

} // namespace tilewright
