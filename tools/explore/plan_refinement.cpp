#include "tools/explore/plan_refinement.h"

#include "analysis/program/pass/of_plan.h"
#include "analysis/program/text.h"

#include <algorithm>

namespace tilewright {

size_t RefineOptions::plansToRank() const {
  constexpr size_t severalVariants = 16;
  return std::max(severalVariants, 2 * std::max(layouts, pipelines));
}

namespace {

/// That no rank goes below.
double mostSavedNs(const Estimate &estimate) {
  return std::max(0.0, estimate.timeNs - estimate.rooflineNs);
}

} // namespace

double nsOfAllCtas(const Estimate &estimate, const Device &device, double clocks) {
  return std::clamp(clocks * estimate.ctas / device.smCount / device.smClock, 0.0,
                    mostSavedNs(estimate));
}

double RefinedPlan::timeNs() const {
  const double saved = (saving.layouts ? saving.layouts->gainNs : 0) +
                       (saving.pipeline ? saving.pipeline->gainNs : 0);
  return plan.estimate.timeNs - std::min(saved, mostSavedNs(plan.estimate));
}

std::vector<RefinedPlan> PlanRefiner::rank(const std::vector<RankedPlan> &plans) {
  const size_t most = std::max(options.layouts, options.pipelines);
  std::vector<RefinedPlan> result;
  std::vector<std::pair<std::string, size_t>> variants; // text, plans looked at
  for (size_t place = 0; place < plans.size(); ++place) {
    RefinedPlan refined{plans[place], place, 0, {}};
    llvm::Expected<program::PlanProgram> made = program::programOfPlan(refined.plan.plan);
    if (!made) {
      llvm::consumeError(made.takeError()); // no program, nothing to save in it
      continue;
    }
    const std::string text = program::printProgram(made->stages.front().program);
    auto variant = std::find_if(variants.begin(), variants.end(),
                                [&](const auto &one) { return one.first == text; });
    if (variant == variants.end())
      variant = variants.insert(variants.end(), {text, 0});
    const size_t before = variant->second++;
    if (before >= most)
      continue;
    refined.variant = static_cast<size_t>(variant - variants.begin());
    if (before < options.layouts)
      refined.saving.layouts = layouts.of(refined.plan, *made);
    if (before < options.pipelines)
      refined.saving.pipeline = pipelines.of(refined.plan, *made);
    result.push_back(std::move(refined));
  }
  std::stable_sort(result.begin(), result.end(), [](const RefinedPlan &a, const RefinedPlan &b) {
    return a.timeNs() < b.timeNs();
  });
  return result;
}

std::vector<PlanSaving> PlanRefiner::reorder(std::vector<RankedPlan> &plans, size_t most) {
  std::vector<RefinedPlan> ranks = rank(plans);
  std::vector<bool> isRanked(plans.size());
  for (const RefinedPlan &rank : ranks)
    isRanked[rank.place] = true;
  for (size_t place = 0; place < plans.size(); ++place)
    if (!isRanked[place])
      ranks.push_back({plans[place], place, 0, {}});
  const std::string refusal = "it has no tile program, or is not among the best of its kind";
  for (RefinedPlan &rank : ranks) {
    if (options.layouts > 0 && !rank.saving.layouts)
      rank.saving.layouts.emplace().refusal = refusal;
    if (options.pipelines > 0 && !rank.saving.pipeline)
      rank.saving.pipeline.emplace().refusal = refusal;
  }
  std::sort(ranks.begin(), ranks.end(), [](const RefinedPlan &a, const RefinedPlan &b) {
    return std::pair(a.timeNs(), a.place) < std::pair(b.timeNs(), b.place);
  });
  if (ranks.size() > most)
    ranks.erase(ranks.begin() + static_cast<ptrdiff_t>(most), ranks.end());
  plans.clear();
  std::vector<PlanSaving> savings;
  for (RefinedPlan &rank : ranks) {
    plans.push_back(std::move(rank.plan));
    savings.push_back(std::move(rank.saving));
  }
  return savings;
}

} // namespace tilewright
