#include "tools/explore/neighbour_levers.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace tilewright {

namespace {

/// What refuses a plan; empty: nothing.
std::string refusalOf(const KernelPlan &plan) {
  const Assignment point = plan.assignment();
  for (const Constraint &constraint : plan.tiled->constraints)
    if (constraint.formula.evaluate(point) != true)
      return constraint.describe(point);
  return {};
}

/// Of each parameter, the values to try in place of the plan's.
std::vector<int64_t> neighboursOf(const TileParameter &parameter, int64_t value) {
  std::vector<int64_t> values;
  if (parameter.name == "stages")
    values = {value - 1, value + 1};
  else
    values = {value / 2, value * 2};
  std::erase_if(values, [&](int64_t other) {
    return other < 1 || other == value || other > parameter.largest();
  });
  return values;
}

} // namespace

const Features *KnownFeatures::of(const KernelPlan &plan) {
  auto [entry, isNew] = known.try_emplace({plan.tiled.get(), plan.instruction, plan.values});
  if (isNew) {
    entry->second.context = plan.context;
    entry->second.tiled = plan.tiled;
    if (llvm::Expected<Features> features = featuresOf(plan, device))
      entry->second.features = std::move(*features);
    else
      llvm::consumeError(features.takeError());
  }
  return entry->second.features ? &*entry->second.features : nullptr;
}

std::vector<Lever> neighbourLevers(const KernelPlan &plan, const CacheTraffic &traffic,
                                   KnownFeatures &known, const Parameters &parameters,
                                   const SequenceParameters &sequence) {
  auto timeOf = [&](const KernelPlan &of, bool &fits) {
    const Features *found = known.of(of);
    if (!found)
      return std::numeric_limits<double>::infinity();
    fits = found->occupancy > 0;
    Features features = *found;
    features.occupancy = std::max(1.0, features.occupancy);
    return timeInSequence(features, traffic, known.device, parameters, sequence).timeNs;
  };
  bool fits = true;
  const double now = timeOf(plan, fits);
  std::vector<Lever> found;
  for (size_t i = 0; i < plan.values.size(); ++i) {
    const TileParameter &parameter = plan.tiled->space.parameters[i];
    Lever best;
    for (int64_t value : neighboursOf(parameter, plan.values[i])) {
      KernelPlan changed = plan;
      changed.values[i] = value;
      const double gain = now - timeOf(changed, fits);
      if (!std::isfinite(gain) || gain < leastLeverShare * now || gain <= best.gainNs)
        continue;
      std::string refusal = refusalOf(changed);
      if (refusal.empty() && !fits)
        refusal = "a CTA would need more than one SM has";
      best = {fmt::format("{} {} in place of {}", parameter.name, value, plan.values[i]), gain,
              std::move(refusal)};
    }
    if (best.gainNs > 0)
      found.push_back(std::move(best));
  }
  return allLevers({}, std::move(found));
}

std::vector<Lever> allLevers(std::vector<Lever> levers, std::vector<Lever> neighbours) {
  levers.insert(levers.end(), std::make_move_iterator(neighbours.begin()),
                std::make_move_iterator(neighbours.end()));
  std::stable_sort(levers.begin(), levers.end(),
                   [](const Lever &a, const Lever &b) { return a.gainNs > b.gainNs; });
  return levers;
}

} // namespace tilewright
