// The code of a chain of two dots.
#include "analysis/support/checked.h"
#include "analysis/tiling/carried_state.h"
#include "codegen/chain_lowering.h"

#include <algorithm>
#include <limits>

namespace tilewright {

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
/// 64 rows of its warpgroup, of which each warp has 16, g = lane / 4.
Expr ChainLowering::rowOf(int64_t line) const {
  Expr tid = lowering->tid;
  return lowering->emitter.simplify(tid.floorDiv(128) * (rowsOfWarp * 4) +
                                    tid.mod(128).floorDiv(32) * 16 + tid.mod(32).floorDiv(4) +
                                    (line / 2 * 64 + line % 2 * 8));
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
