// Maps between ops that are not adjacent.
#include "analysis/indexing/paths.h"

#include "analysis/indexing/indexing_internal.h"

#include <algorithm>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLExtras.h>
#include <map>
#include <memory>

namespace tilewright {

namespace {

/// The ops between `from` and the targets: those that depend on a target, including the targets.
/// Paths stop at `ends`. Takes time for what `from` reads down to the first target, however large
/// the graph is.
class OpsBetween {
public:
  OpsBetween(const Graph &graph, OpId from, std::span<const OpId> targets,
             std::span<const OpId> ends) {
    uint32_t first = from.index + 1;
    for (OpId target : targets) {
      dependents.insert(target.index);
      first = std::min(first, target.index);
    }
    for (OpId end : ends)
      stops.insert(end.index);
    llvm::DenseSet<uint32_t> seen{from.index};
    std::vector<uint32_t> read{from.index};
    for (size_t i = 0; i < read.size(); ++i)
      if (!isEnd(OpId{read[i]}))
        for (OpId operand : graph.op(OpId{read[i]}).operands)
          if (operand.index >= first && seen.insert(operand.index).second)
            read.push_back(operand.index);
    std::sort(read.begin(), read.end());
    for (uint32_t i : read)
      if (!isEnd(OpId{i}) &&
          llvm::any_of(graph.op(OpId{i}).operands, [&](OpId operand) { return has(operand); }))
        dependents.insert(i);
  }

  bool has(OpId id) const { return dependents.contains(id.index); }
  bool isEnd(OpId id) const { return stops.contains(id.index); }

private:
  llvm::DenseSet<uint32_t> dependents, stops;
};

/// A run of reshapes with at most elementwise ops between them: each is mapped directly from the
/// shape before the run, since any two reshapes are one. Composed one after the other, shapes
/// without common boundaries would give growing formulas that are not recognised to cancel.
struct ReshapeRun {
  IndexMap base;              ///< map to the first reshape's result
  std::vector<int64_t> shape; ///< of that result
};
using RunRef = std::shared_ptr<const ReshapeRun>;

/// State of an op on the way: maps to its result, or the first refusal among the ops on the path.
struct Reached {
  OperandMaps maps;
  std::vector<RunRef> runs;          ///< of each map; null: it does not end in a reshape
  std::optional<uint32_t> refusedBy; ///< OpId::index: passed later means smaller
  Diag refusal;
  bool isOpaque = false; ///< the refusal is an opaque op

