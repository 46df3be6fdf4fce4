#include "tools/explore/explore.h"

#include "analysis/ir/cpu_module.h"
#include "analysis/ir/free_view.h"
#include "tools/explore/kernel_links.h"
#include "tools/explore/layers.h"
#include "tools/explore/lower_bound.h"
#include "tools/explore/named_kernel.h"
#include "tools/explore/parallel_for.h"
#include "tools/explore/part_work.h"
#include "tools/explore/prepared_model.h"
#include "tools/explore/rows.h"
#include "tools/explore/run_sequence.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <set>

namespace tilewright {

namespace {

/// Of kernels each alone, without ops that have none.
double pricedNs(const std::vector<GroupOutcome> &outcomes) {
  double sum = 0;
  for (const GroupOutcome &outcome : outcomes)
    sum += outcome.pricedNs();
  return sum;
}

/// One exploration of a module.
class Explorer {
public:
  Explorer(PreparedModel prepared, const Device &device, const Calibration &calibration,
           const ExploreOptions &options)
      : module(prepared.module), device(device), calibration(calibration), options(options),
        groups(prepared.module, device, calibration, options), parts(std::move(prepared.parts)),
        work(parts.size()) {
    model.ops = prepared.ops;
    model.computations = prepared.computations;
  }

  llvm::Expected<ExploredModel> run();

private:
  const Graph &graphOf(size_t part) const { return module->graph(parts[part].id); }
  void leaveOutViews(size_t part);
  void assumeTraffic(size_t part);
  void exploreGreedy();
  llvm::Expected<std::vector<ForcedFusions>> forcedFusions() const;
  std::optional<Diag> takeBug();
  double timeOfModel(const std::function<double(const PartWork &)> &kernelsNs) const;
  llvm::Error choosePartitions(const std::vector<ForcedFusions> &forced);
  ExploredModel alone(size_t part, const std::vector<GroupOutcome> &outcomes,
                      const std::vector<ModelPart> &counted) const;
  void refinePlans();
  void addTotals();
  void collectPart(size_t part);
  void collectKernels(size_t part);
  void collectFusions(size_t part);
  void collectOpsWithoutKernel(size_t part, const std::set<std::string> &seen);

