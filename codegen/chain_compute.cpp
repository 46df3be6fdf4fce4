// The code of a chain of two dots.
#include "analysis/support/checked.h"
#include "analysis/tiling/carried_state.h"
#include "codegen/chain_lowering.h"

#include <algorithm>
#include <limits>

namespace tilewright {

namespace {
constexpr size_t maxKeptFragments = 8; // of four registers
} // namespace

Coordinates ChainLowering::rootAt(Expr row, Expr column) const {
  ValueEmitter &emitter = lowering->emitter;
  Coordinates root(placeholders.size(), emitter.constant(0));
  const Expr positions[] = {emitter.constant(0), row, column};
  for (size_t s = 0; s < sides.size(); ++s) {
    Coordinates own = sides[s].coordinates(emitter, positions[s]);
    for (size_t i = 0; i < own.size(); ++i)
      root[sides[s].dims[i]] = own[i];
  }
  return root;
}

Coordinates ChainLowering::scoresAt(Expr row, Expr key) const {
  ValueEmitter &emitter = lowering->emitter;
  Coordinates at =
      replacePlaceholders(emitter, secondAt, placeholders, rootAt(row, emitter.constant(0)));
  return dotOperandCoordinates(emitter, second, isScoresLeft, at, key);
}

Coordinates ChainLowering::firstAt(const Coordinates &at) const {
  return replacePlaceholders(lowering->emitter, firstPlace, scoresPlaceholders, at);
}

Guard ChainLowering::rowGuard(Expr row) const {
  ValueEmitter &emitter = lowering->emitter;
  Guard guard{{row, Interval::ofExtent(sides[1].size), 1, 0}};
  emitter.addDomain(guard, sides[1].coordinates(emitter, row), sides[1].extents);
  return guard;
}

llvm::Expected<std::optional<Values>> ChainLowering::supply(OpId op, const Coordinates &at,
                                                            unsigned count) {
  ValueEmitter &emitter = lowering->emitter;
  auto isAt = [&](const Coordinates &expected) {
    for (size_t i = 0; i < at.size(); ++i)
      if (!emitter.simplify(at[i] - expected[i]).isConstant(0))
        return false;
    return true;
  };
  auto elsewhere = [&] {
    return makeError(DiagClass::Unsupported, "%{} is needed at other places than its own",
                     lowering->graph[op].name);
  };
  if (op == first || op == second) {
    const Values &held = op == first ? currentSums : currentOutput;
    if (held.empty() || !isAt(op == first ? currentFirst : currentSecond))
      return elsewhere();
    return Values(held.begin(), held.begin() + count);
  }
  for (size_t i = 0; i < reductions.size(); ++i)
    if (op == reductions[i].op) {
      if (!currentRow[i])
        return elsewhere();
      return Values(count, currentRow[i]);
    }
  // Where a conversion would make -inf of the lowest number, that would be NaN of -inf less it.
  if (shift && op == *shift && currentShift)
    return Values(count, currentShift);
  if (areMasksTrue)
    for (const Mask &mask : masks)
      if (op == mask.predicate && mask.isCertain &&
          isAt(replacePlaceholders(emitter, mask.at, scoresPlaceholders, currentScores)))
        return Values(count, lowering->k.b.getTrue());
  const Op &made = lowering->graph[op];
  if (scaling && op == *scaling) {
    auto values = emitter.values(unscaled, at, currentGuard, count);
    if (!values)
      return values.takeError();
    return std::move(*values);
  }
  if (made.opcode == Opcode::Divide && !currentOutput.empty()) {
    auto values = quotients(made, at, count);
    if (!values)
      return values.takeError();
    if (!values->empty())
      return std::move(*values);
  }
  if (made.opcode == Opcode::Exp && currentShift) {
    auto values = exponentials(made, at, count);
    if (!values)
      return values.takeError();
    if (!values->empty())
      return std::move(*values);
  }
  return std::nullopt;
}

/// Division of f32 by one of the row's sums, as a multiplication by its reciprocal; empty for any
/// other division.
llvm::Expected<Values> ChainLowering::quotients(const Op &op, const Coordinates &at,
                                                unsigned count) {
  OpId bottom = withoutMovement(lowering->graph, op.operands[1]);
  for (size_t i = 0; i < reductions.size(); ++i) {
    if (bottom != reductions[i].op || reductions[i].combiner != Combiner::Add ||
        op.shape.dtype != DType::F32 || reductions[i].type != DType::F32)
      continue;
    auto values = lowering->emitter.values(op.operands[0], at, currentGuard, count);
    if (values)
      for (llvm::Value *&value : *values)
        value = lowering->k.b.CreateFMul(value, currentReciprocal[i]);
    return values;
  }
  return Values();
}

/// Row in the tile of this thread's line `line`: lines are the rows g and g + 8 of each block of
/// 16 rows of its warp, g = lane / 4. Warps of a warpgroup have blocks of 64 rows together.
Expr ChainLowering::rowOf(int64_t line) const {
  Expr tid = lowering->tid;
  if (usesWgmma())
    return lowering->emitter.simplify(tid.floorDiv(128) * (rowsOfWarp * 4) +
                                      tid.mod(128).floorDiv(32) * 16 + tid.mod(32).floorDiv(4) +
                                      (line / 2 * 64 + line % 2 * 8));
  return lowering->emitter.simplify(tid.floorDiv(32) * rowsOfWarp + tid.mod(32).floorDiv(4) +
                                    (line / 2 * 16 + line % 2 * 8));
}

llvm::Error ChainLowering::loadQueries() {
  ValueEmitter &emitter = lowering->emitter;
  return loadStagedTile(
      *lowering, queryTile, type,
      [&](Expr line, Expr column) {
        Expr row = queryTile.isKMinor ? line : column, k = queryTile.isKMinor ? column : line;
        Guard guard = rowGuard(row);
        guard.push_back({k, Interval::ofExtent(depth), 1, 0});
        Coordinates at = firstAt(scoresAt(row, emitter.constant(0)));
        return std::pair(dotOperandCoordinates(emitter, first, isQueriesLeft, at, k), guard);
      },
      lowering->k.c32(0));
}

llvm::Error ChainLowering::loadKeys(Expr step, llvm::Value *stageOffset) {
  ValueEmitter &emitter = lowering->emitter;
  auto keyGuard = [&](Expr within, Expr key) {
    return Guard{{within, Interval::ofExtent(keyStep), 1, 0},
                 {key, Interval::ofExtent(keyCount), 1, 0}};
  };
  auto error = loadStagedTile(
      *lowering, keyTile, type,
      [&](Expr line, Expr column) {
        Expr within = keyTile.isKMinor ? line : column, k = keyTile.isKMinor ? column : line;
        Expr key = emitter.simplify(step * keyStep + within);
        Guard guard = keyGuard(within, key);
        guard.push_back({k, Interval::ofExtent(depth), 1, 0});
        Coordinates at = firstAt(scoresAt(emitter.constant(0), key));
        return std::pair(dotOperandCoordinates(emitter, first, !isQueriesLeft, at, k), guard);
      },
      stageOffset);
  if (error)
    return error;
  return loadStagedTile(
      *lowering, valueTile, type,
      [&](Expr line, Expr column) {
        Expr position = valueTile.isKMinor ? line : column;
        Expr within = valueTile.isKMinor ? column : line;
        Expr key = emitter.simplify(step * keyStep + within);
        Guard guard = keyGuard(within, key);
        guard.push_back({position, Interval::ofExtent(sides[2].size), 1, 0});
        emitter.addDomain(guard, sides[2].coordinates(emitter, position), sides[2].extents);
        Coordinates at = replacePlaceholders(emitter, secondAt, placeholders,
                                             rootAt(emitter.constant(0), position));
        return std::pair(dotOperandCoordinates(emitter, second, !isScoresLeft, at, key), guard);
      },
      stageOffset);
}

/// Which tile this CTA makes, and how.
void ChainLowering::placeCta() {
  ValueEmitter &emitter = lowering->emitter;
  int64_t planes = sides[1].tiles * sides[2].tiles;
  Expr cta = lowering->ctaVariable(sides[0].tiles * planes);
  Expr batch, rowTile, columnTile;
  if (laterRowsAreLonger) { // the last rows of all batches first, then the ones before them
    batch = emitter.simplify(cta.mod(sides[0].tiles));
    rowTile = emitter.simplify(emitter.constant(sides[1].tiles - 1) - cta.floorDiv(sides[0].tiles));
    columnTile = emitter.constant(0);
  } else {
    std::tie(rowTile, columnTile) =
        rasterizeTiles(emitter, cta, sides[1].tiles, sides[2].tiles, spec.schedule.groupM);
    batch = emitter.simplify(cta.floorDiv(planes));
  }
  const Expr linear[] = {batch, rowTile, columnTile};
  for (size_t s = 0; s < sides.size(); ++s)
    sides[s].pids = lowering->decodeTiles(linear[s], sides[s].extents, sides[s].tile);
  emitter.setSupplier(
      [this](OpId op, const Coordinates &at, unsigned count) { return supply(op, at, count); });
  currentRow.assign(reductions.size(), nullptr);
  currentReciprocal = currentRow;
  findSteps();
}

llvm::Error ChainLowering::emitProgram() {
  ValueEmitter &emitter = lowering->emitter;
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  // Each tile is laid out along the dim that is contiguous in memory.
  auto orient = [&](StagedTile &tile, OpId op, int64_t across, int64_t along, bool isLeft,
                    OpId dot) {
    tile.op = op;
    const Shape &shape = lowering->graph[op].shape;
    const DotDims &dims = lowering->graph[dot].attrs.dot;
    const std::vector<int64_t> &contracting = isLeft ? dims.lhsContracting : dims.rhsContracting;
    tile.isKMinor = std::find(contracting.begin(), contracting.end(),
                              shape.minorToMajorOrDefault()[0]) != contracting.end();
    tile.rows = tile.isKMinor ? across : along;
    tile.columns = tile.isKMinor ? along : across;
  };
  int64_t warps = spec.schedule.warps;
  orient(queryTile, queries, rowsOfWarp * warps, depthPadded, isQueriesLeft, first);
  orient(keyTile, keys, keyPadded, depthPadded, !isQueriesLeft, first);
  orient(valueTile, values, columnsPadded, keyPadded, !isScoresLeft, second);

  auto stepVariable = [&](llvm::Value *counter) {
    return emitter.variable(VarKind::Step, "step", Interval::ofExtent(keySteps), counter);
  };
  int64_t stages = spec.schedule.stages;
  llvm::Error error = loadQueries();
  auto stageAt = [&](llvm::Value *stage) {
    return b.CreateAdd(b.CreateMul(stage, k.c32(stageBytes)), k.c32(queryBytes));
  };
  for (int64_t stage = 0; stage < std::max<int64_t>(stages - 1, 1) && !error; ++stage) {
    llvm::Value *step = b.CreateAdd(firstStep, k.c32(stage));
    if (stages > 1)
      k.ifThen(b.CreateICmpSLT(step, endStep), [&] {
        ValueEmitter::Scope scope(emitter);
        error = loadKeys(stepVariable(step), stageAt(k.c32(stage)));
      });
    k.copyAsyncCommit();
  }
  if (error)
    return error;
  int64_t kBlocks = depthPadded / 16;
  // The queries land with the first group of copies; they stay in registers where they fit.
  if (static_cast<size_t>(rowBlocks() * kBlocks) <= maxKeptFragments) {
    k.copyAsyncWait(static_cast<unsigned>(std::max<int64_t>(stages - 2, 0)));
    k.barrier();
    llvm::Value *row = b.CreateMul(b.CreateLShr(k.threadId(), 5), k.c32(rowsOfWarp));
    for (int64_t i = 0; i < rowBlocks(); ++i)
      for (int64_t kBlock = 0; kBlock < kBlocks; ++kBlock)
        queryFragments.push_back(
            queryTile.loadLeft(k, k.c32(0), b.CreateAdd(row, k.c32(i * 16)), kBlock));
  }

  // Carried: outputs, then the state of the rows.
  auto outputs = static_cast<std::ptrdiff_t>(rowBlocks() * (columnsPadded / 8) * 4);
  Values carried(static_cast<size_t>(outputs), k.cf(0)), begin = initialState();
  carried.insert(carried.end(), begin.begin(), begin.end());
  size_t state = carried.size();
  carried.push_back(k.c32(0));          // stage to read
  carried.push_back(k.c32(stages - 1)); // and to fill
  carried = k.forLoop(
      firstStep, endStep, k.c32(1), carried,
      [&](llvm::Value *counter, const Values &before) -> Values {
        ValueEmitter::Scope scope(emitter);
        llvm::Value *read = before[state], *fill = before[state + 1];
        Values now(before.begin(), before.begin() + outputs);
        Values rows(before.begin() + outputs, before.begin() + static_cast<std::ptrdiff_t>(state));
        if (stages == 1) {
          error = loadKeys(stepVariable(counter), stageAt(read));
          k.copyAsyncCommit();
          k.copyAsyncWait(0);
          k.barrier();
        } else {
          k.copyAsyncWait(static_cast<unsigned>(stages - 2));
          k.barrier();
          llvm::Value *next = b.CreateAdd(counter, k.c32(stages - 1));
          k.ifThen(b.CreateICmpSLT(next, endStep), [&] {
            ValueEmitter::Scope branch(emitter);
            error = loadKeys(stepVariable(next), stageAt(fill));
          });
          k.copyAsyncCommit();
        }
        if (!error)
          error = emitStep(stepVariable(counter), stageAt(read), now, rows);
        if (stages == 1)
          k.barrier();
        now.insert(now.end(), rows.begin(), rows.end());
        for (llvm::Value *stage : {read, fill}) {
          llvm::Value *next = b.CreateAdd(stage, k.c32(1));
          now.push_back(b.CreateSelect(b.CreateICmpEQ(next, k.c32(stages)), k.c32(0), next));
        }
        return now;
      });
  if (error)
    return error;
  return emitResults(
      Values(carried.begin(), carried.begin() + outputs),
      Values(carried.begin() + outputs, carried.begin() + static_cast<std::ptrdiff_t>(state)));
}

/// Scores of the keys of a step: [row block][8 keys][4].
Values ChainLowering::computeScores(llvm::Value *stage) {
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  int64_t eights = keyPadded / 8, kBlocks = depthPadded / 16;
  llvm::Value *row = b.CreateMul(b.CreateLShr(k.threadId(), 5), k.c32(rowsOfWarp));
  Values sums(static_cast<size_t>(rowBlocks() * eights * 4), k.cf(0));
  for (int64_t kBlock = 0; kBlock < kBlocks; ++kBlock) {
    std::vector<Values> left;
    for (int64_t i = 0; i < rowBlocks(); ++i)
      left.push_back(queryFragments.empty()
                         ? queryTile.loadLeft(k, k.c32(0), b.CreateAdd(row, k.c32(i * 16)), kBlock)
                         : queryFragments[static_cast<size_t>(i * kBlocks + kBlock)]);
    for (int64_t j = 0; j < eights; j += 2) {
      Values right = keyTile.loadRight(k, stage, k.c32(j * 8), kBlock, true);
      for (int64_t i = 0; i < rowBlocks(); ++i)
        for (int64_t half = 0; half < 2; ++half) {
          auto sum = sums.begin() + (i * eights + j + half) * 4;
          auto two = right.begin() + half * 2;
          Values next =
              k.mma(type, left[static_cast<size_t>(i)], Values(two, two + 2), Values(sum, sum + 4));
          std::copy(next.begin(), next.end(), sum);
        }
    }
  }
  return sums;
}

llvm::Error ChainLowering::emitStep(Expr step, llvm::Value *stage, Values &outputs, Values &state) {
  KernelBuilder &k = lowering->k;
  int64_t columnEights = columnsPadded / 8;
  Values sums = computeScores(stage);
  ValueEmitter &emitter = lowering->emitter;
  Expr warp = emitter.variable(VarKind::ProgramId, "warp", Interval::ofExtent(spec.schedule.warps),
                               k.uniform(k.b.CreateLShr(k.threadId(), 5)));
  auto softened =
      maskedSoftmaxStep(step, emitter.simplify(warp * rowsOfWarp), rowsOfWarp, sums, state);
  if (!softened)
    return softened.takeError();
  rescale(outputs, softened->factors);
  std::vector<Values> fragments = fragmentsOf(softened->scores);
  for (int64_t kBlock = 0; kBlock < keyPadded / 16; ++kBlock)
    for (int64_t j = 0; j < columnEights; j += 2) {
      Values right = valueTile.loadRight(k, stage, k.c32(j * 8), kBlock, true);
      for (int64_t i = 0; i < rowBlocks(); ++i)
        for (int64_t half = 0; half < 2; ++half) {
          auto sum = outputs.begin() + (i * columnEights + j + half) * 4;
          auto two = right.begin() + half * 2;
          const Values &left = fragments[static_cast<size_t>(i * (keyPadded / 16) + kBlock)];
          Values next = k.mma(type, left, Values(two, two + 2), Values(sum, sum + 4));
          std::copy(next.begin(), next.end(), sum);
        }
    }
  return llvm::Error::success();
}

/// Is the op made of exponentials that take the shift?
bool ChainLowering::isExponentialOf(OpId op) const {
  const Graph &graph = lowering->graph;
  for (uint32_t i = 0; i <= op.index; ++i) {
    const Op &made = graph[OpId{i}];
    if (made.opcode == Opcode::Exp && graph[made.operands[0]].opcode == Opcode::Subtract &&
        graph[made.operands[0]].operands[1] == *shift && dependsOn(op, OpId{i}))
      return true;
  }
  return false;
}

/// And of all of them, with none put out of account by a select?
bool ChainLowering::isAlwaysExponential(OpId op) const {
  for (uint32_t i = 0; i <= op.index; ++i)
    if (lowering->graph[OpId{i}].opcode == Opcode::Select && dependsOn(op, OpId{i}) &&
        isExponentialOf(OpId{i}))
      return false;
  return isExponentialOf(op);
}

/// The complete reductions of a line, and what its outputs are multiplied by.
llvm::Error ChainLowering::takeRow(int64_t line, const Values &state) {
  ScalarOps &ops = lowering->emitter.scalars();
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  for (size_t i = 0; i < reductions.size(); ++i) {
    const Reduction &reduction = reductions[i];
    llvm::Value *held = state[static_cast<size_t>(line) * reductions.size() + i];
    if (reduction.combiner == Combiner::Add) // each lane holds the sum over its own keys
      held = acrossQuad(Combiner::Add, reduction.type, held);
    else if (scaling)
      held = b.CreateFMul(held, k.cf(factor));
    currentRow[i] = ops.round(reduction.type, held);
  }
  currentScale = nullptr;
  if (shift) {
    // Scores of -inf less a shift of -inf: the ops make NaNs of them, the steps have made zeros.
    auto last = rowValue(*shift, rowOf(line));
    if (!last)
      return last.takeError();
    llvm::Value *isDefined =
        b.CreateFCmpOGT((*last)[0], ops.identity(Combiner::Maximum, DType::F32));
    llvm::Value *none = k.cf(std::numeric_limits<double>::quiet_NaN());
    for (size_t i = 1; i < reductions.size(); ++i)
      if (isAlwaysExponential(reductions[i].input))
        currentRow[i] = b.CreateSelect(isDefined, currentRow[i], none);
    if (!divisor && isAlwaysExponential(scores))
      currentScale = b.CreateSelect(isDefined, k.cf(1), none);
  }
  for (size_t i = 0; i < reductions.size(); ++i)
    currentReciprocal[i] = b.CreateFDiv(k.cf(1), currentRow[i]);
  if (divisor)
    currentScale = currentReciprocal[*divisor];
  return llvm::Error::success();
}

llvm::Error ChainLowering::emitResults(const Values &outputs, const Values &state) {
  ValueEmitter &emitter = lowering->emitter;
  ScalarOps &ops = emitter.scalars();
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  int64_t columnEights = columnsPadded / 8;
  DType secondType = lowering->graph[second].shape.dtype;
  currentSums.clear();
  currentShift = nullptr;
  for (int64_t line = 0; line < lines(); ++line) {
    ValueEmitter::Scope scope(emitter);
    Expr row = rowOf(line);
    if (auto error = takeRow(line, state))
      return error;
    for (int64_t j = 0; j < columnEights; ++j) {
      emitter.setLanes(2);
      Expr column = emitter.simplify(lowering->tid.mod(4) * 2 + emitter.lane() + j * 8);
      Coordinates root = rootAt(row, column);
      Guard guard = rowGuard(row);
      guard.push_back({column, Interval::ofExtent(sides[2].size), 1, 0});
      emitter.addDomain(guard, sides[2].coordinates(emitter, column), sides[2].extents);
      currentSecond = replacePlaceholders(emitter, secondAt, placeholders, root);
      currentGuard = guard;
      currentOutput.clear();
      for (int64_t lane = 0; lane < 2; ++lane) {
        llvm::Value *sum =
            outputs[static_cast<size_t>((line / 2 * columnEights + j) * 4 + line % 2 * 2 + lane)];
        currentOutput.push_back(
            ops.round(secondType, currentScale ? b.CreateFMul(sum, currentScale) : sum));
      }
      for (size_t r = 0; r < lowering->results.size(); ++r) {
        OpId id = lowering->results[r];
        auto made = emitter.values(id, root, guard, 2);
        if (!made)
          return made.takeError();
        if (auto error = emitter.store(lowering->outputBuffer(r), lowering->graph[id].shape, root,
                                       guard, *made))
          return error;
      }
    }
  }
  return llvm::Error::success();
}

} // namespace tilewright
