// Deterministic arguments whose index tensors are in bounds.
#include "analysis/ir/evaluator.h"
#include "analysis/ir/evaluator_impl.h"

#include <algorithm>
#include <optional>

namespace tilewright {

namespace {
/// The smallest extent that the op's operand number k indexes; empty if it is not an index.
std::optional<int64_t> indexedExtent(const Graph &graph, const Op &op, size_t k) {
  const Shape &base = graph.op(op.operands[0]).shape;
  std::optional<int64_t> least;
  auto limit = [&](int64_t extent) { least = std::min(least.value_or(extent), extent); };
  auto isDim = [&](int64_t dim) { return dim >= 0 && dim < static_cast<int64_t>(base.rank()); };
  switch (op.opcode) {
  case Opcode::Gather:
    if (k == 1)
      for (int64_t dim : op.attrs.gather.startIndexMap)
        if (isDim(dim))
          limit(base.dims[dim]);
    break;
  case Opcode::Scatter:
    if (k == op.operands.size() / 2)
      for (int64_t dim : op.attrs.scatter.scatterDimsToOperandDims)
        if (isDim(dim))
          limit(base.dims[dim]);
    break;
  case Opcode::DynamicSlice:
  case Opcode::DynamicUpdateSlice: {
    size_t first = op.opcode == Opcode::DynamicSlice ? 1 : 2;
    if (k >= first && isDim(static_cast<int64_t>(k - first)))
      limit(base.dims[k - first]);
    break;
  }
  default:
    break;
  }
  return least;
}

/// Ops that pass index values through unchanged.
bool passesValuesOn(Opcode opcode) {
  switch (opcode) {
  case Opcode::Broadcast:
  case Opcode::Reshape:
  case Opcode::Bitcast:
  case Opcode::Transpose:
  case Opcode::Slice:
  case Opcode::Reverse:
  case Opcode::Concatenate:
  case Opcode::Convert:
  case Opcode::Copy:
  case Opcode::Clamp:
  case Opcode::Select:
    return true;
  default:
    return false;
  }
}

/// For each op of the graph, the smallest extent that its values index. Calls are followed; each
/// computation is visited once.
class IndexBounds {
public:
  explicit IndexBounds(const Module &module) : module(module), done(module.all().size()) {}

  const std::vector<std::optional<int64_t>> &of(GraphId id, unsigned depth = 0) {
    std::optional<std::vector<std::optional<int64_t>>> &slot = done[id.index];
    if (slot)
      return *slot;
    slot.emplace(module.graph(id).size());
    const Graph &graph = module.graph(id);
    std::vector<std::optional<int64_t>> bounds(graph.size());
    auto limit = [&](OpId op, std::optional<int64_t> extent) {
      std::optional<int64_t> &bound = bounds[op.index];
      if (extent)
        bound = std::min(bound.value_or(*extent), *extent);
    };
    for (size_t i = graph.size(); i-- > 0;) {
      const Op &op = graph.all()[i];
      bool isCall = op.opcode == Opcode::Call || op.opcode == Opcode::Fusion;
      for (size_t k = 0; k < op.operands.size(); ++k) {
        limit(op.operands[k], indexedExtent(graph, op, k));
        if (passesValuesOn(op.opcode))
          limit(op.operands[k], bounds[i]);
      }
      if (!isCall || op.called.empty() || depth >= maxDepth)
        continue;
      GraphId callee = op.called.front().graph;
      const std::vector<std::optional<int64_t>> &inner = of(callee, depth + 1);
      for (OpId parameter : module.graph(callee).parameters()) {
        size_t k = static_cast<size_t>(module.graph(callee).op(parameter).attrs.parameterNumber);
        if (k < op.operands.size())
          limit(op.operands[k], inner[parameter.index]);
      }
    }
    done[id.index] = std::move(bounds);
    return *done[id.index];
  }

private:
  static constexpr unsigned maxDepth = 100;
  const Module &module;
  std::vector<std::optional<std::vector<std::optional<int64_t>>>> done;
};
} // namespace

std::vector<ArgumentFill> argumentFills(const Module &module, GraphId id) {
  const Graph &graph = module.graph(id);
  IndexBounds allBounds(module);
  const std::vector<std::optional<int64_t>> &bounds = allBounds.of(id);
  std::vector<ArgumentFill> result;
  for (OpId parameter : graph.parameters())
    for (const Shape *leaf : eval::leavesOf(graph.op(parameter).shape)) {
      FillRange range;
      std::optional<int64_t> bound = bounds[parameter.index];
      if (bound && isInteger(leaf->dtype))
        range = {true, 0, std::max<int64_t>(*bound - 1, 0)};
      result.push_back({*leaf, range});
    }
  return result;
}

std::vector<Tensor> fillArguments(const Module &module, GraphId id, uint64_t seed) {
  std::vector<Tensor> result;
  for (const ArgumentFill &fill : argumentFills(module, id))
    result.push_back(fillTensor(fill.shape, seed + result.size(), fill.range));
  return result;
}

} // namespace tilewright
