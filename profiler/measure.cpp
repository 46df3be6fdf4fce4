#include "profiler/measure.h"

#include "analysis/support/median.h"
#include "profiler/statistics.h"
#include "profiler/text.h"

#include <algorithm>

namespace tilewright::profile {

namespace {
// Starts and ends are whole ns from different units of the device.
constexpr double clockStepNs = 32;
// An empty kernel takes about a microsecond on every device there is.
constexpr double shortestKernelNs = 100;
} // namespace

Samples judge(const std::vector<Interval> &intervals, double leastNs) {
  Samples result;
  for (size_t i = 0; i < intervals.size(); ++i) {
    double time = intervals[i].endNs - intervals[i].startNs;
    double gap = i > 0 ? intervals[i].startNs - intervals[i - 1].endNs : 0;
    std::string why;
    if (intervals[i].startNs == 0 && intervals[i].endNs == 0)
      why = "no time was recorded";
    else if (time <= 0)
      why = numberText(time) + " ns";
    else if (gap < -clockStepNs)
      why = "starts " + numberText(-gap) + " ns before the one before it ends";
    else if (time + clockStepNs < leastNs)
      why = numberText(time) + " ns is under the bound of " + numberText(leastNs) + " ns";
    else if (time < shortestKernelNs)
      why = numberText(time) + " ns is shorter than any kernel";
    result.allNs.push_back(time);
    if (!why.empty()) {
      result.rejected.push_back({i, std::move(why)});
      continue;
    }
    result.timesNs.push_back(time);
    if (i > 0)
      result.gapsNs.push_back(std::max(gap, 0.0));
  }
  return result;
}

unsigned sampleCount(const MeasureOptions &options, double sampleNs) {
  if (sampleNs <= 0)
    return options.samples;
  double fitting = options.budgetNs / sampleNs;
  if (fitting >= options.samples)
    return options.samples;
  return std::max(std::min(options.fewest, options.samples), static_cast<unsigned>(fitting));
}

void writeSamples(const Samples &samples, Regime regime, Record &record) {
  auto join = [](const std::vector<double> &values) {
    std::string text;
    for (double value : values)
      text += (text.empty() ? "" : " ") + numberText(value);
    return text;
  };
  record[Column::Samples] = std::to_string(samples.timesNs.size());
  record[Column::Rejected] = std::to_string(samples.rejected.size());
  record[Column::SamplesNs] = join(samples.allNs);
  for (const RejectedSample &rejected : samples.rejected)
    record[Column::RejectedSamples] += (record[Column::RejectedSamples].empty() ? "" : "; ") +
                                       std::to_string(rejected.number) + ": " + rejected.reason;
  if (samples.rejected.size() * 2 > samples.allNs.size() || samples.timesNs.empty()) {
    record[Column::Error] =
        "impossible times: " + std::to_string(samples.rejected.size()) + " of " +
        std::to_string(samples.allNs.size()) + " samples" +
        (samples.rejected.empty() ? "" : ", the first: " + samples.rejected.front().reason);
    return;
  }
  record[Column::TimeNs] = numberText(medianOf(samples.timesNs));
  record[Column::MinNs] =
      numberText(*std::min_element(samples.timesNs.begin(), samples.timesNs.end()));
  record[Column::MaxNs] =
      numberText(*std::max_element(samples.timesNs.begin(), samples.timesNs.end()));
  record[Column::MadNs] = numberText(medianDeviation(samples.timesNs));
  if (regime != Regime::Cold && !samples.gapsNs.empty())
    record[Column::GapNs] = numberText(medianOf(samples.gapsNs));
}

} // namespace tilewright::profile
