// From a KernelSpec to LLVM IR.
//
// Four kinds of group have code, that of their tile programs, each in general form:
//   elementwise  no reduction, no dot, or made by loops of one thread
//   reduction    reduces over the same rows, with anything elementwise before, between and after
//   dot          one dot with elementwise work on its operands and on its result
//   chain        two dots of which one reads the other's result, elementwise or through a softmax
#pragma once

#include "codegen/kernel_module.h"
#include "codegen/kernel_spec.h"

namespace tilewright {

/// Errors: those of validate(); Unsupported, naming the op and the reason, for what has no code.
llvm::Expected<KernelModule> lowerKernel(const KernelSpec &spec, CodeMode mode);

/// The same for a plan.
llvm::Expected<KernelModule> lowerPlan(const KernelPlan &plan, CodeMode mode);

} // namespace tilewright
