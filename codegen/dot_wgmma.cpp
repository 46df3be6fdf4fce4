// The dot's code for wgmma: a producer warp, and consumer warpgroups (see
// producer_warps.h). Consumers keep one group of products in flight: they release a stage once the
// products of the next stage have started.
#include "analysis/support/checked.h"
#include "analysis/tiling/resources.h"
#include "codegen/dot_lowering.h"

namespace tilewright {

namespace {
constexpr int64_t registersBesideSums = warpgroupRegistersBesideSums;
} // namespace

llvm::Error DotLowering::chooseWarpgroups(int64_t rows, int64_t columns) {
  const Op &op = spec.graph()[dot];
  int64_t elementBytes = inputBits() / 8, warps = spec.schedule.warps;
  if (warps % 4 != 0)
    return makeError(DiagClass::Unsupported, "%{}: {} warps are not whole warpgroups of four",
                     op.name, warps);
  if (side(Side::Batch).size != 1)
    return makeError(DiagClass::Unsupported, "%{}: a tile of {} batches, wgmma takes one", op.name,
                     side(Side::Batch).size);
  // Warpgroups beyond the number of row blocks share rows with others and split the columns between
  // them, where that is possible at whole lines of 128 bytes.
  int64_t groups = warps / 4;
  groupRows = groups;
  while (groupRows > 1 && (groups % groupRows != 0 || groupRows > ceilDiv(rows, int64_t(64))))
    --groupRows;
  groupColumns = groups / groupRows;
  if (columns % (64 * groupColumns) != 0) {
    groupRows = groups;
    groupColumns = 1;
  }
  auto roundUp = [](int64_t value, int64_t to) { return ceilDiv(value, to) * to; };
  kPadded = roundUp(kStep, 32 / elementBytes);
  paddedRows = roundUp(rows, 64 * groupRows);
  // Integer products have fewer widths: PTX ISA, shapes of wgmma.mma_async.
  int64_t unit = isFloat(sumType) || columns <= 32 ? 8 : 16;
  paddedColumns = roundUp(columns, unit);
  rowBlocks = paddedRows / (64 * groupRows);
  int64_t columnsOfOne = paddedColumns / groupColumns;
  columnBlocks = ceilDiv(columnsOfOne, int64_t(256));
  while (columnBlocks < columnsOfOne / unit && columnsOfOne % (unit * columnBlocks) != 0)
    ++columnBlocks;
  columnsOfBlock = columnsOfOne / columnBlocks;
  sumsPerThread = rowBlocks * columnBlocks * columnsOfBlock / 2;
  producers = ProducerWarps::beside(warps, sumsPerThread + registersBesideSums);
  if (warps + producers.warps > 32)
    return makeError(DiagClass::Unsupported, "%{}: {} warps and {} for copies, at most 32", op.name,
                     warps, producers.warps);
  if (sumsPerThread + registersBesideSums > producers.available()) {
    isWrongInstruction = true;
    return makeError(DiagClass::Unsupported,
                     "%{}: a tile of {} x {} over {} warps is {} sums a thread, at most {} are "
                     "allowed beside the other registers; use a smaller tile or more warps",
                     op.name, paddedRows, paddedColumns, warps, sumsPerThread,
                     producers.available() - registersBesideSums);
  }
  extras.tensorMaps = 2;
  extras.extraThreads = producers.warps * 32;
  extras.movesRegisters = producers.groupRegisters > 0;
  return llvm::Error::success();
}

/// The part of an operand that the CTA's tile covers, padded to `padded` rows or columns.
TensorTile DotLowering::tensorTile(const OperandTile &tile, int64_t padded) {
  ValueEmitter &emitter = lowering->emitter;
  const DotDims &dims = lowering->graph[dot].attrs.dot;
  const RootSide &mine = side(tile.side);
  bool isLeft = tile.side == Side::Rows;
  TensorTile result;
  result.op = tile.op;
  result.batch = isLeft ? dims.lhsBatch : dims.rhsBatch;
  result.contracted = isLeft ? dims.lhsContracting : dims.rhsContracting;
  result.kExtent = kTotal;
  result.kStep = kStep;
  result.kPadded = kPadded;
  result.sizes = mine.tile;
  result.order = mine.order;
  result.padded = padded;
  // Operand coordinates of the tile's digits, one digit a root dim.
  for (int64_t size : mine.tile)
    result.digits.push_back(
        emitter.variable(VarKind::Dim, "digit", Interval::ofExtent(size), lowering->k.c32(0)));
  Coordinates root(placeholders.size(), emitter.constant(0));
  Coordinates batch = side(Side::Batch).coordinates(emitter, batchPosition);
  for (size_t i = 0; i < batch.size(); ++i)
    root[side(Side::Batch).dims[i]] = batch[i];
  Coordinates first = root;
  for (size_t i = 0; i < result.digits.size(); ++i) {
    first[mine.dims[i]] = emitter.simplify(mine.pids[i] * mine.tile[i]);
    root[mine.dims[i]] = emitter.simplify(mine.pids[i] * mine.tile[i] + result.digits[i]);
  }
  Expr zero = emitter.constant(0);
  result.at = dotOperandCoordinates(emitter, dot, isLeft, dotCoordinates(root), zero);
  result.first = dotOperandCoordinates(emitter, dot, isLeft, dotCoordinates(first), zero);
  return result;
}

/// Unsupported where TMA can't copy the operand, or the stages don't fit.
llvm::Error DotLowering::planTensorOperands() {
  const Graph &graph = spec.graph();
  for (auto [tile, padded] : {std::pair(&lhs, paddedRows), std::pair(&rhs, paddedColumns)}) {
    auto tensor = TensorOperand::plan(*lowering, tensorTile(*tile, padded));
    if (!tensor) {
      Diag diag = takeDiag(tensor.takeError());
      if (diag.cls != DiagClass::Unsupported)
        return makeError(std::move(diag));
      isWrongInstruction = true;
      return makeError(DiagClass::Unsupported, "%{}: operand %{} can't be copied by TMA: {}",
                       graph[dot].name, graph[tile->op].name, diag.message);
    }
    tile->bytes = tensor->bytes;
    side(tile->side).order = tensor->order;
    tensorMaps.push_back(tensor->map);
    tile->tensor = std::move(*tensor);
  }
  if (!rhs.tensor.isKMinor && columnsOfBlock < paddedColumns &&
      columnsOfBlock * inputBits() / 8 % rhs.tensor.lineBytes() != 0) {
    isWrongInstruction = true;
    return makeError(DiagClass::Unsupported,
                     "%{}: {} columns in blocks of {}, which are no whole lines of {} bytes",
                     graph[dot].name, paddedColumns, columnsOfBlock, rhs.tensor.lineBytes());
  }
  lhs.offset = 0;
  rhs.offset = lhs.bytes;
  stageBytes = lhs.bytes + rhs.bytes;
  int64_t stages = spec.schedule.stages;
  ring = {stages, stages * stageBytes};
  if (ring.offset + ring.bytes() > maxSharedBytes)
    return makeError(DiagClass::Unsupported,
                     "%{}: {} stages of {} bytes and their barriers are more than the {} bytes of "
                     "shared memory that a CTA may have",
                     graph[dot].name, stages, stageBytes, maxSharedBytes);
  return llvm::Error::success();
}

llvm::Error DotLowering::emitWarpgroupProgram() {
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  ValueEmitter &emitter = lowering->emitter;
  int64_t warps = spec.schedule.warps;
  llvm::Value *isFirstThread = b.CreateICmpEQ(k.threadId(), k.c32(0));
  k.ifThen(isFirstThread, [&] {
    for (unsigned map = 0; map < tensorMaps.size(); ++map)
      k.prefetchTensorMap(map);
    ring.init(k, warps);
    k.fenceBarrierInit();
  });
  k.barrier();
  llvm::Error error = llvm::Error::success();
  producers.split(
      emitter, warps, [&] { emitCopies(); },
      [&](llvm::Value *group) {
        Values sums = emitProducts(group);
        error = spec.schedule.splitK > 1 ? emitSplitResults(sums) : emitResults(sums);
      });
  return error;
}

void DotLowering::emitCopies() {
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  k.forLoop(firstStep, endStep, k.c32(1), {k.c32(0), k.c32(1)},
            [&](llvm::Value *step, const Values &at) -> Values {
              llvm::Value *full = ring.full(k, at[0]);
              k.waitBarrier(ring.empty(k, at[0]), at[1]);
              k.arriveExpecting(full, lhs.tensor.copiedBytes() + rhs.tensor.copiedBytes());
              llvm::Value *stage = b.CreateMul(at[0], k.c32(stageBytes));
              llvm::Value *kFirst = b.CreateMul(step, k.c32(kStep));
              for (unsigned map = 0; const OperandTile *tile : {&lhs, &rhs})
                tile->tensor.copy(lowering->emitter, map++, kFirst,
                                  b.CreateAdd(stage, k.c32(tile->offset)), full);
              auto [next, parity] = ring.next(k, at[0], at[1]);
              return {next, parity};
            });
}

Values DotLowering::emitProducts(llvm::Value *group) {
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  ScalarOps &ops = lowering->emitter.scalars();
  auto count = static_cast<size_t>(sumsPerThread);
  auto perBlock = static_cast<size_t>(columnsOfBlock / 2);
  KernelBuilder::WarpgroupMma shape{MatrixTypes(lhs.type, rhs.type), columnsOfBlock,
                                    lhs.tensor.isKMinor, rhs.tensor.isKMinor};

  llvm::Value *rowOffset =
      b.CreateMul(b.CreateURem(group, k.c32(groupRows)), k.c32(lhs.tensor.step(rowBlocks * 64, 0)));
  llvm::Value *left = lhs.tensor.descriptor(k, b.CreateAdd(rowOffset, k.c32(lhs.offset)));
  llvm::Value *columnOffset = groupColumns == 1
                                  ? k.c32(0)
                                  : b.CreateMul(b.CreateUDiv(group, k.c32(groupRows)),
                                                k.c32(rhs.tensor.step(columnsOfGroup(), 0)));
  llvm::Value *right = rhs.tensor.descriptor(k, b.CreateAdd(columnOffset, k.c32(rhs.offset)));
  llvm::Value *isFirstLane = b.CreateICmpEQ(b.CreateAnd(k.threadId(), k.c32(31)), k.c32(0));
  auto moved = [&](llvm::Value *from, int64_t bytes) {
    return bytes ? b.CreateAdd(from, k.c64(bytes / 16)) : from;
  };

  Values carried(count, ops.constant(sumType, int64_t(0)));
  carried.insert(carried.end(), {k.c32(0), k.c32(0), k.c32(0)}); // stage, parity, stage before
  carried = k.forLoop(
      firstStep, endStep, k.c32(1), carried, [&](llvm::Value *step, const Values &before) {
        Values sums(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(count));
        llvm::Value *stage = before[count], *parity = before[count + 1];
        k.waitBarrier(ring.full(k, stage), parity);
        llvm::Value *stageOffset = b.CreateMul(stage, k.c32(stageBytes));
        llvm::Value *a = k.advanceDescriptor(left, stageOffset);
        llvm::Value *bMatrix = k.advanceDescriptor(right, stageOffset);
        k.warpgroupFence();
        for (int64_t kBlock = 0; kBlock < kPadded * inputBits() / 256; ++kBlock)
          for (int64_t i = 0; i < rowBlocks; ++i)
            for (int64_t j = 0; j < columnBlocks; ++j) {
              auto number = static_cast<size_t>(i * columnBlocks + j);
              auto first = sums.begin() + static_cast<std::ptrdiff_t>(number * perBlock);
              Values next = k.warpgroupMma(
                  shape, static_cast<unsigned>(number), moved(a, lhs.tensor.step(i * 64, kBlock)),
                  moved(bMatrix, rhs.tensor.step(j * columnsOfBlock, kBlock)), b.getTrue(),
                  Values(first, first + static_cast<std::ptrdiff_t>(perBlock)));
              std::copy(next.begin(), next.end(), first);
            }
        k.warpgroupCommit();
        // With a single stage nothing can start before it is released.
        bool isSingle = spec.schedule.stages == 1;
        if (isSingle)
          sums = finishProducts(sums);
        else
          k.warpgroupWait(1);
        llvm::Value *isDone =
            isSingle ? isFirstLane : b.CreateAnd(isFirstLane, b.CreateICmpSGT(step, firstStep));
        k.ifThen(isDone, [&] { k.arrive(ring.empty(k, isSingle ? stage : before[count + 2])); });
        auto [next, nextParity] = ring.next(k, stage, parity);
        sums.insert(sums.end(), {next, nextParity, stage});
        return sums;
      });
  return finishProducts(carried);
}

/// All sums, once no product is in flight.
Values DotLowering::finishProducts(const Values &started) {
  auto perBlock = static_cast<std::ptrdiff_t>(columnsOfBlock / 2);
  Values sums;
  for (std::ptrdiff_t first = 0; first < sumsPerThread; first += perBlock) {
    Values done = lowering->k.warpgroupWait(
        0, static_cast<unsigned>(first / perBlock),
        Values(started.begin() + first, started.begin() + first + perBlock));
    sums.insert(sums.end(), done.begin(), done.end());
  }
  return sums;
}

} // namespace tilewright
