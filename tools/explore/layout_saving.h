// What inferred layouts would save of a plan, in the program that it becomes.
//
// The search ranks millions of plans by families of layouts with symbolic sizes; inference
// (analysis/program/inference) has the cheapest ones of a single program. What a plan's own layouts
// cost beyond them is time of an SM by assumed prices.
#pragma once

#include "analysis/program/inference/labelling.h"
#include "analysis/tiling/plan_layout.h"
#include "tools/explore/kernel_plans.h"
#include "tools/explore/known_programs.h"

namespace tilewright {

namespace program {
struct PlanProgram;
} // namespace program

/// What inferred layouts would save of a plan.
struct LayoutSaving {
  /// Quarter clocks of an SM for a CTA, by the prices of inference.
  inference::Cost given = 0, inferred = 0, floor = 0;
  double gainNs = 0; ///< at most; none where the program can't have them
  /// Accesses to shared memory that meet in banks in the best layouts, too: "S to y: 2-way".
  std::vector<std::string> conflicts;
  std::vector<PlanLayout> layouts; ///< the inferred ones
  std::string refusal;             ///< why they were not compared; empty: they were
  std::string unwritten;           ///< why the program can't have cheaper ones

  /// Are they the plan's to record? Not where its own cost as little.
  bool areTaken() const { return refusal.empty() && unwritten.empty() && inferred < given; }
};

/// Compares plans of many kernels; programs that differ by names alone are inferred once. May be
/// asked from several threads, the answers don't depend on their order.
class LayoutSavings {
public:
  explicit LayoutSavings(const Device &device);
  ~LayoutSavings();

  /// `made` is the plan's program.
  LayoutSaving of(const RankedPlan &plan, const program::PlanProgram &made);

private:
  struct Known;

  const Device &device;
  std::unique_ptr<KnownPrograms<Known>> known;
};

} // namespace tilewright