  void refuse(uint32_t op, const Diag &diag, bool opaque) {
    if (refusedBy && *refusedBy >= op)
      return;
    refusedBy = op;
    refusal = diag;
    isOpaque = opaque;
    maps.maps.clear();
    runs.clear();
  }
  void add(IndexMap map, RunRef run);
  void cover(const OperandMaps &part) {
    if (part.coverage == Coverage::Exact)
      return;
    maps.coverage = part.coverage;
    maps.note = part.note;
  }
};

/// Adds a map unless an equivalent one exists; known-empty maps only while there is no other.
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

void Reached::add(IndexMap map, RunRef run) {
  const size_t before = maps.maps.size();
  const bool wasEmpty = before == 1 && maps.maps.front().isKnownEmpty();
  addDistinct(maps.maps, std::move(map));
  if (wasEmpty && maps.maps.size() == 1 && !maps.maps.front().isKnownEmpty())
    runs = {std::move(run)}; // it replaced the empty one
  else if (maps.maps.size() > before)
    runs.push_back(std::move(run));
}

/// From the elements of `to` to those of `from`, in the order of both.
IndexMap reshapeMap(ExprContext &context, const std::vector<int64_t> &to,
                    const std::vector<int64_t> &from) {
  std::vector<MapVariable> variables;
  std::vector<Expr> at;
  for (size_t i = 0; i < to.size(); ++i) {
    at.push_back(context.dim(static_cast<unsigned>(i)));
    variables.push_back({at.back(), Interval::ofExtent(to[i]), std::nullopt});
  }
  return IndexMap(context, std::move(variables),
                  indexing::reshapeCoordinates(context, to, at, from))
      .simplified();
}

bool isPlainReshape(const Op &op) {
  return op.opcode == Opcode::Reshape && op.shape.elementCount().value_or(0) > 0;
}

/// True for elementwise ops, across which a run of reshapes continues.
bool keepsRun(const Op &op, const Shape &operand) {
  return opClass(op.opcode) == OpClass::Elementwise && !op.shape.isTuple && !operand.isTuple &&
         operand.dims == op.shape.dims;
}

llvm::Expected<std::vector<MapsOrRefusal>>
mapsAlong(const Graph &graph, OpId from, std::span<const OpId> targets, std::span<const OpId> ends,
          ExprContext &context, const ResultPath &path, size_t maxMaps) {
  const Shape *start = resultShape(graph.op(from), path);
  if (!start)
    return makeError(DiagClass::BadInput, "%{} has no such result", graph.op(from).name);
  const OpsBetween between(graph, from, targets, ends);
  std::multimap<uint32_t, size_t> targetsByOp;
  for (size_t i = 0; i < targets.size(); ++i)
    targetsByOp.emplace(targets[i].index, i);
  // Ops are visited users first, so all maps of an op are complete when it is visited.
  using Key = std::pair<uint32_t, ResultPath>;
  std::map<Key, Reached, std::greater<>> pending;
  pending[{from.index, path}].add(IndexMap::identity(context, start->dims).simplified(), nullptr);
  std::vector<Reached> results(targets.size());
  while (!pending.empty()) {
    auto [key, reached] = *pending.begin();
    pending.erase(pending.begin());
    OpId id{key.first};
    if (!between.has(id))
      continue;
    for (auto [it, end] = targetsByOp.equal_range(id.index); it != end; ++it) {
      Reached &result = results[it->second];
      if (reached.refusedBy)
        result.refuse(*reached.refusedBy, reached.refusal, reached.isOpaque);
      if (result.refusedBy)
        continue;
      for (const IndexMap &map : reached.maps.maps)
        addDistinct(result.maps.maps, map);
      result.cover(reached.maps);
      result.maps.operandPath = key.second;
    }
    const Op &op = graph.op(id);
    if (between.isEnd(id) ||
        llvm::none_of(op.operands, [&](OpId operand) { return between.has(operand); }))
      continue;
    OpIndexing maps;
    Diag refusal;
    if (!reached.refusedBy) {
      llvm::Expected<OpIndexing> found = outputToOperands(graph, id, context, key.second);
      if (!found) {
        refusal = takeDiag(found.takeError());
        if (refusal.cls != DiagClass::Unsupported && refusal.cls != DiagClass::BudgetSpent)
          return makeError(std::move(refusal));
        reached.refuse(id.index, refusal, false);
      } else if (found->isOpaque) {
        refusal.cls = DiagClass::Unsupported;
        refusal.message = fmt::format("%{} is on the way, {}", op.name, found->reason);
        reached.refuse(id.index, refusal, true);
      } else {
        maps = std::move(*found);
      }
    }
    for (size_t i = 0; i < op.operands.size(); ++i) {
      uint32_t operand = op.operands[i].index;
      if (!between.has(op.operands[i]))
        continue;
      if (reached.refusedBy) {
        pending[{operand, {}}].refuse(*reached.refusedBy, reached.refusal, reached.isOpaque);
        continue;
      }
      if (maps.operands[i].maps.empty())
        continue;
      Reached &next = pending[{operand, maps.operands[i].operandPath}];
      if (next.refusedBy)
        continue;
      const Shape &read = graph.op(op.operands[i]).shape;
      for (size_t m = 0; m < reached.maps.maps.size(); ++m) {
        const IndexMap &outer = reached.maps.maps[m];
        RunRef run = reached.runs[m];
        if (isPlainReshape(op)) {
          if (run) { // a run of one reshape is the op's own map
            next.add(compose(run->base, reshapeMap(context, run->shape, read.dims)), run);
            continue;
          }
          run = std::make_shared<const ReshapeRun>(ReshapeRun{outer, op.shape.dims});
        } else if (!keepsRun(op, read)) {
          run = nullptr;
        }
        for (const IndexMap &inner : maps.operands[i].maps)
          next.add(compose(outer, inner), run);
      }
      if (next.maps.maps.size() > maxMaps) {
        refusal.cls = DiagClass::BudgetSpent;
        refusal.message = fmt::format("more than {} different maps from %{} meet at %{}", maxMaps,
                                      graph.op(from).name, graph.op(op.operands[i]).name);
        next.refuse(id.index, refusal, false);
        continue;
      }
      next.cover(reached.maps);
      next.cover(maps.operands[i]);
    }
  }
  std::vector<MapsOrRefusal> all;
  for (size_t i = 0; i < results.size(); ++i) {
    MapsOrRefusal one{std::move(results[i].maps), std::nullopt};
    if (results[i].refusedBy) {
      one.refusal = std::move(results[i].refusal);
      if (results[i].isOpaque)
        one.refusal->message =
            fmt::format("no map to %{}: {}", graph.op(targets[i]).name, one.refusal->message);
    }
    all.push_back(std::move(one));
  }
  return all;
}

} // namespace

llvm::Expected<std::vector<MapsOrRefusal>> mapsToOps(const Graph &graph, OpId from,
                                                     std::span<const OpId> targets,
                                                     ExprContext &context, const ResultPath &path,
                                                     size_t maxMaps) {
  return mapsAlong(graph, from, targets, {}, context, path, maxMaps);
}

llvm::Expected<std::vector<MapsOrRefusal>> mapsWithin(const Graph &graph, OpId from,
                                                      std::span<const OpId> targets,
                                                      std::span<const OpId> ends,
                                                      ExprContext &context) {
  constexpr size_t maxMaps = 64;
  return mapsAlong(graph, from, targets, ends, context, {}, maxMaps);
}

llvm::Expected<OperandMaps> mapsToOp(const Graph &graph, OpId from, OpId to, ExprContext &context,
                                     const ResultPath &path, size_t maxMaps) {
  llvm::Expected<std::vector<MapsOrRefusal>> all =
      mapsToOps(graph, from, {&to, 1}, context, path, maxMaps);
  if (!all)
    return all.takeError();
  MapsOrRefusal &one = all->front();
  if (one.refusal)
    return makeError(std::move(*one.refusal));
  return std::move(one.maps);
}

} // namespace tilewright
