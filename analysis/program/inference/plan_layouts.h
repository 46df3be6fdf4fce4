// Inferred layouts as a plan records them: by the names of the program's values and ops.
//
//   b                  registers 8:1@l | lanes 8:8@l 4:1@k | warps 4:1@j
//   store y[i, j] = b  registers 8:1@l | lanes 8:8@l 4:1@k | warps 4:1@j
//
// They are all that inference chose, so that no search is needed to have the same program again.
#pragma once

#include "analysis/program/pass/of_plan.h"
#include "analysis/tiling/plan_layout.h"

#include <span>

namespace tilewright::inference {

class LayoutProblem;
struct InferredLayouts;

/// Of all nodes of the program's graph (tile_graph.h) that have a choice: the texts of their
/// labels, which for a dot by a matrix instruction say where its operands are.
std::vector<PlanLayout> planLayouts(const LayoutProblem &problem, const InferredLayouts &layouts);

/// Which of them is wrong, from 0; their number where it is none of them alone.
using Misfit = size_t;

/// The choice that they are for a problem. BadInput: they don't fit its program.
llvm::Expected<InferredLayouts> layoutsOfPlan(LayoutProblem &problem,
                                              std::span<const PlanLayout> layouts,
                                              Misfit *misfit = nullptr);

/// Adds the stage "layouts": what runs, with numbers put in, held as the plan records. Nothing
/// where it records nothing. BadInput: they don't fit the program.
llvm::Error addPlanLayouts(program::PlanProgram &plan, std::span<const PlanLayout> layouts,
                           Misfit *misfit = nullptr);

} // namespace tilewright::inference
