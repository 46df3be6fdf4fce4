#include "analysis/program/pipeline/modulo_schedule.h"

#include "analysis/program/pipeline/order_search.h"

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

ScheduleAnswer scheduleByZ3(const PipelineLoop &loop, int64_t interval,
                            std::vector<Place> &places) {
  constexpr unsigned effort = 30'000'000; // of Z3's deterministic units
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
  places = std::move(*found);
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
    const ScheduleAnswer answer = searchOrders(loop, interval, places);
    if (answer == ScheduleAnswer::Yes) {
      result.outcome = ModuloSchedule::Outcome::Found;
      result.interval = interval;
      result.places = std::move(places);
      return true;
    }
    isProved = isProved && answer == ScheduleAnswer::No;
    return false;
  };
  int64_t longest = low; // one op behind the other, and again
  for (const LoopOp &op : loop.ops)
    longest += 4 * std::max({op.latency, op.issue, op.longestBusy()});
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
  if (isProved)
    result.proof = result.interval == result.bound.interval ? ModuloSchedule::Proof::Bound
                                                            : ModuloSchedule::Proof::Search;
  return result;
}

void certify(const PipelineLoop &loop, ModuloSchedule &schedule) {
  std::vector<Place> places;
  if (schedule.interval == schedule.bound.interval)
    schedule.proof = ModuloSchedule::Proof::Bound;
  else if (scheduleByZ3(loop, schedule.interval - 1, places) == ScheduleAnswer::No)
    schedule.proof = ModuloSchedule::Proof::Z3;
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
