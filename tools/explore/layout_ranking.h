// The best plans of a kernel, ranked again by what inferred layouts would save.
//
// The search ranks millions of plans by families of layouts with symbolic sizes. Inference
// (analysis/program/inference) is asked for the best few of each variant. A variant is a symbolic
// program: plans of one differ by numbers alone. What a plan's own layouts cost beyond the inferred
// ones is time of an SM by assumed prices; all of it is taken off, down to the roofline, so that a
// rank is what layouts could make of it at most.
#pragma once

#include "analysis/program/inference/infer_layouts.h"
#include "tools/explore/kernel_plans.h"

namespace tilewright {

struct LayoutRank {
  RankedPlan plan;
  size_t place = 0;   ///< by predicted time alone, from 0
  size_t variant = 0; ///< plans of one have one symbolic program
  /// Quarter clocks of an SM for a CTA, by the prices of inference.
  inference::Cost given = 0, inferred = 0, floor = 0;
  double gainNs = 0; ///< at most, by the inferred layouts
  /// Accesses to shared memory that meet in banks in the best layouts, too: "S to y: 2-way".
  std::vector<std::string> conflicts;
  std::string layouts; ///< of the values, a line each
  std::string refusal; ///< why they were not compared; empty: they were

  double timeNs() const { return plan.estimate.timeNs - gainNs; }
};

struct LayoutRankOptions {
  size_t mostOfVariant = 8; ///< plans of a variant that inference is asked for
};

/// Fastest first, those that were asked for; plans that were not compared keep their time.
std::vector<LayoutRank> rankByLayouts(const std::vector<RankedPlan> &plans, const Device &device,
                                      const LayoutRankOptions &options = {});

} // namespace tilewright
