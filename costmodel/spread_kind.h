// Kinds of programs that are predicted about equally well.
#pragma once

#include "analysis/tiling/plan.h"

#include <string>

namespace tilewright {

/// "dot wgmma", "dot mma.sync", "dot fma", "chain wgmma", "chain mma.sync", "reduction" or
/// "elementwise" for code of our own, as code generation would make it; empty for other compilers'.
std::string spreadKindOf(const KernelPlan &plan);

} // namespace tilewright
