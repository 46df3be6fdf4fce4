// Numbers from a caller: values of a kernel's parameters, and which of its spaces they are of.
#pragma once

#include "analysis/solve/explain.h"
#include "tools/c_api/objects.h"
#include "tools/c_api/tilewright.h"

#include "llvm/Support/Error.h"

#include <span>

namespace tilewright::capi {

/// Numbers of the spaces that an instruction stands for, the strongest first. BadInput for one that
/// the kernel does not have.
llvm::Expected<std::vector<size_t>> spacesOf(const Kernel &kernel, tw_instruction instruction);

/// 0 is free; a tile over its dim is the dim. BadInput: another number of values than parameters, a
/// negative one, a schedule that no kernel can have. `values` may be null if `count` is 0: all
/// free.
llvm::Expected<Choice> choiceOf(const Kernel &kernel, const int64_t *values, size_t count);
/// The same where nothing may be free.
llvm::Expected<std::vector<int64_t>> pointOf(const Kernel &kernel, const int64_t *values,
                                             size_t count);
/// A plan of the space of an instruction.
llvm::Expected<KernelPlan> planOf(const Kernel &kernel, tw_instruction instruction,
                                  const int64_t *values, size_t count);

/// The space's constraints with standard candidates, compiled and its scorer. Made once; the caller
/// holds the kernel's mutex.
llvm::Expected<const ConstraintSystem *> systemOf(Kernel &kernel, size_t space);
llvm::Expected<const CompiledSystem *> compiledOf(Kernel &kernel, size_t space);
PlanScorer &scorerOf(Kernel &kernel, size_t space);

/// The kernel and the spaces of a call, and the choice, with the kernel locked.
struct Call {
  std::shared_ptr<Kernel> kernel;
  std::unique_lock<std::mutex> lock;
  std::vector<size_t> spaces;
  Choice choice;

  static llvm::Expected<Call> begin(tw_kernel handle, tw_instruction instruction,
                                    const int64_t *values, size_t count);
};

} // namespace tilewright::capi
