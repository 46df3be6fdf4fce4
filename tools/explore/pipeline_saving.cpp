#include "tools/explore/pipeline_saving.h"

#include "analysis/program/pass/of_plan.h"
#include "analysis/program/pipeline/plan_loops.h"
#include "tools/explore/instruction_times.h"
#include "tools/explore/plan_refinement.h"

#include <algorithm>

namespace tilewright {

using pipeline::PipelineAnswer;

int64_t PipelineSaving::savedClocks() const {
  int64_t clocks = 0;
  for (const Loop &loop : loops)
    clocks += loop.givenClocks - loop.bestClocks;
  return refusal.empty() ? clocks : 0;
}

PipelineSavings::PipelineSavings(const Device &device, const Calibration &calibration)
    : device(device), options{.times = instructionTimesOf(device, calibration),
                              .limits = device.limits,
                              .keepsSlots = true,
                              .isProved = false} {}

/// Of one loop after the other, each with the best settings of those before it.
PipelineSaving PipelineSavings::choose(const program::Program &program) const {
  PipelineSaving saving;
  program::Program last = program;
  const size_t loops = pipeline::copyingLoops(program).size();
  for (size_t i = 0; i < loops; ++i) {
    llvm::Expected<PipelineAnswer> answer = pipeline::choosePipeline(last, i, options);
    if (!answer) {
      saving.refusal = takeDiag(answer.takeError()).message;
      return saving;
    }
    if (!answer->given.refusal.empty()) {
      saving.refusal = answer->given.refusal;
      return saving;
    }
    PipelineSaving::Loop loop{answer->given.loop.variable, answer->given.settings,
                              answer->given.settings, answer->given.time.all(),
                              answer->given.time.all()};
    if (const int64_t best = answer->chosen().time.all(); best < loop.givenClocks) {
      loop.best = answer->chosen().settings;
      loop.bestClocks = best;
      last = std::move(answer->program);
    }
    saving.loops.push_back(std::move(loop));
  }
  saving.settings = pipeline::planLoopsOf(last);
  return saving;
}

PipelineSaving PipelineSavings::of(const RankedPlan &plan, const program::PlanProgram &made) {
  llvm::Expected<program::Program> concrete = program::concreteProgram(made);
  if (!concrete) {
    PipelineSaving saving;
    saving.refusal = takeDiag(concrete.takeError()).message;
    return saving;
  }
  PipelineSaving saving =
      known.of(*concrete, [&](const program::Program &numbered) { return choose(numbered); });
  int64_t given = 0;
  for (const PipelineSaving::Loop &loop : saving.loops)
    given += loop.givenClocks;
  if (!saving.areTaken())
    return saving;
  // CTAs of an SM hide each other's waits; no more than the loops' share of the time is saved.
  const auto saved = static_cast<double>(saving.savedClocks());
  saving.gainNs = std::min(nsOfAllCtas(plan.estimate, device, saved),
                           plan.estimate.timeNs * saved / static_cast<double>(given));
  return saving;
}

} // namespace tilewright
