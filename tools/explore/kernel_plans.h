// The plans of one kernel on one device: which are feasible, what each costs, and what no kernel
// can beat. `tile` and `explore` both ask here, so that they can't give two answers.
//
//   auto plans = kernelPlans(module, source, device, calibration, options);
//   plans->spaces()              one an instruction of its dots: tiles with all constraints
//   plans->price(plan)           its time, taken apart
//   plans->search(…)             the fastest of all spaces
//   plans->boundNs()             no kernel of these ops takes less
#pragma once

#include "costmodel/estimate.h"
#include "tools/explore/kernels.h"
#include "tools/explore/lower_bound.h"
#include "tools/explore/plan_search.h"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct PlanOptions {
  CacheState cache = CacheState::Warm; ///< as inside a running model
  std::optional<Instruction> instruction =
      {};                               ///< of all dots; nothing: the fastest of those there are
  std::optional<double> registers = {}; ///< of a thread, in place of the estimate
  /// Only these sizes are asked for: variants of code that none of them takes are not looked at.
  /// Null: any size.
  const CandidatePlan *candidates = nullptr;
  /// With `candidates`: values of the programs of all variants that are looked at, at most. A
  /// kernel of more is Unsupported.
  size_t maxProgramValues = std::numeric_limits<size_t>::max();
};

struct RankedPlan {
  KernelPlan plan;
  Estimate estimate;
};

struct PlanRanking {
  uint64_t raw = 0, feasible = 0, priced = 0; ///< see PlanCounts; over all spaces
  bool isExhaustive = false;                  ///< every feasible plan was priced
  std::vector<RankedPlan> best;               ///< fastest first, different kernels
  std::string refusal;                        ///< why there is no plan, when `best` is empty
};

/// Instructions that the dots of a group can take on a device, the strongest first; `fma` alone
/// where there are none.
std::vector<Instruction> instructionsOf(const Graph &graph, const TiledGroup &group,
                                        const Device &device);

class KernelPlans {
public:
  /// A prototype an instruction: a plan without values, whose group has all constraints.
  const std::vector<KernelPlan> &spaces() const { return prototypes; }

  /// Errors as estimateTime(). Whether the plan is feasible is not looked at.
  llvm::Expected<Estimate> price(const KernelPlan &plan) const;
  llvm::Expected<EstimateResources> resources(const KernelPlan &plan) const;
  /// Prices many plans of a space.
  std::unique_ptr<PlanScorer> scorer(const KernelPlan &prototype) const;
  /// Errors: Internal ones. No plan is no error.
  llvm::Expected<PlanRanking> search(const PlanSearchOptions &options) const;
  double boundNs() const { return lowerBoundNs(work, device, options.cache); }

  const Device &device;
  const Calibration &calibration;
  const PlanOptions options;

private:
  friend llvm::Expected<KernelPlans> kernelPlans(std::shared_ptr<const Module> module,
                                                 const KernelSource &source, const Device &device,
                                                 const Calibration &calibration,
                                                 const PlanOptions &options);
  KernelPlans(const Device &device, const Calibration &calibration, const PlanOptions &options)
      : device(device), calibration(calibration), options(options) {}

  std::vector<KernelPlan> prototypes;
  NeededWork work;
};

/// The device and the calibration must live as long. Errors as tileKernel().
llvm::Expected<KernelPlans> kernelPlans(std::shared_ptr<const Module> module,
                                        const KernelSource &source, const Device &device,
                                        const Calibration &calibration,
                                        const PlanOptions &options = {});

/// Reasons of several instructions in one line; what they have in common is said once.
std::string joinReasons(const std::vector<std::pair<Instruction, std::vector<std::string>>> &of);

} // namespace tilewright
