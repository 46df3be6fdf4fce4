// Plan samples: plans of one kernel that are unlike each other, to learn from by measuring.
//
// The fastest plans alone teach little: they agree in most of what the model has to weigh. A sample
// takes equal shares from bands of the predicted time, from the best plan to some times slower, and
// in each band the plans that lie farthest from those taken before. Distance is that of the
// logarithms of tile sizes and schedule, each in relation to its range.
#pragma once

#include "analysis/explore/plan_search.h"

#include <functional>

namespace tilewright {

struct PlanSampleOptions {
  size_t count = 48;
  size_t maxPriced = 5000; ///< plans to choose from, drawn evenly from all feasible ones
  double slowest = 8;      ///< times the fastest of them; slower plans are of no use to anybody
  uint64_t seed = 1;       ///< of the draw
  /// Can the plan be used, for example because there is code for it? Asked of plans that are about
  /// to be taken only.
  std::function<bool(const KernelPlan &)> accepts = nullptr;
};

/// At most `count` plans, different in tile or schedule, fastest first; fewer where fewer are
/// feasible and accepted. Errors as for searchPlans().
llvm::Expected<std::vector<PricedPlan>> samplePlans(const KernelPlan &prototype, PlanScorer &scorer,
                                                    const PlanSampleOptions &options = {});

} // namespace tilewright
