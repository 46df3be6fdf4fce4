// The kernels of one part of a model: greedy, fused chains, and those that are chosen. Internal to
// the folder.
#pragma once

#include "tools/explore/group_explorer.h"
#include "tools/explore/parts.h"

namespace tilewright {

/// Kernels from one dot to the next, priced as one.
struct FusedChain {
  DotChain chain;
  GroupOutcome outcome;
};

struct PartWork {
  std::vector<GroupOutcome> greedy; ///< of each kernel of the part's grouping
  std::vector<FusedChain> chains;
  std::vector<AssumedOp> assumed; ///< ops without a kernel that have a price
  std::vector<OpId> others;       ///< ops that run without a kernel, ascending
  double greedyNs = 0;            ///< of the kernels and the chains that save most
  std::vector<GroupOutcome> chosen;
  double chosenNs = 0;
  std::optional<double> boundNs; ///< of all choices; nothing for greedy kernels
  bool isOptimal = false;
  std::vector<FusionChoice> fusions;
};

/// What kernels take in the order they run.
using SequenceNs = std::function<double(const std::vector<GroupOutcome> &outcomes)>;

/// Chooses the kernels of a part, of which `greedy` and `chains` are explored: never more time,
/// each alone, than the greedy choice takes, and of the best choices the one that `sequenceNs` is
/// least of. Ops are counted in one kernel each.
/// Errors: those of `forced`, see partitionGraph().
llvm::Error chooseKernels(const Module &module, const ModelPart &part, const GroupExplorer &groups,
                          const ExploreOptions &options, const ForcedFusions &forced,
                          const SequenceNs &sequenceNs, PartWork &work);

/// What a chain is and saves.
ExploredChain chainRow(const Module &module, const ModelPart &part, const PartWork &work,
                       const FusedChain &chain);

} // namespace tilewright
