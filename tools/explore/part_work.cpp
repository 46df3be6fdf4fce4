#include "tools/explore/part_work.h"

#include "tools/explore/parallel_for.h"
#include "tools/explore/rows.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tilewright {

namespace {

/// What has no price must not be chosen for that.
constexpr double neverNs = 1e15;

/// The chains that save most, by number.
std::vector<size_t> savingChains(const Module &module, const ModelPart &part,
                                 const PartWork &work) {
  std::vector<DotChain> chains;
  std::vector<double> gains;
  for (const FusedChain &fused : work.chains) {
    const ExploredChain row = chainRow(module, part, work, fused);
    gains.push_back(row.reason.empty() ? row.unfusedNs - row.fusedNs : 0);
    chains.push_back(fused.chain);
  }
  return chooseChains(chains, gains);
}

/// The greedy kernels, and the chains in place of theirs.
std::vector<GroupOutcome> greedyChoice(const PartWork &work, const std::vector<size_t> &chains) {
  std::vector<GroupOutcome> outcomes = work.greedy;
  for (size_t chosen : chains) {
    const std::vector<size_t> &kernels = work.chains[chosen].chain.kernels;
    for (size_t k : kernels)
      outcomes[k] = {};
    outcomes[kernels.back()] = work.chains[chosen].outcome;
  }
  return outcomes;
}

double timeOf(const std::vector<GroupOutcome> &outcomes) {
  double sum = 0;
  for (const GroupOutcome &outcome : outcomes)
    sum += outcome.pricedNs() + (outcome.unsupported.empty() ? 0 : neverNs);
  return sum;
}

/// Each op counts in the first kernel that has it, and is computed again in the others.
void countOnce(const Graph &graph, std::vector<GroupOutcome> &outcomes) {
  std::set<OpId> counted;
  auto namesOf = [&](const std::set<OpId> &ids) {
    std::vector<std::string> names;
    for (OpId id : ids)
      names.push_back(graph.op(id).name);
    return names;
  };
  for (GroupOutcome &outcome : outcomes)
    for (ExploredKernel &kernel : outcome.kernels) {
      std::set<OpId> mine, again;
      for (const auto *names : {&kernel.ops, &kernel.recomputed})
        for (const std::string &name : *names) {
          const OpId id = graph.find(name);
          (counted.insert(id).second ? mine : again).insert(id);
        }
      kernel.ops = namesOf(mine);
      kernel.recomputed = namesOf(again);
    }
}

/// The greedy kernels and the chains that have a kernel.
struct GivenOutcomes {
  std::vector<GivenKernel> kernels;
  std::vector<const GroupOutcome *> outcomes; ///< of `kernels`
};

GivenOutcomes givenKernels(const AtomGraph &atoms, const ModelPart &part, const PartWork &work) {
  GivenOutcomes given;
  auto add = [&](std::vector<size_t> replaced, OpId root, const GroupOutcome &outcome) {
    const double timeNs = outcome.timeNs();
    given.kernels.push_back(
        {std::move(replaced), atoms.valuesOf(root), std::isfinite(timeNs) ? timeNs : neverNs});
    given.outcomes.push_back(&outcome);
  };
  for (size_t k = 0; k < work.greedy.size(); ++k)
    add({k}, part.grouping.kernels[k].root, work.greedy[k]);
  for (const FusedChain &chain : work.chains)
    if (!chain.outcome.kernels.empty()) // one that was refused takes no time, and does nothing
      add(chain.chain.kernels, chain.chain.whole.root, chain.outcome);
  return given;
}

} // namespace

ExploredChain chainRow(const Module &module, const ModelPart &part, const PartWork &work,
                       const FusedChain &chain) {
  const Graph &graph = module.graph(part.id);
  ExploredChain row;
  row.first = graph.op(chain.chain.first).name;
  row.second = graph.op(chain.chain.second).name;
  row.computation = computationName(module, part.id);
  row.kernels = chain.chain.kernels.size();
  for (size_t k : chain.chain.kernels)
    row.unfusedNs += work.greedy[k].timeNs();
  if (chain.outcome.kernels.empty())
    row.reason = chain.outcome.refusal;
  else
    row.fusedNs = chain.outcome.timeNs();
  return row;
}

