// The fastest tilings of a kernel, each with its best schedule.
#pragma once

#include "tools/explore/kernel_plans.h"

namespace tilewright::cli {

/// As plans.search(), but one plan for each instruction and tile sizes: other schedules of the same
/// tiles are often within a hair of the best.
llvm::Expected<PlanRanking> searchTilings(const KernelPlans &plans, PlanSearchOptions options);

} // namespace tilewright::cli
