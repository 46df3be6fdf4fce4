// A measuring session: packs in, rows out.
//
// A session runs in a process of its own, because a kernel that faults destroys the process's GPU
// context. It reports each step before it starts, so that the supervisor can record why a process
// died and start the next one.
#pragma once

#include "profiler/journal.h"
#include "profiler/measure.h"
#include "profiler/schedule.h"

#include <functional>

namespace tilewright::profile {

struct SessionOptions {
  ScheduleOptions schedule;
  MeasureOptions measure;
  std::vector<Regime> regimes = {Regime::Cold, Regime::Warm};
  int device = 0;
  bool wantsEvents = false;
  double deadlineSeconds = 0; ///< of the monotonic clock; 0: none
};

/// Kernels of all packs in one list.
struct WorkItem {
  const Pack *pack = nullptr;
  const PackKernel *kernel = nullptr;
};

/// The rest of the schedule, given the journal's rows.
Schedule replay(const std::vector<WorkItem> &items, const SessionOptions &options,
                const Journal &journal);

/// How a session ended.
enum class SessionEnd : int {
  Done = 0,
  BadInput = 2,
  NoGpu = 3,
  Stopped = 4,    ///< asked to, or at the deadline
  DeviceLost = 5, ///< the next process can go on
};

struct SessionHooks {
  std::function<void(const Step &)> before;     ///< a step begins
  std::function<bool()> shouldStop;             ///< asked between steps
  std::function<void(const std::string &)> say; ///< a line for the user
};

/// Cells that depend only on the kernel and the step.
Record newRecord(const WorkItem &item, const Step &step, const SessionOptions &options);

/// Measures until nothing is left. Every row is on disk before the next step begins.
SessionEnd runSession(const std::vector<WorkItem> &items, const SessionOptions &options,
                      Journal &journal, const SessionHooks &hooks);

/// Counts hardware counters of every kernel that has no row with them yet: columns `kernel`,
/// `plan_hash`, `device`, `error` and CUPTI's names.
SessionEnd runCounters(const std::vector<WorkItem> &items, const SessionOptions &options,
                       Journal &journal, const SessionHooks &hooks);
std::vector<std::string> counterColumns();

} // namespace tilewright::profile
