// Tile rules of ops with data-dependent write positions: scatter and select-and-scatter. What may
// land in a tile is known, what does land is not: the tiles are over-approximate.
#include "analysis/support/diag.h"
#include "analysis/tiling/propagate.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright {

llvm::Expected<OperandTiles> TilePropagator::scatter(OpId id, const FactoredTile &tile) {
  const Op &op = graph[id];
  const ScatterDims &g = op.attrs.scatter;
  const size_t count = op.operands.size() / 2;
  if (op.operands.size() < 3 || op.operands.size() % 2 == 0)
    return unsupported(op, fmt::format("{} operands", op.operands.size()));
  auto has = [](const std::vector<int64_t> &list, size_t dim) {
    return std::find(list.begin(), list.end(), static_cast<int64_t>(dim)) != list.end();
  };
  const std::vector<int64_t> &extents = resultDims(op);
  const std::vector<int64_t> &indices = graph[op.operands[count]].shape.dims;
  const std::vector<int64_t> &updates = graph[op.operands[count + 1]].shape.dims;
  OperandTiles out = sameForAll(count, tile);
  const std::string why =
      fmt::format("which updates land in a tile is in %{}", graph[op.operands[count]].name);
  OperandTile all, moved;
  for (int64_t extent : indices)
    all.tile.dims.push_back(factory.wholeDim(extent));
  for (int64_t extent : updates)
    moved.tile.dims.push_back(factory.wholeDim(extent));
  markCovering(all, why);
  markCovering(moved, why);
  // Along a dim that no index moves an update's element has the result's coordinate.
  size_t window = 0;
  for (size_t k = 0; k < extents.size(); ++k) {
    if (has(g.insertedWindowDims, k) || has(g.inputBatchingDims, k))
      continue;
    while (window < updates.size() && !has(g.updateWindowDims, window))
      ++window;
    if (window == updates.size())
      return unsupported(op, "fewer window dims than the operand has");
    if (!has(g.scatterDimsToOperandDims, k))
      moved.tile.dims[window] =
          updates[window] == extents[k]
              ? tile.dims[k]
              : placed(id, static_cast<int>(k), tile, 0, updates[window], moved.tile);
    ++window;
  }
  out.tiles.push_back(std::move(all));
  out.tiles.resize(op.operands.size(), moved);
  return out;
}

/// A source element p is added to one element in the window at p; the tile needs all sources whose
/// windows touch it, and all operand elements in these windows.
llvm::Expected<OperandTiles> TilePropagator::selectAndScatter(OpId id, const FactoredTile &tile) {
  const Op &op = graph[id];
  const std::vector<WindowDim> &window = op.attrs.window;
  const std::vector<int64_t> &extents = op.shape.dims;
  if (op.operands.size() != 3 || op.shape.isTuple || window.size() != extents.size())
    return unsupported(
        op, fmt::format("a window of {} dims over {} dims", window.size(), extents.size()));
  const std::vector<int64_t> &sources = graph[op.operands[1]].shape.dims;
  OperandTile seen, source;
  markCovering(seen, "windows of neighbouring results see it too");
  markCovering(source, "which of its elements land in the tile is decided by values");
  for (size_t i = 0; i < extents.size(); ++i) {
    const WindowDim &w = window[i];
    const TileOrigin o = originOf(id, tile, i);
    const TileDim &t = o.tile;
    const int64_t reach = (w.size - 1) * w.windowDilation;
    const Expr end = t.offset + (t.size - 1) * t.stride;
    const Expr low = t.stride.isConstant(1) ? t.offset : t.offset.min(end);
    const Expr high = t.stride.isConstant(1) ? end : t.offset.max(end);
    const Expr first = low.max(t.lower), last = high.min(t.upper - 1); // valid ones lie between
    auto below = [&](Expr at) { // the first window that reaches it
      return (at * w.baseDilation + (w.padLow - reach)).ceilDiv(w.stride);
    };
    auto above = [&](Expr at) { return (at * w.baseDilation + w.padLow).floorDiv(w.stride); };
    TileDim windows{below(low), (above(high) - below(low) + 1).max(1), ctx.constant(1),
                    below(first).max(0), (above(last) + 1).min(sources[i])};
    // Sizes are in tile parameters only: the span of the lanes, wherever they start.
    const Expr lanes = t.stride.isConstant(1)    ? t.size - 1
                       : t.stride.isConstant(-1) ? t.size - 1
                                                 : (t.size - 1) * t.stride.max(-t.stride);
    windows.size = (lanes * w.baseDilation + reach).floorDiv(w.stride) + 1;
    source.tile.dims.push_back(
        factory.opaqueDim(std::move(windows), sources[i], true, source.tile));
    const int64_t around = reach / w.baseDilation;
    TileDim touched{low - around, lanes + (2 * around + 1), ctx.constant(1),
                    (first - around).max(0), (last + (around + 1)).min(extents[i])};
    seen.tile.dims.push_back(factory.opaqueDim(std::move(touched), extents[i], true, seen.tile));
  }
  OperandTiles out;
  out.tiles = {std::move(seen), std::move(source), {}};
  return out;
}

} // namespace tilewright