  std::shared_ptr<const Module> module;
  const Device &device;
  const Calibration &calibration;
  const ExploreOptions &options;
  GroupExplorer groups;
  std::vector<ModelPart> parts;
  std::vector<PartWork> work; ///< of `parts`
  ExploredModel model;
};

/// Kernels that only give bytes another shape need none.
void Explorer::leaveOutViews(size_t p) {
  std::erase_if(parts[p].grouping.kernels, [&](const KernelGroup &kernel) {
    return movesNoData(*module, graphOf(p), kernel);
  });
}

/// Ops without a kernel whose bytes are known have a price.
void Explorer::assumeTraffic(size_t p) {
  std::erase_if(parts[p].grouping.unsupported, [&](const OpReason &entry) {
    work[p].others.push_back(entry.op);
    std::optional<AssumedOp> row =
        assumedRow(*module, parts[p].id, entry, device, calibration, options.plans.cache);
    if (row)
      work[p].assumed.push_back(std::move(*row));
    return row.has_value();
  });
  for (const OpReason &entry : parts[p].grouping.noKernel)
    if (opClass(graphOf(p).op(entry.op).opcode) == OpClass::Call)
      work[p].others.push_back(entry.op);
  std::sort(work[p].others.begin(), work[p].others.end());
}

/// The kernels and chains of the greedy grouping.
void Explorer::exploreGreedy() {
  struct Job {
    GraphId graph;
    const KernelGroup &group;
    GroupOutcome &outcome;
    bool isChain;
  };
  std::vector<Job> jobs;
  for (size_t p = 0; p < parts.size(); ++p) {
    const std::vector<KernelGroup> &kernels = parts[p].grouping.kernels;
    work[p].greedy.resize(kernels.size());
    for (DotChain &chain : dotChains(graphOf(p), kernels))
      work[p].chains.push_back({std::move(chain), {}});
    for (size_t k = 0; k < kernels.size(); ++k)
      jobs.push_back({parts[p].id, kernels[k], work[p].greedy[k], false});
    for (FusedChain &chain : work[p].chains)
      jobs.push_back({parts[p].id, chain.chain.whole, chain.outcome, true});
  }
  std::mutex mutex;
  size_t done = 0;
  parallelFor(jobs.size(), options.jobs, [&](size_t i) {
    if (options.isStopped && options.isStopped())
      return;
    const Job &job = jobs[i];
    job.outcome = job.isChain ? groups.exploreWhole(job.graph, job.group)
                              : groups.explore(job.graph, job.group);
    std::lock_guard lock(mutex);
    ++done;
    if (options.progress)
      options.progress(done, jobs.size());
  });
}

/// What the options force, by part.
llvm::Expected<std::vector<ForcedFusions>> Explorer::forcedFusions() const {
  std::vector<ForcedFusions> forced(parts.size());
  auto find = [&](std::string_view name) -> llvm::Expected<std::pair<size_t, OpId>> {
    if (name.starts_with('%'))
      name.remove_prefix(1);
    for (size_t p = parts.size(); p-- > 0;) // the entry first
      if (OpId id = graphOf(p).find(name); id.isValid())
        return std::pair(p, id);
    return noSuchOp(*module, name);
  };
  for (const std::vector<std::string> &names : options.fused) {
    std::optional<size_t> part;
    std::vector<OpId> ops;
    for (const std::string &name : names) {
      auto found = find(name);
      if (!found)
        return found.takeError();
      if (part && *part != found->first)
        return makeError(DiagClass::BadInput, "--fuse: %{} is in another computation than %{}",
                         name, names.front());
      part = found->first;
      ops.push_back(found->second);
    }
    if (part)
      forced[*part].fused.push_back(std::move(ops));
  }
  for (const std::string &name : options.split) {
    auto found = find(name);
    if (!found)
      return found.takeError();
    forced[found->first].split.push_back(found->second);
  }
  return forced;
}

std::optional<Diag> Explorer::takeBug() {
  auto take = [](GroupOutcome &outcome) { return std::exchange(outcome.bug, std::nullopt); };
  for (PartWork &each : work) {
    for (std::vector<GroupOutcome> *outcomes : {&each.greedy, &each.chosen})
      for (GroupOutcome &outcome : *outcomes)
        if (auto bug = take(outcome))
          return bug;
    for (FusedChain &chain : each.chains)
      if (auto bug = take(chain.outcome))
        return bug;
  }
  return std::nullopt;
}

/// Of one run, with the time of each part's kernels.
double Explorer::timeOfModel(const std::function<double(const PartWork &)> &kernelsNs) const {
  std::vector<ModelPart> timed = parts;
  for (size_t p = 0; p < timed.size(); ++p) {
    timed[p].timeNs = kernelsNs(work[p]);
    for (const AssumedOp &op : work[p].assumed)
      timed[p].timeNs += op.timeNs;
  }
  countRuns(*module, timed);
  return timed.back().timeNs;
}

/// A model of a part, whose kernels are not chosen yet, and of those that it runs.
ExploredModel Explorer::alone(size_t part, const std::vector<GroupOutcome> &outcomes,
                              const std::vector<ModelPart> &counted) const {
  ExploredModel model;
  auto add = [&](size_t p, const std::vector<GroupOutcome> &kernelsOf) {
    auto addAssumed = [&](const std::vector<AssumedOp> &ops) {
      for (const AssumedOp &op : ops)
        model.assumed.emplace_back(op).tripCount = counted[p].runs;
    };
    for (const GroupOutcome &outcome : kernelsOf) {
      for (const ExploredKernel &kernel : outcome.kernels)
        model.kernels.emplace_back(kernel).tripCount = counted[p].runs;
      addAssumed(outcome.assumed);
    }
    addAssumed(work[p].assumed);
  };
  add(part, outcomes);
  for (size_t p : partsRunBy(parts, part))
    add(p, work[p].chosen);
  return model;
}

/// Parts are chosen one after the other, those that are run first.
llvm::Error Explorer::choosePartitions(const std::vector<ForcedFusions> &forced) {
  std::vector<ModelPart> counted = parts;
  for (size_t p = 0; p < parts.size(); ++p)
    counted[p].timeNs = pricedNs(work[p].greedy);
  countRuns(*module, counted);
  KnownFeatures features(device);
  for (size_t p = 0; p < parts.size(); ++p) {
    auto sequenceNs = [&](const std::vector<GroupOutcome> &outcomes) {
      ExploredModel model = alone(p, outcomes, counted);
      return sequenceNsOf(*module, counted, parts[p].id, calibration, features, model);
    };
    if (llvm::Error error =
            chooseKernels(*module, parts[p], groups, options, forced[p], sequenceNs, work[p]))
      return error;
  }
  return llvm::Error::success();
}

/// Which kernels there are is decided by their times alone; of each the plan that layouts and
/// pipelines help most may be another one.
void Explorer::refinePlans() {
  std::vector<ExploredKernel *> kernels;
  for (PartWork &each : work)
    for (GroupOutcome &outcome : each.chosen)
      for (ExploredKernel &kernel : outcome.kernels)
        kernels.push_back(&kernel);
  PlanRefiner refiner(device, calibration, options.refine);
  parallelFor(kernels.size(), options.jobs, [&](size_t k) {
    kernels[k]->savings = refiner.reorder(kernels[k]->plans, options.search.top);
  });
}

void Explorer::addTotals() {
  model.simpleGroupingNs = timeOfModel([&](const PartWork &of) { return pricedNs(of.greedy); });
  model.greedyNs = timeOfModel([&](const PartWork &of) { return of.greedyNs; });
  if (std::all_of(work.begin(), work.end(), [](const PartWork &of) { return of.boundNs; }))
    model.partitionBoundNs = timeOfModel([&](const PartWork &of) { return *of.boundNs; });
  model.isPartitionOptimal =
      std::all_of(work.begin(), work.end(), [](const PartWork &of) { return of.isOptimal; });
  for (size_t p = 0; p < parts.size(); ++p) {
    parts[p].timeNs = pricedNs(work[p].chosen);
    for (const AssumedOp &op : work[p].assumed)
      parts[p].timeNs += op.timeNs;
  }
  countRuns(*module, parts);
  model.totalTimeNs = parts.back().timeNs;
  // Runs are back to back, so that L2 may hold what the next one reads.
  model.lowerBoundNs = lowerBoundNs(neededWork(*module, module->entry()), device, CacheState::Warm);
}

/// A row without a price.
UnsupportedOp plainRow(const Graph &graph, const OpReason &entry, const std::string &computation) {
  return {graph.op(entry.op).name, entry.reason, computation, {}, {}, {}, {}};
}

void Explorer::collectKernels(size_t p) {
  const ModelPart &part = parts[p];
  const size_t firstKernel = model.kernels.size();
  for (GroupOutcome &outcome : work[p].chosen) {
    for (ExploredKernel &kernel : outcome.kernels) {
      kernel.tripCount = part.runs;
      kernel.isTripCountKnown = part.isCounted;
      model.kernels.push_back(std::move(kernel));
    }
    for (AssumedOp &op : outcome.assumed)
      work[p].assumed.push_back(std::move(op));
    for (SplitGroup &split : outcome.split)
      model.split.push_back(std::move(split));
    for (UnsupportedOp &op : outcome.unsupported)
      model.unsupported.push_back(std::move(op));
  }
  for (AssumedOp &op : work[p].assumed) {
    op.tripCount = part.runs;
    op.isTripCountKnown = part.isCounted;
    model.assumed.push_back(std::move(op));
  }
  linkKernels(graphOf(p), std::span(model.kernels).subspan(firstKernel), firstKernel);
}

void Explorer::collectFusions(size_t p) {
  const Graph &graph = graphOf(p);
  const std::string computation = computationName(*module, parts[p].id);
  for (const FusionChoice &choice : work[p].fusions)
    model.fusions.push_back({graph.op(choice.first).name, graph.op(choice.second).name, computation,
                             choice.isFused, choice.unfusedNs, choice.fusedNs, choice.reason});
  std::map<std::string, size_t> kernelOf;
  for (size_t k = 0; k < model.kernels.size(); ++k)
    if (model.kernels[k].computation == computation)
      for (const std::string &op : model.kernels[k].ops)
        kernelOf[op] = k;
  for (const FusedChain &chain : work[p].chains) {
    ExploredChain row = chainRow(*module, parts[p], work[p], chain);
    const auto first = kernelOf.find(row.first), second = kernelOf.find(row.second);
    row.isTaken =
        first != kernelOf.end() && second != kernelOf.end() && first->second == second->second;
    model.chains.push_back(std::move(row));
  }
}

/// The rows of ops that are in no kernel, and of those that no kernel needs.
void Explorer::collectOpsWithoutKernel(size_t p, const std::set<std::string> &seen) {
  const Graph &graph = graphOf(p);
  const ModelPart &part = parts[p];
  const std::string computation = computationName(*module, part.id);
  for (const OpReason &entry : part.notes)
    model.notes.push_back(plainRow(graph, entry, computation));
  for (const OpReason &entry : part.grouping.unsupported)
    model.unsupported.push_back(unsupportedRow(*module, part.id, entry));
  std::set<OpId> known;
  for (const OpReason &entry : part.grouping.noKernel) {
    known.insert(entry.op);
    model.noKernel.push_back(plainRow(graph, entry, computation));
  }
  known.insert(work[p].others.begin(), work[p].others.end());
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Op &op = graph.op(OpId{i});
    if (!seen.count(op.name) && !known.count(OpId{i}))
      model.noKernel.push_back(
          plainRow(graph,
                   {OpId{i}, fmt::format("{}: {}", toString(op.opcode),
                                         movesNoByte(graph, OpId{i}, isScheduled(*module))
                                             ? "the same bytes under another shape"
                                             : "no kernel reads it")},
                   computation));
  }
  for (const ModelPart::Condition &condition : part.conditions) {
    const Graph &of = module->graph(condition.graph);
    model.noKernel.push_back(plainRow(of, condition.entry, of.name()));
  }
}

/// Adds the rows of a part to the model.
void Explorer::collectPart(size_t p) {
  const size_t firstKernel = model.kernels.size(), firstUnsupported = model.unsupported.size();
  collectKernels(p);
  collectFusions(p);
  std::set<std::string> seen;
  for (size_t k = firstKernel; k < model.kernels.size(); ++k)
    seen.insert(model.kernels[k].ops.begin(), model.kernels[k].ops.end());
  for (const AssumedOp &op : work[p].assumed)
    seen.insert(op.op);
  for (size_t i = firstUnsupported; i < model.unsupported.size(); ++i)
    seen.insert(model.unsupported[i].op);
  collectOpsWithoutKernel(p, seen);
}

llvm::Expected<ExploredModel> Explorer::run() {
  for (size_t p = 0; p < parts.size(); ++p) {
    leaveOutViews(p);
    assumeTraffic(p);
  }
  const auto isStopped = [&] { return options.isStopped && options.isStopped(); };
  exploreGreedy();
  if (isStopped())
    return makeError(DiagClass::BudgetSpent, "was stopped");
  if (std::optional<Diag> bug = takeBug())
    return makeError(std::move(*bug));
  llvm::Expected<std::vector<ForcedFusions>> forced = forcedFusions();
  if (!forced)
    return forced.takeError();
  if (llvm::Error error = choosePartitions(*forced))
    return error;
  if (isStopped())
    return makeError(DiagClass::BudgetSpent, "was stopped");
  if (std::optional<Diag> bug = takeBug())
    return makeError(std::move(*bug));
  if (options.refine.isAsked())
    refinePlans();
  addTotals();
  // The entry is the last part, and the first in the model.
  for (size_t p = parts.size(); p-- > 0;)
    collectPart(p);
  nameLayers(*module, model);
  priceSequence(*module, parts, device, calibration, model);
  return std::move(model);
}

} // namespace

llvm::Expected<ExploredModel> exploreModel(const Module &module, const Device &device,
                                           const Calibration &calibration,
                                           const ExploreOptions &options) {
  llvm::Expected<PreparedModel> prepared = prepareModel(module);
  if (!prepared)
    return prepared.takeError();
  llvm::Expected<ExploredModel> model =
      Explorer(std::move(*prepared), device, calibration, options).run();
  if (std::optional<CpuSign> sign = cpuSign(module); model && sign) {
    const Graph &graph = module.graph(sign->graph);
    model->notes.insert(model->notes.begin(), {graph.op(sign->op).name,
                                               sign->note(),
                                               computationName(module, sign->graph),
                                               {},
                                               {},
                                               {},
                                               {}});
  }
  return model;
}

} // namespace tilewright
