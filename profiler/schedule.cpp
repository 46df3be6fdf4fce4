#include "profiler/schedule.h"

#include "analysis/ir/fill.h"

#include <cmath>
#include <utility>

namespace tilewright::profile {

Schedule::Schedule(size_t kernels, const ScheduleOptions &options)
    : options(options), hasFailed(kernels), kernels(kernels) {
  for (size_t i = 0; i < kernels; ++i)
    queue.push_back({i, 1});
  for (size_t i = kernels; i > 1; --i)
    std::swap(queue[i - 1], queue[splitmix64(options.seed, i) % i]);
}

bool Schedule::isOpen(size_t kernel, unsigned attempt, unsigned regime) const {
  return !written.contains({kernel, attempt, regime});
}

bool Schedule::isComplete(size_t kernel, unsigned attempt) const {
  for (unsigned regime = 0; regime < options.regimes; ++regime)
    if (isOpen(kernel, attempt, regime))
      return false;
  return true;
}

Step Schedule::next() const {
  bool isDue = incumbent && (!incumbentTime || block.size() >= options.blockSize ||
                             (head == queue.size() && !block.empty()));
  if (isDue)
    return {Step::Kind::Incumbent, *incumbent, 1, blocks};
  if (head == queue.size())
    return {Step::Kind::Done, 0, 1, blocks};
  return {Step::Kind::Measure, queue[head].kernel, queue[head].attempt, blocks};
}

void Schedule::noteMeasured(size_t kernel, unsigned attempt, unsigned regime,
                            std::optional<double> timeNs) {
  if (!timeNs)
    hasFailed[kernel] = true;
  if (!written.insert({kernel, attempt, regime}).second || !isComplete(kernel, attempt))
    return;
  block.push_back({kernel, attempt});
  while (head < queue.size() && isComplete(queue[head].kernel, queue[head].attempt))
    ++head;
  if (!incumbent && !hasFailed[kernel] && kernels > 1)
    incumbent = kernel;
}

void Schedule::noteIncumbent(std::optional<double> timeNs) {
  ++blocks;
  if (!timeNs) { // it worked before: take the next kernel that works
    incumbent.reset();
    incumbentTime.reset();
    block.clear();
    return;
  }
  bool hasDrifted =
      incumbentTime && std::abs(*timeNs / *incumbentTime - 1) > options.driftTolerance;
  incumbentTime = timeNs;
  if (hasDrifted) {
    ++drifted;
    for (const Entry &entry : block)
      if (entry.attempt == 1 && !hasFailed[entry.kernel])
        queue.push_back({entry.kernel, 2});
  }
  block.clear();
}

} // namespace tilewright::profile
