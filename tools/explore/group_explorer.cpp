#include "tools/explore/group_explorer.h"

#include "analysis/indexing/cumulative.h"
#include "analysis/indexing/op_cost.h"
#include "analysis/ir/free_view.h"
#include "analysis/tiling/resources.h"
#include "analysis/tiling/separate_roots.h"
#include "costmodel/recomputation.h"
#include "tools/explore/rows.h"
#include "tools/explore/twins.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace tilewright {

namespace {

std::vector<std::string> namesOf(const Graph &graph, const std::vector<OpId> &ops) {
  std::vector<std::string> result;
  for (OpId id : ops)
    result.push_back(graph.op(id).name);
  return result;
}

/// The intermediates that a cut writes to memory: "%a and %b".
std::string cutNames(const Graph &graph, const KernelCut &cut) {
  std::string names;
  for (size_t i = 0; i + 1 < cut.size(); ++i)
    names += (i ? " and %" : "%") + graph.op(cut[i].root).name;
  return names;
}

} // namespace

double GroupOutcome::timeNs() const {
  return unsupported.empty() ? pricedNs() : std::numeric_limits<double>::infinity();
}

double GroupOutcome::pricedNs() const {
  double sum = 0;
  for (const ExploredKernel &kernel : kernels)
    sum += kernel.plans.front().estimate.timeNs;
  for (const AssumedOp &op : assumed)
    sum += op.timeNs;
  return sum;
}

bool movesNoData(const Module &module, const Graph &graph, const KernelGroup &kernel) {
  bool copiesLeaf = false, isResult = false;
  const Op &result = graph.op(graph.root());
  for (OpId id : kernel.ops) {
    const Op &op = graph.op(id);
    if (!movesNoByte(graph, id, isScheduled(module)))
      return false;
    copiesLeaf |=
        op.opcode == Opcode::Copy && opClass(graph.op(op.operands[0]).opcode) == OpClass::Leaf;
    isResult |= id == graph.root() || (result.opcode == Opcode::Tuple &&
                                       std::find(result.operands.begin(), result.operands.end(),
                                                 id) != result.operands.end());
  }
  return kernel.recomputed.empty() && !kernel.ops.empty() && !(copiesLeaf && isResult);
}

void GroupExplorer::countArithmetic(const Graph &graph, const std::vector<OpId> &ops,
                                    ExploredKernel &kernel) const {
  WorkOfOps work = workOf(*module, graph, ops);
  kernel.flops = work.flops;
  kernel.transcendentals = work.transcendentals;
  kernel.uncounted = std::move(work.uncounted);
}

/// Sums of few results, which few CTAs make.
void GroupExplorer::noteUnsplitReduction(ExploredKernel &kernel) const {
  const RankedPlan &best = kernel.plans.front();
  const Estimate &estimate = best.estimate;
  constexpr double worthANote = 5000, wellAbove = 1.25;
  const double warps = estimate.ctas * estimate.resources.warps;
  const double room = device.smCount * static_cast<double>(device.limits.warpsPerSm);
  if (kernel.kind != KernelKind::Reduce || best.plan.value("split_k") > 1 ||
      estimate.timeNs < worthANote || estimate.timeNs < wellAbove * estimate.rooflineNs ||
      2 * warps > room || estimate.ctas >= static_cast<double>(device.smCount))
    return;
  kernel.notes.push_back(
      fmt::format("{:.0f} CTA{} of {:.0f} warps on {:.0f} SMs: a reduction is not split over CTAs",
                  estimate.ctas, estimate.ctas == 1 ? "" : "s", estimate.resources.warps,
                  static_cast<double>(device.smCount)));
}

llvm::Expected<ExploredKernel> GroupExplorer::exploreKernel(GraphId id, const KernelGroup &group,
                                                            uint64_t maxNodes) const {
  llvm::Expected<KernelSource> source = kernelSource(*module, id, group);
  if (!source)
    return source.takeError();
  llvm::Expected<ExploredKernel> kernel = exploreSource(id, group, *source, maxNodes);
  if (kernel)
    countArithmetic(graphOf(id), group.allOps(), *kernel);
  return kernel;
}

