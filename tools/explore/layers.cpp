#include "tools/explore/layers.h"

#include <algorithm>
#include <set>

namespace tilewright {

namespace {

using Scope = std::vector<std::string>; ///< outermost first

/// `jit(f)` and the like: the function that was traced, no layer.
bool isTracedFunction(std::string_view part) {
  for (std::string_view transform : {"jit(", "pjit(", "pmap("})
    if (part.starts_with(transform))
      return true;
  return false;
}

/// The parts of a name without the traced function in front; the last is the primitive.
Scope partsOf(const std::string &name) {
  std::vector<std::string_view> parts = nameParts(name);
  size_t first = parts.size() > 1 && isTracedFunction(parts[0]);
  first += first > 0 && parts.size() > 2 && parts[1] == "jit(main)";
  return {parts.begin() + static_cast<std::ptrdiff_t>(first), parts.end()};
}

void keepCommon(Scope &scope, const Scope &other) {
  const size_t most = std::min(scope.size(), other.size());
  size_t same = 0;
  while (same < most && scope[same] == other[same])
    ++same;
  scope.resize(same);
}

/// Of a fusion also the ops of its body. Bodies may be shared: each is looked at once.
void addOps(const Module &module, const Op &op, std::set<GraphId> &seen,
            std::vector<const Op *> &out) {
  if (op.opcode == Opcode::Fusion && !op.called.empty() &&
      seen.insert(op.called.front().graph).second)
    for (const Op &inner : module.graph(op.called.front().graph).all())
      addOps(module, inner, seen, out);
  out.push_back(&op);
}

const Graph &computationOf(const Module &module, const std::string &computation) {
  return computation.empty() ? module.entry() : module.graph(module.find(computation));
}

std::vector<const Op *> opsOf(const Module &module, const ExploredKernel &kernel) {
  const Graph &graph = computationOf(module, kernel.computation);
  std::vector<const Op *> ops;
  std::set<GraphId> seen;
  std::vector<std::string> names = kernel.ops;
  if (!kernel.partOf.empty())
    names.push_back(kernel.partOf);
  for (const std::string &name : names)
    if (OpId id = graph.find(name); id.isValid())
      addOps(module, graph.op(id), seen, ops);
  return ops;
}

/// 0 for ops that say nothing of a kernel, more for those that say more.
int weightOf(const Op &op) {
  switch (op.opcode) {
  case Opcode::Dot:
  case Opcode::RaggedDot:
  case Opcode::Convolution:
    return 3;
  case Opcode::Reduce:
  case Opcode::ReduceWindow:
    return 2;
  case Opcode::Broadcast:
    return 0;
  default:
    return opClass(op.opcode) == OpClass::Leaf ? 0 : 1;
  }
}

/// The names of the heaviest named ops.
std::vector<OpOrigin> heroes(const OpOrigins &origins, const std::vector<const Op *> &ops) {
  std::vector<OpOrigin> result;
  int heaviest = 0;
  for (const Op *op : ops) {
    const int weight = weightOf(*op);
    if (weight < heaviest)
      continue;
    OpOrigin origin = origins.of(*op);
    if (origin.name.empty())
      continue;
    if (weight > heaviest)
      result.clear();
    heaviest = weight;
    result.push_back(std::move(origin));
  }
  return result;
}

Scope layerOf(const std::vector<OpOrigin> &heroes) {
  std::vector<Scope> scopes;
  for (const OpOrigin &hero : heroes) {
    scopes.push_back(partsOf(hero.name));
    scopes.back().pop_back();
  }
  Scope common = scopes.front();
  for (const Scope &scope : scopes)
    keepCommon(common, scope);
  if (!common.empty())
    return common;
  return scopes.back().empty() ? partsOf(heroes.back().name) : scopes.back();
}

std::string joined(const Scope &scope, size_t first) {
  std::string out;
  for (size_t i = first; i < scope.size(); ++i)
    out += (out.empty() ? "" : "/") + scope[i];
  return out;
}

/// The layer of an op without a kernel, in the way of kernels whose layers share `common`.
std::string layerOfRow(const Module &module, const OpOrigins &origins,
                       const std::string &computation, const std::string &name,
                       const Scope &common) {
  const Graph &graph = computationOf(module, computation);
  const OpId id = graph.find(name);
  if (!id.isValid())
    return {};
  const OpOrigin origin = origins.of(graph.op(id));
  if (origin.name.empty() || partsOf(origin.name).empty())
    return {};
  const Scope layer = layerOf({origin});
  Scope shared = common;
  keepCommon(shared, layer);
  const size_t hidden = shared.size() < common.size() ? 0 : shared.size();
  return joined(layer, std::min(hidden, layer.size() - 1));
}

} // namespace

void nameLayers(const Module &module, ExploredModel &model) {
  const OpOrigins origins(module);
  std::vector<ExploredKernel> &kernels = model.kernels;
  std::vector<Scope> layers(kernels.size());
  std::set<Scope> different;
  for (size_t k = 0; k < kernels.size(); ++k) {
    std::vector<OpOrigin> named = heroes(origins, opsOf(module, kernels[k]));
    std::erase_if(named, [](const OpOrigin &origin) { return partsOf(origin.name).empty(); });
    if (named.empty())
      continue;
    layers[k] = layerOf(named);
    different.insert(layers[k]);
    kernels[k].origin = std::move(named.back());
  }
  Scope common = different.size() > 1 ? *different.begin() : Scope();
  for (const Scope &layer : different)
    keepCommon(common, layer);
  for (size_t k = 0; k < kernels.size(); ++k)
    if (!layers[k].empty()) // a layer that encloses all others keeps its own name
      kernels[k].layer = joined(layers[k], std::min(common.size(), layers[k].size() - 1));
  for (AssumedOp &row : model.assumed)
    row.layer = layerOfRow(module, origins, row.computation, row.op, common);
  for (UnsupportedOp &row : model.unsupported)
    row.layer = layerOfRow(module, origins, row.computation, row.op, common);
}

} // namespace tilewright
