// Tile rules of ops that read several elements for one result: reduce, dot, windows, gather.
#include "analysis/support/checked.h"
#include "analysis/support/diag.h"
#include "analysis/tiling/propagate.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace tilewright {

FactoredDim TilePropagator::stepDim(unsigned parameter) {
  const TileParameter &p = sequential[parameter];
  return factory.rootDim(p.index, p.size, p.extent);
}

std::set<unsigned> TilePropagator::loopsAround(const FactoredTile &tile) {
  std::vector<Expr> offsets;
  for (const FactoredDim &dim : tile.dims)
    for (const Atom &atom : dim)
      offsets.push_back(factory.origin(atom.origin).tile.offset);
  const std::vector<VarId> variables = variablesOf(offsets);
  std::vector<unsigned> open;
  for (unsigned s = 0; s < sequential.size(); ++s)
    if (std::binary_search(variables.begin(), variables.end(), sequential[s].index.variable()))
      open.push_back(s);
  std::set<unsigned> out(open.begin(), open.end());
  while (!open.empty()) {
    const unsigned s = open.back();
    open.pop_back();
    for (unsigned outer : outerLoops[s])
      if (out.insert(outer).second)
        open.push_back(outer);
  }
  return out;
}

std::vector<unsigned> TilePropagator::walk(OpId id, char prefix, std::span<const Walked> ways,
                                           const FactoredTile &result) {
  const std::set<unsigned> around = loopsAround(result);
  auto remember = [&](const std::vector<unsigned> &walk) {
    for (const Walked &way : ways)
      if (std::vector<std::vector<unsigned>> &alike = walks[way];
          std::find(alike.begin(), alike.end(), walk) == alike.end())
        alike.push_back(walk);
  };
  for (const Walked &way : ways)
    for (const std::vector<unsigned> &walk : walks[way])
      if (std::none_of(walk.begin(), walk.end(), [&](unsigned s) { return around.count(s); })) {
        for (unsigned s : walk)
          outerLoops[s].insert(around.begin(), around.end());
        std::vector<unsigned> shared = walk;
        remember(shared);
        return shared;
      }
  std::vector<unsigned> walk;
  const Walked &own = ways.front();
  for (size_t i = 0; i < own.dims.size(); ++i) {
    walk.push_back(static_cast<unsigned>(sequential.size()));
    const std::string name = fmt::format("{}{}", prefix, walkCount[prefix]++);
    const Expr step = ctx.variable(VarKind::Step, fmt::format("step_{}", name)); // sorts first
    sequential.push_back({TileParameter::Role::Sequential, name,
                          ctx.variable(VarKind::TileParam, name), step, own.extents[own.dims[i]],
                          id, static_cast<unsigned>(i)});
    outerLoops.push_back(around);
  }
  remember(walk);
  return walk;
}

llvm::Expected<OperandTiles> TilePropagator::reduce(OpId id, const FactoredTile &tile) {
  const Op &op = graph[id];
  const size_t inputs = op.operands.size() / 2;
  if (inputs == 0 || op.operands.size() % 2 != 0)
    return unsupported(op, fmt::format("{} operands", op.operands.size()));
  const std::vector<int64_t> &extents = graph[op.operands[0]].shape.dims;
  std::vector<int64_t> reduced = op.attrs.dimensions;
  std::sort(reduced.begin(), reduced.end());
  OperandTiles out;
  const Walked way{extents, reduced, tile};
  out.reduces = walk(id, 'r', {&way, 1}, tile);
  FactoredTile input;
  for (size_t i = 0, kept = 0; i < extents.size(); ++i) {
    auto it = std::find(reduced.begin(), reduced.end(), static_cast<int64_t>(i));
    input.dims.push_back(it == reduced.end() ? tile.dims[kept++]
                                             : stepDim(out.reduces[it - reduced.begin()]));
  }
  for (size_t k = 0; k < inputs; ++k)
    out.tiles.push_back({input});
  out.tiles.resize(2 * inputs); // the initial values are scalars
  return out;
}

namespace {

/// The sizes (null: all) for which every CTA has the same indices [first, end) of a dim.
struct FixedRange {
  Expr when;
  int64_t first, end;
};

std::vector<FixedRange> fixedRanges(const TileOrigin &o) {
  std::vector<FixedRange> out;
  auto add = [&](Expr when, int64_t first, int64_t end) {
    if (when && when.isConstant(1))
      when = Expr();
    if (first < end && !(when && when.isConstant(0)))
      out.push_back({when, first, end});
  };
  if (o.isRooted()) { // one tile of all
    if (o.extent > 0)
      add(o.tile.size.floorDiv(o.extent).min(1), 0, o.extent);
    return out;
  }
  for (const TileCase &c : o.cases) {
    const TilePattern &p = c.pattern;
    if (p.step == 1 && p.phase == 0 && !p.drift && p.start.isConstant() && p.end.isConstant())
      add(c.when, std::max(p.start.constant(), p.lower), std::min(p.end.constant(), p.upper));
  }
  return out;
}

} // namespace