llvm::Expected<ExploredKernel> GroupExplorer::exploreSource(GraphId id, const KernelGroup &group,
                                                            const KernelSource &source,
                                                            uint64_t maxNodes) const {
  const Graph &graph = graphOf(id);
  llvm::Expected<ExploredKernel> kernel = explorePlans(source, maxNodes);
  if (!kernel)
    return kernel.takeError();
  kernel->name = source.name;
  kernel->source = source;
  kernel->kind = source.kind;
  kernel->computation = computationName(*module, id);
  kernel->ops = namesOf(graph, group.ops);
  kernel->recomputed = namesOf(graph, group.recomputed);
  kernel->results =
      namesOf(graph, group.roots.empty() ? std::vector<OpId>{group.root} : group.roots);
  const Graph &made = group.ops.empty() ? module->graph(source.graph) : graph;
  kernel->rootShape = made.op(group.ops.empty() ? made.root() : group.root).shape.str(false);
  kernel->notes = group.notes;
  noteUnsplitReduction(*kernel);
  return kernel;
}

template <class Entry>
Entry &GroupExplorer::entryOf(std::map<StructureKey, Entry> &of, const KernelSource &source) const {
  const StructureKey key = keys.of(source.graph, source.group);
  std::lock_guard lock(mutex);
  return of[key];
}

/// Only the first of a structure is searched.
llvm::Expected<ExploredKernel> GroupExplorer::explorePlans(const KernelSource &source,
                                                           uint64_t maxNodes) const {
  Found &entry = entryOf(found, source);
  bool isFirst = false;
  std::call_once(entry.once, [&] {
    isFirst = true;
    entry.source = source;
    if (llvm::Expected<ExploredKernel> kernel = searchPlans(source, maxNodes))
      entry.kernel = std::move(*kernel);
    else
      entry.refusal = takeDiag(kernel.takeError());
  });
  if (!entry.kernel) {
    Diag refusal = *entry.refusal;
    if (!isFirst)
      refusal.message = renamed(refusal.message, entry.source, source);
    return makeError(std::move(refusal));
  }
  return isFirst ? *entry.kernel : likeFound(entry, source);
}

std::string GroupExplorer::renamed(const std::string &text, const KernelSource &from,
                                   const KernelSource &to) const {
  return tilewright::renamed(text, graphOf(from.graph), from.group, graphOf(to.graph), to.group);
}

ExploredKernel GroupExplorer::likeFound(const Found &entry, const KernelSource &source) const {
  ExploredKernel kernel = *entry.kernel;
  for (RankedPlan &ranked : kernel.plans)
    ranked.plan.name = source.name;
  for (KernelPlan &sample : kernel.samples)
    sample.name = source.name;
  for (TileMap::Cell &cell : kernel.tileMap.cells)
    cell.reason = renamed(cell.reason, entry.source, source);
  for (RecomputedOp &each : kernel.recomputedOps)
    each.op = renamed("%" + each.op, entry.source, source).substr(1);
  return kernel;
}

GroupPrice GroupExplorer::price(GraphId id, const KernelGroup &group, unsigned asked) const {
  if (options.isStopped && options.isStopped())
    return {0, "was stopped"};
  llvm::Expected<KernelSource> source = kernelSource(*module, id, group);
  if (!source)
    return {0, takeDiag(source.takeError()).message};
  Priced &entry = entryOf(prices, *source);
  std::call_once(entry.once, [&] {
    entry.pricer = std::make_unique<GroupPricer>(module, *source, device, calibration, options);
  });
  GroupPrice price = entry.pricer->after(asked);
  price.refusal = renamed(price.refusal, entry.pricer->source, *source);
  return price;
}

GroupEstimate GroupExplorer::estimate(GraphId id, const KernelGroup &group) const {
  llvm::Expected<KernelSource> source = kernelSource(*module, id, group);
  if (!source)
    return {{}, 0, takeDiag(source.takeError()).message};
  const StructureKey key = keys.of(source->graph, source->group);
  std::lock_guard lock(mutex);
  auto [at, isNew] = bounds.try_emplace(key, 0);
  if (isNew)
    at->second = leastPriceNs(neededWork(*module, graphOf(source->graph), source->group), device,
                              parametersFor(calibration, device), options.plans.cache);
  return {key, at->second, {}};
}

