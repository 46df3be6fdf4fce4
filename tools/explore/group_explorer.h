// The kernels of one group of a model: as a whole, cut around its dots, or an op each. Internal to
// the folder.
#pragma once

#include "tools/explore/chains.h"
#include "tools/explore/explore.h"

#include <memory>
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

  double timeNs() const; ///< of one run; infinite where an op has no kernel
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
      : module(std::move(module)), device(device), calibration(calibration), options(options) {}

  /// A group with no plan as a whole falls back to one kernel an op; what can't be tiled alone
  /// either is priced by its bytes, or unsupported.
  GroupOutcome explore(GraphId id, const KernelGroup &group) const;
  /// A group as one kernel, or split around its dots where that is faster or the only way. No
  /// kernels and a refusal if there is no plan.
  GroupOutcome exploreWhole(GraphId id, const KernelGroup &group) const;

private:
  const Graph &graphOf(GraphId id) const { return module->graph(id); }
  llvm::Expected<ExploredKernel> exploreKernel(GraphId id, const KernelGroup &group) const;
  /// One kernel of the group: of all of it, or of a part of a fusion.
  llvm::Expected<ExploredKernel> exploreSource(GraphId id, const KernelGroup &group,
                                               const KernelSource &source) const;
  llvm::Expected<ExploredKernel> explorePlans(const KernelSource &source) const;
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
};

} // namespace tilewright
