// Pipeline settings as a plan records them: one entry for each loop that copies what it reads, in
// order of the text.
//
//   t  ahead 2      the warps copy, for mma.sync
//   t  wait 0       a producer copies, for wgmma
#pragma once

#include "analysis/program/pass/of_plan.h"
#include "analysis/tiling/plan_loop.h"

#include <span>

namespace tilewright::pipeline {

/// As a program of a plan has them. Its sizes are numbers.
std::vector<PlanLoop> planLoopsOf(const program::Program &program);

/// Adds the stage "settings": what runs, with numbers put in and its loops as the plan records
/// them. Nothing where it records nothing. BadInput: they don't fit the program; `misfit` becomes
/// the number of the entry that is wrong, from 0, or of all where it is none alone.
llvm::Error addPlanLoops(program::PlanProgram &plan, std::span<const PlanLoop> loops,
                         size_t *misfit = nullptr);

} // namespace tilewright::pipeline
