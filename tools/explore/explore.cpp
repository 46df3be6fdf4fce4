#include "tools/explore/explore.h"

#include "analysis/ir/cpu_module.h"
#include "tools/explore/group_explorer.h"
#include "tools/explore/kernel_links.h"
#include "tools/explore/layers.h"
#include "tools/explore/lower_bound.h"
#include "tools/explore/parallel_for.h"
#include "tools/explore/prepared_model.h"
#include "tools/explore/rows.h"
#include "tools/explore/run_sequence.h"

#include <algorithm>
#include <mutex>

namespace tilewright {

namespace {

/// One exploration of a module.
class Explorer {
public:
  Explorer(PreparedModel prepared, const Device &device, const Calibration &calibration,
           const ExploreOptions &options)
      : module(prepared.module), device(device), calibration(calibration), options(options),
        groups(prepared.module, device, calibration, options), parts(std::move(prepared.parts)),
        assumed(parts.size()) {
    model.ops = prepared.ops;
    model.computations = prepared.computations;
  }

  llvm::Expected<ExploredModel> run();

private:
  /// A chain of dots that may become one kernel.
  struct Chain {
    size_t part, firstKernel; ///< number of the part's first kernel in `work`
    DotChain chain;
  };

  const Graph &graphOf(size_t part) const { return module->graph(parts[part].id); }
  void leaveOutViews();
  void assumeTraffic();
  void listWork();
  void exploreAll();
  void addTimes(std::vector<ModelPart> &to) const;
  ExploredChain rowOf(size_t chain) const;
  void chooseChains();
  void collectPart(size_t part, size_t firstWork, size_t endWork);

