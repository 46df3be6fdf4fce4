#include "profiler/kernel_timer.h"

#include "profiler/cupti.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>

namespace tilewright::profile {

namespace {

/// Where CUPTI's callbacks, which carry no argument of ours, put the records.
struct RecordSink {
  std::mutex lock;
  std::vector<Interval> intervals;
  const CuptiActivity *cupti = nullptr;
};

RecordSink &sink() {
  static RecordSink instance;
  return instance;
}

void bufferRequested(uint8_t **buffer, size_t *size, size_t *maxRecords) {
  *size = 1 << 20;
  *buffer = static_cast<uint8_t *>(std::aligned_alloc(8, *size));
  *maxRecords = 0;
}

void bufferCompleted(void *, uint32_t, uint8_t *buffer, size_t, size_t valid) {
  RecordSink &to = sink();
  std::lock_guard<std::mutex> guard(to.lock);
  void *record = nullptr;
  while (valid > 0 && to.cupti &&
         to.cupti->activityGetNextRecord(buffer, valid, &record) == cupti::success) {
    auto *kernel = static_cast<cupti::KernelRecord *>(record);
    if (kernel->kind == cupti::concurrentKernel || kernel->kind == cupti::serialKernel)
      to.intervals.push_back(
          {static_cast<double>(kernel->start), static_cast<double>(kernel->end)});
  }
  std::free(buffer);
}

class CuptiTimer : public KernelTimer {
public:
  CuptiTimer(const Gpu &gpu, CuptiActivity functions) : gpu(gpu), cupti(functions) {
    sink().cupti = &cupti;
  }
  ~CuptiTimer() override {
    std::lock_guard<std::mutex> guard(sink().lock);
    sink().cupti = nullptr;
  }
  const char *name() const override { return "cupti"; }

  Result<std::vector<Interval>> time(unsigned count, const TimedRuns &runs) override {
    // Records get lost when CUPTI runs out of buffers: once more, then give up.
    for (unsigned attempt = 0;; ++attempt) {
      if (cupti::Status status = cupti.activityEnable(cupti::concurrentKernel))
        return failure(status, "CUPTI records no kernels");
      Status failed = enqueue(count, runs);
      cupti.activityFlushAll(0);
      cupti.activityDisable(cupti::concurrentKernel);
      std::vector<Interval> intervals;
      {
        std::lock_guard<std::mutex> guard(sink().lock);
        intervals.swap(sink().intervals);
      }
      if (failed)
        return *failed;
      if (intervals.size() == count) {
        // Times are truncated to the clock's ns and records may come out of order.
        std::stable_sort(
            intervals.begin(), intervals.end(),
            [](const Interval &a, const Interval &b) { return a.startNs < b.startNs; });
        return intervals;
      }
      if (attempt == 1)
        return Failure{FailureKind::Kernel, "CUPTI gave " + std::to_string(intervals.size()) +
                                                " records of " + std::to_string(count) +
                                                " launches"};
    }
  }

private:
  Status enqueue(unsigned count, const TimedRuns &runs) {
    if (runs.launchAll)
      if (Status failed = runs.launchAll(count))
        return failed;
    for (unsigned i = 0; i < count && !runs.launchAll; ++i) {
      if (runs.before)
        if (Status failed = runs.before(i))
          return failed;
      if (Status failed = runs.launch())
        return failed;
    }
    if (runs.meanwhile)
      runs.meanwhile();
    return gpu.wait();
  }
  Failure failure(cupti::Status status, const std::string &what) const {
    return {FailureKind::Kernel, what + ": " + cupti.describe(status)};
  }

  const Gpu &gpu;
  CuptiActivity cupti;
};

class EventTimer : public KernelTimer {
public:
  explicit EventTimer(const Gpu &gpu) : gpu(gpu) {}
  const char *name() const override { return "events"; }

  Result<std::vector<Interval>> time(unsigned count, const TimedRuns &runs) override {
    const Driver &driver = gpu.driver();
    if (runs.launchAll)
      return Failure{FailureKind::Kernel, "the times of kernels in a graph need CUPTI"};
    while (events.size() < 2 * size_t(count)) {
      cuda::Event event = nullptr;
      if (cuda::Status status = driver.eventCreate(&event, 0))
        return driver.failure(status, "can't create an event");
      events.push_back(event);
    }
    for (unsigned i = 0; i < count; ++i) {
      if (runs.before)
        if (Status failed = runs.before(i))
          return *failed;
      if (cuda::Status status = driver.eventRecord(events[2 * i], nullptr))
        return driver.failure(status, "can't record an event");
      if (Status failed = runs.launch())
        return *failed;
      if (cuda::Status status = driver.eventRecord(events[2 * i + 1], nullptr))
        return driver.failure(status, "can't record an event");
    }
    if (runs.meanwhile)
      runs.meanwhile();
    if (Status failed = gpu.wait())
      return *failed;
    std::vector<Interval> intervals;
    for (unsigned i = 0; i < count; ++i) {
      float start = 0, end = 0; // ms
      cuda::Status status = driver.eventElapsedTime(&start, events[0], events[2 * i]);
      if (!status)
        status = driver.eventElapsedTime(&end, events[2 * i], events[2 * i + 1]);
      if (status)
        return driver.failure(status, "can't read an event");
      intervals.push_back({1e6 * start, 1e6 * (double(start) + end)});
    }
    return intervals;
  }

private:
  const Gpu &gpu;
  std::vector<cuda::Event> events; // they live as long as the context
};

} // namespace

std::unique_ptr<KernelTimer> makeTimer(const Gpu &gpu, bool wantsEvents, std::string &note) {
  if (wantsEvents) {
    note = "times come from events, as asked; they hold a microsecond or two of launch";
    return std::make_unique<EventTimer>(gpu);
  }
  std::string why;
  if (auto cupti = CuptiActivity::open(why)) {
    cupti::Status status = cupti->activityRegisterCallbacks(bufferRequested, bufferCompleted);
    if (!status && !(status = cupti->activityEnable(cupti::concurrentKernel))) {
      cupti->activityDisable(cupti::concurrentKernel);
      return std::make_unique<CuptiTimer>(gpu, *cupti);
    }
    why = "CUPTI can't record kernels: " + cupti->describe(status);
  }
  note = why + "; times come from events, which hold a microsecond or two of launch";
  return std::make_unique<EventTimer>(gpu);
}

} // namespace tilewright::profile
