// Ops in order, loops and conditions.
#include "codegen/emit/emission.h"

#include <algorithm>

namespace tilewright::emit {

void Emission::barrier() {
  if (p.producerWarps)
    k.barrier(1, threads());
  else
    k.barrier();
  pending.barrier();
}

void Emission::beforeWrite(SharedRegion region) {
  if (!pending.contains(region).isConstant(0))
    barrier();
}

bool Emission::knows(Expr expr) const {
  for (VarId var : variablesOf(expr))
    if (var.index >= isKnown.size() || !isKnown[var.index])
      return false;
  return true;
}

Expr Emission::coordinate(AxisId axis, Expr laneAlong) const {
  Expr origin = p[axis].origin;
  return knows(origin) ? now(origin) + laneAlong : laneAlong;
}

bool Emission::isCut(AxisId axis) const {
  return knows(p[axis].origin) && (p[axis].lower || p[axis].bound);
}

llvm::Expected<HeldLayout> Emission::held(const Op &op, const Layout &layout) const {
  if (std::optional<HeldLayout> held = HeldLayout::of(layout, warps))
    return std::move(*held);
  return unsupported(op, fmt::format("a layout that is not of 32 lanes and {} warps", warps));
}

LoopRange rangeOf(Emission &e, const ForOp &loop) {
  Expr trips = e.index.simplify(e.now(loop.trips)), low = e.number(0), high = trips;
  if (loop.splitVar) { // runs of equal length, of which the last ones may be shorter or empty
    Expr length = trips.ceilDiv(loop.splits);
    low = (e.now(loop.splitVar) * length).min(trips);
    high = (low + length).min(trips);
  }
  auto word = [&](Expr expr) { return e.b.CreateSExtOrTrunc(e.index.index(expr), e.k.i32); };
  int64_t most = std::max<int64_t>(e.index.range(trips).hi, 1);
  return {word(low), word(high), Interval::ofExtent(most)};
}

LoopStep::LoopStep(Emission &e, const ForOp &loop, const LoopRange &range, llvm::Value *step)
    : e(e), scope(e.index), var(loop.var.variable()) {
  size_t needed = e.p.context->variableCount() + 1;
  e.current.resize(std::max(e.current.size(), needed));
  e.isKnown.resize(std::max(e.isKnown.size(), needed));
  outer = e.current[var.index];
  wasKnown = e.isKnown[var.index];
  // A variable of its own for each step that is emitted: numbers of another are not taken for it.
  Expr here = e.p.context->freshVariable(VarKind::Step, loop.name);
  e.index.bind(here, range.domain, step);
  e.current[var.index] = here;
  e.isKnown[var.index] = true;
}

LoopStep::~LoopStep() {
  e.current[var.index] = outer;
  e.isKnown[var.index] = wasKnown;
}

llvm::Value *laterStage(Emission &e, llvm::Value *stage, int64_t steps, int64_t stages) {
  if (steps == 0 || stages == 1)
    return stage;
  llvm::Value *later = e.b.CreateAdd(stage, e.k.c32(steps), "", true, true);
  llvm::Value *isRound = e.b.CreateICmpSGE(later, e.k.c32(stages));
  return e.b.CreateSelect(isRound, e.b.CreateSub(later, e.k.c32(stages)), later);
}

std::set<ValueId> assignedIn(const Region &region) {
  std::set<ValueId> result;
  forEachOp(region, [&](const Op &op, const program::LoopNest &) {
    result.insert(op.results.begin(), op.results.end());
  });
  return result;
}

std::vector<ValueId> definedBefore(const Emission &e, const Region &region) {
  std::vector<ValueId> result;
  for (ValueId value : assignedIn(region))
    if (!e.values[value.index].empty())
      result.push_back(value);
  return result;
}

void forgetInner(Emission &e, const Region &region, const std::vector<ValueId> &carried) {
  for (ValueId value : assignedIn(region)) {
    e.loads[value.index] = nullptr;
    if (std::find(carried.begin(), carried.end(), value) == carried.end())
      e.values[value.index].clear();
  }
}

namespace {

/// The loops that fill a ring.
std::vector<const ForOp *> loopsOf(const Program &p, BufferId ring) {
  std::vector<const ForOp *> result;
  forEachOp(p.body, [&](const Op &op, const program::LoopNest &) {
    const auto *loop = op.as<ForOp>();
    if (!loop || !isProduced(p, *loop))
      return;
    for (const Op &copy : loop->issue)
      if (copy.as<CopyOp>()->buffer == ring)
        result.push_back(loop);
  });
  return result;
}

} // namespace

Carried::Carried(Emission &e, std::vector<ValueId> values, const std::vector<BufferId> &rings)
    : e(e), values(std::move(values)) {
  for (BufferId ring : rings) {
    auto isAlike = [&](const std::vector<BufferId> &group) {
      const RingStep &mine = e.rings[ring.index], &theirs = e.rings[group[0].index];
      return mine.stage == theirs.stage && mine.parity == theirs.parity &&
             e.shared.buffers[ring.index].stages == e.shared.buffers[group[0].index].stages &&
             loopsOf(e.p, ring) == loopsOf(e.p, group[0]);
    };
    auto group = std::find_if(this->rings.begin(), this->rings.end(), isAlike);
    if (group == this->rings.end())
      this->rings.push_back({ring});
    else
      group->push_back(ring);
  }
}

Values Carried::get() const {
  Values result;
  for (ValueId value : values)
    result.insert(result.end(), e.values[value.index].begin(), e.values[value.index].end());
  for (const std::vector<BufferId> &group : rings) {
    result.push_back(e.rings[group[0].index].stage);
    result.push_back(e.rings[group[0].index].parity);
  }
  return result;
}

void Carried::set(std::span<llvm::Value *const> from, std::span<const size_t> counts) {
  size_t next = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    auto first = from.begin() + static_cast<std::ptrdiff_t>(next);
    e.define(values[i], Values(first, first + static_cast<std::ptrdiff_t>(counts[i])));
    next += counts[i];
  }
  for (const std::vector<BufferId> &group : rings) {
    for (BufferId ring : group) {
      e.rings[ring.index].stage = from[next];
      e.rings[ring.index].parity = from[next + 1];
    }
    next += 2;
  }
}

