// The online softmax of a chain: from the scores of a step to P and the running maximum and sums of
// the rows.
//
// With the shift h of a row so far, s a score and c a constant, P is made of 2^((s - h)·c): exactly
// 1 at s = h, whatever fill a mask has put there. 2^(s·c - h·c) by a multiply-add is not: the
// product h·c is rounded, and at -1e9 that is a factor of up to 2^64. While nothing but -inf has
// been met, h is the lowest finite number: 2^((-inf - h)·c) = 0, and what is multiplied by
// 2^((old h - new h)·c) are sums that are 0.
#include "analysis/ir/numeric.h"
#include "analysis/tiling/carried_state.h"
#include "codegen/chain_lowering.h"

#include <algorithm>
#include <limits>

namespace tilewright {

namespace {
constexpr double log2OfE = 1.4426950408889634;
} // namespace

/// The value, or the lowest finite number of its type in place of -inf.
llvm::Value *ChainLowering::atLeastLowest(DType type, llvm::Value *value) {
  ScalarOps &ops = lowering->emitter.scalars();
  return ops.combine(Combiner::Maximum, type, value, ops.constant(type, lowestFinite(type)));
}

/// Values by line and reduction, then the shifts by line.
Values ChainLowering::initialState() {
  ScalarOps &ops = lowering->emitter.scalars();
  Values state;
  for (int64_t line = 0; line < lines(); ++line)
    for (const Reduction &reduction : reductions)
      state.push_back(ops.constant(reduction.type, reduction.start));
  if (shift)
    state.insert(state.end(), static_cast<size_t>(lines()),
                 lowering->k.cf(lowestFinite(DType::F32)));
  return state;
}

/// A row value, such as the shift, computed from the reductions supplied at this point.
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

/// e^(factor · x)
llvm::Value *ChainLowering::powerOf(llvm::Value *x) {
  KernelBuilder &k = lowering->k;
  return k.approx(KernelBuilder::Approx::Exp2Flushed, k.b.CreateFMul(x, k.cf(log2OfE * factor)));
}

/// Moves the shift of a line on to that of its maximum so far; gives what sums are multiplied by.
llvm::Expected<llvm::Value *> ChainLowering::moveShift(Expr row, llvm::Value *&held) {
  KernelBuilder &k = lowering->k;
  auto now = rowValue(*shift, row);
  if (!now)
    return now.takeError();
  currentShift = atLeastLowest(DType::F32, (*now)[0]);
  llvm::Value *change = powerOf(k.b.CreateFSub(held, currentShift));
  // A shift that is no maximum may fall, and what is still 0 must stay 0.
  if (withoutMovement(lowering->graph, *shift) != reductions[0].op)
    change =
        k.intrinsic(llvm::Intrinsic::minnum, {k.f32}, {change, k.cf(-lowestFinite(DType::F32))});
  held = currentShift;
  return change;
}

/// Values of an exponential whose argument is something minus the shift; empty for any other
/// exponential.
llvm::Expected<Values> ChainLowering::exponentials(const Op &op, const Coordinates &at,
                                                   unsigned count) {
  const Graph &graph = lowering->graph;
  const Op &argument = graph[op.operands[0]];
  if (argument.opcode != Opcode::Subtract || argument.operands[1] != *shift ||
      argument.shape.dtype != DType::F32 || op.shape.dtype != DType::F32)
    return Values();
  std::vector<uint32_t> key{op.operands[0].index};
  for (Expr coordinate : at)
    key.push_back(coordinate.id());
  auto known = currentExponentials.find(key);
  if (known != currentExponentials.end())
    return known->second;
  auto values = lowering->emitter.values(argument.operands[0], at, currentGuard, count);
  if (!values)
    return values;
  KernelBuilder &k = lowering->k;
  for (llvm::Value *&value : *values)
    value = powerOf(k.b.CreateFSub(value, currentShift));
  currentExponentials.emplace(std::move(key), *values);
  return values;
}

/// Ops whose values are provisional until the whole row was visited: the reductions, the unscaled
/// scores, and everything computed from them.
std::vector<bool> ChainLowering::provisionalOps() const {
  const Graph &graph = lowering->graph;
  std::vector<bool> result(graph.size());
  for (uint32_t i = 0; i < graph.size(); ++i) {
    bool isReduced =
        std::any_of(reductions.begin(), reductions.end(),
                    [&](const Reduction &reduction) { return reduction.op.index == i; });
    const std::vector<OpId> &operands = graph[OpId{i}].operands;
    result[i] = isReduced || (scaling && scaling->index == i) ||
                std::any_of(operands.begin(), operands.end(),
                            [&](OpId operand) { return result[operand.index]; });
  }
  return result;
}

llvm::Expected<ChainLowering::SoftmaxStep>
ChainLowering::onlineSoftmaxStep(Expr step, const Values &sums, Values &state, bool isWhole) {
  ValueEmitter &emitter = lowering->emitter;
  ScalarOps &ops = emitter.scalars();
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  int64_t eights = keyPadded / 8;
  size_t perLine = reductions.size(), shifts = static_cast<size_t>(lines()) * perLine;
  DType firstType = lowering->graph[first].shape.dtype;
  bool hasMaximum = perLine > 0 && reductions[0].combiner == Combiner::Maximum;

  emitter.setUntraced(provisionalOps());
  SoftmaxStep result;
  result.scores.assign(sums.size(), nullptr);
  for (int64_t line = 0; line < lines(); ++line) {
    ValueEmitter::Scope scope(emitter); // a row's values are not reused for other rows
    currentExponentials.clear();
    currentShift = nullptr;
    Expr row = rowOf(line);
    Guard rows = rowGuard(row);
    llvm::Value **held = state.data() + static_cast<size_t>(line) * perLine;
    auto keyAt = [&](int64_t j) {
      return emitter.simplify(step * keyStep + lowering->tid.mod(4) * 2 + emitter.lane() + j * 8);
    };
    /// Values of an op at this lane's two keys in group `j` of eight; `otherwise` past the end of
    /// the keys.
    auto pair = [&](OpId op, const Reduction *reduction, int64_t j,
                    llvm::Value *otherwise) -> llvm::Expected<Values> {
      emitter.setLanes(2);
      Expr key = keyAt(j), within = emitter.simplify(key - step * keyStep);
      currentScores = scoresAt(row, key);
      currentFirst = firstAt(currentScores);
      currentSums.clear();
      for (int64_t lane = 0; lane < 2; ++lane)
        currentSums.push_back(ops.round(
            firstType,
            sums[static_cast<size_t>((line / 2 * eights + j) * 4 + line % 2 * 2 + lane)]));
      Coordinates place = currentScores;
      if (reduction) {
        place = replacePlaceholders(emitter, reduction->at, scoresPlaceholders, currentScores);
        place.insert(place.begin() + static_cast<std::ptrdiff_t>(reduction->dim), key);
      }
      Guard valid{{within, Interval::ofExtent(keyStep), 1, 0}};
      if (!isWhole)
        valid.push_back({key, Interval::ofExtent(keyCount), 1, 0});
      currentGuard = rows;
      currentGuard.insert(currentGuard.end(), valid.begin(), valid.end());
      areMasksTrue = isWhole;
      auto made = emitter.values(op, place, currentGuard, 2);
      areMasksTrue = false;
      if (!made)
        return made;
      for (unsigned lane = 0; lane < 2; ++lane)
        if (llvm::Value *condition = emitter.holdsAtLane(valid, lane))
          (*made)[lane] = b.CreateSelect(condition, (*made)[lane], otherwise);
      return made;
    };
    /// This thread's part of a reduction over the row.
    auto reduce = [&](size_t i) -> llvm::Expected<llvm::Value *> {
      const Reduction &reduction = reductions[i];
      llvm::Value *identity = ops.identity(reduction.combiner, reduction.type);
      // Two chains at a time: halves the length of the dependent chain.
      Values halves(2, nullptr);
      for (int64_t j = 0; j < eights; ++j) {
        auto two = pair(reduction.input, &reduction, j, identity);
        if (!two)
          return two.takeError();
        for (size_t lane = 0; lane < 2; ++lane)
          halves[lane] = halves[lane] ? ops.combine(reduction.combiner, reduction.type,
                                                    halves[lane], (*two)[lane])
                                      : (*two)[lane];
      }
      return ops.combine(reduction.combiner, reduction.type, halves[0], halves[1]);
    };
    std::fill(currentRow.begin(), currentRow.end(), nullptr);
    llvm::Value *change = nullptr;
    if (hasMaximum) {
      auto highest = reduce(0);
      if (!highest)
        return highest.takeError();
      DType topType = reductions[0].type;
      held[0] = ops.combine(Combiner::Maximum, topType, held[0],
                            acrossQuad(Combiner::Maximum, topType, *highest));
      // That of a whole row is what the ops say; of others, only -inf may have been met so far.
      currentRow[0] = whyNotOnline.empty() ? atLeastLowest(topType, held[0]) : held[0];
      if (shift) {
        auto moved = moveShift(row, state[shifts + static_cast<size_t>(line)]);
        if (!moved)
          return moved.takeError();
        change = *moved;
      }
    }
    for (size_t i = hasMaximum ? 1 : 0; i < perLine; ++i) {
      auto sum = reduce(i);
      if (!sum)
        return sum.takeError();
      llvm::Value *before = change ? b.CreateFMul(held[i], change) : held[i];
      held[i] = b.CreateFAdd(before, *sum);
      if (!whyNotOnline
               .empty()) // complete after this one step, once combined over the four threads
        currentRow[i] =
            ops.round(reductions[i].type, acrossQuad(Combiner::Add, reductions[i].type, held[i]));
    }
    if (change)
      result.factors.push_back(change);
    // The division by a sum is deferred to the end.
    if (divisor)
      currentRow[*divisor] = k.cf(1);
    // Takes P before rounding where it has a rounding op: packing rounds.
    const Op &rounding = lowering->graph[scores];
    bool isRounded = rounding.opcode == Opcode::Convert &&
                     lowering->graph[rounding.operands[0]].shape.dtype == DType::F32;
    for (int64_t j = 0; j < eights; ++j) {
      auto two = pair(isRounded ? rounding.operands[0] : scores, nullptr, j, k.cf(0));
      if (!two)
        return two.takeError();
      std::copy(two->begin(), two->end(),
                result.scores.begin() + (line / 2 * eights + j) * 4 + line % 2 * 2);
    }
  }
  currentShift = nullptr;
  emitter.setUntraced({});
  return result;
}

std::vector<Values> ChainLowering::fragmentsOf(const Values &scores) {
  KernelBuilder &k = lowering->k;
  // a0, a1: rows g, g + 8 of the first eight keys; a2, a3 of the next.
  std::vector<Values> fragments(scores.size() / 8);
  for (size_t i = 0; i < scores.size(); i += 2)
    fragments[i / 8].push_back(k.pack16(type, scores[i], scores[i + 1]));
  return fragments;
}

/// The same, with a branch that skips the masks in steps where none has an effect on these rows.
llvm::Expected<ChainLowering::SoftmaxStep>
ChainLowering::maskedSoftmaxStep(Expr step, Expr firstRow, int64_t rows, const Values &sums,
                                 Values &state) {
  ValueEmitter &emitter = lowering->emitter;
  llvm::Value *condition = isWhole(step, firstRow, rows);
  if (!condition)
    return onlineSoftmaxStep(step, sums, state, true);
  llvm::Error error = llvm::Error::success();
  SoftmaxStep shape;
  auto body = [&](bool isWhole) {
    return [&, isWhole]() -> Values {
      ValueEmitter::Scope scope(emitter);
      Values mine = state;
      auto softened = onlineSoftmaxStep(step, sums, mine, isWhole);
      if (!softened) {
        error = llvm::joinErrors(std::move(error), softened.takeError());
        return {};
      }
      mine.insert(mine.end(), softened->factors.begin(), softened->factors.end());
      mine.insert(mine.end(), softened->scores.begin(), softened->scores.end());
      shape = std::move(*softened);
      return mine;
    };
  };
  Values all = lowering->k.choose(condition, body(true), body(false));
  if (error)
    return error;
  auto next = all.begin();
  auto take = [&](Values &to) {
    for (llvm::Value *&value : to)
      value = *next++;
  };
  take(state);
  take(shape.factors);
  take(shape.scores);
  return shape;
}

/// Multiplies the outputs of each line by its factor.
void ChainLowering::rescale(Values &outputs, const Values &factors) {
  int64_t columnEights = columnsPadded / 8;
  for (size_t i = 0; i < factors.size(); ++i) {
    auto line = static_cast<int64_t>(i);
    for (int64_t j = 0; j < columnEights; ++j)
      for (int64_t lane = 0; lane < 2; ++lane) {
        auto at = static_cast<size_t>((line / 2 * columnEights + j) * 4 + line % 2 * 2 + lane);
        outputs[at] = lowering->k.b.CreateFMul(outputs[at], factors[i]);
      }
  }
}

} // namespace tilewright
