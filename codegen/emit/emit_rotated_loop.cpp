// A loop of two products by wgmma, of which the second takes what is computed of the first:
//
//   for t < T                           S = K(0) …; P = f(S)
//     s = dot(Q, K) over d         →    for t = 1 …: start S = K(t) …; start O += P·V(t - 1)
//     … p of s, y …                                  when S is there: P' = f(S), meanwhile O
//     o = map o * y                                  when O is there: o = o * y, P = P'
//     o += dot(p, V) over j             O += P·V(T - 1)
//
// K is given back as soon as S is there, V when O is. P is packed behind the wait for the products
// that read the P before: ptxas before 13.3 may overwrite registers of a left operand that are
// still read.
#include "codegen/emit/produced_loop.h"

#include <algorithm>

namespace tilewright::emit {

std::optional<Rotation> rotationOf(const Emission &e, const ForOp &loop) {
  if (e.isInTurns || !producedIn(e.p, loop.body).empty())
    return std::nullopt;
  std::optional<Rotation> found = program::rotationOf(e.p, loop);
  std::vector<BufferId> rings = ringsOf(loop);
  for (BufferId ring : rings) { // all go round together
    const RingStep &at = e.rings[ring.index], &other = e.rings[rings[0].index];
    if (at.stage != other.stage || at.parity != other.parity ||
        e.shared.buffers[ring.index].stages != e.shared.buffers[rings[0].index].stages)
      return std::nullopt;
  }
  return found;
}

namespace {

class RotatedLoop {
public:
  RotatedLoop(Emission &e, const ForOp &loop, const Rotation &rotation)
      : e(e), k(e.k), loop(loop), rotation(rotation), range(rangeOf(e, loop)), rings(ringsOf(loop)),
        barriers(e.shared.rings.at(leaderOf(e.p, rings[0]))), values(definedBefore(e, loop.body)),
        carried(e, values, {}) {
    isFirstLane = e.b.CreateICmpEQ(e.b.CreateAnd(k.threadId(), k.c32(31)), k.c32(0));
  }

  llvm::Error run() {
    counts = carried.counts();
    PendingReads before = e.pending;
    e.pending.enterLoop(loop);
    RingStep start = e.rings[rings[0].index];
    const Values initial = withRing(carried.get(), start.stage, start.parity);
    Values last;
    if (e.index.range(e.index.simplify(e.now(loop.trips))).lo >= 1)
      last = steps(start);
    else
      last = k.choose(
          e.b.CreateICmpSLT(range.low, range.high), [&] { return steps(start); },
          [&] { return initial; });
    if (failed)
      return std::move(error);
    takeRing(last, rings);
    carried.set(last, counts);
    e.pending.unite(before);
    forgetInner(e, loop.body, values);
    return std::move(error);
  }

private:
  static Values withRing(Values from, llvm::Value *stage, llvm::Value *parity) {
    from.insert(from.end(), {stage, parity});
    return from;
  }
  /// Takes stage and parity off the end.
  RingStep takeRing(Values &from, const std::vector<BufferId> &to) {
    RingStep at{from[from.size() - 2], from.back(), Expr()};
    from.resize(from.size() - 2);
    setRings(to, at.stage, at.parity);
    return at;
  }
  void setRings(const std::vector<BufferId> &which, llvm::Value *stage, llvm::Value *parity) {
    for (BufferId ring : which) {
      e.rings[ring.index].stage = stage;
      e.rings[ring.index].parity = parity;
    }
  }

  bool isRead(BufferId ring, size_t by) const { return readsBuffer(loop.body[by], ring); }
  /// Waits for what the first product reads, or the second one alone.
  void waitFor(bool isFirst, llvm::Value *stage, llvm::Value *parity) {
    for (BufferId ring : rings)
      if (leaderOf(e.p, ring) == ring && isRead(ring, rotation.scores) == isFirst)
        k.waitBarrier(e.shared.rings.at(ring).full(k, stage), parity);
  }
  /// Gives back what the second product reads, or the first one alone.
  void giveBack(bool isSecond, llvm::Value *stage) {
    k.syncWarp(); // all its lanes have read
    k.ifThen(isFirstLane, [&] {
      for (BufferId ring : rings)
        if (leaderOf(e.p, ring) == ring && isRead(ring, rotation.outputs) == isSecond)
          k.arrive(e.shared.rings.at(ring).empty(k, stage));
    });
  }

  void check(llvm::Error result) {
    failed = failed || bool(result);
    error = llvm::joinErrors(std::move(error), std::move(result));
  }
  const Op &scores() const { return loop.body[rotation.scores]; }
  const Op &outputs() const { return loop.body[rotation.outputs]; }

  void startScores(llvm::Value *stage, llvm::Value *parity) {
    waitFor(true, stage, parity);
    setRings(rings, stage, parity);
    check(startWarpgroupDot(e, scores(), {}));
  }
  void startOutputs(const Values &words, llvm::Value *stage, llvm::Value *parity) {
    waitFor(false, stage, parity);
    setRings(rings, stage, parity);
    check(startWarpgroupDot(e, outputs(), words));
  }

