#include "tools/explore/layout_ranking.h"

#include "analysis/program/inference/plan_layouts.h"
#include "analysis/program/inference/write_back.h"
#include "analysis/program/text.h"
#include "analysis/program/verify.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright {

using inference::InferenceAnswer;
using inference::InferredLayouts;
using inference::LayoutProblem;

/// What inference says of a program whose tensors are numbered.
struct LayoutRanker::Known {
  struct Conflict {
    uint32_t from, to; ///< nodes
    int64_t degree;
  };
  std::once_flag once;
  inference::Cost given = 0, inferred = 0, floor = 0;
  std::vector<Conflict> conflicts;
  std::vector<PlanLayout> layouts;
  std::map<std::string, size_t> nodes; ///< by name
  std::string refusal, unwritten;

  void infer(const program::Program &program, const DeviceLimits &limits);
  void write(const program::Program &program, LayoutProblem &problem,
             const InferredLayouts &layouts, const DeviceLimits &limits);
};

void LayoutRanker::Known::infer(const program::Program &program, const DeviceLimits &limits) {
  auto problem = LayoutProblem::make(program, {});
  if (!problem) {
    refusal = takeDiag(problem.takeError()).message;
    return;
  }
  InferenceAnswer answer = inference::inferLayouts(**problem);
  if (answer.outcome != InferenceAnswer::Outcome::Found) {
    refusal = answer.reasons.empty() ? "the budget is spent" : answer.reasons.front();
    return;
  }
  inference::priceGiven(**problem, answer);
  inferred = answer.layouts.cost;
  floor = answer.layouts.floor;
  for (const inference::InferredMove &move : answer.layouts.moves) {
    const int64_t degree = std::max(move.move.store.degree, move.move.load.degree);
    if (move.move.way == inference::Move::Way::Shared && degree > 1)
      conflicts.push_back({move.from, move.to, degree});
  }
  layouts = inference::planLayouts(**problem, answer.layouts);
  for (size_t n = 0; n < answer.layouts.nodes.size(); ++n)
    nodes[(*problem)->graph().nodes[n].name] = n;
  if (!answer.given || !answer.notGiven.empty()) {
    refusal = "its own layouts have no price";
    return;
  }
  given = answer.given->cost;
  if (inferred < given)
    write(program, **problem, answer.layouts, limits);
}

void LayoutRanker::Known::write(const program::Program &program, LayoutProblem &problem,
                                const InferredLayouts &layouts, const DeviceLimits &limits) {
  llvm::Expected<program::Program> made = inference::withLayouts(program, problem, layouts);
  if (!made) {
    unwritten = takeDiag(made.takeError()).message;
    return;
  }
  if (llvm::Error wrong = program::verify(*made, &limits).error(*made))
    unwritten = takeDiag(std::move(wrong)).message;
}

LayoutRanker::LayoutRanker(const Device &device, const LayoutRankOptions &options)
    : device(device), options(options) {}
LayoutRanker::~LayoutRanker() = default;

/// Names of tensors are the model's; no layout depends on them.
LayoutRanker::Known &LayoutRanker::knownOf(const program::Program &program) {
  program::Program numbered = program;
  numbered.name = "k";
  for (size_t i = 0; i < numbered.tensors.size(); ++i)
    numbered.tensors[i].name = fmt::format("T{}", i);
  Known *entry = nullptr;
  {
    std::lock_guard lock(mutex);
    std::unique_ptr<Known> &at = known[program::printProgram(numbered)];
    if (!at)
      at = std::make_unique<Known>();
    entry = at.get();
  }
  std::call_once(entry->once, [&] { entry->infer(numbered, device.limits); });
  return *entry;
}

LayoutSaving LayoutRanker::savingOf(const RankedPlan &plan, const program::PlanProgram &made) {
  LayoutSaving saving;
  llvm::Expected<program::Program> concrete = program::concreteProgram(made);
  if (!concrete) {
    saving.refusal = takeDiag(concrete.takeError()).message;
    return saving;
  }
  const Known &of = knownOf(*concrete);
  saving.given = of.given;
  saving.inferred = of.inferred;
  saving.floor = of.floor;
  saving.refusal = of.refusal;
  saving.unwritten = of.unwritten;
  llvm::Expected<inference::TileGraph> graph = inference::graphOf(*concrete);
  if (!graph) { // as of the numbered one
    saving.refusal = takeDiag(graph.takeError()).message;
    return saving;
  }
  for (const Known::Conflict &conflict : of.conflicts)
    saving.conflicts.push_back(fmt::format("{} to {}: {}-way", graph->nodes[conflict.from].name,
                                           graph->nodes[conflict.to].name, conflict.degree));
  for (const PlanLayout &layout : of.layouts)
    saving.layouts.push_back({graph->nodes[of.nodes.at(layout.of)].name, layout.layout});
  if (!saving.areTaken())
    return saving;
  const double clocks = static_cast<double>(saving.given - saving.inferred) /
                        static_cast<double>(inference::unitsOfClock);
  const Estimate &estimate = plan.estimate;
  saving.gainNs = std::clamp(clocks * estimate.ctas / device.smCount / device.smClock, 0.0,
                             std::max(0.0, estimate.timeNs - estimate.rooflineNs));
  return saving;
}

std::vector<LayoutRank> LayoutRanker::rank(const std::vector<RankedPlan> &plans) {
  std::vector<LayoutRank> result;
  std::vector<std::pair<std::string, size_t>> variants; // text, plans asked for
  for (size_t place = 0; place < plans.size(); ++place) {
    LayoutRank rank{plans[place], place, 0, {}};
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
    rank.saving = savingOf(rank.plan, *made);
    result.push_back(std::move(rank));
  }
  std::stable_sort(result.begin(), result.end(), [](const LayoutRank &a, const LayoutRank &b) {
    return a.timeNs() < b.timeNs();
  });
  return result;
}

std::vector<LayoutSaving> LayoutRanker::reorder(std::vector<RankedPlan> &plans, size_t most) {
  std::vector<LayoutRank> ranks = rank(plans);
  std::vector<bool> isRanked(plans.size());
  for (const LayoutRank &rank : ranks)
    isRanked[rank.place] = true;
  for (size_t place = 0; place < plans.size(); ++place)
    if (!isRanked[place]) {
      ranks.push_back({plans[place], place, 0, {}});
      ranks.back().saving.refusal = "it has no tile program, or is not among the best of its kind";
    }
  std::sort(ranks.begin(), ranks.end(), [](const LayoutRank &a, const LayoutRank &b) {
    return std::pair(a.timeNs(), a.place) < std::pair(b.timeNs(), b.place);
  });
  if (ranks.size() > most)
    ranks.erase(ranks.begin() + static_cast<ptrdiff_t>(most), ranks.end());
  plans.clear();
  std::vector<LayoutSaving> savings;
  for (LayoutRank &rank : ranks) {
    plans.push_back(std::move(rank.plan));
    savings.push_back(std::move(rank.saving));
  }
  return savings;
}

size_t plansToRank(size_t mostOfVariant) {
  constexpr size_t severalVariants = 16;
  return std::max(severalVariants, 2 * mostOfVariant);
}

} // namespace tilewright
