// How `tilewright tile` shows its answer.
#pragma once

#include "analysis/explore/kernels.h"
#include "analysis/solve/compiled.h"
#include "analysis/solve/explain.h"
#include "tools/tilewright/price_output.h"

namespace tilewright::cli {

/// Everything about one question and its answer. References live as long as the report.
struct TileReport {
  const Graph &graph;
  const KernelSource &source;
  const TiledGroup &tiled;
  const ConstraintSystem &system;
  const Choice &choice;
  const Explanation &answer;
  /// With a device and all sizes given: what a plan with these takes of an SM.
  std::optional<EstimateResources> resources = {};
  std::optional<PlanPrice> price = {}; ///< where it was asked for
};

/// DESIGN's schema "tile": feasible, core[], tiles[], nearest{}.
Json toJson(const TileReport &report);

/// For people. `everything` adds the constraints with their state.
void printTable(const TileReport &report, bool everything);

/// `shown`: schedule parameters are shown only where they have a value here.
void printFeasibleList(const TileSpace &space, const SearchResult &total,
                       const std::vector<std::vector<int64_t>> &points, const Choice &shown,
                       bool json);

} // namespace tilewright::cli