  std::shared_ptr<const Module> module;
  const Device &device;
  const Calibration &calibration;
  const ExploreOptions &options;
  GroupExplorer groups;
  std::vector<ModelPart> parts;
  std::vector<std::vector<AssumedOp>> assumed; ///< of each part
  std::vector<std::pair<size_t, size_t>> work; ///< part, kernel; sorted by part
  std::vector<GroupOutcome> outcomes;          ///< of `work`
  std::vector<Chain> chains;                   ///< sorted by part
  std::vector<GroupOutcome> fused;             ///< of `chains`
  ExploredModel model;
};

/// Kernels that only give bytes another shape need none.
void Explorer::leaveOutViews() {
  for (size_t p = 0; p < parts.size(); ++p) {
    const Graph &graph = graphOf(p);
    Grouping &grouping = parts[p].grouping;
    std::erase_if(grouping.kernels, [&](const KernelGroup &kernel) {
      if (!movesNoData(*module, graph, kernel))
        return false;
      for (OpId id : kernel.ops)
        grouping.noKernel.push_back({id, std::string(toString(graph.op(id).opcode)) +
                                             ": the same bytes under another shape"});
      return true;
    });
  }
}

/// Ops without a kernel whose bytes are known have a price.
void Explorer::assumeTraffic() {
  for (size_t p = 0; p < parts.size(); ++p)
    std::erase_if(parts[p].grouping.unsupported, [&](const OpReason &entry) {
      std::optional<AssumedOp> row =
          assumedRow(*module, parts[p].id, entry, device, calibration, options.plans.cache);
      if (row)
        assumed[p].push_back(std::move(*row));
      return row.has_value();
    });
}

void Explorer::listWork() {
  for (size_t p = 0; p < parts.size(); ++p) {
    const std::vector<KernelGroup> &kernels = parts[p].grouping.kernels;
    for (DotChain &chain : dotChains(graphOf(p), kernels))
      chains.push_back({p, work.size(), std::move(chain)});
    for (size_t k = 0; k < kernels.size(); ++k)
      work.push_back({p, k});
  }
  outcomes.resize(work.size());
  fused.resize(chains.size());
}

void Explorer::exploreAll() {
  std::mutex mutex;
  size_t done = 0;
  parallelFor(work.size() + chains.size(), options.jobs, [&](size_t i) {
    if (options.isStopped && options.isStopped())
      return;
    if (i < work.size()) {
      const ModelPart &part = parts[work[i].first];
      outcomes[i] = groups.explore(part.id, part.grouping.kernels[work[i].second]);
    } else {
      const Chain &chain = chains[i - work.size()];
      fused[i - work.size()] = groups.exploreWhole(parts[chain.part].id, chain.chain.whole);
    }
    std::lock_guard lock(mutex);
    ++done;
    if (options.progress)
      options.progress(done, work.size() + chains.size());
  });
}

/// The time of each part's kernels, and how often it runs.
void Explorer::addTimes(std::vector<ModelPart> &to) const {
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
}

ExploredChain Explorer::rowOf(size_t index) const {
  const Chain &chain = chains[index];
  const Graph &graph = graphOf(chain.part);
  ExploredChain row;
  row.first = graph.op(chain.chain.first).name;
  row.second = graph.op(chain.chain.second).name;
  row.computation = computationName(*module, parts[chain.part].id);
  row.kernels = chain.chain.kernels.size();
  for (size_t k : chain.chain.kernels)
    row.unfusedNs += outcomes[chain.firstKernel + k].timeNs();
  if (fused[index].kernels.empty())
    row.reason = fused[index].refusal;
  else
    row.fusedNs = fused[index].timeNs();
  return row;
}

/// Takes the chains that save most: their outcome replaces those of their kernels.
void Explorer::chooseChains() {
  for (size_t begin = 0, end = 0; begin < chains.size(); begin = end) {
    std::vector<DotChain> ofPart;
    std::vector<double> gains;
    for (; end < chains.size() && chains[end].part == chains[begin].part; ++end) {
      const ExploredChain row = rowOf(end);
      gains.push_back(row.reason.empty() ? row.unfusedNs - row.fusedNs : 0);
      ofPart.push_back(chains[end].chain);
      model.chains.push_back(row);
    }
    for (size_t chosen : tilewright::chooseChains(ofPart, gains)) {
      const Chain &chain = chains[begin + chosen];
      model.chains[begin + chosen].isTaken = true;
      for (size_t k : chain.chain.kernels)
        outcomes[chain.firstKernel + k] = {};
      outcomes[chain.firstKernel + chain.chain.kernels.back()] = std::move(fused[begin + chosen]);
    }
  }
}

/// Adds the rows of a part to the model.
void Explorer::collectPart(size_t p, size_t firstWork, size_t endWork) {
  const ModelPart &part = parts[p];
  const std::string computation = computationName(*module, part.id);
  auto plain = [](const Graph &graph, const OpReason &entry, const std::string &of) {
    return UnsupportedOp{graph.op(entry.op).name, entry.reason, of, {}, {}, {}, {}};
  };
  const size_t firstKernel = model.kernels.size();
  for (size_t i = firstWork; i < endWork; ++i) {
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
  for (AssumedOp &op : assumed[p]) {
    op.tripCount = part.runs;
    op.isTripCountKnown = part.isCounted;
    model.assumed.push_back(std::move(op));
  }
  linkKernels(graphOf(p), std::span(model.kernels).subspan(firstKernel), firstKernel);
  for (const OpReason &entry : part.notes)
    model.notes.push_back(plain(graphOf(p), entry, computation));
  for (const OpReason &entry : part.grouping.unsupported)
    model.unsupported.push_back(unsupportedRow(*module, part.id, entry));
  for (const OpReason &entry : part.grouping.noKernel)
    model.noKernel.push_back(plain(graphOf(p), entry, computation));
  for (const ModelPart::Condition &condition : part.conditions) {
    const Graph &graph = module->graph(condition.graph);
    model.noKernel.push_back(plain(graph, condition.entry, graph.name()));
  }
}

llvm::Expected<ExploredModel> Explorer::run() {
  leaveOutViews();
  assumeTraffic();
  listWork();
  exploreAll();
  if (options.isStopped && options.isStopped())
    return makeError(DiagClass::BudgetSpent, "was stopped");
  for (std::vector<GroupOutcome> *all : {&outcomes, &fused})
    for (GroupOutcome &outcome : *all)
      if (outcome.bug)
        return makeError(std::move(*outcome.bug));
  std::vector<ModelPart> simple = parts;
  addTimes(simple);
  model.simpleGroupingNs = simple.back().timeNs;
  chooseChains();
  addTimes(parts);
  // The entry is the last part, and the first in the model.
  for (size_t p = parts.size(), end = work.size(); p-- > 0;) {
    const size_t first = end - parts[p].grouping.kernels.size();
    collectPart(p, first, end);
    end = first;
  }
  nameLayers(*module, model);
  model.totalTimeNs = parts.back().timeNs;
  model.lowerBoundNs =
      lowerBoundNs(neededWork(*module, module->entry()), device, options.plans.cache);
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
