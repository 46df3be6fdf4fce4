// Plan samples: diverse plans of one kernel, to be measured for calibration.
//
// The fastest plans alone are uninformative: they agree in most of the features. A sample takes
// equal shares from bands of predicted time, from the best plan to `slowest` times that, and in
// each band the plans farthest from those already chosen. Distance is measured on the logarithms of
// tile sizes and schedule, each scaled by its range.
#pragma once

#include "tools/explore/plan_search.h"

#include <functional>

namespace tilewright {

struct PlanSampleOptions {
  size_t count = 48;
  size_t maxPriced = 5000; ///< plans to choose from, drawn evenly from all feasible ones
  double slowest = 8;      ///< times the fastest of them; slower plans are not sampled
  uint64_t seed = 1;       ///< of the draw
  /// Accepts a plan, for example if there is code for it. Called only for plans about to be chosen.
  std::function<bool(const KernelPlan &)> accepts = nullptr;
};

/// At most `count` plans, different in tile or schedule, fastest first; fewer where fewer are
/// feasible and accepted. Errors as for PlanSearch::run().
llvm::Expected<std::vector<PricedPlan>> samplePlans(const KernelPlan &prototype, PlanScorer &scorer,
                                                    const PlanSampleOptions &options = {});

} // namespace tilewright