FactoredDim TilePropagator::window(OpId id, int dim, const FactoredTile &tile, const WindowDim &w,
                                   int64_t extent, OperandTile &out) {
  // Positions in the (base-dilated) operand: {stride·i} + {dilation·j} - padLow.
  const bool isPadded = w.padLow > 0 || w.padHigh > 0;
  if (w.size == 1 && w.baseDilation == 1) {
    // A slice with a step of those positions that lie in the operand.
    const int64_t positions = resultDims(graph[id])[static_cast<size_t>(dim)];
    const int64_t first = ceilDiv(std::max<int64_t>(w.padLow, 0), w.stride);
    const int64_t last =
        std::min(positions - 1, checkedFloorDiv(extent - 1 + w.padLow, w.stride).value_or(0));
    if (first <= last) {
      const int64_t count = last - first + 1, start = w.stride * first - w.padLow;
      const FactoredDim inside =
          count == positions ? tile.dims[dim] : placed(id, dim, tile, first, count, out.tile);
      if (w.stride == 1 && count == extent)
        return inside;
      return factory.shift(inside, count, extent, start, w.stride, dim, sinkFor(id, -1));
    }
  }
  const TileOrigin o = originOf(id, tile, static_cast<size_t>(dim));
  TileDim t = o.tile;
  if (t.stride.isConstant(-1)) { // as a set
    t.offset = t.offset - t.size + 1;
    t.stride = ctx.constant(1);
  }
  if (!t.stride.isConstant(1))
    require(id, 0,
            {Formula::any({Formula::lessEqual(t.size, ctx.constant(1)),
                           Formula::equal(t.stride, ctx.constant(1))}),
             dim,
             "window-stride",
             "tile {0} must be 1, because windows of a tile with stride {1} are no tile",
             {t.size, t.stride}});
  const int64_t reach = (w.size - 1) * w.windowDilation;
  if (o.mayBeEmpty && reach > 0 && o.extent > 0)
    out.tile.addGuard(
        factory.intern(o)); // masks that exclude everything still have a window between them
  TileDim hull;
  hull.offset = t.offset * w.stride - w.padLow;
  hull.lower = t.lower * w.stride - w.padLow;
  hull.upper = (t.upper - 1) * w.stride + (reach + 1 - w.padLow);
  int64_t step = 1;
  const bool touch = w.windowDilation == 1 && w.stride <= w.size; // windows leave no gaps
  if (w.size == 1 && w.baseDilation == 1) {                       // that meet padding only
    step = w.stride;
    hull.size = t.size;
  } else if (touch) {
    hull.size = (t.size - 1) * w.stride + w.size;
  } else {
    // In a dilated operand only runs of step 1 can be distinguished.
    step = w.baseDilation == 1 ? std::gcd(w.stride, w.windowDilation) : 1;
    hull.size = (t.size - 1) * (w.stride / step) + (reach / step + 1);
    out.exactness = Exactness::OverApproximate;
    out.factor = w.baseDilation == 1
                     ? static_cast<double>(w.stride + w.windowDilation) / static_cast<double>(step)
                     : 0;
    out.why = fmt::format("windows of {} with stride {} and dilation {} leave gaps", w.size,
                          w.stride, w.windowDilation);
  }
  hull.stride = ctx.constant(step);
  if (w.baseDilation > 1 && extent > 1) {
    TileOrigin dilated;
    dilated.extent = dilated.upper = (extent - 1) * w.baseDilation + 1;
    dilated.tile = std::move(hull);
    return spread(id, dim, dilated, 0, w.baseDilation, extent, out.tile);
  }
  hull.lower = hull.lower.max(0);
  hull.upper = hull.upper.min(extent);
  // Windows of a fixed range read a fixed range.
  std::vector<TileCase> cases;
  for (const FixedRange &range : fixedRanges(o)) {
    if (!touch && (range.end - range.first > 1 || w.windowDilation > 1))
      continue;
    TilePattern read = rootPattern(ctx.constant(0), ctx.constant(extent), extent);
    read.lower = std::max<int64_t>(0, range.first * w.stride - w.padLow);
    read.upper = std::min(extent, (range.end - 1) * w.stride + reach + 1 - w.padLow);
    if (read.lower < read.upper)
      cases.push_back({range.when, std::move(read)});
  }
  return factory.opaqueDim(std::move(hull), extent, o.mayBeEmpty || isPadded, out.tile,
                           std::move(cases));
}