llvm::Expected<ExploredKernel> GroupExplorer::searchPlans(const KernelSource &source,
                                                          uint64_t maxNodes) const {
  PlanSearchOptions searching = options.search;
  PlanOptions planning = options.plans;
  if (!options.tileMaps && !options.samples) // those ask for other sizes
    planning.candidates = &searching.candidates;
  llvm::Expected<KernelPlans> plans = kernelPlans(module, source, device, calibration, planning);
  if (!plans)
    return plans.takeError();
  searching.maxNodes = maxNodes;
  if (options.refine.isAsked())
    searching.top = std::max(searching.top, options.refine.plansToRank());
  llvm::Expected<PlanRanking> ranking =
      storedSearch(*plans, source, searching, options.store, options.storeContext);
  if (!ranking)
    return ranking.takeError();
  if (ranking->best.empty())
    return makeError(DiagClass::Unsupported, "{}", ranking->refusal);

  ExploredKernel kernel;
  kernel.raw = ranking->raw;
  kernel.feasible = ranking->feasible;
  kernel.priced = ranking->priced;
  kernel.isExhaustive = ranking->isExhaustive;
  kernel.plans = std::move(ranking->best);
  kernel.lowerBoundNs = plans->boundNs();
  if (llvm::Error error = addRecomputation(kernel))
    return error;
  if (options.samples)
    if (llvm::Error error = addSamples(*plans, kernel))
      return error;
  if (options.tileMaps)
    if (llvm::Error error = addTileMap(*plans, kernel))
      return error;
  return kernel;
}

llvm::Error GroupExplorer::addRecomputation(ExploredKernel &kernel) const {
  constexpr double least = 1.0005; // tiles that stick out of tensors are rounded
  const KernelPlan &best = kernel.plans.front().plan;
  llvm::Expected<std::vector<OpEvaluations>> evaluations = opEvaluations(best);
  if (!evaluations)
    return evaluations.takeError();
  kernel.recomputeFactor = recomputeFactor(*evaluations);
  for (const OpEvaluations &each : *evaluations)
    if (each.perElement >= least)
      kernel.recomputedOps.push_back({best.ops().op(each.op).name, each.perElement});
  std::stable_sort(kernel.recomputedOps.begin(), kernel.recomputedOps.end(),
                   [](const auto &a, const auto &b) { return a.perElement > b.perElement; });
  return llvm::Error::success();
}

llvm::Error GroupExplorer::addTileMap(const KernelPlans &plans, ExploredKernel &kernel) const {
  auto price = [&](const KernelPlan &candidate) -> llvm::Expected<double> {
    llvm::Expected<Estimate> estimate = plans.price(candidate);
    if (!estimate)
      return estimate.takeError();
    if (estimate->timeNs >= std::numeric_limits<double>::infinity())
      return makeError(DiagClass::Unsupported, "a CTA needs more than one SM has ({})",
                       estimate->resources.occupancyLimiter);
    return estimate->timeNs;
  };
  const KernelPlan &best = kernel.plans.front().plan;
  const std::unique_ptr<PlanScorer> scorer = plans.scorer(best);
  llvm::Expected<TileMap> map = tileMap(best, *scorer, price);
  if (!map)
    return map.takeError();
  kernel.tileMap = std::move(*map);
  return llvm::Error::success();
}

