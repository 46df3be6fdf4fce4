#include "tools/explore/kernel_plans.h"

#include "analysis/program/pass/resources.h"
#include "analysis/tiling/chain_constraints.h"
#include "analysis/tiling/resources.h"
#include "costmodel/plan_batch.h"
#include "tools/explore/variant_filter.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace tilewright {

namespace {

/// Plans of one group, priced together.
class BatchScorer : public PlanScorer {
public:
  BatchScorer(PlanBatch batch, const Parameters &parameters, CacheState cache)
      : batch(std::move(batch)), parameters(parameters), cache(cache) {}

  llvm::Error add(const KernelPlan &plan) override { return batch.add(plan.values); }

  llvm::Expected<std::vector<double>> score() override {
    std::vector<double> times(batch.size());
    if (llvm::Error error = batch.score(parameters, cache, times))
      return error;
    batch.clear();
    return times;
  }

private:
  PlanBatch batch;
  Parameters parameters;
  CacheState cache;
};

/// Plans one by one, with registers that are given.
class SingleScorer : public PlanScorer {
public:
  explicit SingleScorer(const KernelPlans &plans) : plans(plans) {}

  llvm::Error add(const KernelPlan &plan) override {
    llvm::Expected<Estimate> estimate = plans.price(plan);
    if (!estimate)
      return estimate.takeError();
    times.push_back(estimate->timeNs);
    return llvm::Error::success();
  }
  llvm::Expected<std::vector<double>> score() override { return std::exchange(times, {}); }

private:
  const KernelPlans &plans;
  std::vector<double> times;
};

bool hasTensorCores(const Graph &graph, const Group &group, const Device &device) {
  return std::any_of(group.ops.begin(), group.ops.end(), [&](OpId id) {
    const Op &op = graph[id];
    return (op.opcode == Opcode::Dot || op.opcode == Opcode::Convolution) &&
           device.tensorFlopsPerClock(graph[op.operands[0]].shape.dtype) > 0;
  });
}

/// What a search demands of tiles, beside what the kernel takes.
void addSearchedConstraints(const Module &module, const Graph &graph, TiledGroup &group,
                            Instruction instruction) {
  addInstructionConstraints(graph, group, instruction);
  addSearchConstraints(graph, group);
  addChainSearchConstraints(module, graph, group);
}

/// Of the variants of code, by their conditions, those that candidates take.
llvm::Expected<VariantFilter> variantFilter(const Module &module, const Graph &graph,
                                            TiledGroup group, Instruction instruction,
                                            const CandidatePlan &candidates) {
  addSearchedConstraints(module, graph, group, instruction);
  llvm::Expected<ConstraintSystem> system = makeSystem(group.space, group.constraints, candidates);
  if (!system)
    return system.takeError();
  return VariantFilter(std::move(*system));
}

} // namespace

std::vector<Instruction> instructionsOf(const Graph &graph, const TiledGroup &group,
                                        const Device &device) {
  const CodeChoice code = codeOf(graph, group, Instruction::Wgmma);
  if (!hasProducts(code.kind))
    return {Instruction::Fma};
  std::vector<Instruction> result;
  if (hasTensorCores(graph, group.group, device)) {
    if (device.warpgroupMma && code.instruction == Instruction::Wgmma)
      result.push_back(Instruction::Wgmma);
    if (code.instruction != Instruction::Fma)
      result.push_back(Instruction::MmaSync);
  }
  if (code.kind != CodeKind::Chain || result.empty())
    result.push_back(Instruction::Fma);
  return result;
}

llvm::Expected<KernelPlans> kernelPlans(std::shared_ptr<const Module> module,
                                        const KernelSource &source, const Device &device,
                                        const Calibration &calibration,
                                        const PlanOptions &options) {
  llvm::Expected<TiledKernel> kernel = tileKernel(*module, source);
  if (!kernel)
    return kernel.takeError();
  const Graph &graph = module->graph(source.graph);
  std::vector<Instruction> instructions = instructionsOf(graph, *kernel->tiled, device);
  const CodeKind kind = codeOf(graph, *kernel->tiled, Instruction::Fma).kind;
  if (options.instruction && hasProducts(kind))
    instructions = {*options.instruction};

  KernelPlans plans(device, calibration, options);
  for (Instruction instruction : instructions) {
    auto tiled = std::make_shared<TiledGroup>(*kernel->tiled);
    if (options.candidates) {
      llvm::Expected<VariantFilter> filter =
          variantFilter(*module, graph, *tiled, instruction, *options.candidates);
      if (!filter)
        return filter.takeError();
      size_t values = 0;
      addKernelConstraints(*module, graph, *tiled, device.limits, instruction, [&](Expr when) {
        if (values > options.maxProgramValues || !(*filter)(when))
          return false;
        values += tiled->instances.size();
        return values <= options.maxProgramValues;
      });
      if (values > options.maxProgramValues)
        return makeError(DiagClass::Unsupported,
                         "its code has too many variants to be tried: over {} of {} values",
                         options.maxProgramValues / tiled->instances.size(),
                         tiled->instances.size());
    } else {
      addKernelConstraints(*module, graph, *tiled, device.limits, instruction);
    }
    addSearchedConstraints(*module, graph, *tiled, instruction);
    KernelPlan prototype;
    prototype.name = source.name;
    prototype.module = module;
    prototype.graph = source.graph;
    prototype.context = kernel->context;
    prototype.tiled = std::move(tiled);
    prototype.instruction = instruction;
    plans.prototypes.push_back(std::move(prototype));
  }
  plans.work = neededWork(*module, graph, source.group);
  return plans;
}

