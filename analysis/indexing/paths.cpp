// Maps between ops that are not neighbours.
#include "analysis/indexing/indexing_internal.h"

#include <map>

namespace tilewright {

namespace {

/// Which ops depend on `to` (and are at most `from`).
std::vector<bool> dependents(const Graph &graph, OpId from, OpId to) {
  std::vector<bool> depends(from.index + 1);
  if (to.index > from.index)
    return depends;
  depends[to.index] = true;
  for (uint32_t i = to.index + 1; i <= from.index; ++i)
    for (OpId operand : graph.op(OpId{i}).operands)
      depends[i] = depends[i] || depends[operand.index];
  return depends;
}

/// Adds a map unless an equivalent one is there; known-empty ones only while nothing else is.
void addDistinct(std::vector<IndexMap> &maps, IndexMap map) {
  if (map.isKnownEmpty() && !maps.empty())
    return;
  if (maps.size() == 1 && maps.front().isKnownEmpty() && !map.isKnownEmpty())
    maps.clear();
  for (const IndexMap &other : maps)
    if (other.equivalent(map))
      return;
  maps.push_back(std::move(map));
}

} // namespace

llvm::Expected<OperandMaps> mapsToOp(const Graph &graph, OpId from, OpId to, ExprContext &context,
                                     const ResultPath &path, size_t maxMaps) {
  const Shape *start = resultShape(graph.op(from), path);
  if (!start)
    return makeError(DiagClass::BadInput, "%{} has no such result", graph.op(from).name);
  std::vector<bool> depends = dependents(graph, from, to);
  // Ops are visited users first, so that all maps of an op are there when it is its turn.
  using Key = std::pair<uint32_t, ResultPath>;
  std::map<Key, OperandMaps, std::greater<>> pending;
  pending[{from.index, path}].maps.push_back(IndexMap::identity(context, start->dims).simplified());
  OperandMaps result;
  while (!pending.empty()) {
    auto [key, reached] = *pending.begin();
    pending.erase(pending.begin());
    OpId id{key.first};
    if (!depends[id.index])
      continue;
    if (id == to) {
      for (IndexMap &map : reached.maps)
        addDistinct(result.maps, std::move(map));
      if (reached.coverage != Coverage::Exact) {
        result.coverage = reached.coverage;
        result.note = reached.note;
      }
      result.operandPath = key.second;
      continue;
    }
    const Op &op = graph.op(id);
    llvm::Expected<OpIndexing> maps = outputToOperands(graph, id, context, key.second);
    if (!maps)
      return maps.takeError();
    if (maps->isOpaque)
      return makeError(DiagClass::Unsupported, "no map to %{}: %{} is on the way, {}",
                       graph.op(to).name, op.name, maps->reason);
    for (size_t i = 0; i < maps->operands.size(); ++i) {
      if (!depends[op.operands[i].index] || maps->operands[i].maps.empty())
        continue;
      OperandMaps &next = pending[{op.operands[i].index, maps->operands[i].operandPath}];
      for (const IndexMap &outer : reached.maps)
        for (const IndexMap &inner : maps->operands[i].maps)
          addDistinct(next.maps, compose(outer, inner));
      if (next.maps.size() > maxMaps)
        return makeError(DiagClass::BudgetSpent, "more than {} different maps from %{} meet at %{}",
                         maxMaps, graph.op(from).name, graph.op(op.operands[i]).name);
      for (const OperandMaps *part : {&reached, &maps->operands[i]})
        if (part->coverage != Coverage::Exact) {
          next.coverage = part->coverage;
          next.note = part->note;
        }
    }
  }
  return result;
}

} // namespace tilewright