llvm::Error chooseKernels(const Module &module, const ModelPart &part, const GroupExplorer &groups,
                          const ExploreOptions &options, const ForcedFusions &forced,
                          const SequenceNs &sequenceNs, PartWork &work) {
  const unsigned jobs = options.jobs;
  const Graph &graph = module.graph(part.id);
  std::vector<GroupOutcome> greedy = greedyChoice(work, savingChains(module, part, work));
  work.greedyNs = timeOf(greedy);
  if (options.isGreedy && !forced.isAny()) {
    work.chosen = std::move(greedy);
    work.chosenNs = work.greedyNs;
    countOnce(graph, work.chosen);
    return llvm::Error::success();
  }
  std::vector<OpId> apart = forced.split;
  for (const std::vector<OpId> &ops : forced.fused)
    apart.insert(apart.end(), ops.begin(), ops.end());
  const AtomGraph atoms(module, graph, part.grouping.kernels, work.others, apart);
  const GivenOutcomes given = givenKernels(atoms, part, work);
  GroupPricing pricing;
  size_t asked = 0;
  pricing.price = [&](const std::vector<PriceQuestion> &wanted) {
    if (options.progress)
      options.progress(asked += wanted.size(), 0);
    std::vector<GroupPrice> prices(wanted.size());
    parallelFor(wanted.size(), jobs, [&](size_t i) {
      prices[i] = groups.price(part.id, wanted[i].group, wanted[i].asked);
    });
    return prices;
  };
  pricing.estimate = [&](const KernelGroup &group) { return groups.estimate(part.id, group); };
  pricing.whyNoPlan = [&](const KernelGroup &group) {
    return groups.exploreOne(part.id, group).refusal;
  };
  auto outcomesOf = [&](std::span<const PartitionKernel> kernels) {
    std::vector<GroupOutcome> outcomes(kernels.size());
    parallelFor(kernels.size(), jobs, [&](size_t i) {
      const PartitionKernel &kernel = kernels[i];
      outcomes[i] =
          kernel.given ? *given.outcomes[*kernel.given] : groups.exploreOne(part.id, kernel.group);
    });
    // Copies before a loop are no atoms.
    for (size_t k = 0; k < work.greedy.size(); ++k)
      if (atoms.ofKernel(k).empty())
        outcomes.insert(outcomes.begin(), work.greedy[k]);
    return outcomes;
  };
  pricing.pick = [&](std::span<const std::vector<PartitionKernel>> choices) {
    size_t best = 0;
    double bestNs = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < choices.size(); ++i) {
      std::vector<GroupOutcome> outcomes = outcomesOf(choices[i]);
      if (i > 0 && timeOf(outcomes) > work.greedyNs && !forced.isAny())
        continue;
      countOnce(graph, outcomes);
      if (const double ns = sequenceNs(outcomes); ns < bestNs) {
        best = i;
        bestNs = ns;
      }
    }
    return best;
  };
  llvm::Expected<Partition> partition =
      partitionGraph(graph, atoms, given.kernels, pricing, forced);
  if (!partition)
    return partition.takeError();
  work.fusions = std::move(partition->fusions);
  work.boundNs = partition->boundNs;
  work.isOptimal = partition->isOptimal;
  work.chosen = outcomesOf(partition->kernels);
  work.chosenNs = timeOf(work.chosen);
  work.boundNs = std::min(*work.boundNs, work.chosenNs); // a thorough search finds faster plans
  if (work.chosenNs > work.greedyNs && !forced.isAny()) {
    work.chosen = std::move(greedy);
    work.chosenNs = work.greedyNs;
    work.fusions.clear();
  }
  countOnce(graph, work.chosen);
  return llvm::Error::success();
}

} // namespace tilewright
