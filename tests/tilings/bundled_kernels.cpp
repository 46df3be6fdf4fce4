#include "tests/tilings/bundled_kernels.h"

#include "analysis/import/import_file.h"
#include "analysis/import/testing/models.h"
#include "analysis/ir/inline.h"
#include "tools/explore/chains.h"
#include "tools/explore/parts.h"

#include <algorithm>

namespace tilewright {

void addKernels(const std::string &name, const std::shared_ptr<const Module> &module,
                std::vector<BundledKernel> &out) {
  for (const ModelPart &part : modelParts(*module)) {
    std::vector<KernelGroup> kernels = part.grouping.kernels;
    for (const DotChain &chain : dotChains(module->graph(part.id), part.grouping.kernels))
      kernels.push_back(chain.whole);
    for (const KernelGroup &kernel : kernels) {
      llvm::Expected<KernelSource> source = kernelSource(*module, part.id, kernel);
      if (source)
        out.push_back({name + " %" + source->name, module, std::move(*source)});
      else
        llvm::consumeError(source.takeError());
    }
  }
}

llvm::Expected<std::vector<BundledKernel>> bundledKernels() {
  std::vector<BundledKernel> out;
  for (const std::string &path : bundledModels()) {
    llvm::Expected<Module> imported = importFile(path);
    llvm::Expected<Module> module = imported ? inlineCalls(*imported) : std::move(imported);
    if (!module)
      return module.takeError();
    addKernels(path, std::make_shared<const Module>(std::move(*module)), out);
  }
  return out;
}

} // namespace tilewright
