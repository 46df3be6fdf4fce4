// Operand tiles of a dot: from global to shared memory.
#include "analysis/support/checked.h"
#include "codegen/dot_lowering.h"

#include <algorithm>

namespace tilewright {

/// Coordinates in the dot of row or column `position` of the tile; coordinates of the other side
/// are arbitrary.
Coordinates DotLowering::dotPlace(const OperandTile &tile, Expr position) const {
  Coordinates root(placeholders.size(), lowering->emitter.constant(0));
  const RootSide &mine = side(tile.side), &batch = side(Side::Batch);
  ValueEmitter &emitter = lowering->emitter;
  Coordinates own = mine.coordinates(emitter, position);
  Coordinates shared = batch.coordinates(emitter, batchPosition);
  for (size_t i = 0; i < own.size(); ++i)
    root[mine.dims[i]] = own[i];
  for (size_t i = 0; i < shared.size(); ++i)
    root[batch.dims[i]] = shared[i];
  // All columns of the tile read their windows from the same group of features.
  if (isConvolution() && tile.side == Side::Rows)
    for (size_t i = 0; i < side(Side::Columns).dims.size(); ++i)
      root[side(Side::Columns).dims[i]] =
          emitter.simplify(side(Side::Columns).pids[i] * side(Side::Columns).tile[i]);
  return dotCoordinates(root);
}

/// Coordinates in the operand of row or column `position` of the tile and element `k` of K.
Coordinates DotLowering::operandCoordinates(const OperandTile &tile, Expr position, Expr k) const {
  if (isConvolution())
    return convolved(tile, dotPlace(tile, position), k, nullptr);
  return dotOperandCoordinates(lowering->emitter, dot, tile.side == Side::Rows,
                               dotPlace(tile, position), k);
}

Guard DotLowering::operandGuard(const OperandTile &tile, Expr position, Expr kWithin,
                                Expr k) const {
  ValueEmitter &emitter = lowering->emitter;
  const RootSide &mine = side(tile.side), &batch = side(Side::Batch);
  Guard guard{{position, Interval::ofExtent(mine.size), 1, 0},
              {kWithin, Interval::ofExtent(kStep), 1, 0},
              {k, Interval::ofExtent(kTotal), 1, 0}};
  emitter.addDomain(guard, mine.coordinates(emitter, position), mine.extents);
  emitter.addDomain(guard, batch.coordinates(emitter, batchPosition), batch.extents);
  // A pad or a concatenation makes root elements that read no element of the dot.
  const Shape &result = lowering->graph[dot].shape;
  Coordinates at = dotPlace(tile, position);
  for (size_t i = 0; i < at.size(); ++i)
    if (mayMiss[i] && (dotSides[i] == Side::Batch || dotSides[i] == tile.side))
      emitter.addDomain(guard, {at[i]}, {result.dims[i]});
  if (isConvolution())
    convolved(tile, at, k, &guard);
  return guard;
}

/// True if this dim of the operand is contracted.
bool DotLowering::isContracted(const OperandTile &tile, int64_t dim) const {
  const OpAttributes &attrs = lowering->graph[dot].attrs;
  bool isLeft = tile.side == Side::Rows;
  if (isConvolution())
    return isLeft ? dim == attrs.conv.inputFeature : dim != attrs.conv.kernelOutput;
  const std::vector<int64_t> &contracting =
      isLeft ? attrs.dot.lhsContracting : attrs.dot.rhsContracting;
  return std::find(contracting.begin(), contracting.end(), dim) != contracting.end();
}

/// Chooses the tile's layout so that its rows are contiguous in memory, if either layout makes them
/// so.
void DotLowering::chooseOrientation(OperandTile &tile, Expr kTile) {
  ValueEmitter &emitter = lowering->emitter;
  int64_t across = tile.side == Side::Rows ? rowsOfWarp * warpRows : columnsOfWarp * warpColumns;
  if (!usesMma())
    across = side(tile.side).size;
  const Shape &shape = lowering->graph[tile.op].shape;
  const unsigned lanes = usesMma() ? 128 / inputBits() : 8;
  emitter.setLanes(lanes);
  auto isVector = [&](Expr position, Expr k) {
    return emitter
        .directAccess(tile.op, operandCoordinates(tile, position, kTile * kStep + k),
                      operandGuard(tile, position, k, kTile * kStep + k), lanes)
        .has_value();
  };
  Expr zero = emitter.constant(0);
  int64_t minor = shape.rank() ? shape.minorToMajorOrDefault()[0] : 0;
  if (isVector(zero, emitter.lane()))
    tile.isKMinor = true;
  else if (isVector(emitter.lane(), zero))
    tile.isKMinor = false;
  else
    tile.isKMinor = isContracted(tile, minor);
  if (usesMma()) {
    tile.elementBytes = inputBits() / 8;
    tile.isTransposed = tile.elementBytes == 1 && !tile.isKMinor;
    tile.isKMinor |= tile.isTransposed;
  }
  // For fma, shared memory always holds K rows along the other side, whatever the order of the
  // loads.
  bool columnsAreK = usesMma() && tile.isKMinor;
  tile.rows = columnsAreK ? across : kPadded;
  tile.columns = columnsAreK ? kPadded : across;
}

llvm::Error DotLowering::loadStage(Expr kTile, llvm::Value *stageOffset) {
  if (auto error = loadOperand(lhs, kTile, stageOffset))
    return error;
  return loadOperand(rhs, kTile, stageOffset);
}

llvm::Error DotLowering::loadOperand(const OperandTile &tile, Expr kTile,
                                     llvm::Value *stageOffset) {
  ValueEmitter &emitter = lowering->emitter;
  ScalarOps &ops = emitter.scalars();
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  auto placeOf = [&](Expr position, Expr kWithin) {
    Expr kAt = emitter.simplify(kTile * kStep + kWithin);
    return std::pair(operandCoordinates(tile, position, kAt),
                     operandGuard(tile, position, kWithin, kAt));
  };
  if (usesMma())
    return loadStagedTile(
        *lowering, tile, tile.type,
        [&](Expr row, Expr column) {
          return tile.isKMinor ? placeOf(row, column) : placeOf(column, row);
        },
        stageOffset);
  // Runs of `lanes` elements along whichever of K and the other side is contiguous in memory.
  DType type = lowering->graph[tile.op].shape.dtype;
  int64_t longSide = tile.isKMinor ? kPadded : tile.columns;
  int64_t shortSide = tile.isKMinor ? tile.columns : kPadded;
  unsigned lanes = 1;
  while (lanes < 4 && longSide % (lanes * 2) == 0)
    lanes *= 2;
  emitter.setLanes(lanes);
  int64_t runs = longSide / lanes, total = runs * shortSide;
  for (int64_t first = 0; first < total; first += lowering->threads) {
    Expr item = emitter.simplify(lowering->tid + first);
    Guard exists{{item, Interval::ofExtent(total), 1, 0}};
    Expr line = emitter.simplify(item.floorDiv(runs)), run = emitter.simplify(item.mod(runs));
    Expr along = emitter.simplify(lanes > 1 ? run * int64_t(lanes) + emitter.lane() : run);
    Expr position = tile.isKMinor ? line : along, kWithin = tile.isKMinor ? along : line;
    auto [at, guard] = placeOf(position, kWithin);
    Guard all = guard;
    all.insert(all.end(), exists.begin(), exists.end());
    auto values = emitter.values(tile.op, at, all, lanes);
    if (!values)
      return values.takeError();
    Values stored, addresses;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      llvm::Value *value = ops.convert(type, tile.type, (*values)[lane]);
      if (llvm::Value *valid = emitter.holdsAtLane(guard, lane))
        value = b.CreateSelect(valid, value, ops.constant(tile.type, int64_t(0)));
      stored.push_back(ops.toMemory(tile.type, value));
    }
    auto bytes = static_cast<int64_t>(stored[0]->getType()->getPrimitiveSizeInBits() / 8);
    Expr element = emitter.simplify((kWithin * tile.columns + position) * bytes + tile.offset);
    for (unsigned lane = 0; lane < lanes; ++lane)
      addresses.push_back(
          b.CreateAdd(stageOffset, b.CreateTrunc(emitter.indexAtLane(element, lane), k.i32)));
    auto store = [&] {
      for (unsigned lane = 0; lane < lanes; ++lane)
        k.storeShared(stored[lane], addresses[lane], static_cast<unsigned>(bytes));
    };
    if (llvm::Value *condition = emitter.holds(exists))
      k.ifThen(condition, store);
    else
      store();
  }
  return llvm::Error::success();
}

} // namespace tilewright
