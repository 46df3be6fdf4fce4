// A model as its kernels run it: calls inlined, sums of nothing folded, updates in place.
#pragma once

#include "tools/explore/kernels.h"
#include "tools/explore/parts.h"

namespace tilewright {

struct PreparedModel {
  std::shared_ptr<const Module> module; ///< with the graphs of kernels that update in place
  std::vector<ModelPart> parts;
  size_t ops = 0, computations = 0; ///< of the entry, of the module, as inlined
};

/// Errors as inlineCalls().
llvm::Expected<PreparedModel> prepareModel(const Module &module);

/// As findKernel() of a module, but an update in place is the kernel that writes its window alone,
/// and the notes of its group say so, or why all is written.
llvm::Expected<KernelSource> findKernel(const PreparedModel &model, std::string_view name);

} // namespace tilewright
