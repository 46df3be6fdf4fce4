// Kernels of one structure: the layers of a network. The first of them is tiled and searched; the
// others share its plans, with their own names.
#pragma once

#include "tools/explore/explore.h"

namespace tilewright {

/// A text about ops of `from`, said of those in the same place of `to`, a group of the same
/// structure.
std::string renamed(std::string_view text, const Graph &first, const Group &from,
                    const Graph &second, const Group &to);

/// Whether a kernel's plans were made for another one of its structure.
bool hasSharedPlans(const ExploredKernel &kernel);

/// A plan of a kernel with the kernel's own ops: what can be told from its shared ones by names
/// alone. Its constraints are the group's, without those of devices and searches. Errors: Internal
/// ones.
llvm::Expected<KernelPlan> ownPlan(const ExploredKernel &kernel, const KernelPlan &plan);

} // namespace tilewright
