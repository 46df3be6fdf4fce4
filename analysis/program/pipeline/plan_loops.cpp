#include "analysis/program/pipeline/plan_loops.h"

#include "analysis/program/pipeline/pipeline_choice.h"
#include "analysis/support/diag.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright::pipeline {

using program::Program;

std::vector<PlanLoop> planLoopsOf(const Program &program) {
  std::vector<PlanLoop> result;
  const std::vector<const program::ForOp *> loops = copyingLoops(program);
  for (size_t i = 0; i < loops.size(); ++i) {
    const PipelineSettings settings = settingsOf(program, i);
    PlanLoop loop{loops[i]->name, std::nullopt, std::nullopt};
    if (!settings.isProduced)
      loop.ahead = settings.ahead;
    else if (mayFly(*loops[i]))
      loop.wait = settings.isAsynchronous ? 1 : 0;
    result.push_back(std::move(loop));
  }
  return result;
}

namespace {

/// What is wrong with an entry beside the one that the program's loop would have; empty: nothing.
std::string faultOf(const PlanLoop &asked, const PlanLoop &own) {
  if (asked.loop != own.loop)
    return fmt::format("the loop that copies here is {}, not {}", own.loop, asked.loop);
  if (asked.ahead && !own.ahead)
    return fmt::format("a producer copies for loop {}, as far ahead as there are stages", own.loop);
  if (own.ahead && !asked.ahead)
    return fmt::format("how far loop {} copies ahead is not said", own.loop);
  if (asked.wait && !own.wait)
    return fmt::format("no products of loop {} can stay in flight", own.loop);
  if (own.wait && !asked.wait)
    return fmt::format("how many groups of products loop {} waits for is not said", own.loop);
  return "";
}

} // namespace

llvm::Error addPlanLoops(program::PlanProgram &plan, std::span<const PlanLoop> loops,
                         size_t *misfit) {
  if (loops.empty())
    return llvm::Error::success();
  auto wrong = [&](size_t which, const std::string &message) {
    if (misfit)
      *misfit = which;
    return makeError(DiagClass::BadInput, "{}", message);
  };
  llvm::Expected<Program> program = program::concreteProgram(plan);
  if (!program)
    return program.takeError();
  const std::vector<PlanLoop> own = planLoopsOf(*program);
  for (size_t i = 0; i < std::max(own.size(), loops.size()); ++i) {
    if (i >= own.size())
      return wrong(i, fmt::format("loops that copy what they read: {} in the plan's program, {} "
                                  "with settings",
                                  own.size(), loops.size()));
    if (i >= loops.size())
      return wrong(i, fmt::format("there are no settings of loop {}", own[i].loop));
    if (std::string fault = faultOf(loops[i], own[i]); !fault.empty())
      return wrong(i, fault);
    PipelineSettings settings = settingsOf(*program, i);
    settings.ahead = loops[i].ahead.value_or(0);
    settings.isAsynchronous = loops[i].wait.value_or(0) > 0;
    llvm::Expected<Program> made = withSettings(*program, i, settings, nullptr);
    if (!made) // whatever is wrong with it, the plan asked for it
      return wrong(i, takeDiag(made.takeError()).message);
    program = std::move(made);
  }
  plan.stages.push_back({"settings", std::move(*program), {}, true});
  return llvm::Error::success();
}

} // namespace tilewright::pipeline
