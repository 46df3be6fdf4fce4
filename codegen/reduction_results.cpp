// The results of a reduction: those with the root's shape, those with the shape of the reduced
// input, and those with one element a row.
#include "analysis/support/checked.h"
#include "analysis/tiling/code_kind.h"
#include "codegen/reduction_lowering.h"

#include <algorithm>

namespace tilewright {

bool ReductionLowering::isOfInput(OpId id) const {
  const Graph &graph = lowering->graph;
  const Shape &shape = graph[id].shape;
  const Shape &root = graph[lowering->results[0]].shape;
  const Reduction &first = reductions[0];
  int64_t rows = 1;
  for (size_t d : rowDims)
    rows *= root.dims[d];
  return shape.dims != root.dims && graph[first.op].shape.elementCount() == rows &&
         (shape.dims == graph[first.input].shape.dims || isReadOneToOne(graph, first.input, id));
}

bool ReductionLowering::needsReductions(OpId id) const {
  std::vector<bool> seen(lowering->graph.size());
  std::vector<OpId> work{id};
  while (!work.empty()) {
    OpId op = work.back();
    work.pop_back();
    if (seen[op.index])
      continue;
    seen[op.index] = true;
    if (lowering->graph[op].opcode == Opcode::Reduce)
      return true;
    const std::vector<OpId> &operands = lowering->graph[op].operands;
    work.insert(work.end(), operands.begin(), operands.end());
  }
  return false;
}

llvm::Error ReductionLowering::storeOfInput(size_t result, const Coordinates &at,
                                            const Guard &guard) {
  OpId id = lowering->results[result], input = reductions[0].input;
  Coordinates place = at;
  if (const Graph &graph = lowering->graph; graph[id].shape.dims != graph[input].shape.dims) {
    auto read = lowering->emitter.readAt(input, at, id);
    if (!read)
      return read.takeError();
    place = **read;
  }
  auto value = lowering->emitter.values(id, place, guard, lanes);
  if (!value)
    return value.takeError();
  return lowering->emitter.store(lowering->outputBuffer(result), lowering->graph[id].shape, place,
                                 guard, *value);
}

Coordinates ReductionLowering::rootCoordinates(const Coordinates &columns) const {
  Coordinates at(isRowDim.size());
  for (size_t i = 0; i < rowDims.size(); ++i)
    at[rowDims[i]] = rowCoordinates[i];
  for (size_t i = 0; i < columnDims.size(); ++i)
    at[columnDims[i]] =
        lowering->emitter.simplify(pids[columnDims[i]] * spec.rootTile[columnDims[i]] + columns[i]);
  return at;
}

llvm::Error ReductionLowering::emitResults() {
  ValueEmitter &emitter = lowering->emitter;
  const Graph &graph = lowering->graph;
  const Shape &root = graph[lowering->results[0]].shape;
  std::vector<int64_t> rowExtents;
  for (size_t d : rowDims)
    rowExtents.push_back(root.dims[d]);
  std::vector<int64_t> columnExtents;
  Columns columns;
  for (size_t d : columnDims) {
    columns.extents.push_back(spec.rootTile[d]);
    columns.count *= spec.rootTile[d];
    columnExtents.push_back(root.dims[d]);
  }
  for (int64_t dim : root.minorToMajorOrDefault())
    if (auto at = std::find(columnDims.begin(), columnDims.end(), static_cast<size_t>(dim));
        at != columnDims.end())
      columns.order.push_back(at - columnDims.begin());
  columns.chunk = std::min(columns.count, reductions[0].chunk);
  int64_t held = ceilDiv(ceilDiv(columns.count, lanes), threadsPerRow) * lanes;
  if (reductions[0].chunk >= reductions[0].length && held <= maxHeldValues)
    columns.chunk = columns.count;

  for (size_t r = 0; r < lowering->results.size(); ++r) {
    OpId id = lowering->results[r];
    const Shape &shape = graph[id].shape;
    bool isFull = shape.dims == root.dims && columns.count > 1;
    if (isFull) {
      Values nothing;
      auto error =
          forColumns(columns, nothing,
                     [&](const Coordinates &column, const Guard &guard, Values &) -> llvm::Error {
                       Coordinates at = rootCoordinates(column);
                       Guard inside = guard;
                       for (size_t i = 0; i < columnDims.size(); ++i)
                         emitter.addDomain(inside, {at[columnDims[i]]}, {columnExtents[i]});
                       auto value = emitter.values(id, at, inside, lanes);
                       if (!value)
                         return value.takeError();
                       return emitter.store(lowering->outputBuffer(r), shape, at, inside, *value);
                     });
      if (error)
        return error;
      continue;
    }
    if (isOfInput(id)) {
      if (!needsReductions(id))
        continue; // stored during the pass over its columns
      const Reduction &first = reductions[0];
      Columns along{first.extents, first.order, first.length, first.chunk};
      Values nothing;
      auto error =
          forColumns(along, nothing,
                     [&](const Coordinates &column, const Guard &there, Values &) -> llvm::Error {
                       Guard guard = there;
                       addRowDomain(first, guard);
                       return storeOfInput(r, inputCoordinates(first, column), guard);
                     });
      if (error)
        return error;
      continue;
    }
    // One element a row: the first of the threads that share it stores.
    Coordinates at;
    if (shape.dims == root.dims)
      at = rootCoordinates(Coordinates(columnDims.size(), emitter.constant(0)));
    else if (shape.dims == rowExtents)
      at = rowCoordinates;
    else
      return makeError(DiagClass::Unsupported,
                       "%{}: as a result beside %{} its shape {} should be that, one element "
                       "a row, that of %{}, which is reduced, or it should be what that is made of "
                       "one to one",
                       graph[id].name, graph[lowering->results[0]].name, shape.str(false),
                       graph[reductions[0].input].name);
    Guard guard = rowGuard;
    guard.push_back({member, Interval::point(0), 1, 0});
    auto value = emitter.values(id, at, guard, 1);
    if (!value)
      return value.takeError();
    if (auto error = emitter.store(lowering->outputBuffer(r), shape, at, guard, *value))
      return error;
  }
  return llvm::Error::success();
}

} // namespace tilewright
