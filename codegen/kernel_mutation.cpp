#include "codegen/kernel_mutation.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace tilewright {

KernelModule withoutCalls(KernelModule kernel, const char *function, std::optional<size_t> which,
                          size_t &removed) {
  auto [context, module] = kernel.takeIr();
  std::vector<llvm::CallInst *> calls;
  for (llvm::Function &body : *module)
    for (llvm::Instruction &instruction : llvm::instructions(body))
      if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction))
        if (call->getCalledFunction() && call->getCalledFunction()->getName() == function)
          calls.push_back(call);
  removed = 0;
  for (size_t i = 0; i < calls.size(); ++i)
    if (!which || *which == i) {
      calls[i]->eraseFromParent();
      ++removed;
    }
  KernelModule result(std::move(context), std::move(module), kernel.mode());
  static_cast<KernelInfo &>(result) = kernel;
  return result;
}

} // namespace tilewright
