// Output of `tilewright tile`.
#pragma once

#include "analysis/solve/compiled.h"
#include "analysis/solve/explain.h"
#include "tools/explore/kernels.h"
#include "tools/tilewright/price_output.h"

namespace tilewright::cli {

/// Whether the choice can be completed with one instruction for the dots.
struct TileSpaceAnswer {
  Instruction instruction = Instruction::Fma;
  std::shared_ptr<const TiledGroup> tiled;
  ConstraintSystem system;
  Explanation answer;
};

/// One query and its answer. References must outlive the report.
struct TileReport {
  const Graph &graph;
  const KernelSource &source;
  const std::vector<TileSpaceAnswer> &answers; ///< one an instruction; without dots one
  const Choice &choice;
  size_t shown = 0; ///< the answer whose tiles are shown
  /// The fastest plan that the choice leaves, of so many: with a device, where all sizes are given
  /// or its price is asked for.
  std::optional<KernelPlan> plan = {};
  uint64_t plansToChooseFrom = 0;
  std::string refusal = {}; ///< why there is no such plan
  std::optional<EstimateResources> resources = {};
  std::optional<PlanPrice> price = {}; ///< if requested

  void show(); ///< the first answer that is yes, else the first
  Verdict feasible() const;
  const TiledGroup &tiled() const { return *answers[shown].tiled; }
  const ConstraintSystem &system() const { return answers[shown].system; }
  const Explanation &answer() const { return answers[shown].answer; }
};

/// DESIGN's schema "tile": feasible, core[], tiles[], nearest{}.
Json toJson(const TileReport &report);

/// Human-readable. `everything` adds the constraints with their state.
void printTable(const TileReport &report, bool everything);

/// What `--list` found.
struct TileList {
  struct Row {
    std::vector<int64_t> values;
    std::string instruction; ///< where there are several
    std::optional<double> timeNs;
    std::string limiter;
  };
  const TileSpace &space;
  Choice shown; ///< schedule parameters are shown only where they have a value here
  std::vector<Row> rows;
  uint64_t feasible = 0;
  bool isComplete = true; ///< all were counted
  uint64_t undecided = 0;
  size_t limit = 0;
  std::optional<uint64_t> priced = {}; ///< where rows have a time
  bool isExhaustive = false;           ///< all were priced
  std::string refusal = {};

  /// Schedule parameters of which several values are considered tell rows apart.
  void addShown(const ConstraintSystem &system);
};

Json toJson(const TileList &list);
void printList(const TileList &list);

} // namespace tilewright::cli
