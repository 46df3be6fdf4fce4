#include "tools/explore/layout_ranking.h"

#include "analysis/program/pass/of_plan.h"
#include "analysis/program/text.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright {

namespace {

using inference::InferenceAnswer;
using inference::InferredLayouts;
using inference::LayoutProblem;

/// Bank conflicts that even the best layouts have.
std::vector<std::string> conflictsOf(const LayoutProblem &problem, const InferredLayouts &layouts) {
  std::vector<std::string> result;
  for (const inference::InferredMove &move : layouts.moves) {
    const int64_t degree = std::max(move.move.store.degree, move.move.load.degree);
    if (move.move.way == inference::Move::Way::Shared && degree > 1)
      result.push_back(fmt::format("{} to {}: {}-way", problem.graph().nodes[move.from].name,
                                   problem.graph().nodes[move.to].name, degree));
  }
  return result;
}

std::string layoutLines(const LayoutProblem &problem, const InferredLayouts &layouts) {
  std::string lines;
  for (const inference::InferredNode &node : layouts.nodes)
    lines += fmt::format("{}: {}\n", problem.graph().nodes[node.node].name, node.label.text);
  return lines;
}

void infer(const program::Program &program, const Device &device, LayoutRank &rank) {
  auto problem = LayoutProblem::make(program, {});
  if (!problem) {
    rank.refusal = takeDiag(problem.takeError()).message;
    return;
  }
  InferenceAnswer answer = inference::inferLayouts(**problem);
  if (answer.outcome != InferenceAnswer::Outcome::Found) {
    rank.refusal = answer.reasons.empty() ? "the budget is spent" : answer.reasons.front();
    return;
  }
  inference::priceGiven(**problem, answer);
  rank.inferred = answer.layouts.cost;
  rank.floor = answer.layouts.floor;
  rank.conflicts = conflictsOf(**problem, answer.layouts);
  rank.layouts = layoutLines(**problem, answer.layouts);
  if (!answer.given || !answer.notGiven.empty()) {
    rank.refusal = "its own layouts have no price";
    return;
  }
  rank.given = answer.given->cost;
  const double clocks = static_cast<double>(rank.given - rank.inferred) /
                        static_cast<double>(inference::unitsOfClock);
  const double saved = clocks * rank.plan.estimate.ctas / device.smCount / device.smClock;
  rank.gainNs = std::clamp(
      saved, 0.0, std::max(0.0, rank.plan.estimate.timeNs - rank.plan.estimate.rooflineNs));
}

} // namespace

std::vector<LayoutRank> rankByLayouts(const std::vector<RankedPlan> &plans, const Device &device,
                                      const LayoutRankOptions &options) {
  std::vector<LayoutRank> result;
  std::vector<std::pair<std::string, size_t>> variants; // text, plans asked for
  for (size_t place = 0; place < plans.size(); ++place) {
    LayoutRank rank{plans[place], place};
    llvm::Expected<program::PlanProgram> made = program::programOfPlan(rank.plan.plan);
    if (!made) {
      llvm::consumeError(made.takeError()); // no program, no layouts
      continue;
    }
    const std::string text = program::printProgram(made->stages.front().program);
    auto variant = std::find_if(variants.begin(), variants.end(),
                                [&](const auto &one) { return one.first == text; });
    if (variant == variants.end())
      variant = variants.insert(variants.end(), {text, 0});
    if (variant->second++ >= options.mostOfVariant)
      continue;
    rank.variant = static_cast<size_t>(variant - variants.begin());
    llvm::Expected<program::Program> concrete = program::concreteProgram(*made);
    if (!concrete)
      rank.refusal = takeDiag(concrete.takeError()).message;
    else
      infer(*concrete, device, rank);
    result.push_back(std::move(rank));
  }
  std::stable_sort(result.begin(), result.end(), [](const LayoutRank &a, const LayoutRank &b) {
    return a.timeNs() < b.timeNs();
  });
  return result;
}

} // namespace tilewright
