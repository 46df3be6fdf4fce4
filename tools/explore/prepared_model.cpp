#include "tools/explore/prepared_model.h"

#include "analysis/ir/fold_empty.h"
#include "analysis/ir/inline.h"
#include "analysis/ir/narrow_products.h"
#include "tools/explore/in_place.h"

#include <algorithm>

namespace tilewright {

namespace {

/// Whether one of the ops, or one in the body of a fusion, is a product that was narrowed.
bool hasNarrowProduct(const Module &module, const Graph &graph, const std::vector<OpId> &ops) {
  return std::any_of(ops.begin(), ops.end(), [&](OpId id) {
    const Op &op = graph.op(id);
    if (op.opcode != Opcode::Fusion || op.called.empty())
      return isNarrowedDot(graph, op);
    const Graph &body = module.graph(op.called.front().graph);
    return std::any_of(body.all().begin(), body.all().end(),
                       [&](const Op &inner) { return isNarrowedDot(body, inner); });
  });
}

void noteNarrowProducts(const Module &module, std::vector<ModelPart> &parts) {
  for (ModelPart &part : parts)
    for (KernelGroup &kernel : part.grouping.kernels)
      if (hasNarrowProduct(module, module.graph(part.id), kernel.ops))
        kernel.notes.push_back("its operands are multiplied as the 8-bit floats that they are; "
                               "factors that all elements share are applied to the product");
}

} // namespace

llvm::Expected<PreparedModel> prepareModel(const Module &original) {
  llvm::Expected<Module> inlined = inlineCalls(original);
  if (!inlined)
    return inlined.takeError();
  PreparedModel model;
  model.ops = inlined->entry().size();
  model.computations = inlined->all().size();
  Module module = withNarrowProducts(foldEmptyContractions(*inlined));
  model.parts = modelParts(module);
  planUpdates(module, model.parts);
  noteNarrowProducts(module, model.parts);
  model.module = std::make_shared<const Module>(std::move(module));
  return model;
}

llvm::Expected<KernelSource> findKernel(const PreparedModel &model, std::string_view name) {
  if (name.starts_with('%'))
    name.remove_prefix(1);
  auto answer = [&](const ModelPart &part,
                    const KernelGroup &kernel) -> llvm::Expected<KernelSource> {
    llvm::Expected<KernelSource> source =
        kernel.placed
            ? kernelSource(*model.module, part.id, kernel)
            : findKernel(*model.module, model.module->graph(part.id).op(kernel.root).name);
    if (source)
      source->notes = kernel.notes;
    return source;
  };
  // The entry is the last part, and the first to be looked at.
  for (size_t p = model.parts.size(); p-- > 0;) {
    const ModelPart &part = model.parts[p];
    const std::vector<KernelGroup> &kernels = part.grouping.kernels;
    if (name.empty() && !kernels.empty())
      return answer(part, kernels.back());
    if (name.empty())
      break;
    for (const KernelGroup &kernel : kernels)
      if (!kernel.ops.empty() && model.module->graph(part.id).op(kernel.root).name == name)
        return answer(part, kernel);
  }
  return findKernel(*model.module, name);
}

} // namespace tilewright
