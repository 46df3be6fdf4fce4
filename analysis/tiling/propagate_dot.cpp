// Tile rules of dot, scaled-dot and ragged-dot.
#include "analysis/ir/contraction_dims.h"
#include "analysis/support/diag.h"
#include "analysis/tiling/propagate.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright {

OperandTiles TilePropagator::product(OpId id, const FactoredTile &tile, size_t first,
                                     std::optional<int64_t> group) {
  const Op &op = graph[id];
  const DotDims &d = op.attrs.dot;
  const std::vector<int64_t> &lhs = graph[op.operands[0]].shape.dims;
  const std::vector<int64_t> &rhs = graph[op.operands[1]].shape.dims;
  auto place = [](const std::vector<int64_t> &list, size_t dim) {
    auto it = std::find(list.begin(), list.end(), static_cast<int64_t>(dim));
    return it == list.end() ? -1 : static_cast<int>(it - list.begin());
  };
  // Result dims: batch, then the free dims of lhs, then those of rhs.
  FactoredTile keptLhs, keptRhs;
  size_t next = first + d.lhsBatch.size();
  OperandTile lhsTile, rhsTile;
  std::vector<FactoredDim> &lhsDims = lhsTile.tile.dims, &rhsDims = rhsTile.tile.dims;
  lhsDims.resize(lhs.size());
  rhsDims.resize(rhs.size());
  for (size_t i = 0; i < lhs.size(); ++i) {
    if (place(d.lhsContracting, i) >= 0)
      continue;
    int batch = place(d.lhsBatch, i);
    if (batch < 0)
      dropDim(tile.dims[next], rhsTile);
    lhsDims[i] = tile.dims[batch >= 0 ? first + static_cast<size_t>(batch) : next++];
    keptLhs.dims.push_back(lhsDims[i]);
  }
  for (size_t i = 0; i < rhs.size(); ++i) {
    if (place(d.rhsContracting, i) >= 0 || group == static_cast<int64_t>(i))
      continue;
    int batch = place(d.rhsBatch, i);
    if (batch < 0)
      dropDim(tile.dims[next], lhsTile);
    rhsDims[i] = tile.dims[batch >= 0 ? first + static_cast<size_t>(batch) : next++];
    keptRhs.dims.push_back(rhsDims[i]);
  }
  OperandTiles out;
  const Walked ways[] = {{lhs, d.lhsContracting, keptLhs}, {rhs, d.rhsContracting, keptRhs}};
  out.reduces = walk(id, 'k', std::span(ways).first(group ? 1 : 2), tile);
  for (size_t j = 0; j < out.reduces.size(); ++j) {
    lhsDims[d.lhsContracting[j]] = stepDim(out.reduces[j]);
    rhsDims[d.rhsContracting[j]] = stepDim(out.reduces[j]);
  }
  if (group) {
    const Walked way{{rhs[*group]}, {0}, keptLhs};
    const std::vector<unsigned> groups = walk(id, 'g', {&way, 1}, tile);
    out.reduces.push_back(groups.front());
    rhsDims[*group] = stepDim(groups.front());
  }
  for (size_t i = 0; i < first; ++i) {
    dropDim(tile.dims[i], lhsTile);
    dropDim(tile.dims[i], rhsTile);
  }
  out.tiles = {std::move(lhsTile), std::move(rhsTile)};
  return out;
}

llvm::Expected<OperandTiles> TilePropagator::dot(OpId id, const FactoredTile &tile) {
  const Op &op = graph[id];
  if (op.operands.size() != 2)
    return unsupported(op,
                       fmt::format("{} operands, sparse dots are not known", op.operands.size()));
  return product(id, tile, 0, std::nullopt);
}

FactoredDim TilePropagator::blocks(const Op &op, const TileOrigin &o, int64_t block, int64_t count,
                                   OperandTile &out) {
  const TileDim &t = o.tile;
  const bool isForward = t.stride.isConstant(1), isBackward = t.stride.isConstant(-1);
  if (!isForward && !isBackward)
    markCovering(out,
                 fmt::format("a tile with stride {} may miss blocks of {} that lie in its span",
                             t.stride.str(), block));
  if (o.mayBeEmpty)
    markDropped(op, out);
  const Expr reach = (t.size - 1) * t.stride;
  const Expr low = isForward ? t.offset : t.offset.min(t.offset + reach);
  const Expr high = isForward ? t.offset + reach : t.offset.max(t.offset + reach);
  const Expr span = high - low; // of lanes, masked ones too
  TileDim touched;
  touched.offset = low.floorDiv(block);
  // One more block than the span holds, unless tiles and blocks end together.
  if (o.isRooted()) {
    const Expr rest = t.size.max(block).mod(t.size.min(block));
    touched.size = t.size.ceilDiv(block) + rest.min(1);
  } else {
    touched.size = (isForward || isBackward ? t.size - 1 : span).floorDiv(block) + 2;
    if (t.size.isConstant(1))
      touched.size = ctx.constant(1);
  }
  touched.stride = ctx.constant(1);
  touched.lower = low.max(t.lower).floorDiv(block);
  touched.upper = high.min(t.upper - 1).floorDiv(block) + 1;
  return factory.opaqueDim(std::move(touched), count, o.mayBeEmpty, out.tile);
}

