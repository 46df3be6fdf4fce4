// The derivation of features over a number type. Internal to the cost model.
#pragma once

#include "costmodel/features.h"
#include "costmodel/group_facts.h"
#include "costmodel/plan_view.h"

#include <optional>

namespace tilewright {

/// Features of a plan of `plan`'s group with the values in `numbers`. An empty instruction stands
/// for preferredInstruction(). `known`: of plans like `plan`. Errors as featuresOf(). Q: double or
/// Traced.
template <class Q>
llvm::Expected<FeaturesOf<Q>> derive(const KernelPlan &plan, const PlanNumbers<Q> &numbers,
                                     std::optional<Instruction> instruction, const Device &device,
                                     GroupFacts &known);

} // namespace tilewright
