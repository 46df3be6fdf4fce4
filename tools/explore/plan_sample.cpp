#include "tools/explore/plan_sample.h"

#include "analysis/ir/fill.h"
#include "analysis/solve/compiled.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tilewright {

namespace {

/// Upper ends of the bands, as powers of `slowest`; narrower near the best plan, where the order of
/// plans matters most.
constexpr std::array<double, 4> bandEnds = {0.125, 0.35, 0.65, 1.0};

/// Plans drawn from all feasible ones, with their times. Drawing by a hash of the position is
/// uniform and, unlike every n-th plan, does not correlate with a parameter.
llvm::Expected<std::vector<PricedPlan>> drawPlans(KernelPlan plan, PlanScorer &scorer,
                                                  const PlanSampleOptions &options) {
  auto system = makeSystem(plan.tiled->space, plan.tiled->constraints, CandidatePlan::standard());
  if (!system)
    return system.takeError();
  auto compiled = CompiledSystem::compile(*system);
  if (!compiled)
    return compiled.takeError();
  uint64_t solutions = compiled->count().solutions;
  uint64_t every = std::max<uint64_t>(1, solutions / std::max<size_t>(options.maxPriced, 1));
  std::vector<PricedPlan> drawn;
  uint64_t index = 0;
  llvm::Error error = llvm::Error::success();
  compiled->enumerate([&](std::span<const int64_t> values) {
    if (splitmix64(options.seed, index++) % every != 0)
      return true;
    plan.values.assign(values.begin(), values.end());
    if (llvm::Error failed = scorer.add(plan)) {
      Diag diag = takeDiag(std::move(failed));
      if (diag.cls == DiagClass::Unsupported)
        return true; // without a price it is not a candidate
      error = makeError(std::move(diag));
      return false;
    }
    drawn.push_back({plan.values, 0});
    return true;
  });
  if (error)
    return error;
  llvm::Expected<std::vector<double>> times = scorer.score();
  if (!times)
    return times.takeError();
  for (size_t i = 0; i < drawn.size(); ++i)
    drawn[i].timeNs = (*times)[i];
  std::erase_if(drawn, [](const PricedPlan &each) { return !std::isfinite(each.timeNs); });
  return drawn;
}

/// Plans as points of a unit cube.
std::vector<std::vector<double>> pointsOf(const std::vector<PricedPlan> &plans) {
  std::vector<std::vector<double>> points(plans.size());
  size_t dims = plans.empty() ? 0 : plans.front().values.size();
  for (size_t d = 0; d < dims; ++d) {
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < plans.size(); ++i) {
      points[i].push_back(std::log2(static_cast<double>(std::max<int64_t>(plans[i].values[d], 1))));
      low = std::min(low, points[i][d]);
      high = std::max(high, points[i][d]);
    }
    for (std::vector<double> &point : points)
      point[d] = high > low ? (point[d] - low) / (high - low) : 0;
  }
  return points;
}

double squaredDistance(const std::vector<double> &a, const std::vector<double> &b) {
  double sum = 0;
  for (size_t d = 0; d < a.size(); ++d)
    sum += (a[d] - b[d]) * (a[d] - b[d]);
  return sum;
}

} // namespace

llvm::Expected<std::vector<PricedPlan>> samplePlans(const KernelPlan &prototype, PlanScorer &scorer,
                                                    const PlanSampleOptions &options) {
  auto drawn = drawPlans(prototype, scorer, options);
  if (!drawn)
    return drawn.takeError();
  std::vector<PricedPlan> plans = std::move(*drawn);
  std::stable_sort(plans.begin(), plans.end(), [](const PricedPlan &a, const PricedPlan &b) {
    return a.timeNs < b.timeNs; // equal times keep parameter order
  });
  if (plans.empty())
    return plans;
  double best = plans.front().timeNs;
  std::erase_if(plans,
                [&](const PricedPlan &plan) { return plan.timeNs > options.slowest * best; });
  auto bandOf = [&](const PricedPlan &plan) {
    double part = std::log(plan.timeNs / best) / std::log(std::max(options.slowest, 1.001));
    size_t band = 0;
    while (band + 1 < bandEnds.size() && part > bandEnds[band])
      ++band;
    return band;
  };
  std::array<std::vector<size_t>, bandEnds.size()> bands;
  for (size_t i = 0; i < plans.size(); ++i)
    bands[bandOf(plans[i])].push_back(i);

  // Bands take turns. `nearest` has each plan's distance to the nearest chosen one.
  std::vector<std::vector<double>> points = pointsOf(plans);
  std::vector<double> nearest(plans.size(), INFINITY);
  std::vector<size_t> taken;
  KernelPlan plan = prototype;
  auto take = [&](size_t candidate) {
    plan.values = plans[candidate].values;
    nearest[candidate] = 0;
    if (options.accepts && !options.accepts(plan))
      return false;
    taken.push_back(candidate);
    for (size_t i = 0; i < plans.size(); ++i)
      nearest[i] = std::min(nearest[i], squaredDistance(points[i], points[candidate]));
    return true;
  };
  // A band's turn ends when a plan is chosen or none is left. Empty bands are skipped, so that the
  // others fill the sample.
  for (bool isAnyLeft = true; isAnyLeft && taken.size() < options.count;) {
    isAnyLeft = false;
    for (const std::vector<size_t> &band : bands)
      while (taken.size() < options.count) {
        auto farthest = std::max_element(band.begin(), band.end(), [&](size_t a, size_t b) {
          return nearest[a] < nearest[b]; // the first of equals: the faster one
        });
        if (farthest == band.end() || nearest[*farthest] <= 0)
          break;
        isAnyLeft = true;
        if (take(*farthest))
          break;
      }
  }
  std::sort(taken.begin(), taken.end());
  std::vector<PricedPlan> sample;
  for (size_t i : taken)
    sample.push_back(std::move(plans[i]));
  return sample;
}

} // namespace tilewright
