#include "analysis/tiling/resource_view.h"

#include "analysis/indexing/indexing.h"
#include "analysis/tiling/across_inputs.h"
#include "analysis/tiling/element_work.h"
#include "analysis/tiling/row_values.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <set>

namespace tilewright {

ResourceView::ResourceView(const Graph &graph, const TiledGroup &group)
    : graph(graph), group(group), ctx(group.space.parameters.front().size.context()),
      root(group.group.roots.back()) {
  for (const TileParameter &p : group.space.parameters)
    if (p.role == TileParameter::Role::Parallel) {
      root = p.op;
      rootTile.push_back(p.size);
    }
}

const Shape &ResourceView::shapeOf(OpId id) const {
  const Shape &shape = graph[id].shape;
  return shape.isTuple && !shape.elements.empty() ? shape.elements.front() : shape;
}

bool ResourceView::isDot(unsigned instance) const {
  return !group.instances[instance].isInput &&
         (op(instance).opcode == Opcode::Dot || op(instance).opcode == Opcode::Convolution);
}

std::vector<bool> ResourceView::rootDimsOf(unsigned instance) const {
  std::set<VarId> used;
  for (const TileDim &dim : group.instances[instance].tile.dims)
    for (VarId var : variablesOf(dim.offset))
      used.insert(var);
  std::vector<bool> result;
  for (const TileParameter &p : group.space.parameters)
    if (p.role == TileParameter::Role::Parallel)
      result.push_back(p.extent > 1 && used.count(p.index.variable()) > 0);
  return result;
}

Expr isAtLeast(Expr a, Expr b) { return (a - b + 1).max(0).min(1); }
Expr isMultiple(Expr value, Expr divisor) {
  return value.context().constant(1) - value.mod(divisor).min(1);
}
Expr isMultiple(Expr value, int64_t divisor) {
  return isMultiple(value, value.context().constant(divisor));
}
Expr roundUp(Expr value, int64_t unit) { return value.ceilDiv(unit) * unit; }
Expr roundUp(Expr value, Expr unit) { return value.ceilDiv(unit) * unit; }

int64_t widestLanes(const ResourceView &view) {
  unsigned widest = 8;
  for (OpId id : view.group.group.inputs)
    if (!view.graph[id].shape.isTuple && view.graph[id].shape.rank() > 0)
      widest = std::max(widest, bitWidth(view.graph[id].shape.dtype));
  for (OpId id : view.group.group.roots)
    widest = std::max(widest, bitWidth(view.shapeOf(id).dtype));
  return std::max(128 / widest, leastLanes(view.graph, view.group.group.roots));
}

Expr lanesFor(const ResourceView &view, int64_t extent, Expr tile) {
  Expr lanes = view.constant(1);
  for (int64_t power = 2; power <= widestLanes(view) && extent % power == 0; power *= 2)
    lanes = lanes + isMultiple(tile, power) * (power / 2);
  return lanes;
}

std::optional<int64_t> productsOf(const Graph &graph, OpId convolution) {
  ExprContext context;
  auto maps = outputToOperands(graph, convolution, context);
  if (!maps) {
    llvm::consumeError(maps.takeError());
    return std::nullopt;
  }
  if (maps->operands.empty() || maps->operands[0].maps.empty())
    return std::nullopt;
  int64_t products = 1;
  for (const MapVariable &range : maps->operands[0].maps[0].variables(VarKind::Range))
    products *= range.domain.isEmpty() ? 1 : range.domain.hi - range.domain.lo + 1;
  return products;
}

std::vector<DotSide> dotSides(const ResourceView &view, unsigned dot) {
  const TileInstance &instance = view.group.instances[dot];
  const std::vector<DotSide> ofResult = sidesOfResult(view.graph, instance.op);
  std::vector<DotSide> sides(view.rootTile.size(), DotSide::Batch);
  for (size_t dim = 0; dim < instance.tile.dims.size(); ++dim)
    for (VarId var : variablesOf(instance.tile.dims[dim].offset))
      for (size_t i = 0; i < sides.size(); ++i)
        if (view.group.space.parameters[i].index.variable() == var)
          sides[i] = ofResult[dim];
  return sides;
}

DotTiles dotTiles(const ResourceView &view, unsigned dot) {
  const Op &op = view.op(dot);
  const TileInstance &instance = view.group.instances[dot];
  const Expr one = view.constant(1);
  DotTiles tiles{one, one, one, one};
  const std::vector<DotSide> sides = dotSides(view, dot);
  for (size_t i = 0; i < sides.size(); ++i) {
    Expr &side = sides[i] == DotSide::Batch  ? tiles.batch
                 : sides[i] == DotSide::Rows ? tiles.rows
                                             : tiles.columns;
    side = side * view.rootTile[i];
  }
  std::optional<int64_t> packed;
  if (op.opcode == Opcode::Convolution)
    packed = packedConvolutionStep(op, view.graph[op.operands[1]].shape);
  if (packed)
    tiles.step = view.constant(*packed);
  else
    for (unsigned parameter : instance.reduces)
      tiles.step = tiles.step * view.group.space.parameters[parameter].size;
  if (op.opcode == Opcode::Convolution)
    if (auto products = productsOf(view.graph, instance.op))
      tiles.step = tiles.step.min(*products);
  return tiles;
}

WarpgroupTiles warpgroupTiles(const ResourceView &view, unsigned dot, const DotTiles &tiles) {
  const Expr groups = view.parameter("warps").floorDiv(4).max(1);
  // As many warpgroups along the rows as have whole instructions there.
  constexpr int64_t maxGroups = 8;
  WarpgroupTiles result;
  result.groupRows = view.constant(1);
  for (int64_t g = 2; g <= maxGroups; ++g)
    result.groupRows =
        result.groupRows.max(isMultiple(groups, g) * isMultiple(tiles.rows, 64 * g) * g);
  result.rows = roundUp(tiles.rows, 64);
  result.columns = roundUp(tiles.columns, 16); // whole lines of the right operand
  return result;
}

namespace {
/// The threads that share a row, and the columns that they process at a time.
void addThreads(const ResourceView &view, ReductionTiles &result) {
  constexpr int64_t maxThreads = 1024, warp = 32;
  const Expr one = view.constant(1), warps = view.parameter("warps"), threads = warps * warp;
  const Expr longest = result.columns.max(result.longest);
  // The largest power of two that divides the threads and does not far exceed the work.
  const Expr vectors = longest.ceilDiv(result.lanes);
  const Expr wanted = (result.alongRows ? vectors : result.rows) * 2 - 1;
  Expr power = one;
  for (int64_t p = 2; p <= maxThreads; p *= 2) {
    Expr fits = isMultiple(threads, p) * isAtLeast(wanted, view.constant(p));
    if (result.alongRows && p > warp) // several warps a row, if there are not enough rows for all
      fits = fits * isAtLeast(threads, result.rows * p);
    power = power.max(fits * p);
  }
  result.threadsPerRow = result.alongRows ? power : threads.floorDiv(power);
  Expr chunk = one;
  int64_t length = 1;
  if (!result.reductions.empty())
    for (unsigned number : view.group.instances[result.reductions.front()].reduces) {
      const TileParameter &p = view.group.space.parameters[number];
      chunk = chunk * p.size;
      length *= p.largest();
    }
  // A step with more values than a thread has at once is split into equal parts.
  std::vector<OpId> reductions;
  for (unsigned i : result.reductions)
    reductions.push_back(view.group.instances[i].op);
  int64_t perColumn = 0;
  if (!reductions.empty())
    perColumn = heldPerColumn(view.graph, reductions, view.group.group.roots,
                              [&](OpId id) { return !view.group.group.contains(id); });
  const Expr maxHeld = view.constant(heldRegistersOfSm)
                           .floorDiv(threads)
                           .min(maxHeldRegisters)
                           .floorDiv(view.constant(std::max<int64_t>(perColumn, 1)))
                           .max(result.lanes);
  const Expr passing = view.constant(maxPassingValues).floorDiv(result.lanes).max(1);
  // Whole rounds of vectors, so that no thread is idle.
  const Expr round = result.threadsPerRow * result.lanes;
  const Expr all = view.constant(length).ceilDiv(round);
  const Expr most = perColumn > 0 ? maxHeld.floorDiv(result.lanes) : passing;
  result.isWhole = isAtLeast(chunk.ceilDiv(round), all) * isAtLeast(most, all);
  const Expr step = chunk.ceilDiv(round).min(all.ceilDiv(all.ceilDiv(passing)));
  result.held = select(result.isWhole, all, step) * result.lanes;
}
} // namespace

ReductionTiles reductionTiles(const ResourceView &view) {
  ReductionTiles result;
  std::set<OpId> seen;
  for (unsigned i = 0; i < view.group.instances.size(); ++i)
    if (!view.group.instances[i].isInput && view.op(i).opcode == Opcode::Reduce &&
        seen.insert(view.group.instances[i].op).second)
      result.reductions.push_back(i);
  std::sort(result.reductions.begin(), result.reductions.end(), [&](unsigned a, unsigned b) {
    return view.group.instances[a].op < view.group.instances[b].op;
  });
  // Rows decide which element of a reduction is read.
  std::vector<bool> isRow(view.rootTile.size());
  for (unsigned i : result.reductions) {
    const std::vector<bool> dims = view.rootDimsOf(i);
    for (size_t d = 0; d < dims.size(); ++d)
      isRow[d] = isRow[d] || dims[d];
  }
  result.rows = result.columns = view.constant(1);
  for (size_t d = 0; d < isRow.size(); ++d)
    (isRow[d] ? result.rows : result.columns) =
        (isRow[d] ? result.rows : result.columns) * view.rootTile[d];

  int64_t common = 0;
  for (size_t i = 0; i < result.reductions.size(); ++i) {
    const Op &op = view.op(result.reductions[i]);
    const Shape &input = view.graph[op.operands[0]].shape;
    const std::vector<int64_t> &dims = op.attrs.dimensions;
    auto isReduced = [&](int64_t dim) {
      return std::find(dims.begin(), dims.end(), dim) != dims.end();
    };
    int64_t length = 1;
    for (int64_t dim : dims)
      length *= input.dims[static_cast<size_t>(dim)];
    result.longest = std::max(result.longest, length);
    const std::vector<int64_t> &order = input.minorToMajorOrDefault();
    if (i == 0)
      result.alongRows = dims.empty() || order.empty() || isReduced(order[0]);
    for (int64_t dim : order)
      if (isReduced(dim)) {
        common = std::gcd(common, input.dims[static_cast<size_t>(dim)]);
        break;
      }
  }
  // Lanes must divide every run of columns.
  const Shape &root = view.rootShape();
  const Expr one = view.constant(1);
  result.lanes = lanesFor(view, common, view.constant(common));
  if (root.rank() > 0) {
    const auto minor = static_cast<size_t>(root.minorToMajorOrDefault()[0]);
    const Expr withResults =
        isRow[minor] ? one
                     : lanesFor(view, std::gcd(common, root.dims[minor]), view.rootTile[minor]);
    const Expr hasColumns = isAtLeast(result.columns, view.constant(2));
    result.lanes = hasColumns * withResults + (one - hasColumns) * result.lanes;
  }
  if (!result.alongRows)
    result.lanes = one;
  addThreads(view, result);
  return result;
}

std::vector<StagedInputTile> stagedInputTiles(const ResourceView &view) {
  std::vector<StagedInputTile> result;
  const Shape &root = view.rootShape();
  if (root.rank() < 2)
    return result;
  // The op whose dims are tiled is the first of the kernel's results.
  std::vector<OpId> roots{view.root}, inputs = view.group.group.inputs;
  for (OpId id : view.group.group.roots)
    if (id != view.root)
      roots.push_back(id);
  for (OpId id : view.group.group.ops)
    if (view.graph[id].isElidedConstant())
      inputs.push_back(id);
  auto hasNeighbours = [](Expr size) { return (size - 1).min(1); };
  const auto fastest = static_cast<size_t>(root.minorToMajorOrDefault()[0]);
  for (const AcrossInput &input : acrossInputs(view.graph, roots, inputs)) {
    Expr bytes = hasNeighbours(view.rootTile[fastest]) * input.elementBytes;
    for (size_t d = 0; d < input.dims.size(); ++d) {
      Expr size = view.constant(1);
      for (const AcrossInput::Dim::Term &term : input.dims[d].terms)
        size = size * view.rootTile[term.rootDim];
      bytes = bytes * size;
      if (d == input.minor)
        bytes = bytes * hasNeighbours(size);
    }
    constexpr int64_t unit = 128; // of buffers (analysis/program, bufferBytes())
    result.push_back({input.op, bytes.ceilDiv(unit) * unit});
  }
  return result;
}

} // namespace tilewright