/// Of each instruction as many, so that what is measured tells them apart; plain arithmetic only
/// where it is the best.
llvm::Error GroupExplorer::addSamples(const KernelPlans &plans, ExploredKernel &kernel) const {
  std::vector<KernelPlan> spaces = plans.spaces();
  const Instruction best = kernel.plans.front().plan.instruction;
  std::erase_if(spaces, [&](const KernelPlan &space) {
    return space.instruction == Instruction::Fma && best != Instruction::Fma;
  });
  for (size_t i = 0; i < spaces.size(); ++i) {
    const KernelPlan &prototype = spaces[i];
    PlanSampleOptions sampling = *options.samples;
    sampling.count = (sampling.count + spaces.size() - 1 - i) / spaces.size();
    if (sampling.count == 0)
      continue;
    std::unique_ptr<PlanScorer> scorer = plans.scorer(prototype);
    llvm::Expected<std::vector<PricedPlan>> sampled = samplePlans(prototype, *scorer, sampling);
    if (!sampled)
      return sampled.takeError();
    for (PricedPlan &each : *sampled) {
      kernel.samples.push_back(prototype);
      kernel.samples.back().values = std::move(each.values);
    }
  }
  return llvm::Error::success();
}

/// Empty if a part has no plan, or only reshapes bytes in memory.
std::optional<GroupOutcome> GroupExplorer::exploreCut(GraphId graphId, const KernelCut &cut) const {
  GroupOutcome outcome;
  for (const KernelGroup &part : cut) {
    if (movesNoData(*module, graphOf(graphId), part))
      return std::nullopt;
    llvm::Expected<ExploredKernel> kernel = exploreKernel(graphId, part);
    if (!kernel) {
      Diag diag = takeDiag(kernel.takeError());
      if (diag.cls != DiagClass::Internal)
        return std::nullopt;
      outcome.bug = std::move(diag);
      return outcome;
    }
    outcome.kernels.push_back(std::move(*kernel));
  }
  return outcome;
}

GroupOutcome GroupExplorer::exploreOne(GraphId id, const KernelGroup &group) const {
  constexpr uint64_t maxNodes = uint64_t(1) << 21; // of searches that nobody has tried before
  GroupOutcome outcome;
  llvm::Expected<ExploredKernel> kernel = exploreKernel(id, group, maxNodes);
  if (kernel) {
    outcome.kernels.push_back(std::move(*kernel));
    return outcome;
  }
  Diag diag = takeDiag(kernel.takeError());
  outcome.refusal = diag.message;
  if (diag.cls == DiagClass::Internal)
    outcome.bug = std::move(diag);
  else
    outcome.unsupported.push_back(unsupportedRow(*module, id, {group.root, diag.message}));
  return outcome;
}

GroupOutcome GroupExplorer::exploreWhole(GraphId graphId, const KernelGroup &group) const {
  const Graph &graph = graphOf(graphId);
  GroupOutcome outcome;
  double bestNs = std::numeric_limits<double>::infinity();
  std::string whyUnfused;
  llvm::Expected<ExploredKernel> whole = exploreKernel(graphId, group);
  if (whole) {
    outcome.kernels.push_back(std::move(*whole));
    bestNs = outcome.timeNs();
    whyUnfused = fmt::format("as one kernel {:.1f} us", bestNs / 1e3);
  } else {
    Diag diag = takeDiag(whole.takeError());
    if (diag.cls == DiagClass::Internal) {
      outcome.bug = std::move(diag);
      return outcome;
    }
    outcome.refusal = whyUnfused = diag.message;
  }
  size_t opCount = group.ops.size() + group.recomputed.size();
  for (const KernelCut &cut : kernelCuts(graph, group)) {
    std::optional<GroupOutcome> unfused = exploreCut(graphId, cut);
    if (!unfused || (!unfused->bug && unfused->timeNs() >= bestNs))
      continue;
    if (unfused->bug)
      return std::move(*unfused);
    bestNs = unfused->timeNs();
    unfused->split.push_back({graph.op(group.root).name,
                              fmt::format("{}; with {} written to memory {:.1f} us", whyUnfused,
                                          cutNames(graph, cut), bestNs / 1e3),
                              opCount});
    outcome = std::move(*unfused);
  }
  return outcome;
}

