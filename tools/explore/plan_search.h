// Plan search: the fastest tilings and schedules of one kernel, by predicted time.
//
// Two passes. The first prices every feasible tiling under a few usual schedules; the second takes
// the best tilings and prices all their schedules. Points beyond a budget are counted; the priced
// sample is evenly spread over the enumeration, not its first part. Whoever ranks the plans then
// has all schedules of the best tiling priced, whatever the budget: a better one would be another
// answer to "which plan has this tile". Plans of which the same kernel is made (plan_identity.h)
// are listed once.
#pragma once

#include "analysis/solve/explain.h"
#include "analysis/solve/tile_system.h"
#include "analysis/tiling/plan.h"

#include <map>
#include <vector>

namespace tilewright {

struct PlanSearchOptions {
  size_t top = 5;             ///< plans to return
  size_t maxPriced = 2000;    ///< plans priced in each of the two passes; 0: none, they are counted
  size_t refinedTilings = 16; ///< tilings whose schedules are all priced
  /// Nodes of one search among the tilings. Where they don't suffice, every other size of a tile
  /// is left out, and again; the plans are then not counted.
  uint64_t maxNodes = uint64_t(1) << 24;
  /// All feasible plans are counted, priced or not, and all schedules of the best tiling priced.
  /// Without, the search is for a price that others are compared with; where there is no plan, it
  /// gives no core as the reason.
  bool isThorough = true;
  CandidatePlan candidates = CandidatePlan::standard();
  Choice choice = {}; ///< values that are given, by parameter; empty: none
};

struct PricedPlan {
  std::vector<int64_t> values; ///< in parameter order
  double timeNs = 0;
};

struct PlanCounts {
  uint64_t raw = 0;       ///< candidate points, feasible or not; saturates
  uint64_t feasible = 0;  ///< plans that all constraints accept
  uint64_t priced = 0;    ///< of those, plans given to the cost model
  uint64_t refused = 0;   ///< of those, plans that the cost model could not price
  bool isCounted = false; ///< `feasible` is the whole number

  /// Every feasible plan was priced.
  bool isExhaustive() const { return isCounted && priced == feasible; }
};

/// Prices plans many at a time.
class PlanScorer {
public:
  virtual ~PlanScorer() = default;
  /// Unsupported: this plan can't be priced; it is skipped.
  virtual llvm::Error add(const KernelPlan &plan) = 0;
  /// Predicted times in ns of the plans added since the last call, in order; infinity for a plan
  /// that cannot be launched. Errors: Internal ones.
  virtual llvm::Expected<std::vector<double>> score() = 0;
};

/// The candidates of a plan's parameters and what it must satisfy.
llvm::Expected<ConstraintSystem> systemOf(const KernelPlan &prototype,
                                          const PlanSearchOptions &options);

/// The tile sizes of a plan; the schedule is left out.
std::vector<int64_t> tilingOf(const TileSpace &space, const std::vector<int64_t> &values);

/// A search among the plans of `prototype.tiled`, whose constraints must include the device's. The
/// other fields of the prototype are copied into each plan.
class PlanSearch {
public:
  /// The scorer must live as long.
  PlanSearch(const KernelPlan &prototype, PlanScorer &scorer, PlanSearchOptions options)
      : plan(prototype), scorer(scorer), options(std::move(options)) {}

  /// Both passes; call it once, before the others. Errors: Internal ones of the solver and of the
  /// scorer.
  llvm::Error run();
  /// Prices every plan with the tile sizes of this one. Errors as run().
  llvm::Error priceSchedules(const std::vector<int64_t> &values);
  const PlanCounts &counts() const { return found; }
  /// The fastest plans, equal times in parameter order.
  std::vector<PricedPlan> best() const;
  /// Why there is no plan, where best() is empty: a line each.
  std::vector<std::string> refusal() const;

private:
  llvm::Error countFeasible(const ConstraintSystem &system);
  /// Prices the feasible points of a system, evenly thinned to `budget` points.
  llvm::Error priceAll(ConstraintSystem system, size_t budget);
  llvm::Error addOne(std::span<const int64_t> values);
  llvm::Error scoreAdded();
  ConstraintSystem withTiling(const std::vector<int64_t> &values) const;
  std::vector<PricedPlan> sorted() const;
  std::vector<std::vector<int64_t>> bestTilings() const;

  KernelPlan plan;
  PlanScorer &scorer;
  PlanSearchOptions options;
  ConstraintSystem whole; ///< all plans
  PlanCounts found;
  /// Ordered: ties resolve by parameter values. Infinite for what can't be priced.
  std::map<std::vector<int64_t>, double> times;
  std::vector<std::vector<int64_t>> added; ///< not scored yet
  std::string lastRefusal;
};

/// Bounds that restrict a search to tiles that a CTA can hold, as constraints of "search": a root
/// tile of at most 2^16 elements, and at most 256 elements of any tile a thread, but for the
/// operands of convolutions, of which a step is held.
void addSearchConstraints(const Graph &graph, TiledGroup &group);

} // namespace tilewright
