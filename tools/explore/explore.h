// Explore: partitions a model into kernels and finds the best plans of each by predicted time.
#pragma once

#include "analysis/ir/origin.h"
#include "costmodel/sequence/levers.h"
#include "tools/explore/grouping.h"
#include "tools/explore/kernel_plans.h"
#include "tools/explore/plan_refinement.h"
#include "tools/explore/plan_sample.h"
#include "tools/explore/stored_search.h"
#include "tools/explore/tile_map.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct ExploreOptions {
  PlanSearchOptions search;
  PlanOptions plans;
  bool tileMaps = false;                    ///< also the tile map of each kernel's best plan
  std::optional<PlanSampleOptions> samples; ///< also a diverse sample of plans
  /// Kernels are those of the greedy grouping, with the chains that are faster fused, where nothing
  /// is forced. False: they are chosen together (partition/partition.h), among several times as
  /// many.
  bool isGreedy = false;
  std::vector<std::vector<std::string>> fused; ///< names of ops that are to be one kernel
  std::vector<std::string> split;              ///< of ops that no reader is fused with
  RefineOptions refine;                        ///< by which the plans of a kernel are ranked again
  unsigned jobs = 1;                           ///< threads; the result does not depend on it
  /// Of the greedy kernels; then, with a total of 0, of candidates that were priced. May be called
  /// from any thread.
  std::function<void(size_t done, size_t total)> progress;
  /// Asked before each kernel; once it is true, no more are explored, and there is no model.
  std::function<bool()> isStopped;
  PlanStore *store = nullptr; ///< of searches that were done before
  std::string storeContext;   ///< of the store's keys: device, calibration, version
};

/// A kernel behind those that run before it, with what L2 holds of them.
struct InSequence {
  double timeNs = 0, missedBytes = 0, writtenBackBytes = 0;
  std::string limiter;
};

/// An op that a kernel evaluates more than once for each element of its result.
struct RecomputedOp {
  std::string op;
  double perElement = 1;
};

struct ExploredKernel {
  std::string name;
  KernelSource source; ///< its ops, as they were tiled
  KernelKind kind = KernelKind::Elementwise;
  std::string computation; ///< whose ops these are; empty: the entry's
  /// How often it runs in one run of the model: more than once in the body of a loop, never in a
  /// branch that is not the most expensive of its conditional.
  int64_t tripCount = 1;
  bool isTripCountKnown = true; ///< false: in a loop of unknown length, of which one trip counts
  /// Where a fusion's results have nothing in common that one kernel's tiles could follow, each set
  /// of them is a kernel: of all but the first that lists the fusion in `ops`, its name.
  std::string partOf;
  std::vector<std::string> ops;        ///< of that computation, counted in this kernel
  std::vector<std::string> recomputed; ///< counted in another kernel
  std::vector<std::string> results;    ///< those of them whose values it stores
  /// Of the model's source, where the file says it: the layer without what all kernels share
  /// ("layer_0/attn"), and where its most important op comes from.
  std::string layer;
  OpOrigin origin;
  std::string rootShape;
  /// Fastest first, with what they could still save where that was asked for; never empty.
  /// Their ops are those of the first kernel of the same structure (twins.h).
  std::vector<RankedPlan> plans;
  std::vector<PlanSaving> savings; ///< of the plans, in order; empty unless asked for
  std::vector<KernelPlan> samples; ///< see plan_sample.h; empty unless asked for
  uint64_t raw = 0, feasible = 0, priced = 0;
  bool isExhaustive = false;
  std::optional<InSequence> inSequence; ///< nothing where it never runs
  std::vector<Lever> levers;            ///< of the best plan in its sequence: what it would gain by
  double sequenceNs() const {
    return inSequence ? inSequence->timeNs : plans.front().estimate.timeNs;
  }
  double lowerBoundNs = 0;                ///< no kernel of these ops takes less
  int64_t flops = 0, transcendentals = 0; ///< of one run
  double recomputeFactor = 1; ///< operations of the best plan over those that are needed
  std::vector<RecomputedOp> recomputedOps; ///< of that plan, most often evaluated first
  std::vector<std::string> uncounted;      ///< ops whose arithmetic is unknown, with the reason
  std::vector<std::string> notes;          ///< what a reader of the price should know
  std::vector<size_t> reads; ///< kernels of the model whose results it reads, ascending
  TileMap tileMap;           ///< of the best plan; empty unless asked for
};

