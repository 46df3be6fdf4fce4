#include "tools/explore/group_price.h"

#include "analysis/program/pass/of_plan.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace tilewright {

namespace {

/// Of kernels whose constraints don't say so: those of one dot or convolution.
std::string whyNoCode(const KernelPlan &plan) {
  if (codeOf(plan.ops(), *plan.tiled, plan.instruction).kind != CodeKind::Dot)
    return {};
  llvm::Expected<program::PlanProgram> program = program::programOfPlan(plan);
  return program ? std::string() : takeDiag(program.takeError()).message;
}

} // namespace

GroupPricer::GroupPricer(std::shared_ptr<const Module> module, const KernelSource &source,
                         const Device &device, const Calibration &calibration,
                         const ExploreOptions &options)
    : source(source), module(std::move(module)), device(device), calibration(calibration),
      options(options), best{std::numeric_limits<double>::infinity(), {}} {}

GroupPrice GroupPricer::after(unsigned asked) {
  std::lock_guard lock(mutex);
  if (answers.empty())
    start();
  while (answers.size() <= asked && answers.back().isLeast) {
    tryNext();
    answers.push_back(answer());
  }
  return answers[std::min<size_t>(asked, answers.size() - 1)];
}

void GroupPricer::start() {
  const Graph &graph = module->graph(source.graph);
  llvm::Expected<TiledKernel> kernel = tileKernel(*module, source);
  if (!kernel) {
    best.refusal = takeDiag(kernel.takeError()).message;
  } else {
    work = neededWork(*module, graph, source.group);
    boundNs = lowerBoundNs(work, device, options.plans.cache);
    left = instructionsOf(graph, *kernel->tiled, device);
    if (options.plans.instruction)
      left = {*options.plans.instruction};
    std::reverse(left.begin(), left.end());
    tryNext();
  }
  answers.push_back(answer());
}

void GroupPricer::tryNext() {
  llvm::Expected<GroupPrice> price = priceWith(left.back());
  left.pop_back();
  if (!price) {
    best.refusal = takeDiag(price.takeError()).message;
    left.clear();
    return;
  }
  if (price->refusal.empty())
    best.timeNs = std::min(best.timeNs, price->timeNs);
  else if (best.refusal.empty())
    best.refusal = std::move(price->refusal);
  constexpr double nearTheBound = 1.3;
  if (best.timeNs < nearTheBound * boundNs)
    left.clear();
}

llvm::Expected<GroupPrice> GroupPricer::priceWith(Instruction instruction) const {
  PlanSearchOptions searching = options.search;
  searching.top = 1;
  searching.maxPriced = std::min<size_t>(searching.maxPriced, 96);
  searching.refinedTilings = 2;
  searching.maxNodes = uint64_t(1) << 14;
  searching.isThorough = false;
  PlanOptions planning = options.plans;
  planning.candidates = &searching.candidates;
  planning.maxProgramValues = 6000; // larger ones were never faster, and take seconds each
  planning.instruction = instruction;
  llvm::Expected<KernelPlans> plans = kernelPlans(module, source, device, calibration, planning);
  if (!plans)
    return plans.takeError();
  llvm::Expected<PlanRanking> ranking = plans->search(searching);
  if (!ranking)
    return ranking.takeError();
  if (ranking->best.empty())
    return GroupPrice{0, ranking->refusal};
  if (std::string why = whyNoCode(ranking->best.front().plan); !why.empty())
    return GroupPrice{0, std::move(why)};
  return GroupPrice{ranking->best.front().estimate.timeNs, {}};
}

double GroupPricer::leastNs(Instruction strongest) const {
  return leastPriceNs(work, device, parametersFor(calibration, device), options.plans.cache,
                      strongest);
}

GroupPrice GroupPricer::answer() const {
  if (!left.empty())
    if (const double least = leastNs(left.back()); least < best.timeNs)
      return {least, {}, true};
  if (!std::isfinite(best.timeNs))
    return {0, best.refusal.empty() ? "it has no plan" : best.refusal};
  if (best.timeNs < boundNs)
    return {best.timeNs, fmt::format("its price of {:.1f} us is below the {:.1f} us that its work "
                                     "takes at least",
                                     best.timeNs / 1e3, boundNs / 1e3)};
  return {best.timeNs, {}};
}

} // namespace tilewright
