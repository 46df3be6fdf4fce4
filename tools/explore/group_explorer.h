// The kernels of one group of a model: as a whole, cut around its dots, or an op each. Internal to
// the folder.
#pragma once

#include "tools/explore/chains.h"
#include "tools/explore/explore.h"
#include "tools/explore/group_price.h"
#include "tools/explore/partition/partition.h"
#include "tools/explore/partition/structure_key.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace tilewright {

/// Kernels, or ops without one.
struct GroupOutcome {
  std::vector<ExploredKernel> kernels;
  std::vector<UnsupportedOp> unsupported;
  std::vector<AssumedOp> assumed;
  std::vector<SplitGroup> split;
  std::string refusal; ///< why all ops together have no kernel
  std::optional<Diag> bug;

  double timeNs() const;   ///< of one run; infinite where an op has no kernel
  double pricedNs() const; ///< the same without such ops
};

/// Whether a kernel only gives bytes that already lie in memory another shape. A copy of an
/// argument that is a result is meant to be one.
bool movesNoData(const Module &module, const Graph &graph, const KernelGroup &kernel);

/// May be asked from several threads.
class GroupExplorer {
public:
  /// References must live as long.
  GroupExplorer(std::shared_ptr<const Module> module, const Device &device,
                const Calibration &calibration, const ExploreOptions &options)
      : module(std::move(module)), device(device), calibration(calibration), options(options),
        keys(*this->module) {}

  /// A group with no plan as a whole falls back to one kernel an op; what can't be tiled alone
  /// either is priced by its bytes, or unsupported.
  GroupOutcome explore(GraphId id, const KernelGroup &group) const;
  /// A group as one kernel, or split around its dots where that is faster or the only way. No
  /// kernels and a refusal if there is no plan.
  GroupOutcome exploreWhole(GraphId id, const KernelGroup &group) const;
  /// A group as one kernel; unsupported if it has no plan.
  GroupOutcome exploreOne(GraphId id, const KernelGroup &group) const;
  /// A group as one kernel, from short searches: what is known after as many questions before.
  GroupPrice price(GraphId id, const KernelGroup &group, unsigned asked) const;
  /// What its launch and its work take at least.
  GroupEstimate estimate(GraphId id, const KernelGroup &group) const;

private:
  /// What was found for the groups of one structure, of which `source` was the first.
  struct Found {
    std::once_flag once;
    KernelSource source;
    std::optional<ExploredKernel> kernel;
    std::optional<Diag> refusal;
  };
  struct Priced {
    std::once_flag once;
    std::unique_ptr<GroupPricer> pricer; ///< of the first of the structure
  };
  template <class Entry>
  Entry &entryOf(std::map<StructureKey, Entry> &of, const KernelSource &source) const;
  /// The kernel of a group like another one, whose plans it has.
  ExploredKernel likeFound(const Found &found, const KernelSource &source) const;
  llvm::Error addRecomputation(ExploredKernel &kernel) const;
  llvm::Error addTileMap(const KernelPlans &plans, ExploredKernel &kernel) const;
  const Graph &graphOf(GraphId id) const { return module->graph(id); }
  /// Largest search that is begun for a kernel of the greedy grouping.
  static constexpr uint64_t greedyNodes = uint64_t(1) << 32;
  llvm::Expected<ExploredKernel> exploreKernel(GraphId id, const KernelGroup &group,
                                               uint64_t maxNodes = greedyNodes) const;
  /// One kernel of the group: of all of it, or of a part of a fusion.
  llvm::Expected<ExploredKernel> exploreSource(GraphId id, const KernelGroup &group,
                                               const KernelSource &source,
                                               uint64_t maxNodes = greedyNodes) const;
  llvm::Expected<ExploredKernel> explorePlans(const KernelSource &source, uint64_t maxNodes) const;
  llvm::Expected<ExploredKernel> searchPlans(const KernelSource &source, uint64_t maxNodes) const;
  /// A text about another group of the same structure, with the names of this one.
  std::string renamed(const std::string &text, const KernelSource &from,
                      const KernelSource &to) const;
  llvm::Error addSamples(const KernelPlans &plans, ExploredKernel &kernel) const;
  std::optional<GroupOutcome> exploreCut(GraphId id, const KernelCut &cut) const;
  std::optional<GroupOutcome> exploreRootsApart(GraphId id, const KernelGroup &group,
                                                const std::string &refusal) const;
  void noteUnsplitReduction(ExploredKernel &kernel) const;
  void countArithmetic(const Graph &graph, const std::vector<OpId> &ops,
                       ExploredKernel &kernel) const;

  std::shared_ptr<const Module> module;
  const Device &device;
  const Calibration &calibration;
  const ExploreOptions &options;
  const StructureKeys keys;
  mutable std::mutex mutex; ///< of the maps, not of their entries
  mutable std::map<StructureKey, Found> found;
  mutable std::map<StructureKey, Priced> prices;
  mutable std::map<StructureKey, double> bounds;
};

} // namespace tilewright
