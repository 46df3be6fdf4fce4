// Tile rules of collectives: from the tile of a replica's result to the operand's tile on the
// source replicas. all-reduce, collective-permute and collective-broadcast keep positions.
#include "analysis/support/diag.h"
#include "analysis/tiling/propagate.h"

#include <fmt/format.h>

namespace tilewright {

Expr TilePropagator::ownPosition(OpId collective, int64_t replicas) {
  return runtimeValue(collective, replicas - 1, {});
}

/// The result is [replicas x share] along a dim: the tile is cut there, and each replica
/// contributes its part within a share.
llvm::Expected<OperandTiles> TilePropagator::allGather(OpId id, const FactoredTile &tile) {
  const Op &op = graph[id];
  if (op.operands.size() != 1 || op.shape.isTuple || op.attrs.dimensions.size() != 1)
    return unsupported(op, "it gathers several tensors at once");
  const size_t along = static_cast<size_t>(op.attrs.dimensions[0]);
  const int64_t whole = op.shape.dims[along], share = graph[op.operands[0]].shape.dims[along];
  if (share < 1 || whole % share != 0)
    return unsupported(op, fmt::format("{} elements from shares of {}", whole, share));
  OperandTiles out = sameForAll(1, tile);
  const int64_t from[] = {whole}, to[] = {whole / share, share};
  const ConditionSink sink = sinkFor(id, 0, [along](int) { return static_cast<int>(along); });
  FactoredTile cut = factory.reshape({{tile.dims[along]}}, from, to, sink);
  dropDim(tile.dims[along], out.tiles[0]);
  out.tiles[0].tile.dims[along] = cut.dims[1];
  return out;
}

/// The share of each replica's operand that belongs to this replica: its number is the replica's
/// position in its group. reduce-scatter has one share; all-to-all has one from each replica, one
/// behind the other.
llvm::Expected<OperandTiles> TilePropagator::ownShare(OpId id, const FactoredTile &tile) {
  const Op &op = graph[id];
  if (op.operands.size() != 1 || op.shape.isTuple || op.attrs.dimensions.size() != 1)
    return unsupported(op, "it moves several tensors at once");
  const size_t along = static_cast<size_t>(op.attrs.dimensions[0]);
  const bool isExchange = op.opcode == Opcode::AllToAll;
  const int64_t whole = graph[op.operands[0]].shape.dims[along];
  const int64_t replicas = isExchange                 ? op.attrs.replicaGroups.size
                           : op.shape.dims[along] > 0 ? whole / op.shape.dims[along]
                                                      : 0;
  if (replicas < 1 || whole % replicas != 0)
    return unsupported(op, "the number of replicas in a group is not given");
  const int64_t share = whole / replicas;
  OperandTiles out = sameForAll(1, tile);
  FactoredDim mine = tile.dims[along];
  if (isExchange) {
    const int64_t from[] = {whole}, to[] = {replicas, share};
    const ConditionSink sink = sinkFor(id, 0, [along](int) { return static_cast<int>(along); });
    FactoredTile cut = factory.reshape({{mine}}, from, to, sink);
    dropDim(tile.dims[along], out.tiles[0]);
    mine = cut.dims[1];
  }
  const TileOrigin o = factory.plainOrigin(mine, share, static_cast<int>(along), sinkFor(id, 0));
  const Expr start = ownPosition(id, replicas) * share;
  out.tiles[0].tile.dims[along] =
      factory.opaqueDim({o.tile.offset + start, o.tile.size, o.tile.stride, o.tile.lower + start,
                         o.tile.upper + start},
                        whole, o.mayBeEmpty, out.tiles[0].tile);
  return out;
}

} // namespace tilewright