std::vector<size_t> Carried::counts() const {
  std::vector<size_t> result;
  for (ValueId value : values)
    result.push_back(e.values[value.index].size());
  return result;
}

std::vector<BufferId> producedIn(const Program &p, const Region &region) {
  std::set<BufferId> result;
  forEachOp(region, [&](const Op &op, const program::LoopNest &) {
    const auto *loop = op.as<ForOp>();
    if (loop && isProduced(p, *loop))
      for (const Op &copy : loop->issue)
        result.insert(copy.as<CopyOp>()->buffer);
  });
  return {result.begin(), result.end()};
}

Values emitTrips(Emission &e, const ForOp &loop, const LoopRange &range, const Values &initial,
                 const std::function<Values(llvm::Value *, const Values &)> &step) {
  int64_t unroll = loop.unroll ? loop.unroll.constant() : 1;
  if (unroll == 1)
    return e.k.forLoop(range.low, range.high, e.k.c32(1), initial, step);
  llvm::IRBuilder<> &b = e.b;
  llvm::Value *count = b.CreateSub(range.high, range.low);
  llvm::Value *whole =
      b.CreateAdd(range.low, b.CreateMul(b.CreateSDiv(count, e.k.c32(unroll)), e.k.c32(unroll)));
  Values values = e.k.forLoop(range.low, whole, e.k.c32(unroll), initial,
                              [&](llvm::Value *first, Values carried) {
                                for (int64_t i = 0; i < unroll; ++i)
                                  carried = step(b.CreateAdd(first, e.k.c32(i)), carried);
                                return carried;
                              });
  auto *certain = llvm::dyn_cast<llvm::ConstantInt>(count);
  if (certain && certain->getSExtValue() % unroll == 0)
    return values;
  return e.k.forLoop(whole, range.high, e.k.c32(1), values, step);
}

