// What other settings of a plan's copying loops would save (analysis/program/pipeline).
//
// Slots and who copies are the plan's stages and instruction, by which the search has priced it.
// What its time formula does not tell apart is left: how far ahead the warps copy, and whether
// products stay in flight.
#pragma once

#include "analysis/program/pipeline/pipeline_choice.h"
#include "analysis/tiling/plan_loop.h"
#include "tools/explore/kernel_plans.h"
#include "tools/explore/known_programs.h"

namespace tilewright {

struct PipelineSaving {
  struct Loop {
    std::string name;
    pipeline::PipelineSettings given, best;
    int64_t givenClocks = 0, bestClocks = 0; ///< of all its steps
  };
  std::vector<Loop> loops;        ///< that copy what they read
  std::vector<PlanLoop> settings; ///< the best ones, as a plan records them
  double gainNs = 0;              ///< at most
  std::string refusal;            ///< why they were not compared; empty: they were

  /// Are they the plan's to record? Not where its own take as little.
  bool areTaken() const { return savedClocks() > 0; }
  int64_t savedClocks() const;
};

/// Compares plans of many kernels. May be asked from several threads, the answers don't depend on
/// their order.
class PipelineSavings {
public:
  PipelineSavings(const Device &device, const Calibration &calibration);

  /// `made` is the plan's program.
  PipelineSaving of(const RankedPlan &plan, const program::PlanProgram &made);

private:
  PipelineSaving choose(const program::Program &program) const;

  const Device &device;
  const pipeline::PipelineOptions options;
  KnownPrograms<PipelineSaving> known;
};

} // namespace tilewright
