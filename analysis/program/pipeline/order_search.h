// Schedules of an interval by search over the orders of what shares a unit or a role.
//
// Where two ops share something, one follows the other by a whole number d of steps and its own
// time: start(b) - start(a) lies in [d·interval + taken by a, (d + 1)·interval - taken by b]. Once
// each pair has its d, only waits are left, which longest paths decide. The search takes the pair
// with the fewest d that longest paths leave, so that a refusal is exact.
#pragma once

#include "analysis/program/pipeline/modulo_schedule.h"

namespace tilewright::pipeline {

/// The clocks that two ops have to keep apart on what both take; 0: nothing.
struct Gaps {
  int64_t first = 0, second = 0;
};
Gaps gapsOf(const PipelineLoop &loop, const LoopOp &a, const LoopOp &b);

/// Stages that no least solution of the waits goes beyond: a longest path takes each op once.
int64_t mostStages(const PipelineLoop &loop, int64_t interval);

/// Earliest places of the first order that has any. Unknown: too many orders.
ScheduleAnswer searchOrders(const PipelineLoop &loop, int64_t interval, std::vector<Place> &places);

} // namespace tilewright::pipeline
