#include "analysis/explore/explore.h"

#include "analysis/explore/assumed.h"
#include "analysis/explore/chains.h"
#include "analysis/explore/in_place.h"
#include "analysis/explore/lower_bound.h"
#include "analysis/explore/parts.h"
#include "analysis/indexing/collective_traffic.h"
#include "analysis/indexing/library_call.h"
#include "analysis/indexing/op_cost.h"
#include "analysis/ir/fold_empty.h"
#include "analysis/ir/free_view.h"
#include "analysis/ir/inline.h"
#include "analysis/ir/run_time_extents.h"
#include "analysis/support/checked.h"
#include "analysis/tiling/separate_roots.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <fmt/format.h>
#include <mutex>
#include <set>
#include <thread>

namespace tilewright {

namespace {

/// Runs body(0 … count-1) on some threads; each index once. What one throws ends the others, too,
/// and is thrown here.
void parallelFor(size_t count, unsigned jobs, const std::function<void(size_t)> &body) {
  std::atomic<size_t> next{0};
  std::exception_ptr thrown;
  std::mutex mutex;
  auto work = [&] {
    try {
      for (size_t i; (i = next++) < count;)
        body(i);
    } catch (...) {
      next = count;
      std::lock_guard lock(mutex);
      if (!thrown)
        thrown = std::current_exception();
    }
  };
  std::vector<std::jthread> threads; // joined also where one more can't be started
  for (unsigned t = 1; t < std::min<size_t>(jobs, count); ++t)
    threads.emplace_back(work);
  work();
  threads.clear();
  if (thrown)
    std::rethrow_exception(thrown);
}

class Explorer {
public:
  Explorer(std::shared_ptr<const Module> module, const Device &device,
           const Calibration &calibration, const ExploreOptions &options)
      : module(std::move(module)), device(device), calibration(calibration), options(options) {}

  llvm::Expected<ExploredModel> run(std::vector<ModelPart> parts);

private:
  /// The outcome of one kernel of the grouping: kernels, or ops without one.
  struct Outcome {
    std::vector<ExploredKernel> kernels;
    std::vector<UnsupportedOp> unsupported;
    std::vector<AssumedOp> assumed;
    std::vector<SplitGroup> split;
    std::string refusal; ///< why all ops together have no kernel
    std::optional<Diag> bug;
  };
  /// Of one run. Infinite where an op has no kernel.
  static double timeOf(const Outcome &outcome) {
    double timeNs = outcome.unsupported.empty() ? 0 : std::numeric_limits<double>::infinity();
    for (const ExploredKernel &kernel : outcome.kernels)
      timeNs += kernel.plans.front().estimate.timeNs;
    for (const AssumedOp &op : outcome.assumed)
      timeNs += op.timeNs;
    return timeNs;
  }

  const Graph &graphOf(GraphId id) const { return module->graph(id); }
  std::string computationName(GraphId id) const {
    return id == module->entryId ? "" : graphOf(id).name();
  }
  UnsupportedOp rowOf(GraphId id, const OpReason &entry) const;

  std::optional<AssumedOp> assumedOf(GraphId id, OpId op, const std::string &reason) const;

  llvm::Expected<ExploredKernel> exploreKernel(GraphId id, const KernelGroup &kernel) const;
  /// One kernel of the group: of all of it, or of a part of a fusion.
  llvm::Expected<ExploredKernel> exploreSource(GraphId id, const KernelGroup &kernel,
                                               const KernelSource &source) const;
  std::optional<Outcome> exploreRootsApart(GraphId id, const KernelGroup &kernel,
                                           const std::string &refusal) const;
  llvm::Expected<ExploredKernel> explorePlans(const KernelSource &source) const;
  llvm::Error addSamples(const KernelPlans &plans, ExploredKernel &kernel) const;
  Outcome exploreWhole(GraphId id, const KernelGroup &kernel) const;
  Outcome exploreOrSplit(GraphId id, const KernelGroup &kernel) const;
  std::optional<Outcome> exploreCut(GraphId id, const KernelCut &cut) const;
  bool movesNoData(const Graph &graph, const KernelGroup &kernel) const;
  void noteUnsplitReduction(ExploredKernel &kernel) const;
  void countArithmetic(const Graph &graph, const std::vector<OpId> &ops,
                       ExploredKernel &kernel) const;

