#include "analysis/program/pipeline/modulo_schedule.h"

#include "analysis/support/diag.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <z3++.h>

namespace tilewright::pipeline {

IntervalBound intervalBound(const PipelineLoop &loop) {
  std::map<std::string, int64_t> taken;
  for (const LoopOp &op : loop.ops) {
    for (const LoopOp::Use &use : op.units)
      taken["unit " + use.unit] += use.busy;
    taken["role " + op.role] += op.issue;
  }
  IntervalBound bound;
  auto raise = [&](int64_t interval, const std::string &by) {
    if (interval < bound.interval)
      return;
    if (interval > bound.interval)
      bound.by.clear();
    bound.interval = interval;
    bound.by.push_back(by);
  };
  for (const auto &[name, clocks] : taken)
    raise(clocks, name);
  const Recurrence recurrence = longestRecurrence(loop);
  if (!recurrence.isDeadlock && !recurrence.waits.empty())
    raise(recurrence.interval, "waits " + wordsOf(loop, recurrence));
  return bound;
}

namespace {

/// Stages that no least solution of the waits goes beyond: a longest path takes each op once.
int64_t mostStages(const PipelineLoop &loop, int64_t interval) {
  std::vector<int64_t> most(loop.ops.size(), 0);
  for (const Wait &wait : loop.waits)
    most[wait.from] = std::max(
        most[wait.from], (wait.delay + interval - 1) / interval + 1 - wait.distance);
  int64_t sum = 0;
  for (int64_t stages : most)
    sum += stages;
  return sum;
}

/// The clocks that two ops have to keep apart on what both take; 0: nothing.
std::pair<int64_t, int64_t> gapsOf(const PipelineLoop &loop, const LoopOp &a, const LoopOp &b) {
  std::pair<int64_t, int64_t> gaps{0, 0};
  auto keep = [&](int64_t ofA, int64_t ofB) {
    if (ofA > 0 && ofB > 0)
      gaps = {std::max(gaps.first, ofA), std::max(gaps.second, ofB)};
  };
  for (const LoopOp::Use &use : a.units)
    keep(a.busyOf(use.unit), b.busyOf(use.unit));
  if (a.role == b.role && !loop.orderedRoles.count(a.role))
    keep(a.issue, b.issue);
  return gaps;
}

/// The earliest starts with the same order on what ops share.
std::vector<Place> compacted(const PipelineLoop &loop, int64_t interval,
                             const std::vector<Place> &places) {
  PipelineLoop ordered = loop;
  auto start = [&](size_t op) { return places[op].stage * interval + places[op].slot; };
  for (size_t i = 0; i < loop.ops.size(); ++i)
    for (size_t j = i + 1; j < loop.ops.size(); ++j) {
      const auto [first, second] = gapsOf(loop, loop.ops[i], loop.ops[j]);
      if (first == 0)
        continue;
      int64_t steps = (start(j) - start(i)) / interval; // by which j follows i
      if (start(j) < start(i) + steps * interval)
        --steps;
      ordered.wait({i, j, first, -steps, {}});
      ordered.wait({j, i, second, steps + 1, {}});
    }
  std::vector<int64_t> starts(loop.ops.size(), 0);
  for (size_t round = 0; round <= loop.ops.size(); ++round)
    for (const Wait &wait : ordered.waits)
      starts[wait.to] =
          std::max(starts[wait.to], starts[wait.from] + wait.delay - wait.distance * interval);
  std::vector<Place> result;
  for (int64_t at : starts)
    result.push_back({at / interval, at % interval});
  return faultOf(loop, interval, result).empty() ? result : places;
}

} // namespace

ScheduleAnswer scheduleFor(const PipelineLoop &loop, int64_t interval, std::vector<Place> &places) {
  constexpr unsigned effort = 60'000'000; // of Z3's deterministic units
  z3::context z3;
  z3::solver solver(z3, z3::solver::simple());
  z3::params params(z3);
  params.set("rlimit", effort);
  solver.set(params);
  const int64_t most = mostStages(loop, interval);
  std::vector<z3::expr> stage, slot;
  for (size_t i = 0; i < loop.ops.size(); ++i) {
    const LoopOp &op = loop.ops[i];
    if (op.longestBusy() > interval || op.issue > interval)
      return ScheduleAnswer::No;
    stage.push_back(z3.int_const(fmt::format("k{}", i).c_str()));
    slot.push_back(z3.int_const(fmt::format("m{}", i).c_str()));
    solver.add(stage[i] >= 0 && stage[i] <= z3.int_val(most));
    solver.add(slot[i] >= 0 && slot[i] < z3.int_val(interval));
  }
  if (!slot.empty()) // all may begin later together
    solver.add(slot[0] == 0);
  for (size_t i = 0; i < loop.ops.size(); ++i)
    for (size_t j = i + 1; j < loop.ops.size(); ++j) {
      const auto [first, second] = gapsOf(loop, loop.ops[i], loop.ops[j]);
      if (first == 0)
        continue;
      solver.add((slot[j] >= slot[i] + z3.int_val(first) &&
                  slot[j] + z3.int_val(second) <= slot[i] + z3.int_val(interval)) ||
                 (slot[i] >= slot[j] + z3.int_val(second) &&
                  slot[i] + z3.int_val(first) <= slot[j] + z3.int_val(interval)));
    }
  for (const Wait &wait : loop.waits)
    solver.add(z3.int_val(interval) * (stage[wait.to] - stage[wait.from]) + slot[wait.to] -
                   slot[wait.from] >=
               z3.int_val(wait.delay - wait.distance * interval));
  const z3::check_result answer = solver.check();
  if (answer == z3::unsat)
    return ScheduleAnswer::No;
  if (answer != z3::sat)
    return ScheduleAnswer::Unknown;
  z3::model model = solver.get_model();
  std::vector<int64_t> slots;
  for (const z3::expr &at : slot)
    slots.push_back(model.eval(at, true).get_numeral_int64());
  std::optional<std::vector<Place>> found = earliestStages(loop, interval, slots);
  if (!found || !faultOf(loop, interval, *found).empty())
    return ScheduleAnswer::Unknown;
  places = compacted(loop, interval, *found);
  return ScheduleAnswer::Yes;
}

ModuloSchedule leastInterval(const PipelineLoop &loop) {
  ModuloSchedule result;
  if (const Recurrence recurrence = longestRecurrence(loop); recurrence.isDeadlock) {
    result.outcome = ModuloSchedule::Outcome::Deadlock;
    result.deadlock = wordsOf(loop, recurrence);
    return result;
  }
  result.bound = intervalBound(loop);
  // Least intervals are at `low` or above; there is a schedule for `high` once one is found.
  int64_t low = result.bound.interval, high = low;
  bool isProved = true;
  auto isScheduled = [&](int64_t interval) {
    std::vector<Place> places;
    ++result.queries;
    const ScheduleAnswer answer = scheduleFor(loop, interval, places);
    if (answer == ScheduleAnswer::Yes) {
      result.outcome = ModuloSchedule::Outcome::Found;
      result.interval = interval;
      result.places = std::move(places);
      return true;
    }
    isProved = isProved && answer == ScheduleAnswer::No;
    return false;
  };
  constexpr int64_t longest = int64_t(1) << 40;
  while (!isScheduled(high)) {
    low = high + 1;
    high += high / 4 + 1;
    if (high > longest)
      return result;
  }
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (isScheduled(middle))
      high = middle;
    else
      low = middle + 1;
  }
  result.isLeast = isProved;
  return result;
}

int64_t ModuloSchedule::depth() const {
  int64_t last = 0;
  for (const Place &place : places)
    last = std::max(last, place.stage);
  return last + 1;
}

LoopTime timeOf(const PipelineLoop &loop, const ModuloSchedule &schedule, int64_t steps) {
  if (steps < 1)
    return {};
  int64_t first = INT64_MAX, end = 0;
  for (size_t i = 0; i < loop.ops.size(); ++i) {
    const LoopOp &op = loop.ops[i];
    first = std::min(first, schedule.startOf(i));
    end = std::max(end, schedule.startOf(i) + std::max({op.latency, op.issue, op.longestBusy()}));
  }
  const int64_t span = end - first, full = std::min(schedule.depth() - 1, steps - 1);
  LoopTime time;
  time.fill = full * schedule.interval;
  time.steady = (steps - full) * schedule.interval;
  time.drain = span - schedule.interval;
  if (time.drain < 0) { // the last step ends before another would begin
    time.steady += time.drain;
    time.drain = 0;
  }
  return time;
}

} // namespace tilewright::pipeline