llvm::Expected<Estimate> KernelPlans::price(const KernelPlan &plan) const {
  return estimateTime(plan, device, calibration,
                      {.cache = options.cache, .registers = options.registers});
}

llvm::Expected<EstimateResources> KernelPlans::resources(const KernelPlan &plan) const {
  return estimateResources(plan, device, options.registers);
}

std::unique_ptr<PlanScorer> KernelPlans::scorer(const KernelPlan &prototype) const {
  if (options.registers)
    return std::make_unique<SingleScorer>(*this);
  return std::make_unique<BatchScorer>(PlanBatch(prototype, device, prototype.instruction),
                                       parametersFor(calibration, device), options.cache);
}

namespace {

/// The searches of the spaces of a kernel.
class SpaceSearches {
public:
  struct Ranked {
    size_t space;
    PricedPlan plan;
  };

  SpaceSearches(const KernelPlans &plans, size_t top) : plans(plans), top(top) {}

  llvm::Error add(const KernelPlan &prototype, const PlanSearchOptions &options) {
    scorers.push_back(plans.scorer(prototype));
    searches.emplace_back(prototype, *scorers.back(), options);
    isCountedOnly.push_back(options.maxPriced == 0);
    return searches.back().run();
  }

  /// Prices all plans that have the best one's tile sizes, until that is the best of them.
  llvm::Error settle() {
    const TileSpace &space = plans.spaces().front().tiled->space;
    std::set<std::vector<int64_t>> settled;
    for (std::vector<Ranked> best = ranked();
         !best.empty() && settled.insert(tilingOf(space, best.front().plan.values)).second;
         best = ranked())
      for (size_t i = 0; i < searches.size(); ++i)
        if (!isCountedOnly[i])
          if (llvm::Error error = searches[i].priceSchedules(best.front().plan.values))
            return error;
    return llvm::Error::success();
  }

  /// The fastest of all spaces.
  std::vector<Ranked> ranked() const {
    std::vector<Ranked> all;
    for (size_t i = 0; i < searches.size(); ++i)
      for (PricedPlan &each : searches[i].best())
        all.push_back({i, std::move(each)});
    std::stable_sort(all.begin(), all.end(), [](const Ranked &a, const Ranked &b) {
      return a.plan.timeNs < b.plan.timeNs;
    });
    if (all.size() > top)
      all.resize(top);
    return all;
  }

  const std::vector<PlanSearch> &all() const { return searches; }

private:
  const KernelPlans &plans;
  size_t top;
  std::vector<std::unique_ptr<PlanScorer>> scorers;
  std::vector<PlanSearch> searches;
  std::vector<bool> isCountedOnly;
};

} // namespace

llvm::Expected<PlanRanking> KernelPlans::search(const PlanSearchOptions &searching) const {
  SpaceSearches searches(*this, searching.top);
  for (const KernelPlan &prototype : prototypes) {
    PlanSearchOptions mine = searching;
    // Plain arithmetic that can't be among the best is counted, not priced.
    if (prototype.instruction == Instruction::Fma && prototypes.size() > 1) {
      const std::vector<SpaceSearches::Ranked> best = searches.ranked();
      if (best.size() >= searching.top &&
          lowerBoundNs(work, device, options.cache, false) > best.back().plan.timeNs)
        mine.maxPriced = 0;
    }
    if (llvm::Error error = searches.add(prototype, mine))
      return error;
  }
  if (searching.isThorough)
    if (llvm::Error error = searches.settle())
      return error;

  PlanRanking ranking;
  ranking.isExhaustive = true;
  for (const PlanSearch &each : searches.all()) {
    ranking.raw += each.counts().raw;
    ranking.feasible += each.counts().feasible;
    ranking.priced += each.counts().priced;
    ranking.isExhaustive &= each.counts().isExhaustive();
  }
  for (SpaceSearches::Ranked &each : searches.ranked()) {
    KernelPlan plan = prototypes[each.space];
    plan.values = std::move(each.plan.values);
    llvm::Expected<Estimate> estimate = price(plan);
    if (!estimate)
      return estimate.takeError();
    ranking.best.push_back({std::move(plan), std::move(*estimate)});
  }
  if (ranking.best.empty()) {
    std::vector<std::pair<Instruction, std::vector<std::string>>> refusals;
    for (size_t i = 0; i < prototypes.size(); ++i)
      refusals.emplace_back(prototypes[i].instruction, searches.all()[i].refusal());
    ranking.refusal = joinReasons(refusals);
    if (ranking.feasible == 0)
      ranking.refusal =
          ranking.refusal.empty() ? "no feasible tiling" : "no feasible tiling; " + ranking.refusal;
  }
  return ranking;
}

std::string joinReasons(const std::vector<std::pair<Instruction, std::vector<std::string>>> &of) {
  auto isCommon = [&](const std::string &line) {
    return std::all_of(of.begin(), of.end(), [&](const auto &each) {
      return std::find(each.second.begin(), each.second.end(), line) != each.second.end();
    });
  };
  std::string text;
  auto add = [&](const std::string &line) { text += (text.empty() ? "" : "; ") + line; };
  if (!of.empty())
    for (const std::string &line : of.front().second)
      if (isCommon(line))
        add(line);
  for (const auto &[instruction, lines] : of) {
    std::string own;
    for (const std::string &line : lines)
      if (!isCommon(line))
        own += (own.empty() ? "" : "; ") + line;
    if (!own.empty())
      add(of.size() > 1 ? fmt::format("with {}: {}", toString(instruction), own) : own);
  }
  return text;
}

} // namespace tilewright