llvm::Expected<OperandTiles> TilePropagator::reduceWindow(OpId id, const FactoredTile &tile) {
  const Op &op = graph[id];
  const size_t inputs = op.operands.size() / 2;
  const std::vector<int64_t> &extents = graph[op.operands[0]].shape.dims;
  if (op.attrs.window.size() != extents.size() || op.operands.size() % 2 != 0)
    return unsupported(op, fmt::format("a window of {} dims over {} dims", op.attrs.window.size(),
                                       extents.size()));
  OperandTile input;
  for (size_t i = 0; i < extents.size(); ++i)
    input.tile.dims.push_back(
        window(id, static_cast<int>(i), tile, op.attrs.window[i], extents[i], input));
  OperandTiles out;
  out.tiles.assign(inputs, input);
  out.tiles.resize(op.operands.size());
  return out;
}

llvm::Expected<OperandTiles> TilePropagator::convolution(OpId id, const FactoredTile &tile) {
  const Op &op = graph[id];
  const ConvDims &c = op.attrs.conv;
  const std::vector<int64_t> &image = graph[op.operands[0]].shape.dims;
  const std::vector<int64_t> &kernel = graph[op.operands[1]].shape.dims;
  const int64_t groups = op.attrs.featureGroupCount;
  const int64_t batchGroups = op.attrs.batchGroupCount;
  if (batchGroups < 1 || image[c.inputBatch] % batchGroups != 0 ||
      kernel[c.kernelOutput] % batchGroups != 0)
    return unsupported(
        op, fmt::format("{} batch groups of {} batches", batchGroups, image[c.inputBatch]));
  if (groups < 1 || image[c.inputFeature] % groups != 0 || kernel[c.kernelOutput] % groups != 0)
    return unsupported(
        op, fmt::format("{} feature groups of {} features", groups, image[c.inputFeature]));
  OperandTile lhs, rhs;
  lhs.tile.dims.resize(image.size());
  rhs.tile.dims.resize(kernel.size());
  const FactoredDim &features = tile.dims[c.outputFeature];
  lhs.tile.dims[c.inputBatch] = tile.dims[c.outputBatch];
  rhs.tile.dims[c.kernelOutput] = features;
  dropDim(tile.dims[c.outputBatch], rhs);

  // Input features of a group are contracted; the output feature decides the group.
  const int64_t perGroup = image[c.inputFeature] / groups;
  OperandTiles out;
  const Walked way{{perGroup}, {0}, tile};
  out.reduces = walk(id, 'k', {&way, 1}, tile);
  FactoredDim step = stepDim(out.reduces.front());
  rhs.tile.dims[c.kernelInput] = step;
  lhs.tile.dims[c.inputFeature] = step;
  // The output feature decides the number of the group, the outer digit of the dim.
  auto joinGroup = [&](int64_t count, int64_t dim, const FactoredDim &inGroup) {
    const int64_t from[] = {kernel[c.kernelOutput]};
    const int64_t to[] = {count, kernel[c.kernelOutput] / count};
    const int feature = static_cast<int>(c.outputFeature);
    const ConditionSink sink = sinkFor(id, 0, [feature](int) { return feature; });
    FactoredDim joined = factory.reshape({{features}}, from, to, sink).dims[0];
    joined.insert(joined.end(), inGroup.begin(), inGroup.end());
    joined = mergeAtoms(std::move(joined));
    factory.plainDim(joined, image[dim], static_cast<int>(dim), sinkFor(id, 0));
    lhs.tile.dims[dim] = std::move(joined);
  };
  if (groups > 1)
    joinGroup(groups, c.inputFeature, step);
  if (batchGroups > 1)
    joinGroup(batchGroups, c.inputBatch, tile.dims[c.outputBatch]);
  dropDim(features, lhs);
  for (size_t i = 0; i < c.inputSpatial.size(); ++i) {
    const size_t outDim = static_cast<size_t>(c.outputSpatial[i]);
    lhs.tile.dims[c.inputSpatial[i]] = window(id, static_cast<int>(outDim), tile,
                                              op.attrs.window[i], image[c.inputSpatial[i]], lhs);
    rhs.tile.dims[c.kernelSpatial[i]] = factory.wholeDim(kernel[c.kernelSpatial[i]]);
    dropDim(tile.dims[outDim], rhs);
    const WindowDim &w = op.attrs.window[i];
    if (w.padLow > 0 || w.padHigh > 0 || (w.baseDilation > 1 && image[c.inputSpatial[i]] > 1)) {
      rhs.exactness = Exactness::OverApproximate;
      rhs.factor = 0;
      rhs.why = fmt::format("elements of %{} that meet padding only need not be read",
                            graph[op.operands[1]].name);
    }
  }
  out.tiles = {std::move(lhs), std::move(rhs)};
  return out;
}

