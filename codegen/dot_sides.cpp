#include "codegen/dot_sides.h"

#include "analysis/support/checked.h"

#include <algorithm>

namespace tilewright {

Coordinates RootSide::coordinates(ValueEmitter &emitter, Expr position) const {
  Coordinates result = emitter.delinearize(position, tile, order);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = emitter.simplify(pids[i] * tile[i] + result[i]);
  return result;
}

llvm::Expected<std::vector<RootSide>> sidesOfRoot(const KernelSpec &spec, OpId dot) {
  const Graph &graph = spec.graph();
  const Op &op = graph[dot];
  OpId root = resultsOf(graph)[0];
  const Shape &shape = graph[root].shape;
  // A throw-away lowering finds where the root reads the dot.
  Lowering probe(spec, CodeMode::Emulation, 1);
  Coordinates at;
  for (int64_t extent : shape.dims)
    at.push_back(
        probe.emitter.variable(VarKind::Dim, "root", Interval::ofExtent(extent), probe.k.c32(0)));
  auto read = probe.emitter.readAt(root, at, dot);
  if (!read)
    return read.takeError();
  if (!*read)
    return makeError(DiagClass::Unsupported, "%{} does not depend on %{}", graph[root].name,
                     op.name);
  std::vector<DotSide> sidesOfDims = sidesOfResult(graph, dot);
  std::vector<std::optional<DotSide>> found(shape.rank());
  for (size_t d = 0; d < (*read)->size(); ++d) {
    DotSide where = sidesOfDims[d];
    for (VarId var : variablesOf((**read)[d]))
      for (size_t i = 0; i < at.size(); ++i) {
        if (at[i].variable() != var)
          continue;
        if (found[i] && *found[i] != where)
          return makeError(DiagClass::Unsupported,
                           "%{} dim {} runs over several sides of %{} at once", graph[root].name, i,
                           op.name);
        found[i] = where;
      }
  }
  std::vector<RootSide> sides(3);
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i] && shape.dims[i] != 1)
      return makeError(DiagClass::Unsupported, "%{} dim {} repeats the result of %{}",
                       graph[root].name, i, op.name);
    RootSide &mine = sides[static_cast<size_t>(found[i].value_or(DotSide::Batch))];
    mine.dims.push_back(i);
    mine.extents.push_back(shape.dims[i]);
    mine.tile.push_back(spec.rootTile[i]);
    mine.size *= spec.rootTile[i];
    mine.tiles *= ceilDiv(shape.dims[i], spec.rootTile[i]);
  }
  for (RootSide &mine : sides)
    for (int64_t dim : shape.minorToMajorOrDefault())
      if (auto place = std::find(mine.dims.begin(), mine.dims.end(), static_cast<size_t>(dim));
          place != mine.dims.end())
        mine.order.push_back(place - mine.dims.begin());
  return sides;
}

std::pair<Expr, Expr> rasterizeTiles(ValueEmitter &emitter, Expr linear, int64_t rowTiles,
                                     int64_t columnTiles, int64_t groupM) {
  KernelBuilder &k = emitter.builder();
  llvm::IRBuilder<> &b = k.b;
  int64_t group = std::min(groupM, rowTiles);
  Expr within = emitter.simplify(linear.mod(rowTiles * columnTiles));
  llvm::Value *row, *column;
  if (group == 1) {
    row = emitter.index(within.floorDiv(columnTiles));
    column = emitter.index(within.mod(columnTiles));
  } else {
    llvm::Value *first = emitter.index(within.floorDiv(group * columnTiles) * group);
    llvm::Value *inGroup = emitter.index(within.mod(group * columnTiles));
    auto number = [&](int64_t value) {
      return llvm::ConstantInt::get(emitter.indexType(), static_cast<uint64_t>(value));
    };
    llvm::Value *height =
        b.CreateSub(number(rowTiles), first); // the last group may have fewer rows
    height = k.intrinsic(llvm::Intrinsic::smin, {emitter.indexType()}, {height, number(group)});
    row = b.CreateAdd(first, b.CreateURem(inGroup, height));
    column = b.CreateUDiv(inGroup, height);
  }
  return {emitter.variable(VarKind::ProgramId, "row", Interval::ofExtent(rowTiles), row),
          emitter.variable(VarKind::ProgramId, "column", Interval::ofExtent(columnTiles), column)};
}

Coordinates replacePlaceholders(ValueEmitter &emitter, const Coordinates &what,
                                const Coordinates &placeholders, const Coordinates &with) {
  Coordinates result;
  for (Expr coordinate : what)
    result.push_back(emitter.simplify(substitute(coordinate, [&](VarId var) {
      for (size_t i = 0; i < placeholders.size(); ++i)
        if (placeholders[i].isVariable() && placeholders[i].variable() == var)
          return with[i];
      return Expr();
    })));
  return result;
}

std::vector<int64_t> contractedExtents(const Graph &graph, OpId dot) {
  std::vector<int64_t> extents;
  const Op &op = graph[dot];
  const Shape &left = graph[op.operands[0]].shape;
  for (int64_t dim : op.attrs.dot.lhsContracting)
    extents.push_back(left.dims[static_cast<size_t>(dim)]);
  return extents;
}

Coordinates dotOperandCoordinates(ValueEmitter &emitter, OpId dot, bool isLeft,
                                  const Coordinates &at, Expr k) {
  const Graph &graph = emitter.graph();
  const DotDims &dims = graph[dot].attrs.dot;
  const std::vector<int64_t> &batchDims = isLeft ? dims.lhsBatch : dims.rhsBatch;
  const std::vector<int64_t> &contracting = isLeft ? dims.lhsContracting : dims.rhsContracting;
  std::vector<int64_t> order;
  for (size_t i = contracting.size(); i-- > 0;)
    order.push_back(static_cast<int64_t>(i));
  Coordinates kAt = emitter.delinearize(k, contractedExtents(graph, dot), order);
  Coordinates result(graph[graph[dot].operands[isLeft ? 0 : 1]].shape.rank());
  for (size_t i = 0; i < batchDims.size(); ++i)
    result[static_cast<size_t>(batchDims[i])] = at[i];
  for (size_t i = 0; i < contracting.size(); ++i)
    result[static_cast<size_t>(contracting[i])] = kAt[i];
  size_t next = batchDims.size();
  if (!isLeft) // the columns come after the rows
    next = at.size() - (result.size() - batchDims.size() - contracting.size());
  for (Expr &coordinate : result)
    if (!coordinate)
      coordinate = at[next++];
  return result;
}

} // namespace tilewright
