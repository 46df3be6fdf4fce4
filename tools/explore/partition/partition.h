// The partition of a graph into kernels: atoms, columns and the choice among them.
//
// The greedy kernels and the fused chains are columns, so that the choice is never worse than they
// are. Around the kernels that are chosen others are tried, round by round, until nothing new is
// cheaper:
//
//   merged      with a reader, with all readers, with a sibling that reads the same tensor
//   recomputed  what a reader needs of a producer, in the reader
//   split       before or after an atom; an atom handed on from one kernel to the next
//
// Of graphs with few convex groups all of them are columns. Where the best choice is proved to be
// that, the next best ones are alternatives, of which the caller takes one.
#pragma once

#include "tools/explore/partition/atoms.h"
#include "tools/explore/partition/choice.h"

#include "llvm/Support/Error.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tilewright {

/// What a kernel that could be costs.
struct GroupPrice {
  double timeNs = 0;
  std::string refusal;  ///< not empty: there is no such kernel
  bool isLeast = false; ///< it takes no less; who asks again is told more
};

/// What is known of one before it has a price.
struct GroupEstimate {
  StructureKey kind;   ///< groups of one kind have the same price
  double leastNs = 0;  ///< no kernel of the group takes less
  std::string refusal; ///< not empty: there is no such kernel
};

/// A kernel that is there already: of the greedy grouping, or a fused chain.
struct GivenKernel {
  std::vector<size_t> kernels; ///< of the greedy grouping that it replaces
  std::vector<AtomId> results; ///< that it stores, ascending
  double timeNs = 0;
};

/// An edge between two chosen kernels, or the first and the last op of one: fused and unfused.
struct FusionChoice {
  OpId first, second; ///< results of the parts
  bool isFused = false;
  double unfusedNs = 0, fusedNs = 0; ///< fusedNs is 0 if there is a reason
  std::string reason;                ///< why they can't be fused
};

struct PartitionKernel {
  std::optional<size_t> given; ///< one of the given kernels
  KernelGroup group;           ///< of the others
};

struct Partition {
  std::vector<PartitionKernel> kernels; ///< in an order in which they can run
  double timeNs = 0;                    ///< of the prices
  double boundNs = 0;                   ///< no choice of the columns takes less
  bool isOptimal = false; ///< no choice is below the best one, of which `boundNs` is the price
  size_t columns = 0;     ///< priced
  std::vector<FusionChoice> fusions;
};

/// What a choice must do, whatever it costs.
struct ForcedFusions {
  std::vector<std::vector<OpId>> fused; ///< each is one kernel
  std::vector<OpId> split;              ///< none is in a kernel with a reader
  bool isAny() const { return !fused.empty() || !split.empty(); }
};

struct PriceQuestion {
  KernelGroup group;
  unsigned asked = 0; ///< how often before
};

/// What is known about groups.
struct GroupPricing {
  /// The prices of groups, as many at once as are given; in their order.
  std::function<std::vector<GroupPrice>(const std::vector<PriceQuestion> &questions)> price;
  /// Quick.
  std::function<GroupEstimate(const KernelGroup &group)> estimate;
  /// Why a group that is refused has no plan, with the core. Slow.
  std::function<std::string(const KernelGroup &group)> whyNoPlan;
  /// Of choices whose prices are about the same, cheapest first, the one to take, by number: prices
  /// are of kernels alone, and don't know what one leaves in L2 for the next. Null: the first.
  std::function<size_t(std::span<const std::vector<PartitionKernel>>)> pick;
};

/// The first of the given kernels are those of the greedy grouping, one each. Errors: BadInput
/// where what is forced contradicts the graph or itself, Unsupported where it has no price.
llvm::Expected<Partition> partitionGraph(const Graph &graph, const AtomGraph &atoms,
                                         std::span<const GivenKernel> given,
                                         const GroupPricing &pricing,
                                         const ForcedFusions &forced = {});

} // namespace tilewright
