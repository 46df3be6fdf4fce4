// Plans as one line of text: "t0=64 t1=128 k0=32 warps=4 stages=3 split_k=1 group_m=8
// instruction=mma.sync". Together with the ops it is the whole plan, in tables and measurement
// files. A pack's text of a plan that records layouts ends in "layouts=DIGEST": the file has them.
#pragma once

#include "analysis/tiling/plan.h"

namespace tilewright {

std::string planText(const KernelPlan &plan);

/// A plan of the kernel that a module's entry computes. Tiles are as large as their dims, schedule
/// parameters have the defaults of Schedule. Errors: those of makeGroup() and tileGroup().
llvm::Expected<KernelPlan> planOfEntry(std::shared_ptr<const Module> module);

/// Assigns the values of such a text to a plan. Parameters that the text omits keep their values.
/// BadInput for a parameter that the plan does not have, a value outside of 1 to its maximum, or
/// words that are not assignments. Unsupported for an order of CTAs or for persistent CTAs, for
/// which there is no code, and for layouts, which the text does not have.
llvm::Error assignText(KernelPlan &plan, std::string_view text);

} // namespace tilewright