llvm::Expected<OperandTiles> TilePropagator::gather(OpId id, const FactoredTile &tile) {
  const Op &op = graph[id];
  const GatherDims &g = op.attrs.gather;
  const std::vector<int64_t> &table = graph[op.operands[0]].shape.dims;
  const std::vector<int64_t> &indices = graph[op.operands[1]].shape.dims;
  auto has = [](const std::vector<int64_t> &list, size_t dim) {
    return std::find(list.begin(), list.end(), static_cast<int64_t>(dim)) != list.end();
  };
  OperandTile rows, picks;
  std::vector<Expr> element; // the first element of the indices that the tile needs
  std::optional<size_t> component;
  // Result dims that are no offset dims run over the indices, without the index vector.
  Expr picked = ctx.constant(1);
  size_t batch = 0;
  std::vector<size_t> resultDimOf(indices.size());
  for (size_t i = 0; i < indices.size(); ++i) {
    if (static_cast<int64_t>(i) == g.indexVectorDim) {
      component = i;
      element.push_back(ctx.constant(0));
      picks.tile.dims.push_back(factory.wholeDim(indices[i]));
      continue;
    }
    while (batch < tile.dims.size() && has(g.offsetDims, batch))
      ++batch;
    if (batch == tile.dims.size())
      return unsupported(op, "fewer batch dims than the indices have");
    const TileDim along = originOf(id, tile, batch).tile;
    picked = picked * along.size;
    element.push_back(along.offset);
    factory.drop(tile.dims[batch], rows.tile);
    resultDimOf[i] = batch;
    picks.tile.dims.push_back(tile.dims[batch++]);
  }
  const Expr zero = ctx.constant(0), one = ctx.constant(1);
  // A tile with one index reads one window; several indices read at most as many windows, known
  // only at run time.
  const Expr isOne = one - (picked - 1).min(1);
  size_t offsetDim = 0;
  for (size_t i = 0; i < table.size(); ++i) {
    const auto indexed =
        std::find(g.startIndexMap.begin(), g.startIndexMap.end(), static_cast<int64_t>(i));
    auto batching = std::find(g.operandBatchingDims.begin(), g.operandBatchingDims.end(),
                              static_cast<int64_t>(i));
    if (batching != g.operandBatchingDims.end()) {
      const int64_t dim =
          g.startIndicesBatchingDims[static_cast<size_t>(batching - g.operandBatchingDims.begin())];
      rows.tile.dims.push_back(tile.dims[resultDimOf[static_cast<size_t>(dim)]]);
      continue;
    }
    TileDim window{zero, one, one, zero, one};
    bool mayBeEmpty = false;
    if (!has(g.collapsedSliceDims, i)) {
      if (offsetDim == g.offsetDims.size())
        return unsupported(op, "fewer offset dims than the slice has");
      const size_t resultDim = static_cast<size_t>(g.offsetDims[offsetDim++]);
      if (g.sliceSizes[i] == table[i]) {
        rows.tile.dims.push_back(tile.dims[resultDim]);
        continue;
      }
      const TileOrigin o = originOf(id, tile, resultDim);
      window = o.tile;
      mayBeEmpty = o.mayBeEmpty;
    }
    Expr start = zero;
    if (indexed != g.startIndexMap.end()) {
      if (component)
        element[*component] = ctx.constant(indexed - g.startIndexMap.begin());
      start = runtimeValue(op.operands[1], table[i] - g.sliceSizes[i], element);
    }
    const Expr count = (picked * g.sliceSizes[i]).min(table[i]);
    rows.tile.dims.push_back(
        factory.opaqueDim({(window.offset + start) * isOne, count + (window.size - count) * isOne,
                           one + (window.stride - 1) * isOne, (window.lower + start) * isOne,
                           (window.upper + start - table[i]) * isOne + table[i]},
                          table[i], mayBeEmpty, rows.tile));
    rows.exactness = Exactness::Unknown;
    rows.exactWhen = isOne;
    rows.why =
        fmt::format("which elements of dim {} are read is in %{}", i, graph[op.operands[1]].name);
  }
  for (int64_t dim : g.offsetDims)
    dropDim(tile.dims[dim], picks);
  OperandTiles out;
  out.tiles = {std::move(rows), std::move(picks)};
  return out;
}

} // namespace tilewright
