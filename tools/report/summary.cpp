#include "tools/report/summary.h"

#include "tools/report/text.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tilewright::report {

namespace {
Quantity positiveRatio(Quantity numerator, Quantity denominator, double scale = 1) {
  if (!numerator || !denominator || *numerator <= 0 || *denominator <= 0)
    return std::nullopt;
  double ratio = *numerator / *denominator * scale;
  return std::isfinite(ratio) && ratio > 0 ? Quantity(ratio) : std::nullopt;
}
} // namespace

Quantity totalTimeNs(const Kernel &kernel) {
  return kernel.timeNs ? Quantity(*kernel.timeNs * kernel.tripCount) : std::nullopt;
}

Quantity achievedFlopsPerS(const Kernel &kernel) {
  return positiveRatio(kernel.flops, kernel.timeNs, 1e9);
}

Quantity intensity(const Kernel &kernel) { return positiveRatio(kernel.flops, kernel.dramBytes); }

Quantity achievedBytesPerS(const Kernel &kernel) {
  return positiveRatio(kernel.dramBytes, kernel.timeNs, 1e9);
}

double Summary::share(const Kernel &kernel) const {
  Quantity time = totalTimeNs(kernel);
  double fraction = time && sumNs > 0 ? *time / sumNs : 0;
  return std::isfinite(fraction) ? fraction : 0;
}

Summary summarise(const Model &model) {
  Summary result;
  std::array<double, termCount> byTerm{};
  for (const Kernel &kernel : model.kernels) {
    Quantity time = totalTimeNs(kernel);
    if (!time) {
      ++result.untimed;
      continue;
    }
    result.sumNs += *time;
    byTerm[static_cast<size_t>(termOf(kernel.limiter))] += *time;
  }
  for (const AssumedNote &op : model.assumed) { // bytes that are moved as those of a copy
    const double time = op.timeNs.value_or(0) * op.tripCount;
    result.sumNs += time;
    byTerm[static_cast<size_t>(termOf("DRAM"))] += time;
  }
  for (size_t term = 0; term < termCount; ++term)
    if (byTerm[term] > 0)
      result.limiterNs.emplace_back(static_cast<Term>(term), byTerm[term]);

  bool anyTime = result.untimed < model.kernels.size();
  result.totalNs = model.totalNs ? model.totalNs : anyTime ? Quantity(result.sumNs) : std::nullopt;

  if (!model.unsupported.empty())
    result.gaps.push_back(counted(model.unsupported.size(), "unsupported op"));
  if (result.untimed)
    result.gaps.push_back(counted(result.untimed, "kernel") + " without a prediction");
  if (result.gaps.empty() && !model.totalIsComplete)
    result.gaps.push_back("parts that the document does not name");

  if (model.totalNs && anyTime &&
      std::abs(*model.totalNs - result.sumNs) > 0.01 * std::max(*model.totalNs, result.sumNs))
    result.warnings.push_back(fmt::format("the document's total is {}, what it lists sums up to {}",
                                          timeText(model.totalNs), timeText(result.sumNs)));
  if (result.totalNs && model.lowerBoundNs && result.gaps.empty() &&
      *model.lowerBoundNs > *result.totalNs * 1.01)
    result.warnings.push_back(fmt::format("the lower bound {} is above the predicted total {}",
                                          timeText(model.lowerBoundNs), timeText(result.totalNs)));

  result.byTime.resize(model.kernels.size());
  std::iota(result.byTime.begin(), result.byTime.end(), size_t{0});
  std::stable_sort(result.byTime.begin(), result.byTime.end(), [&](size_t a, size_t b) {
    return totalTimeNs(model.kernels[a]).value_or(-1) > totalTimeNs(model.kernels[b]).value_or(-1);
  });
  return result;
}

size_t shareBudget(const std::vector<size_t> &parts, size_t budget, size_t floor) {
  size_t low = floor, high = std::max(floor, budget);
  while (low < high) {
    size_t middle = low + (high - low + 1) / 2;
    size_t used = 0;
    for (size_t part : parts)
      used += std::min(part, middle);
    if (used <= budget)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

} // namespace tilewright::report