  std::shared_ptr<const Module> module;
  const Device &device;
  const Calibration &calibration;
  const ExploreOptions &options;
};

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

std::vector<OpId> allOps(const KernelGroup &group) {
  std::vector<OpId> ops(group.ops);
  ops.insert(ops.end(), group.recomputed.begin(), group.recomputed.end());
  return ops;
}

void Explorer::countArithmetic(const Graph &graph, const std::vector<OpId> &ops,
                               ExploredKernel &kernel) const {
  WorkOfOps work = workOf(*module, graph, ops);
  kernel.flops = work.flops;
  kernel.transcendentals = work.transcendentals;
  kernel.uncounted = std::move(work.uncounted);
}

/// Sums of few results, which few CTAs make.
void Explorer::noteUnsplitReduction(ExploredKernel &kernel) const {
  const RankedPlan &best = kernel.plans.front();
  const Estimate &estimate = best.estimate;
  constexpr double worthANote = 5000, wellAbove = 1.25;
  const double warps = estimate.ctas * estimate.resources.warps;
  const double room = device.smCount * static_cast<double>(device.limits.warpsPerSm);
  if (kernel.kind != KernelKind::Reduce || estimate.timeNs < worthANote ||
      estimate.timeNs < wellAbove * estimate.rooflineNs || 2 * warps > room ||
      estimate.ctas >= static_cast<double>(device.smCount))
    return;
  kernel.notes.push_back(
      fmt::format("{:.0f} CTAs of {:.0f} warps on {:.0f} SMs: a reduction is not split over CTAs",
                  estimate.ctas, estimate.resources.warps, static_cast<double>(device.smCount)));
}

llvm::Expected<ExploredKernel> Explorer::exploreKernel(GraphId id, const KernelGroup &group) const {
  llvm::Expected<KernelSource> source = kernelSource(*module, id, group);
  if (!source)
    return source.takeError();
  llvm::Expected<ExploredKernel> kernel = exploreSource(id, group, *source);
  if (kernel)
    countArithmetic(graphOf(id), allOps(group), *kernel);
  return kernel;
}

llvm::Expected<ExploredKernel> Explorer::exploreSource(GraphId id, const KernelGroup &group,
                                                       const KernelSource &source) const {
  const Graph &graph = graphOf(id);
  llvm::Expected<ExploredKernel> kernel = explorePlans(source);
  if (!kernel)
    return kernel.takeError();
  kernel->name = source.name;
  kernel->kind = source.kind;
  kernel->computation = computationName(id);
  kernel->ops = namesOf(graph, group.ops);
  kernel->recomputed = namesOf(graph, group.recomputed);
  const Graph &made = group.ops.empty() ? module->graph(source.graph) : graph;
  kernel->rootShape = made.op(group.ops.empty() ? made.root() : group.root).shape.str(false);
  kernel->notes = group.notes;
  noteUnsplitReduction(*kernel);
  return kernel;
}

llvm::Expected<ExploredKernel> Explorer::explorePlans(const KernelSource &source) const {
  llvm::Expected<KernelPlans> plans =
      kernelPlans(module, source, device, calibration, options.plans);
  if (!plans)
    return plans.takeError();
  llvm::Expected<PlanRanking> ranking = plans->search(options.search);
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
  if (options.samples)
    if (llvm::Error error = addSamples(*plans, kernel))
      return error;
  if (options.tileMaps) {
    auto price = [&](const KernelPlan &candidate) -> llvm::Expected<double> {
      llvm::Expected<Estimate> estimate = plans->price(candidate);
      if (!estimate)
        return estimate.takeError();
      if (estimate->timeNs >= std::numeric_limits<double>::infinity())
        return makeError(DiagClass::Unsupported, "a CTA needs more than one SM has ({})",
                         estimate->resources.occupancyLimiter);
      return estimate->timeNs;
    };
    llvm::Expected<TileMap> map = tileMap(kernel.plans.front().plan, price);
    if (!map)
      return map.takeError();
    kernel.tileMap = std::move(*map);
  }
  return kernel;
}

/// Of each instruction as many, so that what is measured tells them apart; plain arithmetic only
/// where it is the best.
llvm::Error Explorer::addSamples(const KernelPlans &plans, ExploredKernel &kernel) const {
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
std::optional<Explorer::Outcome> Explorer::exploreCut(GraphId graphId, const KernelCut &cut) const {
  Outcome outcome;
  for (const KernelGroup &part : cut) {
    if (movesNoData(graphOf(graphId), part))
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

/// A group as one kernel, or split around its dots where that is faster or the only way. No kernels
/// and a refusal if there is no plan.
Explorer::Outcome Explorer::exploreWhole(GraphId graphId, const KernelGroup &group) const {
  const Graph &graph = graphOf(graphId);
  Outcome outcome;
  double bestNs = std::numeric_limits<double>::infinity();
  std::string whyUnfused;
  llvm::Expected<ExploredKernel> whole = exploreKernel(graphId, group);
  if (whole) {
    outcome.kernels.push_back(std::move(*whole));
    bestNs = timeOf(outcome);
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
    std::optional<Outcome> unfused = exploreCut(graphId, cut);
    if (!unfused || (!unfused->bug && timeOf(*unfused) >= bestNs))
      continue;
    if (unfused->bug)
      return std::move(*unfused);
    bestNs = timeOf(*unfused);
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
std::optional<Explorer::Outcome> Explorer::exploreRootsApart(GraphId graphId,
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
  Outcome outcome;
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

/// A group with no plan as a whole falls back to one kernel an op; what can't be tiled alone either
/// is priced by its bytes, or unsupported.
Explorer::Outcome Explorer::exploreOrSplit(GraphId graphId, const KernelGroup &group) const {
  const Graph &graph = graphOf(graphId);
  Outcome outcome = exploreWhole(graphId, group);
  if (!outcome.kernels.empty() || outcome.bug)
    return outcome;
  std::vector<OpId> all(group.ops);
  all.insert(all.end(), group.recomputed.begin(), group.recomputed.end());
  std::sort(all.begin(), all.end());
  if (all.size() == 1) {
    if (graph.op(group.root).opcode == Opcode::Fusion)
      if (std::optional<Outcome> unfused = exploreRootsApart(graphId, group, outcome.refusal))
        return std::move(*unfused);
    if (group.ops.empty())
      return outcome;
    if (std::optional<AssumedOp> assumed = assumedOf(graphId, group.root, outcome.refusal))
      outcome.assumed.push_back(std::move(*assumed));
    else
      outcome.unsupported.push_back(rowOf(graphId, {group.root, outcome.refusal}));
    return outcome;
  }
  outcome.split.push_back({graph.op(group.root).name, outcome.refusal, all.size()});
  for (OpId id : all) {
    // Ops that were to be recomputed are now written to memory here, but counted in another kernel.
    bool isCounted = std::binary_search(group.ops.begin(), group.ops.end(), id);
    KernelGroup single;
    (isCounted ? single.ops : single.recomputed) = {id};
    single.root = id;
    Outcome part = exploreOrSplit(graphId, single);
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

/// Whether a kernel only gives bytes that already lie in memory another shape. A copy of an
/// argument that is a result is meant to be one.
bool Explorer::movesNoData(const Graph &graph, const KernelGroup &kernel) const {
  bool copiesLeaf = false, isResult = false;
  const Op &result = graph.op(graph.root());
  for (OpId id : kernel.ops) {
    const Op &op = graph.op(id);
    if (!movesNoByte(graph, id, isScheduled(*module)))
      return false;
    copiesLeaf |=
        op.opcode == Opcode::Copy && opClass(graph.op(op.operands[0]).opcode) == OpClass::Leaf;
    isResult |= id == graph.root() || (result.opcode == Opcode::Tuple &&
                                       std::find(result.operands.begin(), result.operands.end(),
                                                 id) != result.operands.end());
  }
  return kernel.recomputed.empty() && !kernel.ops.empty() && !(copiesLeaf && isResult);
}

/// Ops without a price that read all of their operands at least once.
bool readsAllItsOperands(const Op &op) {
  switch (op.opcode) {
  case Opcode::Scatter:
  case Opcode::SelectAndScatter:
  case Opcode::Sort:
  case Opcode::Fft:
  case Opcode::Cholesky:
  case Opcode::TriangularSolve:
  case Opcode::RngBitGenerator:
    return true;
  default:
    return false;
  }
}

std::optional<AssumedOp> Explorer::assumedOf(GraphId id, OpId op, const std::string &reason) const {
  const Graph &graph = graphOf(id);
  std::optional<AssumedTraffic> traffic = assumedTraffic(*module, graph, op);
  if (!traffic)
    return std::nullopt;
  Estimate estimate = estimateStreaming(traffic->readBytes, traffic->writtenBytes, device,
                                        calibration, {.cache = options.plans.cache});
  AssumedOp row{graph.op(op).name,
                fmt::format("{}; {}", reason, traffic->text),
                computationName(id),
                1,
                true,
                traffic->readBytes,
                traffic->writtenBytes,
                estimate.timeNs,
                estimate.sigmaLn};
  return row;
}

UnsupportedOp Explorer::rowOf(GraphId id, const OpReason &entry) const {
  const Graph &graph = graphOf(id);
  UnsupportedOp row{graph.op(entry.op).name, entry.reason, computationName(id), {}, {}, {}};
  if (runTimeExtentRefusal(graph, graph.op(entry.op)))
    return row;
  if (std::optional<LibraryCall> call = libraryCall(graph, entry.op)) {
    row.flops = call->flops;
    row.bytes = call->bytes;
    row.reason = fmt::format("custom-call {}: a library's kernel, not priced: {} FLOPs, {} bytes",
                             graph.op(entry.op).attrs.customCallTarget, call->flops, call->bytes);
  } else if (std::optional<CollectiveTraffic> moved = collectiveTraffic(*module, graph, entry.op)) {
    row.bytes = moved->bytesRead + moved->bytesWritten;
    row.linkBytes = moved->linkBytes;
    row.reason += fmt::format("; {} bytes read, {} written and {} over the link are not priced",
                              moved->bytesRead, moved->bytesWritten, moved->linkBytes);
  } else if (const Op &op = graph.op(entry.op); readsAllItsOperands(op)) {
    std::optional<int64_t> read = 0, written = op.shape.byteSize();
    for (OpId operand : op.operands) {
      const std::optional<int64_t> bytes = graph.op(operand).shape.byteSize();
      read = read && bytes ? checkedAdd(*read, *bytes) : std::nullopt;
    }
    if (read && written) {
      row.bytes = checkedAdd(*read, *written);
      row.reason += fmt::format("; {} bytes read and {} written are not priced", *read, *written);
    }
  }
  return row;
}

/// For each kernel of a computation, finds the kernels that wrote its inputs, looking through ops
/// without a kernel. An op recomputed in several kernels is written by none of them unless it is a
/// root.
void linkKernels(const Graph &graph, std::span<ExploredKernel> kernels, size_t firstIndex) {
  std::map<std::string_view, OpId> ids;
  for (uint32_t i = 0; i < graph.size(); ++i)
    ids.emplace(graph.op(OpId{i}).name, OpId{i});
  std::vector<std::vector<size_t>> writers(graph.size()); // several of a fusion in parts
  auto opsOf = [&](const ExploredKernel &kernel) {
    std::set<OpId> ops;
    for (const std::vector<std::string> *names : {&kernel.ops, &kernel.recomputed})
      for (const std::string &name : *names)
        ops.insert(ids.at(name));
    if (!kernel.partOf.empty())
      ops.insert(ids.at(kernel.partOf));
    return ops;
  };
  // Only a kernel's root is visible outside it, so all of its ops may map to it.
  for (size_t k = 0; k < kernels.size(); ++k) {
    for (const std::string &name : kernels[k].ops)
      writers[ids.at(name).index].push_back(k);
    if (!kernels[k].partOf.empty())
      writers[ids.at(kernels[k].partOf).index].push_back(k);
  }
  for (size_t k = 0; k < kernels.size(); ++k) {
    std::set<OpId> own = opsOf(kernels[k]), seen;
    std::set<size_t> reads;
    std::vector<OpId> work;
    for (OpId id : own)
      for (OpId operand : graph.op(id).operands)
        if (!own.count(operand))
          work.push_back(operand);
    while (!work.empty()) {
      OpId id = work.back();
      work.pop_back();
      if (!seen.insert(id).second)
        continue;
      if (!writers[id.index].empty()) {
        for (size_t writer : writers[id.index])
          reads.insert(firstIndex + writer);
        continue;
      }
      const std::vector<OpId> &operands = graph.op(id).operands;
      work.insert(work.end(), operands.begin(), operands.end());
    }
    reads.erase(firstIndex + k);
    kernels[k].reads.assign(reads.begin(), reads.end());
  }
}

llvm::Expected<ExploredModel> Explorer::run(std::vector<ModelPart> parts) {
  ExploredModel model;
  model.ops = module->entry().size();
  for (ModelPart &part : parts) {
    const Graph &graph = graphOf(part.id);
    std::erase_if(part.grouping.kernels, [&](const KernelGroup &kernel) {
      if (!movesNoData(graph, kernel))
        return false;
      for (OpId id : kernel.ops)
        part.grouping.noKernel.push_back({id, std::string(toString(graph.op(id).opcode)) +
                                                  ": the same bytes under another shape"});
      return true;
    });
  }
  std::vector<std::vector<AssumedOp>> assumed(parts.size());
  for (size_t p = 0; p < parts.size(); ++p)
    std::erase_if(parts[p].grouping.unsupported, [&](const OpReason &entry) {
      std::optional<AssumedOp> row = assumedOf(parts[p].id, entry.op, entry.reason);
      if (row)
        assumed[p].push_back(std::move(*row));
      return row.has_value();
    });
  std::vector<std::pair<size_t, size_t>> work; // part, kernel
  for (size_t p = 0; p < parts.size(); ++p)
    for (size_t k = 0; k < parts[p].grouping.kernels.size(); ++k)
      work.push_back({p, k});
  std::vector<Outcome> outcomes(work.size());
  struct Chain {
    size_t part, firstKernel; ///< number of the part's first kernel in `work`
    DotChain chain;
  };
  std::vector<Chain> chains;
  for (size_t p = 0, first = 0; p < parts.size(); first += parts[p++].grouping.kernels.size())
    for (DotChain &chain : dotChains(graphOf(parts[p].id), parts[p].grouping.kernels))
      chains.push_back({p, first, std::move(chain)});
  std::vector<Outcome> fused(chains.size());
  std::mutex mutex;
  size_t done = 0;
  parallelFor(work.size() + chains.size(), options.jobs, [&](size_t i) {
    if (i < work.size()) {
      const ModelPart &part = parts[work[i].first];
      outcomes[i] = exploreOrSplit(part.id, part.grouping.kernels[work[i].second]);
    } else {
      const Chain &chain = chains[i - work.size()];
      fused[i - work.size()] = exploreWhole(parts[chain.part].id, chain.chain.whole);
    }
    std::lock_guard lock(mutex);
    ++done;
    if (options.progress)
      options.progress(done, work.size() + chains.size());
  });
  for (std::vector<Outcome> *all : {&outcomes, &fused})
    for (Outcome &outcome : *all)
      if (outcome.bug)
        return makeError(std::move(*outcome.bug));

  auto addTimes = [&](std::vector<ModelPart> &to) {
    for (size_t i = 0; i < outcomes.size(); ++i) {
      for (const ExploredKernel &kernel : outcomes[i].kernels)
        to[work[i].first].timeNs += kernel.plans.front().estimate.timeNs;
      for (const AssumedOp &op : outcomes[i].assumed)
        to[work[i].first].timeNs += op.timeNs;
    }
    for (size_t p = 0; p < assumed.size(); ++p)
      for (const AssumedOp &op : assumed[p])
        to[p].timeNs += op.timeNs;
    countRuns(*module, to);
  };
  std::vector<ModelPart> simple = parts;
  addTimes(simple);
  model.simpleGroupingNs = simple.back().timeNs;
  for (size_t begin = 0, end = 0; begin < chains.size(); begin = end) {
    std::vector<DotChain> ofPart;
    std::vector<double> gains;
    for (; end < chains.size() && chains[end].part == chains[begin].part; ++end) {
      const DotChain &chain = chains[end].chain;
      const Graph &graph = graphOf(parts[chains[end].part].id);
      ExploredChain row{graph.op(chain.first).name,
                        graph.op(chain.second).name,
                        computationName(parts[chains[end].part].id),
                        chain.kernels.size(),
                        false,
                        0,
                        0,
                        {}};
      for (size_t k : chain.kernels)
        row.unfusedNs += timeOf(outcomes[chains[end].firstKernel + k]);
      row.fusedNs = timeOf(fused[end]);
      gains.push_back(row.unfusedNs - row.fusedNs);
      if (fused[end].kernels.empty()) {
        row.fusedNs = 0;
        row.reason = fused[end].refusal;
        gains.back() = 0;
      }
      ofPart.push_back(chain);
      model.chains.push_back(std::move(row));
    }
    for (size_t chosen : chooseChains(ofPart, gains)) {
      Chain &chain = chains[begin + chosen];
      model.chains[begin + chosen].isTaken = true;
      for (size_t k : chain.chain.kernels)
        outcomes[chain.firstKernel + k] = {};
      outcomes[chain.firstKernel + chain.chain.kernels.back()] = std::move(fused[begin + chosen]);
    }
  }
  addTimes(parts);
  // Work is sorted by part; the entry is the last.
  size_t end = work.size();
  for (size_t p = parts.size(); p-- > 0;) {
    const ModelPart &part = parts[p];
    size_t first = end - part.grouping.kernels.size();
    size_t firstKernel = model.kernels.size();
    for (size_t i = first; i < end; ++i) {
      for (ExploredKernel &kernel : outcomes[i].kernels) {
        kernel.tripCount = part.runs;
        kernel.isTripCountKnown = part.isCounted;
        model.kernels.push_back(std::move(kernel));
      }
      for (AssumedOp &op : outcomes[i].assumed)
        assumed[p].push_back(std::move(op));
      for (SplitGroup &split : outcomes[i].split)
        model.split.push_back(std::move(split));
      for (UnsupportedOp &op : outcomes[i].unsupported)
        model.unsupported.push_back(std::move(op));
    }
    end = first;
    for (AssumedOp &op : assumed[p]) {
      op.tripCount = part.runs;
      op.isTripCountKnown = part.isCounted;
      model.assumed.push_back(std::move(op));
    }
    for (const OpReason &entry : part.notes)
      model.notes.push_back(
          {graphOf(part.id).op(entry.op).name, entry.reason, computationName(part.id), {}, {}, {}});
    linkKernels(graphOf(part.id), std::span(model.kernels).subspan(firstKernel), firstKernel);
    for (const OpReason &entry : part.grouping.unsupported)
      model.unsupported.push_back(rowOf(part.id, entry));
    for (const OpReason &entry : part.grouping.noKernel)
      model.noKernel.push_back(
          {graphOf(part.id).op(entry.op).name, entry.reason, computationName(part.id), {}, {}, {}});
    for (const ModelPart::Condition &condition : part.conditions)
      model.noKernel.push_back({graphOf(condition.graph).op(condition.entry.op).name,
                                condition.entry.reason,
                                graphOf(condition.graph).name(),
                                {},
                                {},
                                {}});
  }
  model.totalTimeNs = parts.back().timeNs;
  model.lowerBoundNs =
      lowerBoundNs(neededWork(*module, module->entry()), device, options.plans.cache);
  return model;
}

} // namespace

llvm::Expected<ExploredModel> exploreModel(const Module &original, const Device &device,
                                           const Calibration &calibration,
                                           const ExploreOptions &options) {
  llvm::Expected<Module> inlined = inlineCalls(original);
  if (!inlined)
    return inlined.takeError();
  Module module = foldEmptyContractions(*inlined);
  std::vector<ModelPart> parts = modelParts(module);
  planUpdates(module, parts);
  llvm::Expected<ExploredModel> explored =
      Explorer(std::make_shared<const Module>(std::move(module)), device, calibration, options)
          .run(std::move(parts));
  if (explored) { // without the constants and graphs that were added
    explored->ops = inlined->entry().size();
    explored->computations = inlined->all().size();
  }
  return explored;
}

} // namespace tilewright
