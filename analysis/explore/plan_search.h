// Plan search: the fastest tilings and schedules of one kernel, by predicted time.
//
// Two passes. The first prices every feasible tiling under a few usual schedules; the second takes
// the best tilings and prices all their schedules. What a budget leaves out is counted, and a
// sample taken for it is evenly spread over the enumeration, never its first part.
#pragma once

#include "analysis/solve/explain.h"
#include "analysis/solve/tile_system.h"
#include "analysis/tiling/plan.h"

#include <vector>

namespace tilewright {

struct PlanSearchOptions {
  size_t top = 5;             ///< plans to return
  size_t maxPriced = 2000;    ///< plans priced in each of the two passes
  size_t refinedTilings = 16; ///< tilings whose schedules are all priced
};

struct PricedPlan {
  std::vector<int64_t> values; ///< in parameter order
  double timeNs = 0;
};

struct PlanSearchResult {
  uint64_t raw = 0;          ///< candidate points, feasible or not; saturates
  uint64_t feasible = 0;     ///< tilings that all constraints accept under the usual schedules
  uint64_t priced = 0;       ///< plans given to the cost model
  uint64_t refused = 0;      ///< of those, plans that the cost model could not price
  bool isExhaustive = false; ///< every feasible tiling was priced in the first pass
  /// Fastest first; equal times in parameter order. Of plans of one tiling and one time, only the
  /// first: their schedules differ in what has no effect.
  std::vector<PricedPlan> best;
  std::string refusal; ///< why there is no plan, when `best` is empty
};

/// Prices plans many at a time.
class PlanScorer {
public:
  virtual ~PlanScorer() = default;
  /// Unsupported: this plan can't be priced; it is skipped.
  virtual llvm::Error add(const KernelPlan &plan) = 0;
  /// Predicted times in ns of the plans added since the last call, in their order; infinity for one
  /// that can not be launched. Errors: Internal ones.
  virtual llvm::Expected<std::vector<double>> score() = 0;
};

/// Searches the tilings and schedules of `prototype.tiled`, whose constraints must include the
/// device's. The other fields of the prototype are copied into each plan. Errors: Internal ones of
/// the solver and of the scorer.
llvm::Expected<PlanSearchResult> searchPlans(const KernelPlan &prototype, PlanScorer &scorer,
                                             const PlanSearchOptions &options = {});

/// Bounds that keep a search among tiles that a program can hold, as constraints of "search":
/// a root tile of at most 2^16 elements, and at most 256 elements of any tile a thread.
void addSearchConstraints(const Graph &graph, TiledGroup &group);

} // namespace tilewright
