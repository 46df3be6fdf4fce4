// The best plans of a kernel, ranked again by what inferred layouts would save.
//
// The search ranks millions of plans by families of layouts with symbolic sizes. Inference
// (analysis/program/inference) is asked for the best few of each variant. A variant is a symbolic
// program: plans of one differ by numbers alone. What a plan's own layouts cost beyond the inferred
// ones is time of an SM by assumed prices; all of it is taken off, down to the roofline, so that a
// rank is what layouts could make of it at most.
#pragma once

#include "analysis/program/inference/labelling.h"
#include "analysis/tiling/plan_layout.h"
#include "tools/explore/kernel_plans.h"

#include <map>
#include <memory>
#include <mutex>

namespace tilewright {

namespace program {
struct PlanProgram;
struct Program;
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

struct LayoutRank {
  RankedPlan plan;
  size_t place = 0;   ///< by predicted time alone, from 0
  size_t variant = 0; ///< plans of one have one symbolic program
  LayoutSaving saving;

  double timeNs() const { return plan.estimate.timeNs - saving.gainNs; }
};

struct LayoutRankOptions {
  size_t mostOfVariant = 8; ///< plans of a variant that inference is asked for
};

/// Plans that a search has to give so that so many of its variants can be ranked again.
size_t plansToRank(size_t mostOfVariant);

/// Ranks plans of many kernels; programs that differ by names alone are inferred once. May be asked
/// from several threads, the answers don't depend on their order.
class LayoutRanker {
public:
  LayoutRanker(const Device &device, const LayoutRankOptions &options = {});
  ~LayoutRanker();

  /// Fastest first, those that were asked for; plans that were not compared keep their time.
  std::vector<LayoutRank> rank(const std::vector<RankedPlan> &plans);
  /// Puts plans in the order of their time with inferred layouts and keeps the first `most`; what
  /// each would save. Of plans that inference was not asked for that is a refusal.
  std::vector<LayoutSaving> reorder(std::vector<RankedPlan> &plans, size_t most);

private:
  struct Known;
  LayoutSaving savingOf(const RankedPlan &plan, const program::PlanProgram &made);
  Known &knownOf(const program::Program &program);

  const Device &device;
  const LayoutRankOptions options;
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<Known>> known; ///< by text, with tensors numbered
};

} // namespace tilewright
