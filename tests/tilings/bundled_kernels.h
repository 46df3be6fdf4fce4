// Every kernel of every bundled model, loop bodies and branches included.
#pragma once

#include "tools/explore/kernels.h"

#include <memory>
#include <string>
#include <vector>

namespace tilewright {

struct BundledKernel {
  std::string name; ///< "datasets/models/dlrm.hlo.txt %fusion.3"
  std::shared_ptr<const Module> module;
  KernelSource source;
};

/// In the order of the files: the kernels of each part of the model, and its chains of dots. What
/// is not modelled is left out. Errors: of a model that can't be read.
llvm::Expected<std::vector<BundledKernel>> bundledKernels();

/// The same of one module.
void addKernels(const std::string &name, const std::shared_ptr<const Module> &module,
                std::vector<BundledKernel> &out);

} // namespace tilewright