/// A fusion whose results have different shapes as a kernel for each set of results that can share
/// tiles. Nothing where there is one set only, or where a set has no plan.
std::optional<GroupOutcome> GroupExplorer::exploreRootsApart(GraphId graphId,
                                                             const KernelGroup &group,
                                                             const std::string &refusal) const {
  llvm::Expected<KernelSource> source = kernelSource(*module, graphId, group);
  if (!source || source->group.roots.size() < 2) {
    llvm::consumeError(source.takeError());
    return std::nullopt;
  }
  const Graph &body = graphOf(source->graph);
  llvm::Expected<std::vector<SeparateTiles>> parts = tileHorizontalFusion(body, source->group);
  if (!parts || parts->size() < 2) {
    llvm::consumeError(parts.takeError());
    return std::nullopt;
  }
  GroupOutcome outcome;
  for (const SeparateTiles &part : *parts) {
    KernelSource own = *source;
    own.group = part.tiled.group;
    own.kind = kindOf(body, own.group);
    own.name = fmt::format("{}.{}", source->name, body.op(own.group.roots.back()).name);
    llvm::Expected<ExploredKernel> kernel = exploreSource(graphId, group, own);
    if (!kernel) {
      Diag diag = takeDiag(kernel.takeError());
      if (diag.cls != DiagClass::Internal)
        return std::nullopt;
      outcome.bug = std::move(diag);
      return outcome;
    }
    countArithmetic(body, own.group.ops, *kernel);
    kernel->rootShape = body.op(own.group.roots.back()).shape.str(false);
    if (!outcome.kernels.empty()) {
      kernel->partOf = graphOf(graphId).op(group.root).name;
      kernel->ops.clear();
    }
    outcome.kernels.push_back(std::move(*kernel));
  }
  outcome.split.push_back(
      {graphOf(graphId).op(group.root).name, refusal, source->group.ops.size()});
  return outcome;
}

GroupOutcome GroupExplorer::explore(GraphId graphId, const KernelGroup &group) const {
  const Graph &graph = graphOf(graphId);
  GroupOutcome outcome = exploreWhole(graphId, group);
  if (outcome.bug)
    return outcome;
  const std::vector<OpId> all = group.allOps();
  // Windows that make running sums cost n² as a kernel of ours, and n as the scan that compilers
  // make of them.
  if (all.size() == 1 && !group.ops.empty() && hasRunningSum(*module, graph.op(group.root)))
    if (std::optional<AssumedOp> scan =
            assumedRow(*module, graphId, {group.root, "its windows are running sums along a line"},
                       device, calibration, options.plans.cache);
        scan && (outcome.kernels.empty() || scan->timeNs < outcome.timeNs())) {
      outcome = {};
      outcome.assumed.push_back(std::move(*scan));
      return outcome;
    }
  if (!outcome.kernels.empty())
    return outcome;
  if (all.size() == 1) {
    if (graph.op(group.root).opcode == Opcode::Fusion)
      if (std::optional<GroupOutcome> unfused = exploreRootsApart(graphId, group, outcome.refusal))
        return std::move(*unfused);
    if (group.ops.empty())
      return outcome;
    const OpReason entry{group.root, outcome.refusal};
    if (std::optional<AssumedOp> assumed =
            assumedRow(*module, graphId, entry, device, calibration, options.plans.cache))
      outcome.assumed.push_back(std::move(*assumed));
    else
      outcome.unsupported.push_back(unsupportedRow(*module, graphId, entry));
    return outcome;
  }
  outcome.split.push_back({graph.op(group.root).name, outcome.refusal, all.size()});
  for (OpId id : all) {
    // Ops that were to be recomputed are now written to memory here, but counted in another kernel.
    bool isCounted = std::binary_search(group.ops.begin(), group.ops.end(), id);
    KernelGroup single;
    (isCounted ? single.ops : single.recomputed) = {id};
    single.root = id;
    GroupOutcome part = explore(graphId, single);
    if (part.bug)
      return part;
    for (ExploredKernel &kernel : part.kernels)
      outcome.kernels.push_back(std::move(kernel));
    for (UnsupportedOp &op : part.unsupported)
      outcome.unsupported.push_back(std::move(op));
    for (AssumedOp &op : part.assumed)
      outcome.assumed.push_back(std::move(op));
  }
  return outcome;
}

} // namespace tilewright
