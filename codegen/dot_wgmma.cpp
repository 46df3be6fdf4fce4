// The dot's program for wgmma: a warp that copies, and warpgroups that multiply.
//
// Stage s has two barriers: full[s] ends a phase when its copies have landed, empty[s] when every
// multiplying warp is done with what it held. The copying thread goes round the stages, waiting
// for empty; warpgroups go round behind it, waiting for full, and keep one group of products in
// flight: a stage is given back when the products of the next one have been started.
//
// The copying warp comes after the others, so that thread ids of the multiplying warps are those
// of a kernel without it. Where the sums need more registers than an even share leaves them, it has
// three idle warps beside it: a whole warpgroup can give its registers to the others (setmaxnreg).
#include "analysis/support/checked.h"
#include "codegen/dot_lowering.h"

namespace tilewright {

namespace {
constexpr int64_t registersPerSm = 65536;
/// Seen with ptxas 13.0: descriptors, the ring, coordinates and masks of the epilogue take 26
/// to 45.
constexpr int64_t registersBesideSums = 48;
constexpr int64_t copyingRegisters = 40; ///< a thread of the copying warpgroup keeps

/// Registers a thread when `warps` share an SM evenly: each quarter of it has the same number of
/// warps, rounded up.
int64_t evenShare(int64_t warps) {
  return std::min<int64_t>(255, registersPerSm / (ceilDiv(warps, int64_t(4)) * 128) / 8 * 8);
}
} // namespace

int64_t DotLowering::evenRegisters() const { return evenShare(spec.schedule.warps + copyingWarps); }

llvm::Error DotLowering::chooseWarpgroups(int64_t rows, int64_t columns) {
  const Op &op = spec.graph()[dot];
  int64_t elementBytes = bitWidth(inputType) / 8, warps = spec.schedule.warps;
  if (warps % 4 != 0)
    return makeError(DiagClass::Unsupported, "%{}: {} warps are not whole warpgroups of four",
                     op.name, warps);
  if (side(Side::Batch).size != 1)
    return makeError(DiagClass::Unsupported, "%{}: a tile of {} batches, wgmma takes one", op.name,
                     side(Side::Batch).size);
  groups = warps / 4;
  auto roundUp = [](int64_t value, int64_t to) { return ceilDiv(value, to) * to; };
  kPadded = roundUp(kStep, 32 / elementBytes);
  paddedRows = roundUp(rows, 64 * groups);
  // Sums of integers come in other widths: PTX ISA, shapes of wgmma.mma_async.
  int64_t unit = isFloat(sumType) || columns <= 32 ? 8 : 16;
  paddedColumns = roundUp(columns, unit);
  rowBlocks = paddedRows / (64 * groups);
  columnBlocks = ceilDiv(paddedColumns, int64_t(256));
  while (columnBlocks < paddedColumns / unit && paddedColumns % (unit * columnBlocks) != 0)
    ++columnBlocks;
  columnsOfBlock = paddedColumns / columnBlocks;
  sumsPerThread = rowBlocks * columnBlocks * columnsOfBlock / 2;
  int64_t allowed = evenShare(warps + 1);
  if (sumsPerThread + registersBesideSums > allowed) {
    // What the block is started with is all that there is to move.
    int64_t pool = evenShare(warps + 4) * (groups + 1);
    int64_t moved = (pool - copyingRegisters) / groups / 8 * 8;
    if (moved > allowed && warps + 4 <= 32) {
      copyingWarps = 4;
      groupRegisters = allowed = std::min<int64_t>(moved, 240);
    }
  }
  if (warps + copyingWarps > 32)
    return makeError(DiagClass::Unsupported, "%{}: {} warps and {} for copies, at most 32", op.name,
                     warps, copyingWarps);
  if (sumsPerThread + registersBesideSums > allowed)
    return makeError(DiagClass::Unsupported,
                     "%{}: a tile of {} x {} over {} warps is {} sums a thread, at most {} are "
                     "allowed beside the other registers; use a smaller tile or more warps",
                     op.name, paddedRows, paddedColumns, warps, sumsPerThread,
                     allowed - registersBesideSums);
  extras.tensorMaps = 2;
  extras.extraThreads = copyingWarps * 32;
  extras.movesRegisters = groupRegisters > 0;
  return llvm::Error::success();
}

/// Errors, Unsupported: the operand can't be copied, or the stages don't fit.
llvm::Error DotLowering::planTensorOperands() {
  const Graph &graph = spec.graph();
  for (auto [tile, padded] : {std::pair(&lhs, paddedRows), std::pair(&rhs, paddedColumns)})
    if (auto error = planTensorOperand(*tile, padded)) {
      Diag diag = takeDiag(std::move(error));
      if (diag.cls != DiagClass::Unsupported)
        return makeError(std::move(diag));
      isWrongInstruction = true;
      return makeError(DiagClass::Unsupported,
                       "%{}: operand %{} can't be copied by the tensor memory accelerator: {}",
                       graph[dot].name, graph[tile->op].name, diag.message);
    }
  if (!rhs.isKMinor && columnBlocks > 1 &&
      columnsOfBlock * bitWidth(inputType) / 8 % rhs.tensor.width != 0)
    return makeError(DiagClass::Unsupported, "%{}: {} columns in blocks of {}", graph[dot].name,
                     paddedColumns, columnsOfBlock);
  lhs.offset = 0;
  rhs.offset = lhs.bytes;
  stageBytes = lhs.bytes + rhs.bytes;
  int64_t stages = spec.schedule.stages;
  if (stages * (stageBytes + 16) > maxSharedBytes)
    return makeError(DiagClass::Unsupported,
                     "%{}: {} stages of {} bytes and their barriers are more than the {} bytes of "
                     "shared memory that a block may have",
                     graph[dot].name, stages, stageBytes, maxSharedBytes);
  return llvm::Error::success();
}

llvm::Value *DotLowering::stageBarrier(llvm::Value *stage, bool isFull) {
  KernelBuilder &k = lowering->k;
  int64_t first = spec.schedule.stages * stageBytes + (isFull ? 0 : spec.schedule.stages * 8);
  return k.b.CreateAdd(k.b.CreateShl(stage, 3), k.c32(first));
}

/// The next stage and the parity of its phase.
std::pair<llvm::Value *, llvm::Value *> DotLowering::nextStage(llvm::Value *stage,
                                                               llvm::Value *parity) {
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  llvm::Value *next = b.CreateAdd(stage, k.c32(1));
  llvm::Value *isRound = b.CreateICmpEQ(next, k.c32(spec.schedule.stages));
  return {b.CreateSelect(isRound, k.c32(0), next),
          b.CreateSelect(isRound, b.CreateXor(parity, k.c32(1)), parity)};
}

llvm::Error DotLowering::emitWarpgroupProgram() {
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  ValueEmitter &emitter = lowering->emitter;
  int64_t stages = spec.schedule.stages, warps = spec.schedule.warps;
  llvm::Value *isFirstThread = b.CreateICmpEQ(k.threadId(), k.c32(0));
  k.ifThen(isFirstThread, [&] {
    for (unsigned map = 0; map < tensorMaps.size(); ++map)
      k.prefetchTensorMap(map);
    for (int64_t stage = 0; stage < stages; ++stage) {
      k.initBarrier(stageBarrier(k.c32(stage), true), 1);
      k.initBarrier(stageBarrier(k.c32(stage), false), warps);
    }
    k.fenceBarrierInit();
  });
  k.barrier();
  llvm::Value *warp = k.uniform(b.CreateLShr(k.threadId(), 5));
  llvm::Error error = llvm::Error::success();
  k.ifThenElse(
      b.CreateICmpSGE(warp, k.c32(warps)),
      [&] {
        ValueEmitter::Scope scope(emitter);
        if (groupRegisters)
          k.setMaxRegisters(copyingRegisters, false);
        k.ifThen(b.CreateICmpEQ(k.threadId(), k.c32(warps * 32)), [&] {
          ValueEmitter::Scope inner(emitter);
          emitCopies();
        });
      },
      [&] {
        ValueEmitter::Scope scope(emitter);
        if (groupRegisters)
          k.setMaxRegisters(groupRegisters, true);
        Values sums = emitProducts(b.CreateLShr(warp, 2));
        error = spec.schedule.splitK > 1 ? emitSplitResults(sums) : emitResults(sums);
      });
  return error;
}

void DotLowering::emitCopies() {
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  k.forLoop(firstStep, endStep, k.c32(1), {k.c32(0), k.c32(1)},
            [&](llvm::Value *step, const Values &ring) -> Values {
              llvm::Value *full = stageBarrier(ring[0], true);
              k.waitBarrier(stageBarrier(ring[0], false), ring[1]);
              int64_t bytes = 0;
              for (const OperandTile *tile : {&lhs, &rhs})
                bytes += tile->tensor.panels * tile->tensor.panelBytes;
              k.arriveExpecting(full, bytes);
              llvm::Value *at = b.CreateMul(ring[0], k.c32(stageBytes));
              llvm::Value *kFirst = b.CreateMul(step, k.c32(kStep));
              copyTensorOperand(lhs, 0, kFirst, at, full);
              copyTensorOperand(rhs, 1, kFirst, at, full);
              auto [stage, parity] = nextStage(ring[0], ring[1]);
              return {stage, parity};
            });
}

/// Bytes from an operand's first element to that of `across` (a multiple of 8 lines or of the
/// panels' width) and 32-byte step `kBlock`.
int64_t DotLowering::operandStep(const OperandTile &tile, int64_t across, int64_t kBlock) const {
  const TensorOperand &tensor = tile.tensor;
  int64_t elementBytes = bitWidth(inputType) / 8;
  if (tile.isKMinor) {
    int64_t kBytes = kBlock * 32;
    return kBytes / tensor.width * tensor.panelBytes + kBytes % tensor.width +
           across * tensor.width;
  }
  return across * elementBytes / tensor.width * tensor.panelBytes +
         kBlock * (32 / elementBytes) * tensor.width;
}

Values DotLowering::emitProducts(llvm::Value *group) {
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  ScalarOps &ops = lowering->emitter.scalars();
  auto count = static_cast<size_t>(sumsPerThread);
  auto perBlock = static_cast<size_t>(columnsOfBlock / 2);
  KernelBuilder::WarpgroupMma shape{inputType, columnsOfBlock, lhs.isKMinor, rhs.isKMinor};

  auto descriptor = [&](const OperandTile &tile, llvm::Value *offset) {
    return k.matrixDescriptor(offset, tile.isKMinor ? 16 : tile.tensor.panelBytes,
                              8 * tile.tensor.width, tile.tensor.width);
  };
  llvm::Value *groupOffset = b.CreateMul(group, k.c32(operandStep(lhs, rowBlocks * 64, 0)));
  llvm::Value *left = descriptor(lhs, b.CreateAdd(groupOffset, k.c32(lhs.offset)));
  llvm::Value *right = descriptor(rhs, k.c32(rhs.offset));
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
        k.waitBarrier(stageBarrier(stage, true), parity);
        llvm::Value *stageOffset = b.CreateMul(stage, k.c32(stageBytes));
        llvm::Value *a = k.advanceDescriptor(left, stageOffset);
        llvm::Value *bMatrix = k.advanceDescriptor(right, stageOffset);
        k.warpgroupFence();
        for (int64_t kBlock = 0; kBlock < kPadded * bitWidth(inputType) / 256; ++kBlock)
          for (int64_t i = 0; i < rowBlocks; ++i)
            for (int64_t j = 0; j < columnBlocks; ++j) {
              auto number = static_cast<size_t>(i * columnBlocks + j);
              auto first = sums.begin() + static_cast<std::ptrdiff_t>(number * perBlock);
              Values next = k.warpgroupMma(
                  shape, static_cast<unsigned>(number), moved(a, operandStep(lhs, i * 64, kBlock)),
                  moved(bMatrix, operandStep(rhs, j * columnsOfBlock, kBlock)), b.getTrue(),
                  Values(first, first + static_cast<std::ptrdiff_t>(perBlock)));
              std::copy(next.begin(), next.end(), first);
            }
        k.warpgroupCommit();
        // With one stage there is nothing to start before it is given back.
        bool isSingle = spec.schedule.stages == 1;
        if (isSingle)
          sums = finishProducts(sums);
        else
          k.warpgroupWait(1);
        llvm::Value *isDone =
            isSingle ? isFirstLane : b.CreateAnd(isFirstLane, b.CreateICmpSGT(step, firstStep));
        k.ifThen(isDone,
                 [&] { k.arrive(stageBarrier(isSingle ? stage : before[count + 2], false)); });
        auto [next, nextParity] = nextStage(stage, parity);
        sums.insert(sums.end(), {next, nextParity, stage});
        return sums;
      });
  return finishProducts(carried);
}

/// All sums, once nothing is in flight any more.
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