namespace {

/// A loop whose copies the same warps run, or that has none.
class SynchronousLoop {
public:
  SynchronousLoop(Emission &e, const ForOp &loop)
      : e(e), loop(loop), range(rangeOf(e, loop)), ahead(loop.ahead ? loop.ahead.constant() : 0) {}

  llvm::Error run() {
    std::vector<ValueId> values = definedBefore(e, loop.body);
    for (const Op &copy : loop.issue)
      rings.push_back(copy.as<CopyOp>()->buffer);
    for (BufferId ring : rings)
      if (!stageOf.count(e.shared.buffers[ring.index].stages))
        stageOf.emplace(e.shared.buffers[ring.index].stages, stageOf.size());
    Carried carried(e, values, producedIn(e.p, loop.body));
    std::vector<size_t> counts = carried.counts();
    prologue();
    PendingReads before = e.pending;
    e.pending.enterLoop(loop);
    Values initial(stageOf.size(), e.k.c32(0));
    Values inner = carried.get();
    initial.insert(initial.end(), inner.begin(), inner.end());
    Values last =
        emitTrips(e, loop, range, initial, [&](llvm::Value *t, const Values &from) -> Values {
          stages.assign(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(stageOf.size()));
          carried.set(std::span(from).subspan(stageOf.size()), counts);
          step(t);
          if (failed)
            return from;
          Values next = laterStages(1);
          Values end = carried.get();
          next.insert(next.end(), end.begin(), end.end());
          return next;
        });
    if (failed)
      return std::move(error);
    carried.set(std::span(last).subspan(stageOf.size()), counts);
    e.pending.unite(before);
    for (BufferId ring : rings) // behind the loop they hold nothing
      e.rings[ring.index] = {};
    forgetInner(e, loop.body, values);
    return std::move(error);
  }

private:
  void check(llvm::Error result) {
    if (!result)
      return;
    failed = true;
    error = llvm::joinErrors(std::move(error), std::move(result));
  }

  Values laterStages(int64_t steps) {
    Values result = stages;
    for (auto [count, at] : stageOf)
      result[at] = laterStage(e, stages[at], std::min(steps, count), count);
    return result;
  }

  /// The rings stand at these stages.
  void setStages(const Values &at) {
    for (BufferId ring : rings) {
      RingStep &step = e.rings[ring.index];
      step.stage = at[stageOf.at(e.shared.buffers[ring.index].stages)];
      step.step = e.current[loop.var.variable().index];
    }
  }

  void issue(llvm::Value *t, const Values &at, llvm::Value *isMade) {
    auto copies = [&] {
      LoopStep step(e, loop, range, t);
      setStages(at);
      check(emitIssue(e, loop));
    };
    if (isMade)
      e.k.ifThen(isMade, copies);
    else
      copies();
    e.k.copyAsyncCommit();
  }

  void prologue() {
    for (BufferId ring : rings)
      e.beforeWrite(e.shared.regionOf(ring));
    for (int64_t a = 0; a < ahead; ++a) {
      Values at(stageOf.size());
      for (auto [count, position] : stageOf)
        at[position] = e.k.c32(a % count);
      llvm::Value *t = e.b.CreateAdd(range.low, e.k.c32(a));
      issue(t, at, e.b.CreateICmpSLT(t, range.high));
    }
  }

  /// Steps that the body reads beyond the one at hand.
  int64_t lookAhead() const {
    int64_t most = 0;
    forEachOp(loop.body, [&](const Op &op, const program::LoopNest &) {
      for (const program::SlotRead &read : slotReadsOf(op)) {
        Expr distance = read.step ? e.index.simplify(read.step - loop.var) : e.number(0);
        most = std::max(most, distance.isConstant() ? distance.constant() : 0);
      }
    });
    return most;
  }

