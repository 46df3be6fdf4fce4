// The program of a chain of two dots.
#include "analysis/support/checked.h"
#include "codegen/chain_lowering.h"

#include <algorithm>

namespace tilewright {

namespace {
constexpr double log2OfE = 1.4426950408889634;
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
  return std::nullopt;
}

/// Row in the tile of this thread's line `line`: lines are the rows g and g + 8 of each block of
/// 16 rows of its warp, g = lane / 4.
Expr ChainLowering::rowOf(int64_t line) const {
  Expr tid = lowering->tid;
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

llvm::Error ChainLowering::emitProgram() {
  ValueEmitter &emitter = lowering->emitter;
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  Expr block = lowering->blockVariable(sides[0].tiles * sides[1].tiles * sides[2].tiles);
  auto [rowTile, columnTile] =
      rasterizeTiles(emitter, block, sides[1].tiles, sides[2].tiles, spec.schedule.groupM);
  Expr batch = emitter.simplify(block.floorDiv(sides[1].tiles * sides[2].tiles));
  const Expr linear[] = {batch, rowTile, columnTile};
  for (size_t s = 0; s < sides.size(); ++s)
    sides[s].pids = lowering->decodeTiles(linear[s], sides[s].extents, sides[s].tile);
  emitter.setSupplier(
      [this](OpId op, const Coordinates &at, unsigned count) { return supply(op, at, count); });
  currentRow.assign(reductions.size(), nullptr);
  if (auto error = findSteps())
    return error;

  // Tiles lie so that their lines are contiguous in memory.
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
  int64_t rowBlocks = rowsOfWarp / 16, kBlocks = depthPadded / 16;
  // The queries have landed with the first group; kept in registers where they fit.
  if (static_cast<size_t>(rowBlocks * kBlocks) <= maxKeptFragments) {
    k.copyAsyncWait(static_cast<unsigned>(std::max<int64_t>(stages - 2, 0)));
    k.barrier();
    llvm::Value *row = b.CreateMul(b.CreateLShr(k.threadId(), 5), k.c32(rowsOfWarp));
    for (int64_t i = 0; i < rowBlocks; ++i)
      for (int64_t kBlock = 0; kBlock < kBlocks; ++kBlock)
        queryFragments.push_back(
            queryTile.loadLeft(k, k.c32(0), b.CreateAdd(row, k.c32(i * 16)), kBlock));
  }

  // Carried: outputs, then by line and reduction its value, then by line the shift.
  ScalarOps &ops = emitter.scalars();
  auto outputs = static_cast<size_t>(rowBlocks * (columnsPadded / 8) * 4);
  Values carried(outputs, k.cf(0));
  for (int64_t line = 0; line < rowBlocks * 2; ++line)
    for (const Reduction &reduction : reductions)
      carried.push_back(ops.identity(reduction.combiner, reduction.type));
  if (shift)
    carried.insert(carried.end(), static_cast<size_t>(rowBlocks * 2), k.cf(0));
  size_t state = carried.size();
  carried.push_back(k.c32(0));          // stage to read
  carried.push_back(k.c32(stages - 1)); // and to fill
  carried = k.forLoop(
      firstStep, endStep, k.c32(1), carried,
      [&](llvm::Value *counter, const Values &before) -> Values {
        ValueEmitter::Scope scope(emitter);
        llvm::Value *read = before[state], *fill = before[state + 1];
        Values now(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(state));
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
          error = emitStep(stepVariable(counter), stageAt(read), now);
        if (stages == 1)
          k.barrier();
        for (llvm::Value *stage : {read, fill}) {
          llvm::Value *next = b.CreateAdd(stage, k.c32(1));
          now.push_back(b.CreateSelect(b.CreateICmpEQ(next, k.c32(stages)), k.c32(0), next));
        }
        return now;
      });
  if (error)
    return error;
  carried.resize(state);
  return emitResults(carried);
}

/// Scores of the keys of a step: [row block][8 keys][4].
Values ChainLowering::computeScores(llvm::Value *stage) {
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  int64_t rowBlocks = rowsOfWarp / 16, eights = keyPadded / 8, kBlocks = depthPadded / 16;
  llvm::Value *row = b.CreateMul(b.CreateLShr(k.threadId(), 5), k.c32(rowsOfWarp));
  Values sums(static_cast<size_t>(rowBlocks * eights * 4), k.cf(0));
  for (int64_t kBlock = 0; kBlock < kBlocks; ++kBlock) {
    std::vector<Values> left;
    for (int64_t i = 0; i < rowBlocks; ++i)
      left.push_back(queryFragments.empty()
                         ? queryTile.loadLeft(k, k.c32(0), b.CreateAdd(row, k.c32(i * 16)), kBlock)
                         : queryFragments[static_cast<size_t>(i * kBlocks + kBlock)]);
    for (int64_t j = 0; j < eights; j += 2) {
      Values right = keyTile.loadRight(k, stage, k.c32(j * 8), kBlock, true);
      for (int64_t i = 0; i < rowBlocks; ++i)
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

/// A row value, such as the shift, with the reductions that are supplied now.
llvm::Expected<Values> ChainLowering::rowValue(OpId op, Expr row) {
  ValueEmitter &emitter = lowering->emitter;
  ValueEmitter::Scope scope(emitter);
  emitter.setLanes(1);
  Coordinates at = scoresAt(row, emitter.constant(0));
  auto place = emitter.readAt(scores, scoresPlaceholders, op, closed);
  if (!place)
    return place.takeError();
  Coordinates own = *place ? replacePlaceholders(emitter, **place, scoresPlaceholders, at) : at;
  return emitter.values(op, own, rowGuard(row), 1);
}

llvm::Value *ChainLowering::acrossQuad(Combiner combiner, DType type, llvm::Value *value) {
  for (unsigned mask : {1u, 2u})
    value = lowering->emitter.scalars().combine(combiner, type, value,
                                                lowering->k.shuffleXor(value, mask));
  return value;
}

llvm::Error ChainLowering::emitStep(Expr step, llvm::Value *stage, Values &carried) {
  ValueEmitter &emitter = lowering->emitter;
  ScalarOps &ops = emitter.scalars();
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  int64_t rowBlocks = rowsOfWarp / 16, lines = rowBlocks * 2, eights = keyPadded / 8;
  int64_t columnEights = columnsPadded / 8;
  auto outputs = static_cast<size_t>(rowBlocks * columnEights * 4);
  size_t perLine = reductions.size();
  size_t shifts = outputs + static_cast<size_t>(lines) * perLine;
  Values sums = computeScores(stage);
  DType firstType = lowering->graph[first].shape.dtype;
  bool hasMaximum = perLine > 0 && reductions[0].combiner == Combiner::Maximum;

  std::vector<Values> fragments(static_cast<size_t>(rowBlocks * (keyPadded / 16)),
                                Values(4, nullptr));
  for (int64_t line = 0; line < lines; ++line) {
    ValueEmitter::Scope scope(emitter); // values of a row are not needed beyond it
    Expr row = rowOf(line);
    Guard rows = rowGuard(row);
    llvm::Value **held = carried.data() + outputs + static_cast<size_t>(line) * perLine;
    auto keyAt = [&](int64_t j) {
      return emitter.simplify(step * keyStep + lowering->tid.mod(4) * 2 + emitter.lane() + j * 8);
    };
    /// Values of an op at the two keys of eight `j`, with `otherwise` where there are none.
    auto pair = [&](OpId op, const Reduction *reduction, int64_t j,
                    llvm::Value *otherwise) -> llvm::Expected<Values> {
      emitter.setLanes(2);
      Expr key = keyAt(j), within = emitter.simplify(key - step * keyStep);
      Coordinates at = scoresAt(row, key);
      currentFirst = firstAt(at);
      currentSums.clear();
      for (int64_t lane = 0; lane < 2; ++lane)
        currentSums.push_back(ops.round(
            firstType,
            sums[static_cast<size_t>((line / 2 * eights + j) * 4 + line % 2 * 2 + lane)]));
      Coordinates place = at;
      if (reduction) {
        place = replacePlaceholders(emitter, reduction->at, scoresPlaceholders, at);
        place.insert(place.begin() + static_cast<std::ptrdiff_t>(reduction->dim), key);
      }
      Guard valid{{within, Interval::ofExtent(keyStep), 1, 0},
                  {key, Interval::ofExtent(keyCount), 1, 0}};
      Guard guard = rows;
      guard.insert(guard.end(), valid.begin(), valid.end());
      auto made = emitter.values(op, place, guard, 2);
      if (!made)
        return made;
      for (unsigned lane = 0; lane < 2; ++lane)
        if (llvm::Value *condition = emitter.holdsAtLane(valid, lane))
          (*made)[lane] = b.CreateSelect(condition, (*made)[lane], otherwise);
      return made;
    };
    /// Everything of the row that a reduction goes over, combined.
    auto reduce = [&](size_t i) -> llvm::Expected<llvm::Value *> {
      const Reduction &reduction = reductions[i];
      llvm::Value *identity = ops.identity(reduction.combiner, reduction.type);
      llvm::Value *all = identity;
      for (int64_t j = 0; j < eights; ++j) {
        auto two = pair(reduction.input, &reduction, j, identity);
        if (!two)
          return two.takeError();
        for (llvm::Value *value : *two)
          all = ops.combine(reduction.combiner, reduction.type, all, value);
      }
      return acrossQuad(reduction.combiner, reduction.type, all);
    };
    std::fill(currentRow.begin(), currentRow.end(), nullptr);
    llvm::Value *rescale = nullptr;
    if (hasMaximum) {
      auto highest = reduce(0);
      if (!highest)
        return highest.takeError();
      llvm::Value *before = held[0];
      held[0] = ops.combine(Combiner::Maximum, reductions[0].type, before, *highest);
      // A row of which nothing has counted so far: any finite number will do.
      llvm::Value *nothing = ops.identity(Combiner::Maximum, reductions[0].type);
      currentRow[0] = b.CreateSelect(b.CreateFCmpOEQ(held[0], nothing), k.cf(0), held[0]);
      if (shift) {
        auto now = rowValue(*shift, row);
        if (!now)
          return now.takeError();
        llvm::Value *&old = carried[shifts + static_cast<size_t>(line)];
        llvm::Value *factor = k.approx(KernelBuilder::Approx::Exp2,
                                       b.CreateFMul(b.CreateFSub(old, (*now)[0]), k.cf(log2OfE)));
        rescale = b.CreateSelect(b.CreateFCmpOEQ(before, nothing), k.cf(0), factor);
        old = (*now)[0];
      }
    }
    for (size_t i = hasMaximum ? 1 : 0; i < perLine; ++i) {
      auto sum = reduce(i);
      if (!sum)
        return sum.takeError();
      llvm::Value *before = rescale ? b.CreateFMul(held[i], rescale) : held[i];
      held[i] = b.CreateFAdd(before, *sum);
    }
    if (rescale)
      for (int64_t j = 0; j < columnEights; ++j)
        for (int64_t lane = 0; lane < 2; ++lane) {
          llvm::Value *&output =
              carried[static_cast<size_t>((line / 2 * columnEights + j) * 4 + line % 2 * 2 + lane)];
          output = b.CreateFMul(output, rescale);
        }
    // The division by a sum comes at the end.
    if (divisor)
      currentRow[*divisor] = k.cf(1);
    for (int64_t j = 0; j < eights; ++j) {
      auto two = pair(scores, nullptr, j, ops.constant(type, int64_t(0)));
      if (!two)
        return two.takeError();
      llvm::Value *low = b.CreateZExt(ops.toMemory(type, (*two)[0]), k.i32);
      llvm::Value *high = b.CreateZExt(ops.toMemory(type, (*two)[1]), k.i32);
      // a0, a1: rows g, g + 8 of the first eight keys; a2, a3 of the next.
      fragments[static_cast<size_t>(line / 2 * (keyPadded / 16) + j / 2)]
               [static_cast<size_t>(line % 2 + j % 2 * 2)] = b.CreateOr(low, b.CreateShl(high, 16));
    }
  }
  for (int64_t kBlock = 0; kBlock < keyPadded / 16; ++kBlock)
    for (int64_t j = 0; j < columnEights; j += 2) {
      Values right = valueTile.loadRight(k, stage, k.c32(j * 8), kBlock, true);
      for (int64_t i = 0; i < rowBlocks; ++i)
        for (int64_t half = 0; half < 2; ++half) {
          auto sum = carried.begin() + (i * columnEights + j + half) * 4;
          auto two = right.begin() + half * 2;
          Values next = k.mma(type, fragments[static_cast<size_t>(i * (keyPadded / 16) + kBlock)],
                              Values(two, two + 2), Values(sum, sum + 4));
          std::copy(next.begin(), next.end(), sum);
        }
    }
  return llvm::Error::success();
}

llvm::Error ChainLowering::emitResults(const Values &carried) {
  ValueEmitter &emitter = lowering->emitter;
  ScalarOps &ops = emitter.scalars();
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  int64_t rowBlocks = rowsOfWarp / 16, lines = rowBlocks * 2, columnEights = columnsPadded / 8;
  auto outputs = static_cast<size_t>(rowBlocks * columnEights * 4);
  DType secondType = lowering->graph[second].shape.dtype;
  currentSums.clear();
  for (int64_t line = 0; line < lines; ++line) {
    ValueEmitter::Scope scope(emitter);
    Expr row = rowOf(line);
    for (size_t i = 0; i < reductions.size(); ++i)
      currentRow[i] = ops.round(
          reductions[i].type, carried[outputs + static_cast<size_t>(line) * reductions.size() + i]);
    llvm::Value *factor = divisor ? b.CreateFDiv(k.cf(1), currentRow[*divisor]) : nullptr;
    for (int64_t j = 0; j < columnEights; ++j) {
      emitter.setLanes(2);
      Expr column = emitter.simplify(lowering->tid.mod(4) * 2 + emitter.lane() + j * 8);
      Coordinates root = rootAt(row, column);
      Guard guard = rowGuard(row);
      guard.push_back({column, Interval::ofExtent(sides[2].size), 1, 0});
      emitter.addDomain(guard, sides[2].coordinates(emitter, column), sides[2].extents);
      currentSecond = replacePlaceholders(emitter, secondAt, placeholders, root);
      currentOutput.clear();
      for (int64_t lane = 0; lane < 2; ++lane) {
        llvm::Value *sum =
            carried[static_cast<size_t>((line / 2 * columnEights + j) * 4 + line % 2 * 2 + lane)];
        currentOutput.push_back(ops.round(secondType, factor ? b.CreateFMul(sum, factor) : sum));
      }
      for (size_t r = 0; r < lowering->results.size(); ++r) {
        OpId id = lowering->results[r];
        auto made = emitter.values(id, root, guard, 2);
        if (!made)
          return made.takeError();
        emitter.store(lowering->outputBuffer(r), lowering->graph[id].shape, root, guard, *made);
      }
    }
  }
  return llvm::Error::success();
}

} // namespace tilewright