struct UnsupportedOp {
  std::string op, reason;
  std::string computation; ///< empty: the entry's
  /// The known work of a library call or a collective: FLOPs, bytes moved on the device, bytes sent
  /// over the link.
  std::optional<int64_t> flops, bytes, linkBytes;
  std::string layer; ///< as of a kernel
};

/// An op without a kernel of ours, priced by what a library's kernels are taken to do (assumed.h).
struct AssumedOp {
  std::string op, reason;
  std::string computation; ///< empty: the entry's
  int64_t tripCount = 1;   ///< as of a kernel
  bool isTripCountKnown = true;
  double readBytes = 0, writtenBytes = 0;
  double timeNs = 0, sigmaLn = 0;       ///< of one run
  double kernels = 1;                   ///< that run one after the other
  double leastNs = 0;                   ///< of `timeNs`, by arithmetic or a link
  bool isProduct = false;               ///< of a library: `leastNs` has its launch
  double flops = 0, linkBytes = 0;      ///< where they have a part in the time
  std::optional<InSequence> inSequence; ///< as of a kernel
  double sequenceNs() const { return inSequence ? inSequence->timeNs : timeNs; }
  std::string layer; ///< as of a kernel
};

/// A group that had to be split into several kernels.
struct SplitGroup {
  std::string root, reason;
  size_t ops = 0;
};

/// Kernels from one dot to the next, priced fused and unfused (see chains.h).
struct ExploredChain {
  std::string first, second;         ///< the dots
  std::string computation;           ///< empty: the entry's
  size_t kernels = 0;                ///< of the simple grouping
  bool isTaken = false;              ///< the model's kernels have it fused
  double unfusedNs = 0, fusedNs = 0; ///< of one run; fusedNs is 0 if there is no fused kernel
  std::string reason;                ///< why there is no fused kernel
};

/// Two kernels of which one reads the other's result, or the two parts of a kernel that could be:
/// their times both ways.
struct ExploredFusion {
  std::string first, second; ///< the roots of the parts
  std::string computation;   ///< empty: the entry's
  bool isFused = false;
  double unfusedNs = 0, fusedNs = 0; ///< of one run; fusedNs is 0 if there is no fused kernel
  std::string reason;                ///< why there is none
};

struct ExploredModel {
  size_t ops = 0, computations = 0; ///< of the explored graph; of the module
  /// In execution order within each computation, callers before the loops and branches they run.
  std::vector<ExploredKernel> kernels;
  std::vector<UnsupportedOp> unsupported, noKernel;
  std::vector<AssumedOp> assumed;
  std::vector<UnsupportedOp> notes; ///< where the file contradicts itself, and what
                                    ///< is taken; that it is a CPU's (cpu_module.h)
  std::vector<SplitGroup> split;
  std::vector<ExploredChain> chains;
  std::vector<ExploredFusion> fusions;
  /// Of the kernels and of `assumed`, each alone, as often as they run: by this kernels are chosen.
  /// Complete only if nothing is unsupported.
  double totalTimeNs = 0;
  /// The model's time: the same in the order they run, each with what L2 holds when it starts, of
  /// runs back to back.
  double sequenceNs = 0;
  double simpleGroupingNs = 0; ///< of the simple grouping's kernels
  double greedyNs = 0;         ///< the same with the chains that are faster fused
  /// No partition of the candidates takes less, by the prices with which they were compared, each
  /// kernel alone. Nothing where the kernels were not chosen together.
  std::optional<double> partitionBoundNs;
  bool isPartitionOptimal = false; ///< proved: no partition of the candidates is faster
  double lowerBoundNs = 0;         ///< see lower_bound.h
  bool isComplete() const { return unsupported.empty(); }
};

/// Explores the entry computation (calls inlined) and the loops and branches that it runs. Bodies
/// of loops whose trip count can be read off are explored as graphs of their own; their conditions
/// need no kernels then. Of other loops, which are `unsupported`, one trip counts. All branches of
/// a conditional are explored, the costliest is counted. Every op of these ends up in exactly one
/// kernel, in `assumed`, in `unsupported`, or in `noKernel`. What can't be done is a row. Errors:
/// Internal ones, and of `fused` and `split`: BadInput where they name no op or contradict each
/// other or the graph, Unsupported where a fused kernel has no tiling, and BudgetSpent where it was
/// stopped.
llvm::Expected<ExploredModel> exploreModel(const Module &module, const Device &device,
                                           const Calibration &calibration,
                                           const ExploreOptions &options = {});

} // namespace tilewright
