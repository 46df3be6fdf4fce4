// Tile rules of ops that move a window or place operands: slice, reverse, pad, concatenate and the
// dynamic slices. All are partial affine injections i -> a + k·i; with masks on both sides the
// image and the preimage of a tile are tiles again, so these rules have no constraints.
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

llvm::Expected<OperandTiles> TilePropagator::slice(OpId id, const FactoredTile &tile) {
  const Op &op = graph[id];
  const std::vector<int64_t> &extents = graph[op.operands[0]].shape.dims;
  OperandTiles out = sameForAll(1, tile);
  for (size_t i = 0; i < extents.size(); ++i) {
    const SliceDim &s = op.attrs.slice[i];
    if (op.shape.dims[i] != extents[i])
      out.tiles[0].tile.dims[i] = factory.shift(tile.dims[i], op.shape.dims[i], extents[i], s.start,
                                                s.step, static_cast<int>(i), sinkFor(id, -1));
  }
  return out;
}

llvm::Expected<OperandTiles> TilePropagator::reverse(OpId id, const FactoredTile &tile) {
  OperandTiles out = sameForAll(1, tile);
  for (int64_t dim : graph[id].attrs.dimensions)
    out.tiles[0].tile.dims[dim] = factory.reverse(tile.dims[dim]);
  return out;
}

FactoredDim TilePropagator::placed(OpId id, int dim, const FactoredTile &tile, int64_t low,
                                   int64_t extent, FactoredTile &guards) {
  return factory.clip(tile.dims[dim], resultDims(graph[id])[dim], low, extent, dim, sinkFor(id, -1),
                      guards);
}

FactoredDim TilePropagator::spread(OpId id, int dim, const TileOrigin &origin, int64_t low,
                                   int64_t step, int64_t extent, FactoredTile &guards) {
  SpreadOrigin out = spreadOrigin(origin, low, step, extent);
  require(id, 0,
          {std::move(out.isKnown),
           dim,
           "dilated-stride",
           fmt::format("tile {{0}} must be 1, because a tile whose stride is not known does not "
                       "meet every {}-th element evenly",
                       step),
           {origin.tile.size}});
  return factory.ofOrigin(std::move(out.origin), guards);
}

llvm::Expected<OperandTiles> TilePropagator::pad(OpId id, const FactoredTile &tile) {
  const Op &op = graph[id];
  const std::vector<int64_t> &extents = graph[op.operands[0]].shape.dims;
  FactoredTile kept = tile; // the part that is not padding
  for (size_t i = 0; i < extents.size(); ++i)
    if (const PadDim &p = op.attrs.padding[i]; p.interior == 0)
      kept = factory.within(std::move(kept), i, p.low, extents[i]);
  OperandTiles out = sameForAll(1, kept);
  FactoredTile &input = out.tiles[0].tile;
  for (size_t i = 0; i < extents.size(); ++i) {
    const PadDim &p = op.attrs.padding[i];
    if (p.low == 0 && p.high == 0 && p.interior == 0)
      continue;
    const int dim = static_cast<int>(i);
    input.dims[i] =
        p.interior > 0 && extents[i] > 1
            ? spread(id, dim, originOf(id, kept, i), p.low, p.interior + 1, extents[i], input)
            : placed(id, dim, kept, p.low, extents[i], input);
  }
  out.tiles.emplace_back(); // a scalar
  return out;
}

llvm::Expected<OperandTiles> TilePropagator::concatenate(OpId id, const FactoredTile &tile) {
  const Op &op = graph[id];
  const auto dim = static_cast<int>(op.attrs.dimensions.front());
  OperandTiles out = sameForAll(op.operands.size(), tile);
  if (op.operands.size() == 1)
    return out;
  int64_t prefix = 0;
  for (size_t k = 0; k < op.operands.size(); ++k) {
    const int64_t extent = graph[op.operands[k]].shape.dims[dim];
    FactoredTile &input = out.tiles[k].tile;
    input = factory.within(std::move(input), static_cast<size_t>(dim), prefix, extent);
    input.dims[dim] = placed(id, dim, tile, prefix, extent, input);
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
  return runtimeValue(scalarId, limit, {});
}

Expr TilePropagator::runtimeValue(OpId source, int64_t limit, const std::vector<Expr> &element) {
  if (limit <= 0)
    return ctx.constant(0);
  std::vector<uint32_t> key;
  for (Expr e : element)
    key.push_back(e.id());
  Expr &var = starts[{source, limit, std::move(key)}];
  if (!var) {
    var = ctx.variable(VarKind::Runtime, fmt::format("rt{}", runtime.size()));
    runtime.push_back({var, source, {0, limit}, element});
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
    FactoredTile &input = out.tiles[0].tile;
    if (start.isConstant()) {
      input.dims[i] = factory.shift(tile.dims[i], op.shape.dims[i], extents[i], start.constant(), 1,
                                    static_cast<int>(i), sinkFor(id, -1));
      continue;
    }
    const TileOrigin o = originOf(id, tile, i);
    TileDim t = o.tile;
    t.offset = t.offset + start;
    t.lower = t.lower + start;
    t.upper = t.upper + start;
    input.dims[i] = factory.opaqueDim(std::move(t), extents[i], o.mayBeEmpty, input);
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
    FactoredTile &part = out.tiles[1].tile;
    if (start.isConstant()) {
      part.dims[i] = placed(id, static_cast<int>(i), tile, start.constant(), update[i], part);
      continue;
    }
    TileDim t = originOf(id, tile, i).tile;
    t.offset = t.offset - start;
    t.lower = (t.lower - start).max(0);
    t.upper = (t.upper - start).min(update[i]);
    part.dims[i] = factory.opaqueDim(std::move(t), update[i], true, part);
  }
  return out;
}

} // namespace tilewright