  void step(llvm::Value *t) {
    if (rings.empty()) {
      LoopStep here(e, loop, range, t);
      check(emitRegion(e, loop.body));
      return;
    }
    if (ahead == 0) {
      e.barrier();
      issue(t, stages, nullptr);
    }
    e.k.copyAsyncWait(
        static_cast<unsigned>(std::max<int64_t>(ahead == 0 ? 0 : ahead - 1 - lookAhead(), 0)));
    e.barrier();
    body(t, 0, loop.issueAt);
    if (ahead > 0 && !failed) {
      if (loop.issueAt > 0)
        e.barrier();
      llvm::Value *next = e.b.CreateAdd(t, e.k.c32(ahead), "", true, true);
      issue(next, laterStages(ahead), e.b.CreateICmpSLT(next, range.high));
    }
    body(t, loop.issueAt, loop.body.size());
  }

  void body(llvm::Value *t, size_t begin, size_t end) {
    if (begin == end || failed)
      return;
    LoopStep here(e, loop, range, t);
    setStages(stages);
    check(emitOps(e, loop.body, begin, end));
  }

  Emission &e;
  const ForOp &loop;
  LoopRange range;
  int64_t ahead;
  std::vector<BufferId> rings;
  std::map<int64_t, size_t> stageOf; ///< rings of as many stages go round together
  Values stages;                     ///< at hand, by position
  llvm::Error error = llvm::Error::success();
  bool failed = false;
};

} // namespace

llvm::Error emitOp(Emission &e, const Op &op, const ForOp &o) {
  if (isProduced(e.p, o))
    return emitProducedLoop(e, op, o);
  return SynchronousLoop(e, o).run();
}

llvm::Error emitOp(Emission &e, const Op &, const IfOp &o) {
  std::set<ValueId> first = assignedIn(o.then), second = assignedIn(o.otherwise);
  // Handed on: what both assign, and what one does that has a value before.
  std::vector<ValueId> values;
  for (ValueId value : first)
    if (second.count(value) || !e.values[value.index].empty())
      values.push_back(value);
  for (ValueId value : second)
    if (!first.count(value) && !e.values[value.index].empty())
      values.push_back(value);
  Region both = o.then;
  both.insert(both.end(), o.otherwise.begin(), o.otherwise.end());
  Carried carried(e, values, producedIn(e.p, both));
  llvm::Value *condition = e.b.CreateICmpNE(e.index.index(e.now(o.condition)),
                                            llvm::ConstantInt::get(e.index.type(), 0));
  llvm::Error error = llvm::Error::success();
  bool failed = false;
  std::vector<Values> before = e.values;
  std::vector<RingStep> ringsBefore = e.rings;
  PendingReads pendingBefore = e.pending, pendingBehind = e.pending;
  std::vector<size_t> counts;
  auto branch = [&](const Region &region) -> Values {
    IndexEmitter::Scope scope(e.index);
    e.values = before;
    e.rings = ringsBefore;
    e.pending = pendingBefore;
    if (llvm::Error inner = emitRegion(e, region)) {
      failed = true;
      error = llvm::joinErrors(std::move(error), std::move(inner));
      return {};
    }
    pendingBehind.unite(e.pending);
    counts = carried.counts();
    return carried.get();
  };
  Values made = e.k.choose(
      condition, [&] { return branch(o.then); }, [&] { return branch(o.otherwise); });
  if (failed)
    return error;
  e.values = before;
  e.rings = ringsBefore;
  e.pending = pendingBehind;
  carried.set(made, counts);
  for (const std::set<ValueId> *assigned : {&first, &second})
    for (ValueId value : *assigned)
      e.loads[value.index] = nullptr;
  return error;
}

llvm::Error emitOps(Emission &e, const Region &region, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    const Op &op = region[i];
    waitForCopies(e, op);
    if (const auto *splits = op.as<SumSplitsOp>())
      return emitSplits(e, op, *splits, [&] { return emitOps(e, region, i + 1, end); });
    llvm::Error error = std::visit(
        [&](const auto &what) -> llvm::Error {
          if constexpr (std::is_same_v<std::decay_t<decltype(what)>, SumSplitsOp>)
            return llvm::Error::success();
          else
            return emitOp(e, op, what);
        },
        op.what);
    if (error)
      return error;
  }
  return llvm::Error::success();
}

llvm::Error emitRegion(Emission &e, const Region &region) {
  return emitOps(e, region, 0, region.size());
}

} // namespace tilewright::emit