  /// What stands between the products and behind them, but for what the outputs take part in.
  void emitRest() {
    for (size_t i = 0; i < loop.body.size(); ++i)
      if (i != rotation.scores && i != rotation.outputs && !rotation.isLate(i))
        check(emitOps(e, loop.body, i, i + 1));
  }
  /// The outputs as the next product adds to them, and its left operand.
  Values finishStep() {
    for (size_t i : rotation.late)
      check(emitOps(e, loop.body, i, i + 1));
    llvm::Expected<Values> words = leftWordsOf(e, outputs());
    if (words)
      return std::move(*words);
    check(words.takeError());
    return {};
  }

  /// Values that the second product's left operand is made of keep their place in the code.
  void pinOperand() {
    for (ValueId value : valuesReadBy(outputs()))
      if (tileOf(value).axes.size() > 1)
        e.values[value.index] = k.pinned(e.values[value.index]);
  }
  const Tile &tileOf(ValueId value) const { return e.p[value].tile; }

  /// Keeps the code that follows behind the arithmetic of the rows' sums. ptxas would move
  /// independent arithmetic past a wait for products, leaving little to overlap with them; it does
  /// not move the wait past a branch that depends on the arithmetic. The branch tests for a NaN
  /// that no arithmetic makes, so `never` is never run.
  void keepBehind(const std::function<void()> &never) {
    constexpr int64_t signallingNan = 0x7fa5a5a5;
    llvm::Value *all = nullptr;
    for (const Op &op : loop.body)
      if (const auto *sum = op.as<ReduceOp>();
          sum && sum->monoid == Monoid::Add && tileOf(op.results[0]).type == DType::F32)
        for (llvm::Value *value : e.values[op.results[0].index])
          all = all ? e.b.CreateFAdd(all, value) : value;
    if (all)
      k.ifThen(e.b.CreateICmpEQ(e.b.CreateBitCast(k.pinned({all})[0], k.i32), k.c32(signallingNan)),
               never);
  }

  /// The values behind all steps, then the ring's place.
  Values steps(const RingStep &start) {
    IndexEmitter::Scope scope(e.index);
    Values words = firstStep(start);
    if (failed)
      return {};
    Values initial = withRing(carried.get(), start.stage, start.parity);
    initial.insert(initial.begin(), words.begin(), words.end());
    Values last = k.forLoop(e.b.CreateAdd(range.low, k.c32(1)), range.high, k.c32(1), initial,
                            [&](llvm::Value *t, const Values &from) -> Values {
                              Values next = step(t, from, words.size());
                              return failed ? from : next;
                            });
    if (failed)
      return {};
    return lastProducts(std::move(last), words.size());
  }

  Values firstStep(const RingStep &start) {
    LoopStep here(e, loop, range, range.low);
    startScores(start.stage, start.parity);
    if (failed)
      return {};
    finishProducts(e, scores().results[0], 0);
    giveBack(false, start.stage);
    emitRest();
    return failed ? Values() : finishStep();
  }

  Values step(llvm::Value *t, Values from, size_t wordCount) {
    LoopStep here(e, loop, range, t);
    auto [before, words] = taken(std::move(from), wordCount);
    llvm::Value *stage = before.stage, *parity = before.parity;
    auto [next, nextParity] = barriers.next(k, stage, parity);
    startScores(next, nextParity);
    startOutputs(words, stage, parity);
    if (failed)
      return {};
    finishProducts(e, scores().results[0], 1);
    giveBack(false, next);
    emitRest();
    if (failed)
      return {};
    pinOperand();
    keepBehind([&] { waitFor(false, stage, parity); });
    finishProducts(e, outputs().results[0], 0);
    pinOperand();
    giveBack(true, stage);
    Values result = finishStep();
    Values state = withRing(carried.get(), next, nextParity);
    result.insert(result.end(), state.begin(), state.end());
    return result;
  }

  Values lastProducts(Values from, size_t wordCount) {
    LoopStep here(e, loop, range, e.b.CreateSub(range.high, k.c32(1)));
    auto [at, words] = taken(std::move(from), wordCount);
    startOutputs(words, at.stage, at.parity);
    if (failed)
      return {};
    finishProducts(e, outputs().results[0], 0);
    giveBack(true, at.stage);
    auto [next, parity] = barriers.next(k, at.stage, at.parity);
    return withRing(carried.get(), next, parity);
  }

  /// What a step carries: the words of P first, the ring's place last.
  std::pair<RingStep, Values> taken(Values from, size_t wordCount) {
    auto first = from.begin() + static_cast<std::ptrdiff_t>(wordCount);
    Values words(from.begin(), first), rest(first, from.end());
    RingStep at = takeRing(rest, rings);
    carried.set(rest, counts);
    return {at, words};
  }

  Emission &e;
  KernelBuilder &k;
  const ForOp &loop;
  const Rotation &rotation;
  LoopRange range;
  std::vector<BufferId> rings;
  const StageRing &barriers; ///< of one of the rings
  std::vector<ValueId> values;
  Carried carried;
  std::vector<size_t> counts;
  llvm::Value *isFirstLane = nullptr;
  llvm::Error error = llvm::Error::success();
  bool failed = false;
};

} // namespace

llvm::Error emitRotatedLoop(Emission &e, const ForOp &loop, const Rotation &rotation) {
  return RotatedLoop(e, loop, rotation).run();
}

} // namespace tilewright::emit