llvm::Expected<OperandTiles> TilePropagator::scaledDot(OpId id, const FactoredTile &tile) {
  const Op &op = graph[id];
  OperandTiles out = product(id, tile, 0, std::nullopt);
  for (size_t k = 2; k < op.operands.size(); ++k) {
    const std::vector<int64_t> &scale = graph[op.operands[k]].shape.dims;
    const std::vector<int64_t> &scaled = graph[op.operands[k - 2]].shape.dims;
    if (k > 3 || (!scale.empty() && scale.size() != scaled.size()))
      return unsupported(op, fmt::format("operand {} is not a scale of operand {}", k, k - 2));
    OperandTile mine;
    mine.tile.guards = out.tiles[k - 2].tile.guards;
    for (size_t i = 0; i < scale.size(); ++i) {
      const FactoredDim &dim = out.tiles[k - 2].tile.dims[i];
      const std::optional<int64_t> block = scaleBlock(scaled[i], scale[i]);
      if (!block)
        return unsupported(op, fmt::format("{} scales for {} elements", scale[i], scaled[i]));
      if (*block == 1) {
        mine.tile.dims.push_back(dim);
        continue;
      }
      const TileOrigin origin = factory.plainOrigin(dim, scaled[i], static_cast<int>(i),
                                                    sinkFor(id, static_cast<int>(k - 2)));
      mine.tile.dims.push_back(blocks(op, origin, *block, scale[i], mine));
    }
    if (out.tiles[k - 2].exactness != Exactness::Exact && mine.exactness == Exactness::Exact) {
      mine.exactness = out.tiles[k - 2].exactness;
      mine.factor = out.tiles[k - 2].factor;
      mine.why = out.tiles[k - 2].why;
    }
    out.tiles.push_back(std::move(mine));
  }
  return out;
}

llvm::Expected<OperandTiles> TilePropagator::raggedDot(OpId id, const FactoredTile &tile) {
  using Mode = RaggedDims::Mode;
  const Op &op = graph[id];
  const std::optional<RaggedDims> ragged = raggedDims(op);
  if (!ragged || op.operands.size() != 3)
    return unsupported(op, "its ragged and group dims don't fit");
  const std::vector<int64_t> &sizes = graph[op.operands[2]].shape.dims;
  const bool isFree = ragged->mode == Mode::Free, isBatch = ragged->mode == Mode::Batch;
  const size_t first = ragged->mode == Mode::Contracting ? 1 : 0;
  OperandTiles out = product(id, tile, first, isFree ? std::optional(ragged->group) : std::nullopt);
  if (!isBatch)
    for (OperandTile &operand : out.tiles)
      markCovering(operand, fmt::format("which part belongs to which group is in %{}",
                                        graph[op.operands[2]].name));
  // The sizes of all groups, or up to the tile's last one, give the start of a group.
  OperandTile counts;
  const size_t batches = op.attrs.dot.lhsBatch.size();
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool isLast = i + 1 == sizes.size();
    if (isBatch)
      counts.tile.dims.push_back(factory.opaqueDim(
          {ctx.constant(0), ctx.constant(1), ctx.constant(1), ctx.constant(0), ctx.constant(0)},
          sizes[i], true, counts.tile)); // not read
    else if (!isLast && i < batches)
      counts.tile.dims.push_back(tile.dims[first + i]);
    else
      counts.tile.dims.push_back(isFree ? factory.wholeDim(sizes[i])
                                        : prefix(op, originOf(id, tile, 0), false, counts));
  }
  if (!isBatch)
    for (size_t i = 0; i < tile.dims.size(); ++i)
      if (i < first || i >= first + (sizes.size() - 1))
        dropDim(tile.dims[i], counts);
  out.tiles.push_back(std::move(counts));
  return out;
}

} // namespace tilewright
