#include "tools/explore/named_kernel.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright {

namespace {

struct NamedGroup {
  GraphId graph;
  KernelGroup kernel;
};

/// Ops of the first computation that has the first of them, the entry before others.
llvm::Expected<NamedGroup> groupOf(const Module &module, std::span<const std::string> ops,
                                   std::span<const std::string> results) {
  if (ops.empty())
    return makeError(DiagClass::BadInput, "a kernel has at least one op");
  auto plain = [](std::string_view name) { return name.substr(name.starts_with('%')); };
  NamedGroup named{module.entryId, {}};
  if (!module.entry().find(plain(ops.front())).isValid())
    for (uint32_t g = 0; g < module.all().size(); ++g)
      if (module.graph(GraphId{g}).find(plain(ops.front())).isValid()) {
        named.graph = GraphId{g};
        break;
      }
  const Graph &graph = module.graph(named.graph);
  auto find = [&](const std::string &name) -> llvm::Expected<OpId> {
    if (const OpId id = graph.find(plain(name)); id.isValid())
      return id;
    for (const Graph &other : module.all())
      if (other.find(plain(name)).isValid())
        return makeError(DiagClass::BadInput, "%{} is in another computation than %{}", plain(name),
                         plain(ops.front()));
    return noSuchOp(module, plain(name));
  };
  for (const std::string &name : ops) {
    llvm::Expected<OpId> id = find(name);
    if (!id)
      return id.takeError();
    named.kernel.ops.push_back(*id);
  }
  std::vector<OpId> &set = named.kernel.ops;
  std::sort(set.begin(), set.end());
  set.erase(std::unique(set.begin(), set.end()), set.end());
  auto isInside = [&](OpId id) { return std::binary_search(set.begin(), set.end(), id); };
  std::vector<OpId> &roots = named.kernel.roots;
  for (const std::string &name : results) {
    llvm::Expected<OpId> id = find(name);
    if (!id)
      return id.takeError();
    if (!isInside(*id))
      return makeError(DiagClass::BadInput, "the result %{} is not among the ops", plain(name));
    roots.push_back(*id);
  }
  if (results.empty())
    for (uint32_t i = 0; i < graph.size(); ++i)
      if (OpId{i} == graph.root() && isInside(OpId{i}))
        roots.push_back(OpId{i});
      else if (!isInside(OpId{i}))
        std::copy_if(graph.op(OpId{i}).operands.begin(), graph.op(OpId{i}).operands.end(),
                     std::back_inserter(roots), isInside);
  std::sort(roots.begin(), roots.end());
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  if (roots.empty())
    return makeError(DiagClass::BadInput, "nothing reads a value of these ops");
  named.kernel.root = roots.back();
  return named;
}

} // namespace

llvm::Error noSuchOp(const Module &module, std::string_view name) {
  std::string nearest;
  unsigned best = 4; // more edits than this are not a typing mistake
  for (const Graph &graph : module.all())
    for (const Op &op : graph.all()) {
      unsigned distance = llvm::StringRef(op.name).edit_distance(
          llvm::StringRef(name.data(), name.size()), true, best);
      if (distance < best) {
        best = distance;
        nearest = op.name;
      }
    }
  std::string hint = nearest.empty() ? "" : fmt::format("; did you mean %{}", nearest);
  return makeError(DiagClass::BadInput, "no op %{} in the module{}", name, hint);
}

llvm::Expected<KernelSource> kernelOfOps(const Module &module, std::span<const std::string> ops,
                                         std::span<const std::string> results) {
  llvm::Expected<NamedGroup> named = groupOf(module, ops, results);
  if (!named)
    return named.takeError();
  return kernelSource(module, named->graph, named->kernel);
}

llvm::Expected<KernelSource> kernelOfOps(const PreparedModel &model,
                                         std::span<const std::string> ops,
                                         std::span<const std::string> results) {
  llvm::Expected<NamedGroup> named = groupOf(*model.module, ops, results);
  if (!named)
    return named.takeError();
  for (const ModelPart &part : model.parts)
    for (const KernelGroup &kernel : part.grouping.kernels)
      if (part.id == named->graph && kernel.placed && kernel.allOps() == named->kernel.ops)
        return findKernel(model, model.module->graph(part.id).op(kernel.root).name);
  return kernelSource(*model.module, named->graph, named->kernel);
}

} // namespace tilewright
