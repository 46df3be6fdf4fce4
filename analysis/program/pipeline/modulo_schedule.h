// The least initiation interval of a loop, with the proof that none is less: it is what units,
// roles or waits take by themselves, or the search over orders refuses the one below, and so does
// Z3.
//
// A schedule for an interval serves every longer one: with the same stages and slots each wait
// gains as many clocks a step as it has steps of distance more than its ops have stages apart, and
// what shares a unit keeps its gaps. So bisection over the interval is exact.
#pragma once

#include "analysis/program/pipeline/pipeline_loop.h"

namespace tilewright::pipeline {

/// What no schedule goes below, and what says so: "tensor", "role consumers", a recurrence.
struct IntervalBound {
  int64_t interval = 1;
  std::vector<std::string> by;
};
IntervalBound intervalBound(const PipelineLoop &loop);

enum class ScheduleAnswer : uint8_t { Yes, No, Unknown };

/// Places for an interval, by Z3; each answer that has some was checked by faultOf(). No is a
/// proof: stages are bounded by what any loop of these waits can need.
ScheduleAnswer scheduleByZ3(const PipelineLoop &loop, int64_t interval, std::vector<Place> &places);

struct ModuloSchedule {
  enum class Outcome : uint8_t {
    Found,
    Deadlock, ///< waits go round within steps
    GivenUp,  ///< the search's budget is spent
  };
  /// Why no interval is less.
  enum class Proof : uint8_t {
    None,   ///< it is not known
    Bound,  ///< it is the bound
    Search, ///< the search over orders (order_search.h) refused the one below
    Z3,     ///< and Z3 refused it, too
  };
  Outcome outcome = Outcome::GivenUp;
  int64_t interval = 0;
  std::vector<Place> places; ///< by op; the earliest stages of their slots
  IntervalBound bound;
  Proof proof = Proof::None;
  std::string deadlock; ///< the waits that go round
  int queries = 0;      ///< intervals that were searched

  bool isLeast() const { return proof != Proof::None; }
  /// Steps that are on their way together.
  int64_t depth() const;
  int64_t startOf(size_t op) const { return places[op].stage * interval + places[op].slot; }
};
ModuloSchedule leastInterval(const PipelineLoop &loop);
/// Asks Z3 for a schedule of the interval below.
void certify(const PipelineLoop &loop, ModuloSchedule &schedule);

/// How long a loop of so many steps takes by a schedule: until it is full, full, until it is empty.
struct LoopTime {
  int64_t fill = 0, steady = 0, drain = 0;
  int64_t all() const { return fill + steady + drain; }
};
LoopTime timeOf(const PipelineLoop &loop, const ModuloSchedule &schedule, int64_t steps);

} // namespace tilewright::pipeline
