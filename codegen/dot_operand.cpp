// Operand tiles of a dot: from global to shared memory.
#include "analysis/support/checked.h"
#include "codegen/dot_lowering.h"

#include <algorithm>
#include <bit>

namespace tilewright {

int64_t DotLowering::OperandTile::swizzlePeriod() const {
  int64_t count = chunks();
  return std::min<int64_t>(8, count & -count);
}

int64_t DotLowering::OperandTile::swizzleShift() const {
  return std::countr_zero(static_cast<uint64_t>(8 / swizzlePeriod()));
}

/// Coordinates in the dot of an element in row or column `position` of the tile; those of the other
/// side don't matter.
Coordinates DotLowering::dotPlace(const OperandTile &tile, Expr position) const {
  Coordinates root(placeholders.size(), lowering->emitter.constant(0));
  const RootSide &mine = side(tile.side), &batch = side(Side::Batch);
  Coordinates own = sideCoordinates(mine, position);
  Coordinates shared = sideCoordinates(batch, batchPosition);
  for (size_t i = 0; i < own.size(); ++i)
    root[mine.dims[i]] = own[i];
  for (size_t i = 0; i < shared.size(); ++i)
    root[batch.dims[i]] = shared[i];
  return dotCoordinates(root);
}

/// Coordinates in the operand of row or column `position` of the tile and element `k` of K.
Coordinates DotLowering::operandCoordinates(const OperandTile &tile, Expr position, Expr k) const {
  ValueEmitter &emitter = lowering->emitter;
  const Op &op = lowering->graph[dot];
  Coordinates at = dotPlace(tile, position);
  bool isLeft = tile.side == Side::Rows;
  const DotDims &dims = op.attrs.dot;
  const std::vector<int64_t> &batchDims = isLeft ? dims.lhsBatch : dims.rhsBatch;
  const std::vector<int64_t> &contracting = isLeft ? dims.lhsContracting : dims.rhsContracting;
  std::vector<int64_t> order;
  for (size_t i = kExtents.size(); i-- > 0;)
    order.push_back(static_cast<int64_t>(i));
  Coordinates kAt = emitter.delinearize(k, kExtents, order);
  Coordinates result(lowering->graph[tile.op].shape.rank());
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

Guard DotLowering::operandGuard(const OperandTile &tile, Expr position, Expr kWithin,
                                Expr k) const {
  ValueEmitter &emitter = lowering->emitter;
  const RootSide &mine = side(tile.side), &batch = side(Side::Batch);
  Guard guard{{position, Interval::ofExtent(mine.size), 1, 0},
              {kWithin, Interval::ofExtent(kStep), 1, 0},
              {k, Interval::ofExtent(kTotal), 1, 0}};
  emitter.addDomain(guard, sideCoordinates(mine, position), mine.extents);
  emitter.addDomain(guard, sideCoordinates(batch, batchPosition), batch.extents);
  // Behind a pad or a concatenation some root elements have no element of the dot.
  const Shape &result = lowering->graph[dot].shape;
  const DotDims &dims = lowering->graph[dot].attrs.dot;
  size_t batches = dims.lhsBatch.size();
  size_t columns = lowering->graph[rhs.op].shape.rank() - batches - dims.rhsContracting.size();
  Coordinates at = dotPlace(tile, position);
  for (size_t i = 0; i < at.size(); ++i) {
    bool isColumn = i + columns >= at.size();
    if (mayMiss[i] && (i < batches || isColumn == (tile.side == Side::Columns)))
      emitter.addDomain(guard, {at[i]}, {result.dims[i]});
  }
  return guard;
}

/// Lays the tile so that its rows are contiguous in memory, if either way is.
void DotLowering::chooseOrientation(OperandTile &tile, Expr kTile) {
  ValueEmitter &emitter = lowering->emitter;
  int64_t across = tile.side == Side::Rows ? rowsOfWarp * warpRows : columnsOfWarp * warpColumns;
  if (!usesMma())
    across = side(tile.side).size;
  const Shape &shape = lowering->graph[tile.op].shape;
  const DotDims &dims = lowering->graph[dot].attrs.dot;
  const std::vector<int64_t> &contracting =
      tile.side == Side::Rows ? dims.lhsContracting : dims.rhsContracting;
  auto isVector = [&](Expr position, Expr k) {
    return emitter
        .directAccess(tile.op, operandCoordinates(tile, position, kTile * kStep + k),
                      operandGuard(tile, position, k, kTile * kStep + k), 8)
        .has_value();
  };
  Expr zero = emitter.constant(0);
  int64_t minor = shape.rank() ? shape.minorToMajorOrDefault()[0] : 0;
  if (isVector(zero, emitter.lane()))
    tile.isKMinor = true;
  else if (isVector(emitter.lane(), zero))
    tile.isKMinor = false;
  else
    tile.isKMinor = std::find(contracting.begin(), contracting.end(), minor) != contracting.end();
  // For fma, shared memory is always K rows of the other side, whatever the loads look like.
  bool columnsAreK = usesMma() && tile.isKMinor;
  tile.rows = columnsAreK ? across : kPadded;
  tile.columns = columnsAreK ? kPadded : across;
}

llvm::Value *DotLowering::chunkAddress(const OperandTile &tile, llvm::Value *row,
                                       llvm::Value *chunk) {
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  llvm::Value *swizzle =
      b.CreateAnd(b.CreateLShr(row, k.c32(tile.swizzleShift())), k.c32(tile.swizzlePeriod() - 1));
  llvm::Value *inRow = b.CreateShl(b.CreateXor(chunk, swizzle), 4);
  llvm::Value *rowStart = b.CreateMul(row, k.c32(tile.columns * 2), "", true, true);
  return b.CreateAdd(b.CreateAdd(rowStart, inRow, "", true, true), k.c32(tile.offset), "", true,
                     true);
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
  DType type = lowering->graph[tile.op].shape.dtype;
  // Runs of `lanes` elements along whichever of K and the other side is contiguous in memory.
  int64_t across = usesMma() ? (tile.isKMinor ? tile.rows : tile.columns) : tile.columns;
  int64_t longSide = tile.isKMinor ? kPadded : across;
  int64_t shortSide = tile.isKMinor ? across : kPadded;
  unsigned lanes = usesMma() ? 8 : 1;
  if (!usesMma())
    while (lanes < 4 && longSide % (lanes * 2) == 0)
      lanes *= 2;
  emitter.setLanes(lanes);
  int64_t runs = longSide / lanes, total = runs * shortSide;
  for (int64_t first = 0; first < total; first += lowering->threads) {
    Expr item = emitter.simplify(lowering->tid + first);
    Guard exists;
    exists.push_back({item, Interval::ofExtent(total), 1, 0});
    Expr line = emitter.simplify(item.floorDiv(runs)), run = emitter.simplify(item.mod(runs));
    Expr along = emitter.simplify(lanes > 1 ? run * int64_t(lanes) + emitter.lane() : run);
    Expr position = tile.isKMinor ? line : along, kWithin = tile.isKMinor ? along : line;
    Expr kAt = emitter.simplify(kTile * kStep + kWithin);
    Guard guard = operandGuard(tile, position, kWithin, kAt);
    Coordinates at = operandCoordinates(tile, position, kAt);
    auto narrow = [&](Expr expr) { return b.CreateTrunc(emitter.index(expr), k.i32); };

    llvm::Value *address = nullptr;
    if (usesMma())
      address =
          b.CreateAdd(stageOffset, chunkAddress(tile, narrow(line), narrow(run)), "", true, true);
    auto direct = usesMma() ? emitter.directAccess(tile.op, at, guard, lanes) : std::nullopt;
    auto whereItExists = [&](const std::function<void()> &body) {
      if (llvm::Value *condition = emitter.holds(exists))
        k.ifThen(condition, body);
      else
        body();
    };
    if (direct) {
      llvm::Value *valid = emitter.holds(direct->guard);
      llvm::Value *offset = emitter.index(direct->offset);
      if (valid)
        offset = b.CreateSelect(valid, offset, llvm::ConstantInt::get(emitter.indexType(), 0));
      llvm::Value *byteOffset = b.CreateMul(b.CreateSExtOrTrunc(offset, k.i64), k.c64(2));
      whereItExists([&] { k.copyAsync16(address, direct->buffer, byteOffset, valid); });
      continue;
    }
    Guard all = guard;
    all.insert(all.end(), exists.begin(), exists.end());
    auto values = emitter.values(tile.op, at, all, lanes);
    if (!values)
      return values.takeError();
    Values stored;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      llvm::Value *value = ops.convert(type, inputType, (*values)[lane]);
      if (llvm::Value *valid = emitter.holdsAtLane(guard, lane))
        value = b.CreateSelect(valid, value, ops.constant(inputType, int64_t(0)));
      stored.push_back(ops.toMemory(inputType, value));
    }
    if (usesMma()) {
      llvm::Value *chunk =
          llvm::PoisonValue::get(llvm::FixedVectorType::get(stored[0]->getType(), lanes));
      for (unsigned lane = 0; lane < lanes; ++lane)
        chunk = b.CreateInsertElement(chunk, stored[lane], lane);
      whereItExists([&] { k.storeShared(chunk, address, 16); });
      continue;
    }
    auto bytes = static_cast<int64_t>(stored[0]->getType()->getPrimitiveSizeInBits() / 8);
    Values addresses;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      Expr element = emitter.simplify((kWithin * tile.columns + position) * bytes + tile.offset);
      addresses.push_back(
          b.CreateAdd(stageOffset, b.CreateTrunc(emitter.indexAtLane(element, lane), k.i32)));
    }
    whereItExists([&] {
      for (unsigned lane = 0; lane < lanes; ++lane)
        k.storeShared(stored[lane], addresses[lane], static_cast<unsigned>(bytes));
    });
  }
  return llvm::Error::success();
}

} // namespace tilewright
