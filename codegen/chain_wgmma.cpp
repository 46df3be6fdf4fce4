// The code of a chain of two dots for wgmma: a producer thread (producer_warps.h), and
// consumer warpgroups, each 64 rows or a multiple of them.
//
//     S₀ = Q·K₀ᵀ;  P = f(S₀)
//     for j = 1 …:   start S = Q·Kⱼᵀ;  start O += P·Vⱼ₋₁
//                    when S is there:  P' = f(S), while the tensor cores work on O
//                    when O is there:  rescale it;  P = P'
//     O += P·V
//
// K and V have separate rings of stages, since a stage of K is released one product earlier.
#include "analysis/support/checked.h"
#include "analysis/tiling/resources.h"
#include "codegen/chain_lowering.h"

#include <algorithm>

namespace tilewright {

namespace {
enum AccumulatorKind : unsigned { Scores, Outputs }; ///< accumulator numbers: 2·row block + kind
} // namespace

/// Registers a thread has live at the peak: P and O, and the S that is being made.
int64_t ChainLowering::liveRegisters() const {
  return rowBlocks() * (keyPadded / 2 + keyPadded / 4 + columnsPadded / 2) +
         chainRegistersBesideSums;
}

llvm::Error ChainLowering::chooseWarpgroups() {
  const std::string &name = spec.graph()[second].name;
  int64_t warps = spec.schedule.warps;
  if (warps % 4 != 0)
    return makeError(DiagClass::Unsupported, "%{}: {} warps are not whole warpgroups of four", name,
                     warps);
  if (keyPadded > 256 || columnsPadded > 256)
    return makeError(DiagClass::Unsupported, "%{}: {} keys by {} columns, at most 256 each", name,
                     keyPadded, columnsPadded);
  if (keySteps > 1 && keyStep != keyPadded)
    return makeError(DiagClass::Unsupported, "%{}: {} keys a step are no multiple of 16", name,
                     keyStep);
  producers = ProducerWarps::beside(warps, liveRegisters());
  if (warps + producers.warps > 32)
    return makeError(DiagClass::Unsupported, "%{}: {} warps and {} for copies, at most 32", name,
                     warps, producers.warps);
  if (liveRegisters() > producers.available())
    return makeError(DiagClass::Unsupported,
                     "%{}: a tile of {} x {} with {} keys over {} warps takes {} registers a "
                     "thread, there are {}",
                     name, rowsOfWarp * warps, columnsPadded, keyPadded, warps, liveRegisters(),
                     producers.available());
  extras.tensorMaps = 3;
  extras.extraThreads = producers.warps * 32;
  extras.movesRegisters = producers.groupRegisters > 0;
  return llvm::Error::success();
}

llvm::Expected<TensorOperand> ChainLowering::tensorOf(const char *what, TensorTile tile, OpId dot,
                                                      bool isLeft, const Coordinates &at,
                                                      const Coordinates &first) {
  ValueEmitter &emitter = lowering->emitter;
  const DotDims &dims = lowering->graph[dot].attrs.dot;
  tile.batch = isLeft ? dims.lhsBatch : dims.rhsBatch;
  tile.contracted = isLeft ? dims.lhsContracting : dims.rhsContracting;
  tile.at = dotOperandCoordinates(emitter, dot, isLeft, at, emitter.constant(0));
  tile.first = dotOperandCoordinates(emitter, dot, isLeft, first, emitter.constant(0));
  auto operand = TensorOperand::plan(*lowering, tile);
  if (operand)
    return operand;
  Diag diag = takeDiag(operand.takeError());
  diag.message = fmt::format("the {} %{} can't be copied by TMA: {}", what,
                             lowering->graph[tile.op].name, diag.message);
  return makeError(std::move(diag));
}

llvm::Error ChainLowering::planTensors() {
  ValueEmitter &emitter = lowering->emitter;
  Expr zero = emitter.constant(0);
  auto digit = [&](int64_t size) {
    return emitter.variable(VarKind::Dim, "digit", Interval::ofExtent(size), lowering->k.c32(0));
  };
  // Rows of Q and columns of V as digits, one for each root dim.
  auto ofSide = [&](const RootSide &side, OpId op, int64_t padded, Coordinates &at) {
    TensorTile tile;
    tile.op = op;
    tile.sizes = side.tile;
    tile.order = side.order;
    tile.padded = padded;
    at = rootAt(zero, zero);
    for (size_t i = 0; i < side.dims.size(); ++i) {
      tile.digits.push_back(digit(side.tile[i]));
      at[side.dims[i]] = emitter.simplify(at[side.dims[i]] + tile.digits[i]);
    }
    return tile;
  };
  auto scoresOf = [&](const Coordinates &root, Expr key) {
    Coordinates at = replacePlaceholders(emitter, secondAt, placeholders, root);
    return dotOperandCoordinates(emitter, second, isScoresLeft, at, key);
  };
  Coordinates origin = rootAt(zero, zero), at;
  TensorTile query = ofSide(sides[1], queries, rowsOfWarp * spec.schedule.warps, at);
  query.kExtent = query.kStep = depth;
  query.kPadded = depthPadded;
  auto made = tensorOf("left operand", query, first, isQueriesLeft, firstAt(scoresOf(at, zero)),
                       firstAt(scoresOf(origin, zero)));
  if (!made)
    return made.takeError();
  queryTensor = std::move(*made);
  sides[1].order = queryTensor.order;

  TensorTile key;
  key.op = keys;
  key.digits = {digit(keyStep)};
  key.sizes = {keyStep};
  key.order = {0};
  key.padded = keyPadded;
  key.kExtent = key.kStep = depth;
  key.kPadded = depthPadded;
  stepPlaceholder =
      emitter.variable(VarKind::Step, "step", Interval::ofExtent(keySteps), lowering->k.c32(0));
  Expr firstKey = emitter.simplify(stepPlaceholder * keyStep);
  made = tensorOf("right operand", key, first, !isQueriesLeft,
                  firstAt(scoresOf(origin, emitter.simplify(firstKey + key.digits[0]))),
                  firstAt(scoresOf(origin, firstKey)));
  if (!made)
    return made.takeError();
  keyTensor = std::move(*made);

  TensorTile value = ofSide(sides[2], values, columnsPadded, at);
  value.kExtent = keyCount;
  value.kStep = keyStep;
  value.kPadded = keyPadded;
  made = tensorOf("second right operand", value, second, !isScoresLeft,
                  replacePlaceholders(emitter, secondAt, placeholders, at),
                  replacePlaceholders(emitter, secondAt, placeholders, origin));
  if (!made)
    return made.takeError();
  valueTensor = std::move(*made);
  sides[2].order = valueTensor.order;

  queryBytes = queryTensor.bytes;
  stageBytes = keyTensor.bytes + valueTensor.bytes;
  keyRing = {spec.schedule.stages, queryBytes + stageBytes * spec.schedule.stages};
  valueRing = {spec.schedule.stages, keyRing.offset + keyRing.bytes()};
  return checkSharedBytes();
}

llvm::Error ChainLowering::emitWarpgroupProgram() {
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  ValueEmitter &emitter = lowering->emitter;
  if (auto error = planTensors())
    return error;
  int64_t warps = spec.schedule.warps;
  k.ifThen(b.CreateICmpEQ(k.threadId(), k.c32(0)), [&] {
    for (unsigned map = 0; map < 3; ++map)
      k.prefetchTensorMap(map);
    keyRing.init(k, warps);
    valueRing.init(k, warps);
    k.initBarrier(k.c32(valueRing.offset + valueRing.bytes()), 1);
    k.fenceBarrierInit();
  });
  k.barrier();
  llvm::Error error = llvm::Error::success();
  producers.split(
      emitter, warps, [&] { emitCopies(); },
      [&](llvm::Value *group) { error = emitProducts(group); });
  return error;
}

void ChainLowering::emitCopies() {
  ValueEmitter &emitter = lowering->emitter;
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  llvm::Value *queryBarrier = k.c32(valueRing.offset + valueRing.bytes());
  k.arriveExpecting(queryBarrier, queryTensor.copiedBytes());
  queryTensor.copy(emitter, 0, k.c32(0), k.c32(0), queryBarrier);
  k.forLoop(firstStep, endStep, k.c32(1), {k.c32(0), k.c32(1)},
            [&](llvm::Value *counter, const Values &at) -> Values {
              ValueEmitter::Scope scope(emitter);
              Expr step =
                  emitter.variable(VarKind::Step, "step", Interval::ofExtent(keySteps), counter);
              auto now = [&](Expr start) {
                return replacePlaceholders(emitter, {start}, {stepPlaceholder}, {step})[0];
              };
              llvm::Value *stage =
                  b.CreateAdd(b.CreateMul(at[0], k.c32(stageBytes)), k.c32(queryBytes));
              k.waitBarrier(keyRing.empty(k, at[0]), at[1]);
              llvm::Value *full = keyRing.full(k, at[0]);
              k.arriveExpecting(full, keyTensor.copiedBytes());
              keyTensor.copy(emitter, 1, k.c32(0), stage, full, now);
              k.waitBarrier(valueRing.empty(k, at[0]), at[1]);
              full = valueRing.full(k, at[0]);
              k.arriveExpecting(full, valueTensor.copiedBytes());
              valueTensor.copy(emitter, 2, b.CreateMul(counter, k.c32(keyStep)),
                               b.CreateAdd(stage, k.c32(keyTensor.bytes)), full);
              auto [next, parity] = keyRing.next(k, at[0], at[1]);
              return {next, parity};
            });
}

/// Starts S = Q·Kᵀ of the keys in a stage: by row block.
Values ChainLowering::startScores(llvm::Value *group, llvm::Value *stage) {
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  auto perBlock = static_cast<size_t>(keyPadded / 2);
  llvm::Value *left =
      queryTensor.descriptor(k, b.CreateMul(group, k.c32(queryTensor.step(rowBlocks() * 64, 0))));
  llvm::Value *right = k.advanceDescriptor(keyTensor.descriptor(k, k.c32(queryBytes)),
                                           b.CreateMul(stage, k.c32(stageBytes)));
  auto moved = [&](llvm::Value *from, int64_t bytes) {
    return bytes ? b.CreateAdd(from, k.c64(bytes / 16)) : from;
  };
  KernelBuilder::WarpgroupMma shape{type, keyPadded, queryTensor.isKMinor, keyTensor.isKMinor};
  Values sums;
  k.warpgroupFence();
  for (int64_t i = 0; i < rowBlocks(); ++i) {
    Values block(perBlock, k.cf(0));
    for (int64_t kBlock = 0; kBlock < depthPadded / 16; ++kBlock)
      block = k.warpgroupMma(shape, static_cast<unsigned>(2 * i + Scores),
                             moved(left, queryTensor.step(i * 64, kBlock)),
                             moved(right, keyTensor.step(0, kBlock)), b.getInt1(kBlock > 0), block);
    sums.insert(sums.end(), block.begin(), block.end());
  }
  k.warpgroupCommit();
  return sums;
}

/// Starts O += P·V.
Values ChainLowering::startOutputs(llvm::Value *stage, const std::vector<Values> &fragments,
                                   Values outputs) {
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  auto perBlock = static_cast<std::ptrdiff_t>(columnsPadded / 2);
  llvm::Value *right =
      k.advanceDescriptor(valueTensor.descriptor(k, k.c32(queryBytes + keyTensor.bytes)),
                          b.CreateMul(stage, k.c32(stageBytes)));
  KernelBuilder::WarpgroupMma shape{type, columnsPadded, true, valueTensor.isKMinor};
  // Ordered after the arithmetic that made P and rescaled O.
  Values fenced = outputs;
  for (const Values &words : fragments)
    fenced.insert(fenced.end(), words.begin(), words.end());
  fenced = k.warpgroupFence(fenced);
  int64_t keyBlocks = keyPadded / 16;
  for (int64_t i = 0; i < rowBlocks(); ++i) {
    auto first = outputs.begin() + i * perBlock;
    Values block(fenced.begin() + i * perBlock, fenced.begin() + (i + 1) * perBlock);
    for (int64_t kBlock = 0; kBlock < keyBlocks; ++kBlock) {
      auto words = fenced.begin() + rowBlocks() * perBlock + (i * keyBlocks + kBlock) * 4;
      llvm::Value *bMatrix = right;
      if (int64_t bytes = valueTensor.step(0, kBlock))
        bMatrix = b.CreateAdd(right, k.c64(bytes / 16));
      block =
          k.warpgroupMma(shape, static_cast<unsigned>(2 * i + Outputs),
                         llvm::ArrayRef<llvm::Value *>(&*words, 4), bMatrix, b.getTrue(), block);
    }
    std::copy(block.begin(), block.end(), first);
  }
  k.warpgroupCommit();
  return outputs;
}

/// The accumulators of all row blocks, read once at most `pending` groups are in flight.
Values ChainLowering::waitFor(unsigned pending, bool isScores, const Values &started) {
  auto perBlock = static_cast<std::ptrdiff_t>((isScores ? keyPadded : columnsPadded) / 2);
  Values result;
  for (int64_t i = 0; i < rowBlocks(); ++i) {
    Values done = lowering->k.warpgroupWait(
        pending, static_cast<unsigned>(2 * i + (isScores ? Scores : Outputs)),
        Values(started.begin() + i * perBlock, started.begin() + (i + 1) * perBlock));
    result.insert(result.end(), done.begin(), done.end());
  }
  return result;
}

/// Keeps the code that follows behind the arithmetic of the rows' sums. ptxas would move
/// independent arithmetic past a wait for products, leaving little to overlap with them; it does
/// not move the wait past a branch that depends on the arithmetic. The branch tests for a NaN that
/// no arithmetic makes, so `never` is never run.
void ChainLowering::keepBehind(const Values &state, const std::function<void()> &never) {
  KernelBuilder &k = lowering->k;
  constexpr int64_t signallingNan = 0x7fa5a5a5;
  llvm::Value *all = nullptr;
  for (size_t i = 0; i < reductions.size(); ++i)
    for (int64_t line = 0; line < lines() && reductions[i].combiner == Combiner::Add; ++line) {
      llvm::Value *sum = state[static_cast<size_t>(line) * reductions.size() + i];
      all = all ? k.b.CreateFAdd(all, sum) : sum;
    }
  if (all)
    k.ifThen(k.b.CreateICmpEQ(k.b.CreateBitCast(k.pinned({all})[0], k.i32), k.c32(signallingNan)),
             never);
}

llvm::Error ChainLowering::emitProducts(llvm::Value *group) {
  ValueEmitter &emitter = lowering->emitter;
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  int64_t rows = rowBlocks() * 64;
  Expr groupVariable = emitter.variable(VarKind::ProgramId, "group",
                                        Interval::ofExtent(spec.schedule.warps / 4), group);
  Expr firstRow = emitter.simplify(groupVariable * rows);
  llvm::Value *isFirstLane = b.CreateICmpEQ(b.CreateAnd(k.threadId(), k.c32(31)), k.c32(0));
  auto giveBack = [&](const StageRing &ring, llvm::Value *stage) {
    k.ifThen(isFirstLane, [&] { k.arrive(ring.empty(k, stage)); });
  };
  auto stepVariable = [&](llvm::Value *counter) {
    return emitter.variable(VarKind::Step, "step", Interval::ofExtent(keySteps), counter);
  };
  k.waitBarrier(k.c32(valueRing.offset + valueRing.bytes()), k.c32(0));
  k.waitBarrier(keyRing.full(k, k.c32(0)), k.c32(0));
  Values sums = waitFor(0, true, startScores(group, k.c32(0)));
  giveBack(keyRing, k.c32(0));
  Values state = initialState();
  auto begin = maskedSoftmaxStep(stepVariable(firstStep), firstRow, rows, sums, state);
  if (!begin)
    return begin.takeError();

  // Carried: O, the state of the rows, P, the stage of V and its parity.
  Values carried(static_cast<size_t>(rowBlocks() * columnsPadded / 2), k.cf(0));
  std::vector<Values> fragments = fragmentsOf(begin->scores);
  auto outputs = static_cast<std::ptrdiff_t>(carried.size());
  auto states = static_cast<std::ptrdiff_t>(state.size());
  auto pack = [&](Values result, const Values &rowState, const std::vector<Values> &words,
                  llvm::Value *stage, llvm::Value *parity) {
    result.insert(result.end(), rowState.begin(), rowState.end());
    for (const Values &each : words)
      result.insert(result.end(), each.begin(), each.end());
    result.insert(result.end(), {stage, parity});
    return result;
  };
  auto unpack = [&](const Values &from, Values &to, Values &rowState, std::vector<Values> &words) {
    auto at = from.begin();
    to.assign(at, at + outputs);
    rowState.assign(at + outputs, at + outputs + states);
    at += outputs + states;
    for (Values &each : words)
      for (llvm::Value *&word : each)
        word = *at++;
    return std::pair(at[0], at[1]);
  };
  llvm::Error error = llvm::Error::success();
  auto body = [&](llvm::Value *counter, const Values &before) -> Values {
    ValueEmitter::Scope scope(emitter);
    Values sumsOfRows, rowState;
    auto [stage, parity] = unpack(before, sumsOfRows, rowState, fragments);
    auto [next, nextParity] = keyRing.next(k, stage, parity);
    k.waitBarrier(keyRing.full(k, next), nextParity);
    Values started = startScores(group, next);
    k.waitBarrier(valueRing.full(k, stage), parity);
    sumsOfRows = startOutputs(stage, fragments, sumsOfRows);
    Values scoresOfStep = waitFor(1, true, started);
    giveBack(keyRing, next);
    auto softened =
        maskedSoftmaxStep(stepVariable(counter), firstRow, rows, scoresOfStep, rowState);
    if (!softened) {
      error = llvm::joinErrors(std::move(error), softened.takeError());
      return before;
    }
    // All of this comes before the wait; the registers that hold P change only after it.
    Values newScores = k.pinned(softened->scores);
    keepBehind(rowState, [&, stage = stage, parity = parity] {
      k.waitBarrier(valueRing.full(k, stage), parity);
    });
    sumsOfRows = waitFor(0, false, sumsOfRows);
    newScores = k.pinned(newScores);
    giveBack(valueRing, stage);
    rescale(sumsOfRows, softened->factors);
    return pack(sumsOfRows, rowState, fragmentsOf(newScores), next, nextParity);
  };
  carried = k.forLoop(b.CreateAdd(firstStep, k.c32(1)), endStep, k.c32(1),
                      pack(carried, state, fragments, k.c32(0), k.c32(0)), body);
  if (error)
    return error;
  Values result;
  auto [stage, parity] = unpack(carried, result, state, fragments);
  k.waitBarrier(valueRing.full(k, stage), parity);
  result = waitFor(0, false, startOutputs(stage, fragments, result));
  return emitResults(result, state);
}

} // namespace tilewright
