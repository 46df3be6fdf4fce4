// A kernel by the names of its ops, as `explore` lists them.
#pragma once

#include "tools/explore/prepared_model.h"

#include <span>
#include <string>
#include <string_view>

namespace tilewright {

/// BadInput, with the nearest name.
llvm::Error noSuchOp(const Module &module, std::string_view name);

/// The kernel of these ops of one computation. `results`: those of them whose values it stores;
/// empty: what other ops read, and the computation's result. BadInput: a name of no op, ops of
/// several computations, a result that is not among them; otherwise as kernelSource().
llvm::Expected<KernelSource> kernelOfOps(const Module &module, std::span<const std::string> ops,
                                         std::span<const std::string> results = {});

/// The same, but the ops of an update in place are the kernel that writes its window alone.
llvm::Expected<KernelSource> kernelOfOps(const PreparedModel &model,
                                         std::span<const std::string> ops,
                                         std::span<const std::string> results = {});

} // namespace tilewright
