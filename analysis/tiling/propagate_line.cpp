// Tile rules of ops on whole lines: sort, top-k and scan, and of the elements of their tuples.
#include "analysis/support/diag.h"
#include "analysis/tiling/propagate.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace tilewright {

namespace {

/// The number of carries, which are a scan's last operands and last results.
size_t carriesOf(const Op &op) {
  size_t carries = 0;
  for (const RawAttribute &attribute : op.rawAttrs)
    if (attribute.name == "num_carries")
      std::from_chars(attribute.text.data(), attribute.text.data() + attribute.text.size(),
                      carries);
  return carries;
}

bool isReversed(const Op &op) {
  return std::any_of(op.rawAttrs.begin(), op.rawAttrs.end(), [](const RawAttribute &attribute) {
    return attribute.name == "is_reverse" && attribute.text == "true";
  });
}

} // namespace

void TilePropagator::markCovering(OperandTile &out, std::string why) {
  if (out.exactness == Exactness::Unknown)
    return;
  out.exactness = Exactness::OverApproximate;
  out.factor = 0;
  out.why = std::move(why);
}

FactoredDim TilePropagator::prefix(const Op &op, const TileOrigin &o, bool isSuffix,
                                   OperandTile &out) {
  const TileDim &t = o.tile;
  const Expr zero = ctx.constant(0), extent = ctx.constant(o.extent);
  TileDim line{zero, ctx.constant(std::max<int64_t>(o.extent, 1)), ctx.constant(1), zero, extent};
  if (o.mayBeEmpty)
    markDropped(op, out); // a tile without valid elements needs nothing
  // The tile's last (or first) valid element; exact for constant strides.
  const Expr end = t.offset + (t.size - 1) * t.stride;
  if (!t.stride.isConstant() || t.stride.isConstant(0)) {
    markCovering(out, "the stride of the tile is not known");
    if (isSuffix)
      line.lower = t.offset.min(end).max(t.lower);
    else
      line.upper = t.offset.max(end).min(t.upper - 1) + 1;
    return factory.opaqueDim(std::move(line), o.extent, o.mayBeEmpty, out.tile);
  }
  const int64_t stride = t.stride.constant(), step = stride < 0 ? -stride : stride;
  const bool isForward = stride > 0;
  if (isSuffix) // lowest valid
    line.lower = isForward ? t.offset + (t.lower - t.offset).ceilDiv(step).max(0) * step
                           : t.offset - (t.offset - t.lower).floorDiv(step).min(t.size - 1) * step;
  else // highest valid
    line.upper =
        (isForward ? t.offset + (t.upper - 1 - t.offset).floorDiv(step).min(t.size - 1) * step
                   : t.offset - (t.offset - t.upper + 1).ceilDiv(step).max(0) * step) +
        1;
  return factory.opaqueDim(std::move(line), o.extent, o.mayBeEmpty, out.tile);
}

/// Positions within a line are known only once all of it was read: a CTA has whole lines, any
/// number of them.
llvm::Expected<OperandTiles> TilePropagator::line(OpId id, const FactoredTile &tile) {
  const Op &op = graph[id];
  const std::vector<int64_t> &extents = resultDims(op);
  if (extents.empty() || (op.opcode == Opcode::Sort && op.attrs.dimensions.size() != 1))
    return unsupported(op, "it has no line");
  const size_t along =
      op.opcode == Opcode::Sort ? static_cast<size_t>(op.attrs.dimensions[0]) : extents.size() - 1;
  const TileOrigin mine = originOf(id, tile, along);
  require(id, -1,
          {Formula::lessEqual(ctx.constant(extents[along]), mine.tile.size),
           static_cast<int>(along),
           "whole-line",
           fmt::format("tile {{0}} must cover all {}, because which element of a line comes where "
                       "depends on all of them",
                       extents[along]),
           {mine.tile.size}});
  OperandTiles out = sameForAll(op.operands.size(), tile);
  for (size_t k = 0; k < op.operands.size(); ++k) {
    const std::vector<int64_t> &in = graph[op.operands[k]].shape.dims;
    if (in.size() != extents.size())
      return unsupported(op, fmt::format("operand {} has other dims", k));
    out.tiles[k].tile.dims[along] = factory.wholeDim(in[along]);
    if (mine.mayBeEmpty)
      markDropped(op, out.tiles[k]);
  }
  return out;
}

/// Each CTA recomputes everything before its tile. (A loop with a carry would read it once.)
llvm::Expected<OperandTiles> TilePropagator::scan(OpId id, const FactoredTile &tile) {
  const Op &op = graph[id];
  const size_t carries = carriesOf(op);
  if (op.attrs.dimensions.size() != 1 || carries >= op.operands.size())
    return unsupported(op, "its carries and dim don't fit");
  const size_t along = static_cast<size_t>(op.attrs.dimensions[0]);
  if (along >= tile.dims.size())
    return unsupported(op, "its results don't have the scanned dim");
  OperandTiles out = sameForAll(op.operands.size(), tile);
  for (size_t k = 0; k < op.operands.size(); ++k) {
    std::vector<FactoredDim> &dims = out.tiles[k].tile.dims;
    if (k < op.operands.size() - carries) {
      dims[along] = prefix(op, originOf(id, tile, along), isReversed(op), out.tiles[k]);
      continue;
    }
    dropDim(dims[along], out.tiles[k]);
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(along));
  }
  return out;
}

llvm::Expected<OperandTiles> TilePropagator::tupleElement(OpId id, const FactoredTile &tile) {
  const Op &op = graph[id], &tuple = graph[op.operands[0]];
  if (!isTiledByFirstResult(tuple))
    return unsupported(op, fmt::format("the elements of %{} ({}) have no tile in common",
                                       tuple.name, toString(tuple.opcode)));
  const std::vector<int64_t> &extents = resultDims(tuple);
  if (extents == op.shape.dims)
    return sameForAll(1, tile);
  // The last carry of a scan belongs to the last element of each line.
  if (tuple.opcode != Opcode::Scan || extents.size() != op.shape.dims.size() + 1)
    return unsupported(op,
                       fmt::format("it has other dims than the first result of %{}", tuple.name));
  const size_t along = static_cast<size_t>(tuple.attrs.dimensions[0]);
  const int64_t last = isReversed(tuple) ? 0 : extents[along] - 1;
  OperandTiles out = sameForAll(1, tile);
  std::vector<FactoredDim> &dims = out.tiles[0].tile.dims;
  const Expr one = ctx.constant(1);
  dims.insert(
      dims.begin() + static_cast<std::ptrdiff_t>(along),
      factory.opaqueDim({ctx.constant(last), one, one, ctx.constant(last), ctx.constant(last + 1)},
                        extents[along], false, out.tiles[0].tile));
  return out;
}

} // namespace tilewright
