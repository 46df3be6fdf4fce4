// Times of kernels on the device's clock.
//
// CUPTI's activity records give start and end of each kernel without the launch; where CUPTI is
// not there, pairs of events do, with a microsecond or two of their own in every time.
#pragma once

#include "profiler/gpu.h"

#include <functional>
#include <memory>
#include <vector>

namespace tilewright::profile {

/// One kernel on the device's clock, ns from an origin that does not matter.
struct Interval {
  double startNs = 0, endNs = 0;
};

struct TimedRuns {
  /// Enqueues whatever comes before run number i: an L2 flush, or nothing. May be empty.
  std::function<Status(unsigned)> before;
  std::function<Status()> launch; ///< enqueues one kernel
  /// Enqueues all of so many kernels at once, in place of the two above: a graph. May be empty.
  std::function<Status(unsigned)> launchAll;
  /// Called while the GPU works: the moment to read clocks and power. May be empty.
  std::function<void()> meanwhile;
};

class KernelTimer {
public:
  virtual ~KernelTimer() = default;
  virtual const char *name() const = 0; ///< "cupti", "events"
  /// Times `count` runs, enqueued one after the other. One interval a run, in order.
  virtual Result<std::vector<Interval>> time(unsigned count, const TimedRuns &runs) = 0;
};

/// CUPTI's timer, or events where CUPTI can't be had or is not wanted; then `note` says why.
std::unique_ptr<KernelTimer> makeTimer(const Gpu &gpu, bool wantsEvents, std::string &note);

} // namespace tilewright::profile
