#include "analysis/program/pipeline/pipeline_loop.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright::pipeline {

int64_t LoopOp::busyOf(const std::string &unit) const {
  int64_t busy = 0;
  for (const Use &use : units)
    if (use.unit == unit)
      busy += use.busy;
  return busy;
}

int64_t LoopOp::longestBusy() const {
  int64_t busy = 0;
  for (const Use &use : units)
    busy = std::max(busy, use.busy);
  return busy;
}

size_t PipelineLoop::add(LoopOp op) {
  ops.push_back(std::move(op));
  return ops.size() - 1;
}

void PipelineLoop::needs(size_t from, size_t to, int64_t distance) {
  waits.push_back({from, to, ops[from].latency, distance, {}});
}

void PipelineLoop::ring(const std::string &name, size_t maker, const std::vector<size_t> &uses,
                        int64_t slots) {
  for (size_t use : uses)
    waits.push_back({use, maker, ops[use].longestBusy(), slots, "slot of " + name});
}

void PipelineLoop::inOrder(const std::vector<Turn> &turns) {
  for (size_t i = 0; i < turns.size(); ++i) {
    const Turn &from = turns[i], &to = turns[(i + 1) % turns.size()];
    const int64_t again = i + 1 == turns.size() ? 1 : 0;
    // The turn of step 0 begins at start + early·interval.
    waits.push_back(
        {from.op, to.op, ops[from.op].issue, to.early - from.early + again, "order of warps"});
  }
  if (!turns.empty())
    orderedRoles.insert(ops[turns.front().op].role);
}

namespace {

/// Do two ops keep clear of each other on what both take?
bool areApart(const PipelineLoop &loop, int64_t interval, const Place &a, const Place &b,
              const LoopOp &opA, const LoopOp &opB) {
  auto apart = [&](int64_t takenByA, int64_t takenByB) {
    if (takenByA == 0 || takenByB == 0)
      return true;
    return (b.slot >= a.slot + takenByA && b.slot + takenByB <= a.slot + interval) ||
           (a.slot >= b.slot + takenByB && a.slot + takenByA <= b.slot + interval);
  };
  for (const LoopOp::Use &use : opA.units)
    if (!apart(opA.busyOf(use.unit), opB.busyOf(use.unit)))
      return false;
  return opA.role != opB.role || loop.orderedRoles.count(opA.role) || apart(opA.issue, opB.issue);
}

} // namespace

std::string faultOf(const PipelineLoop &loop, int64_t interval, const std::vector<Place> &places) {
  auto start = [&](size_t op) { return places[op].stage * interval + places[op].slot; };
  for (size_t i = 0; i < loop.ops.size(); ++i) {
    const LoopOp &op = loop.ops[i];
    if (places[i].slot < 0 || places[i].slot >= interval)
      return fmt::format("{} starts outside of the interval", op.name);
    for (const LoopOp::Use &use : op.units)
      if (op.busyOf(use.unit) > interval)
        return fmt::format("{} takes {} for longer than the interval", op.name, use.unit);
    if (op.issue > interval)
      return fmt::format("{} takes {} for longer than the interval", op.name, op.role);
    for (size_t j = i + 1; j < loop.ops.size(); ++j)
      if (!areApart(loop, interval, places[i], places[j], op, loop.ops[j]))
        return fmt::format("{} and {} meet", op.name, loop.ops[j].name);
  }
  for (const Wait &wait : loop.waits)
    if (start(wait.to) + wait.distance * interval < start(wait.from) + wait.delay)
      return fmt::format("{} does not wait for {}", loop.ops[wait.to].name,
                         loop.ops[wait.from].name);
  return "";
}

namespace {

/// A cycle whose waits do not fit in their steps of this interval; empty: there is none.
std::vector<size_t> overlongCycle(const PipelineLoop &loop, int64_t interval) {
  const size_t count = loop.ops.size();
  std::vector<int64_t> start(count, 0);
  std::vector<size_t> by(count, SIZE_MAX);
  size_t changed = SIZE_MAX;
  for (size_t round = 0; round <= count; ++round) {
    changed = SIZE_MAX;
    for (size_t w = 0; w < loop.waits.size(); ++w) {
      const Wait &wait = loop.waits[w];
      const int64_t least = start[wait.from] + wait.delay - wait.distance * interval;
      if (least <= start[wait.to])
        continue;
      start[wait.to] = least;
      by[wait.to] = w;
      changed = wait.to;
    }
    if (changed == SIZE_MAX)
      return {};
  }
  for (size_t i = 0; i < count; ++i) // onto the cycle
    changed = loop.waits[by[changed]].from;
  std::vector<size_t> cycle;
  size_t at = changed;
  do {
    cycle.push_back(by[at]);
    at = loop.waits[by[at]].from;
  } while (at != changed);
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

} // namespace

Recurrence longestRecurrence(const PipelineLoop &loop) {
  Recurrence result;
  int64_t enough = 1; // no cycle over steps needs more
  for (const Wait &wait : loop.waits)
    enough += std::max<int64_t>(wait.delay, 0);
  if (std::vector<size_t> cycle = overlongCycle(loop, enough); !cycle.empty()) {
    result.isDeadlock = true;
    result.waits = std::move(cycle);
    return result;
  }
  int64_t low = 0, high = enough; // low: too short, or nothing at all
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    if (overlongCycle(loop, middle).empty())
      high = middle;
    else
      low = middle;
  }
  result.interval = high;
  result.waits = overlongCycle(loop, high - 1);
  return result;
}

std::string wordsOf(const PipelineLoop &loop, const Recurrence &recurrence) {
  if (recurrence.waits.empty())
    return "nothing";
  std::string words = loop.ops[loop.waits[recurrence.waits.front()].from].name;
  for (size_t w : recurrence.waits) {
    const Wait &wait = loop.waits[w];
    words += fmt::format(" → {}", loop.ops[wait.to].name);
    if (!wait.why.empty())
      words += fmt::format(" ({})", wait.why);
  }
  return words;
}

std::optional<std::vector<Place>> earliestStages(const PipelineLoop &loop, int64_t interval,
                                                 const std::vector<int64_t> &slots) {
  std::vector<Place> places;
  for (int64_t slot : slots)
    places.push_back({0, slot});
  for (size_t round = 0; round <= loop.ops.size(); ++round) {
    bool isChanged = false;
    for (const Wait &wait : loop.waits) {
      const Place &from = places[wait.from];
      Place &to = places[wait.to];
      const int64_t late =
          (from.stage - wait.distance - to.stage) * interval + from.slot + wait.delay - to.slot;
      if (late <= 0)
        continue;
      to.stage += (late + interval - 1) / interval;
      isChanged = true;
    }
    if (!isChanged)
      return places;
  }
  return std::nullopt;
}

} // namespace tilewright::pipeline
