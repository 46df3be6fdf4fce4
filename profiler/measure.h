// Repeated times of one kernel in one regime, and what is made of them.
#pragma once

#include "profiler/kernel_timer.h"
#include "profiler/plausibility.h"
#include "profiler/record.h"

namespace tilewright::profile {

struct MeasureOptions {
  unsigned samples = 20; ///< at most
  unsigned fewest = 5;   ///< even where they take longer than the budget
  unsigned warmups = 3;
  double budgetNs = 100e6; ///< of device time for one kernel in one regime
};

/// A sample that can't be: which one and why.
struct RejectedSample {
  size_t number = 0;
  std::string reason;
};

struct Samples {
  std::vector<double> timesNs; ///< kept ones, in order
  std::vector<double> allNs;   ///< all, in order
  std::vector<double> gapsNs;  ///< between kernels that followed each other
  std::vector<RejectedSample> rejected;
};

/// Sorts out what can't be: no time at all, an end before the start, a start before the end of the
/// kernel before it, a time under the bound or under 100 ns.
Samples judge(const std::vector<Interval> &intervals, double leastNs);

/// Number of samples that fit the budget, each taking `sampleNs`.
unsigned sampleCount(const MeasureOptions &options, double sampleNs);

/// Fills the cells of times, spread, gap and rejections; an error if most samples are impossible.
void writeSamples(const Samples &samples, Regime regime, Record &record);

} // namespace tilewright::profile
