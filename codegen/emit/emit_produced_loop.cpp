// What consumers run of loops whose copies a producer runs.
#include "codegen/emit/produced_loop.h"

#include <algorithm>

namespace tilewright::emit {

namespace {

/// Reads of later steps need the phases of later stages.
llvm::Error checkSteps(const Emission &e, const ForOp &loop) {
  llvm::Error error = llvm::Error::success();
  forEachOp(loop.body, [&](const Op &op, const program::LoopNest &) {
    for (const program::SlotRead &read : slotReadsOf(op))
      if (read.step && !error)
        error =
            e.unsupported(op, "there is no code for slots of later steps that a producer fills");
  });
  return error;
}

/// The consumers' part of a loop.
class ProducedLoop {
public:
  ProducedLoop(Emission &e, const ForOp &loop)
      : e(e), loop(loop), range(rangeOf(e, loop)), rings(ringsOf(loop)),
        flying(e.isInTurns && loop.splitVar ? std::nullopt : program::flyingDotOf(e.p, loop)) {
    for (BufferId ring : rings)
      if (leaderOf(e.p, ring) == ring) {
        leaders.push_back(ring);
        uses[ring] = usesOf(loop.body, ring);
      }
    isFirstLane = e.b.CreateICmpEQ(e.b.CreateAnd(e.k.threadId(), e.k.c32(31)), e.k.c32(0));
  }

  llvm::Error run() {
    std::vector<ValueId> values = definedBefore(e, loop.body);
    Carried carried(e, values, ringsWithin(e.p, loop));
    std::vector<size_t> counts = carried.counts();
    PendingReads before = e.pending;
    e.pending.enterLoop(loop);
    // The stages of the step before, whose products may be in flight.
    Values initial(flying ? leaders.size() : 0, e.k.c32(0));
    Values inner = carried.get();
    initial.insert(initial.end(), inner.begin(), inner.end());
    Values last =
        emitTrips(e, loop, range, initial, [&](llvm::Value *t, const Values &from) -> Values {
          Values previous(from.begin(), from.begin() + previousCount());
          carried.set(std::span(from).subspan(previous.size()), counts);
          Values next = step(t, previous);
          if (failed)
            return from;
          advance(e, rings);
          Values end = carried.get();
          next.insert(next.end(), end.begin(), end.end());
          return next;
        });
    if (failed)
      return std::move(error);
    carried.set(std::span(last).subspan(static_cast<size_t>(previousCount())), counts);
    if (flying)
      landProducts(Values(last.begin(), last.begin() + previousCount()));
    e.pending.unite(before);
    forgetInner(e, loop.body, values);
    return std::move(error);
  }

private:
  std::ptrdiff_t previousCount() const {
    return flying ? static_cast<std::ptrdiff_t>(leaders.size()) : 0;
  }

  /// Gives the stages of its slots.
  Values step(llvm::Value *t, const Values &previous) {
    LoopStep here(e, loop, range, t);
    Values stages;
    std::map<BufferId, RingStep> at;
    for (BufferId ring : rings) {
      e.rings[ring.index].step = e.current[loop.var.variable().index];
      at[ring] = e.rings[ring.index];
    }
    for (BufferId ring : leaders)
      stages.push_back(at[ring].stage);
    for (size_t i = 0; i <= loop.body.size(); ++i) {
      for (BufferId ring : leaders)
        if (uses[ring].first == i)
          e.k.waitBarrier(e.shared.rings.at(ring).full(e.k, at[ring].stage), at[ring].parity);
      if (i < loop.body.size())
        if (llvm::Error problem = emitBody(i)) {
          failed = true;
          error = llvm::joinErrors(std::move(error), std::move(problem));
          return {};
        }
      for (size_t n = 0; n < leaders.size(); ++n)
        if (uses[leaders[n]].last == i)
          giveBack(t, i, leaders[n], at[leaders[n]].stage, flying ? previous[n] : nullptr);
    }
    return flying ? stages : Values();
  }

  llvm::Error emitBody(size_t i) {
    bool isFlying = flying == i;
    if (isFlying)
      e.flying.insert(loop.body[i].results[0]);
    llvm::Error result = emitOps(e, loop.body, i, i + 1);
    if (isFlying)
      e.flying.erase(loop.body[i].results[0]);
    return result;
  }

  void giveBack(llvm::Value *t, size_t i, BufferId ring, llvm::Value *stage,
                llvm::Value *previous) {
    const StageRing &barriers = e.shared.rings.at(ring);
    llvm::Value *gives = isFirstLane;
    if (flying == i) { // the step before is done now
      stage = previous;
      gives = e.b.CreateAnd(isFirstLane, e.b.CreateICmpSGT(t, range.low));
    } else {
      e.k.syncWarp(); // all its lanes have read
    }
    e.k.ifThen(gives, [&] { e.k.arrive(barriers.empty(e.k, stage)); });
  }

  /// Behind the loop the last products are waited for, and their slots given back.
  void landProducts(const Values &stages) {
    finishProducts(e, loop.body[*flying].results[0], 0);
    for (size_t n = 0; n < leaders.size(); ++n) {
      if (uses[leaders[n]].last != *flying)
        continue;
      llvm::Value *gives = e.b.CreateAnd(isFirstLane, e.b.CreateICmpSLT(range.low, range.high));
      e.k.ifThen(gives, [&] { e.k.arrive(e.shared.rings.at(leaders[n]).empty(e.k, stages[n])); });
    }
  }

  Emission &e;
  const ForOp &loop;
  LoopRange range;
  std::vector<BufferId> rings, leaders;
  std::map<BufferId, UseRange> uses; ///< of leaders
  std::optional<size_t> flying;
  llvm::Value *isFirstLane = nullptr;
  llvm::Error error = llvm::Error::success();
  bool failed = false;
};

} // namespace

llvm::Error emitProducedLoop(Emission &e, const Op &, const ForOp &loop) {
  if (llvm::Error error = checkSteps(e, loop))
    return error;
  if (std::optional<Rotation> rotation = rotationOf(e, loop))
    return emitRotatedLoop(e, loop, *rotation);
  return ProducedLoop(e, loop).run();
}

} // namespace tilewright::emit
