#include "profiler/counters.h"
#include "profiler/kernel_run.h"
#include "profiler/session.h"
#include "profiler/text.h"

#include <cmath>
#include <set>

namespace tilewright::profile {

std::vector<std::string> counterColumns() {
  std::vector<std::string> columns = {"kernel", "plan_hash", "plan", "device", "board", "passes"};
  for (const char *name : counterNames())
    columns.push_back(name);
  columns.push_back("error");
  return columns;
}

SessionEnd runCounters(const std::vector<WorkItem> &items, const SessionOptions &options,
                       Journal &journal, const SessionHooks &hooks) {
  std::set<std::string> counted;
  for (const auto &cells : journal.rows())
    counted.insert(cells[1]);
  if (counted.size() >= items.size())
    return SessionEnd::Done;
  auto end = [&](const Failure &failure) {
    hooks.say("error: " + failure.message);
    return failure.kind == FailureKind::BadInput     ? SessionEnd::BadInput
           : failure.kind == FailureKind::DeviceLost ? SessionEnd::DeviceLost
                                                     : SessionEnd::NoGpu;
  };
  Result<Gpu> gpu = Gpu::open(options.device);
  if (!gpu)
    return end(gpu.failure());
  auto counters = CounterSession::open(*gpu, options.device);
  if (!counters)
    return end(counters.failure());
  InputCache inputs(*gpu);
  for (size_t i = 0; i < items.size(); ++i) {
    const PackKernel &kernel = *items[i].kernel;
    if (counted.contains(kernel.planHash))
      continue;
    if (hooks.shouldStop())
      return SessionEnd::Stopped;
    hooks.before({Step::Kind::Measure, i, 1, 0});
    Result<bool> asPtx = needsPtx(*items[i].pack, gpu->info());
    if (!asPtx)
      return end(asPtx.failure());
    std::vector<std::string> cells = {kernel.name,         kernel.planHash,
                                      kernel.plan,         gpu->info().name,
                                      gpu->info().board(), std::to_string((*counters)->passes())};
    std::string error;
    bool isLost = false;
    std::vector<double> values(counterNames().size(), NAN);
    auto run = KernelRun::prepare(*gpu, inputs, *items[i].pack, kernel, *asPtx);
    auto fail = [&](const Failure &failure) {
      error = failure.message;
      isLost = failure.kind == FailureKind::DeviceLost;
    };
    if (!run) {
      fail(run.failure());
    } else {
      auto result = (*counters)->count([&] { return (*run)->launch(); });
      if (result)
        values = *result;
      else if (result.failure().kind == FailureKind::NoGpu)
        return end(result.failure()); // the privilege is asked for at the first count only
      else
        fail(result.failure());
    }
    for (double value : values)
      cells.push_back(std::isnan(value) ? "" : numberText(value));
    cells.push_back(error);
    if (Status broken = journal.append(std::move(cells)))
      return end(*broken);
    if (isLost)
      return end({FailureKind::DeviceLost, kernel.name + ": " + error});
  }
  return SessionEnd::Done;
}

} // namespace tilewright::profile
