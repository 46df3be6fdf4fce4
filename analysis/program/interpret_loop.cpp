#include "analysis/program/interpreter.h"

namespace tilewright::program {

Interpreter::Flow Interpreter::kind(const Op &op, const ForOp &o) {
  LoopRun run{&op, &o, 0, number(o.trips), lookAheadOf(o), {}, {}};
  if (o.splitVar) { // runs of equal length, of which the last ones may be shorter or empty
    int64_t splits = std::max<int64_t>(number(o.splits), 1);
    int64_t length = (run.high + splits - 1) / splits;
    run.low = std::min(number(o.splitVar) * length, run.high);
    run.high = std::min(run.high, run.low + length);
  }
  result.shortestLoop = std::min(result.shortestLoop, std::max<int64_t>(run.high - run.low, 0));
  for (const Op &copy : o.issue)
    if (const auto *c = copy.as<CopyOp>())
      run.rings.push_back({c->buffer, number(program[c->buffer].stages)});
  loops.push_back(&run);
  Flow flow = Flow::Next;
  if (run.rings.empty()) {
    for (int64_t t = run.low; t < run.high && flow == Flow::Next; ++t)
      flow = body(run, t, 0, o.body.size());
  } else if (program.producerWarps && !o.ahead) {
    flow = producer(run);
  } else {
    flow = sameWarps(run);
  }
  loops.pop_back();
  environment.forget(o.var.variable());
  return flow;
}

int64_t Interpreter::lookAheadOf(const ForOp &loop) const {
  int64_t most = 0;
  std::vector<int64_t> variables = environment.values;
  variables[loop.var.variable().index] = 0;
  forEachOp(loop.body, [&](const Op &op, const LoopNest &) {
    for (const SlotRead &read : slotReadsOf(op))
      if (read.step)
        most = std::max(most, PointExpr(read.step).at(variables).value_or(0));
  });
  return most;
}

Interpreter::Flow Interpreter::issue(LoopRun &run, int64_t t) {
  environment.set(run.loop->var.variable(), t);
  auto *outer = std::exchange(copiesTo, &run.flying[t]);
  isProducing = true;
  Flow flow = region(run.loop->issue);
  isProducing = false;
  copiesTo = outer;
  return flow;
}

void Interpreter::land(LoopRun &run, int64_t t) {
  auto it = run.flying.find(t);
  if (it == run.flying.end())
    return;
  for (auto &[buffer, elements] : it->second) {
    std::vector<Elements> &ring = slots[buffer.index];
    ring[static_cast<size_t>(t - run.low) % ring.size()] = std::move(elements);
  }
  run.flying.erase(it);
}

void Interpreter::giveBack(LoopRun &run, int64_t t) {
  for (const Ring &ring : run.rings) {
    Elements &slot = slots[ring.buffer.index][static_cast<size_t>((t - run.low) % ring.stages)];
    std::fill(slot.data.begin(), slot.data.end(), std::numeric_limits<double>::quiet_NaN());
  }
}

Interpreter::Flow Interpreter::body(LoopRun &run, int64_t t, size_t begin, size_t end) {
  if (!spend(*run.op, 1))
    return Flow::Failed;
  environment.set(run.loop->var.variable(), t);
  for (const Ring &ring : run.rings)
    reading[ring.buffer.index] = (t - run.low) % ring.stages;
  for (size_t i = begin; i < end; ++i)
    if (Flow flow = step(run.loop->body[i]); flow != Flow::Next)
      return flow;
  return Flow::Next;
}

/// issue(0…A-1); for t: wait; barrier; issue(t + A); body(t). What is on its way into a slot has
/// taken its place already: NaN until it lands.
Interpreter::Flow Interpreter::sameWarps(LoopRun &run) {
  const ForOp &o = *run.loop;
  int64_t ahead = o.ahead ? number(o.ahead) : 0;
  Flow flow = Flow::Next;
  for (int64_t t = run.low; t < std::min(run.low + ahead, run.high) && flow == Flow::Next; ++t)
    flow = issue(run, t);
  for (int64_t t = run.low; t < run.high && flow == Flow::Next; ++t) {
    if (ahead == 0)
      flow = issue(run, t);
    land(run, t);
    add(Count::Barriers, 1 + (ahead == 0) + (o.issueAt > 0));
    if (flow == Flow::Next)
      flow = body(run, t, 0, o.issueAt);
    if (flow == Flow::Next && ahead > 0 && t + ahead < run.high) {
      flow = issue(run, t + ahead);
      giveBack(run, t + ahead);
    }
    if (flow == Flow::Next)
      flow = body(run, t, o.issueAt, o.body.size());
  }
  return flow;
}

/// A producer role with full and empty barriers: any order that the rings allow.
Interpreter::Flow Interpreter::producer(LoopRun &run) {
  int64_t stages = INT64_MAX, put = run.low, done = run.low;
  for (const Ring &ring : run.rings)
    stages = std::min(stages, ring.stages);
  Flow flow = Flow::Next;
  while (done < run.high && flow == Flow::Next) {
    bool mayPut = put < run.high && put - done < stages;
    bool isNeeded = put <= done + run.lookAhead;
    if (mayPut && (isNeeded || random() % 2 == 0)) {
      flow = issue(run, put++);
      add(Count::MbarrierWaits, 1);
      continue;
    }
    land(run, done);
    for (int64_t warp = 0; warp < warpCount(); ++warp)
      add(Count::MbarrierWaits, 1);
    flow = body(run, done, 0, run.loop->body.size());
    giveBack(run, done++);
  }
  return flow;
}

const Elements &Interpreter::slotOf(BufferId buffer, Expr step) {
  std::vector<Elements> &ring = slots[buffer.index];
  if (!step)
    return ring[static_cast<size_t>(reading[buffer.index])];
  int64_t t = number(step), low = 0;
  for (LoopRun *run : loops)
    for (const Ring &of : run->rings)
      if (of.buffer == buffer) {
        low = run->low;
        land(*run, t); // it is waited for
      }
  return ring[static_cast<size_t>(std::max<int64_t>(t - low, 0)) % ring.size()];
}

Interpreter::Flow Interpreter::kind(const Op &, const IfOp &o) {
  return region(number(o.condition) != 0 ? o.then : o.otherwise);
}

Interpreter::Flow Interpreter::kind(const Op &, const RoleOp &o) {
  RoleId outer = std::exchange(role, o.role);
  Flow flow = region(o.body);
  role = outer;
  return flow;
}

Interpreter::Flow Interpreter::kind(const Op &, const BarrierOp &) {
  add(Count::Barriers, 1);
  return Flow::Next;
}

} // namespace tilewright::program
