// Tile rules of ops that move a window or place operands: slice, reverse, pad, concatenate and the
// dynamic slices. All are partial affine injections i -> a + k·i, for which the image and the
// preimage of a tile are tiles again once there are masks on both sides: none of them refuses.
#include "analysis/support/diag.h"
#include "analysis/tiling/propagate.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

namespace tilewright {
TileOrigin TilePropagator::originOf(OpId id, const FactoredTile &tile, size_t dim) {
  return factory.plainOrigin(tile.dims[dim], resultDims(graph[id])[dim], static_cast<int>(dim),
                             sinkFor(id, -1));
}

FactoredDim TilePropagator::shifted(TileOrigin o, int64_t start, int64_t step, int64_t extent) {
  o.extent = extent;
  o.isDirect = false;
  o.tile.offset = o.tile.offset * step + start;
  o.tile.stride = o.tile.stride * step;
  o.tile.lower = o.tile.lower * step + start;
  o.tile.upper = (o.tile.upper - 1) * step + (start + 1);
  o.aligned &= step == 1;
  o.base += start;
  o.lower += start;
  o.upper += start;
  return factory.ofOrigin(std::move(o));
}

llvm::Expected<OperandTiles> TilePropagator::slice(OpId id, const FactoredTile &tile) {
  const Op &op = graph[id];
  const std::vector<int64_t> &extents = graph[op.operands[0]].shape.dims;
  OperandTiles out = sameForAll(1, tile);
  for (size_t i = 0; i < extents.size(); ++i) {
    const SliceDim &s = op.attrs.slice[i];
    if (op.shape.dims[i] != extents[i])
      out.tiles[0].tile.dims[i] = shifted(originOf(id, tile, i), s.start, s.step, extents[i]);
  }
  return out;
}

llvm::Expected<OperandTiles> TilePropagator::reverse(OpId id, const FactoredTile &tile) {
  const Op &op = graph[id];
  OperandTiles out = sameForAll(1, tile);
  for (int64_t dim : op.attrs.dimensions) {
    const int64_t extent = op.shape.dims[dim];
    if (tile.dims[dim].empty())
      continue;
    TileOrigin o = originOf(id, tile, dim);
    const Expr last = ctx.constant(extent - 1), end = ctx.constant(extent);
    o.tile = {last - o.tile.offset, o.tile.size, -o.tile.stride, end - o.tile.upper,
              end - o.tile.lower};
    o.backwards = !o.backwards; // still reaches all, but is no longer rooted
    o.base = extent - o.base;
    std::swap(o.lower, o.upper);
    o.lower = extent - o.lower;
    o.upper = extent - o.upper;
    out.tiles[0].tile.dims[dim] = factory.ofOrigin(std::move(o));
  }
  return out;
}

FactoredDim TilePropagator::placed(TileOrigin o, int64_t low, int64_t extent, bool mayBeEmpty) {
  o.extent = extent;
  o.isDirect = false;
  o.tile.offset = o.tile.offset - low;
  o.tile.lower = (o.tile.lower - low).max(0);
  o.tile.upper = (o.tile.upper - low).min(extent);
  o.base -= low;
  o.lower = std::max<int64_t>(0, o.lower - low);
  o.upper = std::min(extent, o.upper - low);
  if (o.lower >= o.upper) // constant masks that leave nothing
    o.lower = o.upper = 0;
  o.mayBeEmpty |= mayBeEmpty;
  if (o.aligned) {
    o.tile.lower = ctx.constant(o.lower);
    o.tile.upper = ctx.constant(o.upper);
  }
  return factory.ofOrigin(std::move(o));
}

FactoredDim TilePropagator::spread(OpId id, int dim, const TileOrigin &o, int64_t low, int64_t step,
                                   int64_t extent) {
  const TileDim &t = o.tile;
  if (!t.stride.isConstant(1))
    require(id, 0,
            {Formula::lessEqual(t.size, ctx.constant(1)),
             dim,
             "dilated-stride",
             fmt::format("tile {{0}} must be 1, because a tile with stride {} does not meet every "
                         "{}-th element evenly",
                         t.stride.str(), step),
             {t.size}});
  auto up = [&](Expr e) { return (e - low).ceilDiv(step); };
  TileDim out{up(t.offset), t.size.ceilDiv(step), ctx.constant(1), up(t.lower).max(0),
              up(t.upper).min(up(t.offset + t.size)).min(extent)};
  return factory.opaqueDim(std::move(out), extent, true);
}

llvm::Expected<OperandTiles> TilePropagator::pad(OpId id, const FactoredTile &tile) {
  const Op &op = graph[id];
  const std::vector<int64_t> &extents = graph[op.operands[0]].shape.dims;
  OperandTiles out = sameForAll(1, tile);
  for (size_t i = 0; i < extents.size(); ++i) {
    const PadDim &p = op.attrs.padding[i];
    if (p.low == 0 && p.high == 0 && p.interior == 0)
      continue;
    TileOrigin o = originOf(id, tile, i);
    out.tiles[0].tile.dims[i] =
        p.interior > 0 && extents[i] > 1
            ? spread(id, static_cast<int>(i), o, p.low, p.interior + 1, extents[i])
            : placed(std::move(o), p.low, extents[i], p.low > 0 || p.high > 0);
  }
  out.tiles.emplace_back(); // a scalar
  return out;
}

llvm::Expected<OperandTiles> TilePropagator::concatenate(OpId id, const FactoredTile &tile) {
  const Op &op = graph[id];
  const size_t dim = static_cast<size_t>(op.attrs.dimensions.front());
  OperandTiles out = sameForAll(op.operands.size(), tile);
  if (op.operands.size() == 1)
    return out;
  const TileOrigin origin = originOf(id, tile, dim);
  int64_t prefix = 0;
  for (size_t k = 0; k < op.operands.size(); ++k) {
    int64_t extent = graph[op.operands[k]].shape.dims[dim];
    out.tiles[k].tile.dims[dim] = placed(origin, prefix, extent, true);
    prefix += extent;
  }
  return out;
}

Expr TilePropagator::startValue(OpId scalarId, int64_t limit) {
  const Op &op = graph[scalarId];
  if (limit <= 0)
    return ctx.constant(0);
  if (op.opcode == Opcode::Constant) {
    char *end = nullptr;
    long long value = std::strtoll(op.literal.c_str(), &end, 10);
    if (end != op.literal.c_str())
      return ctx.constant(std::clamp<int64_t>(value, 0, limit));
  }
  Expr &var = starts[{scalarId, limit}];
  if (!var) {
    var = ctx.variable(VarKind::Runtime, fmt::format("rt{}", runtime.size()));
    runtime.push_back({var, scalarId, {0, limit}});
  }
  return var;
}

llvm::Expected<OperandTiles> TilePropagator::dynamicSlice(OpId id, const FactoredTile &tile) {
  const Op &op = graph[id];
  const std::vector<int64_t> &extents = graph[op.operands[0]].shape.dims;
  if (op.operands.size() != extents.size() + 1)
    return unsupported(op, "the start is not one scalar a dim");
  OperandTiles out = sameForAll(1, tile);
  for (size_t i = 0; i < extents.size(); ++i) {
    Expr start = startValue(op.operands[i + 1], extents[i] - op.shape.dims[i]);
    out.tiles.emplace_back(); // a scalar
    if (extents[i] == op.shape.dims[i])
      continue;
    TileOrigin o = originOf(id, tile, i);
    if (start.isConstant()) {
      out.tiles[0].tile.dims[i] = shifted(std::move(o), start.constant(), 1, extents[i]);
      continue;
    }
    TileDim t = o.tile;
    t.offset = t.offset + start;
    t.lower = t.lower + start;
    t.upper = t.upper + start;
    out.tiles[0].tile.dims[i] = factory.opaqueDim(std::move(t), extents[i], o.mayBeEmpty);
  }
  return out;
}

llvm::Expected<OperandTiles> TilePropagator::dynamicUpdateSlice(OpId id, const FactoredTile &tile) {
  const Op &op = graph[id];
  const std::vector<int64_t> &extents = op.shape.dims;
  const std::vector<int64_t> &update = graph[op.operands[1]].shape.dims;
  if (op.operands.size() != extents.size() + 2)
    return unsupported(op, "the start is not one scalar a dim");
  OperandTiles out = sameForAll(2, tile);
  out.tiles[0].exactness = Exactness::OverApproximate;
  out.tiles[0].factor = 0;
  out.tiles[0].why = fmt::format("%{} overwrites a part of it that need not be read", op.name);
  for (size_t i = 0; i < extents.size(); ++i) {
    Expr start = startValue(op.operands[i + 2], extents[i] - update[i]);
    out.tiles.emplace_back(); // a scalar
    if (extents[i] == update[i])
      continue;
    TileOrigin o = originOf(id, tile, i);
    if (start.isConstant()) {
      out.tiles[1].tile.dims[i] = placed(std::move(o), start.constant(), update[i], true);
      continue;
    }
    TileDim t = o.tile;
    t.offset = t.offset - start;
    t.lower = (t.lower - start).max(0);
    t.upper = (t.upper - start).min(update[i]);
    out.tiles[1].tile.dims[i] = factory.opaqueDim(std::move(t), update[i], true);
  }
  return out;
}

} // namespace tilewright
