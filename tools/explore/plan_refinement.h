// The best plans of a kernel, ranked again by what their programs could still save: by inferred
// layouts, by pipeline settings.
//
// Both are questions about one program with numbers, which the search, that prices millions of
// plans, doesn't ask. They are asked for the best few plans of each variant. A variant is a
// symbolic program: plans of one differ by numbers alone. All that is saved is taken off a plan's
// time, down to the roofline, so that a rank is what could be made of it at most.
#pragma once

#include "tools/explore/layout_saving.h"
#include "tools/explore/pipeline_saving.h"

namespace tilewright {

/// Plans of a variant that are looked at; 0: none.
struct RefineOptions {
  size_t layouts = 0, pipelines = 0;
  bool isAsked() const { return layouts > 0 || pipelines > 0; }
  /// Plans that a search has to give so that so many of its variants can be ranked again.
  size_t plansToRank() const;
};

/// What a plan could save, where that was asked for.
struct PlanSaving {
  std::optional<LayoutSaving> layouts;
  std::optional<PipelineSaving> pipeline;
};

struct RefinedPlan {
  RankedPlan plan;
  size_t place = 0;   ///< by predicted time alone, from 0
  size_t variant = 0; ///< plans of one have one symbolic program
  PlanSaving saving;

  double timeNs() const; ///< at the least
};

/// Clocks that an SM saves in a CTA, as time of the kernel, down to the roofline.
double nsOfAllCtas(const Estimate &estimate, const Device &device, double clocks);

/// Ranks plans of many kernels. May be asked from several threads, the answers don't depend on
/// their order.
class PlanRefiner {
public:
  PlanRefiner(const Device &device, const Calibration &calibration, const RefineOptions &options)
      : options(options), layouts(device), pipelines(device, calibration) {}

  /// Fastest first, those that were looked at; plans that could not be compared keep their time.
  std::vector<RefinedPlan> rank(const std::vector<RankedPlan> &plans);
  /// Puts plans in the order of their time with what they could save and keeps the first `most`;
  /// what each would save. Of plans that were not looked at that is a refusal.
  std::vector<PlanSaving> reorder(std::vector<RankedPlan> &plans, size_t most);

private:
  const RefineOptions options;
  LayoutSavings layouts;
  PipelineSavings pipelines;
};

} // namespace tilewright
