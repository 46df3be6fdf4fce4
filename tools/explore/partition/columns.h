// The columns of a partition: groups with their prices, or with estimates of them.
#pragma once

#include "tools/explore/partition/partition.h"

#include <set>

namespace tilewright {

/// A set of atoms and those of them that are stored, both ascending.
struct AtomGroup {
  std::vector<AtomId> atoms, results;
  auto operator<=>(const AtomGroup &) const = default;
};

class Columns {
public:
  Columns(const Graph &graph, const AtomGraph &atoms, const GroupPricing &pricing);

  /// Restricts the kernels that there can be; before any is added.
  void allowOnly(std::function<bool(std::span<const AtomId>)> predicate) {
    isAllowed = std::move(predicate);
  }
  bool allows(std::span<const AtomId> set) const { return !isAllowed || isAllowed(set); }

  /// Kernels may have all of these atoms, though several of them are dots.
  void addChain(const std::vector<AtomId> &set);

  /// A kernel with a price.
  size_t add(AtomGroup group, double timeNs);
  /// A kernel that could be, with an estimate. Ignored: what is known, what can't be a kernel.
  void propose(AtomGroup group);
  /// No kernel of the group takes less, whether it is a column or not.
  double boundNs(const AtomGroup &group);
  /// Prices columns with estimates, and with them all others of their kinds; or raises estimates.
  void price(std::span<const size_t> wanted);
  /// Proposes groups and prices those that may take less than `worthNs`.
  void priceGroups(const std::vector<AtomGroup> &groups, double worthNs);
  bool isPriced(size_t column) const;
  size_t pricedCount() const { return pricedColumns; }

  /// What readers outside of the set, other than `but`, and the graph's results need of it.
  std::vector<AtomId> resultsOf(std::span<const AtomId> set) const;
  /// The column of a group with a price.
  std::optional<size_t> find(const AtomGroup &group) const;
  /// Any column of a group.
  std::optional<size_t> findProposed(const AtomGroup &group) const;
  /// Why a group has no price; nothing if it has one or was never proposed.
  std::optional<std::string> refusalOf(const AtomGroup &group) const;
  /// The same of one that was refused, with the core. Slow.
  std::string whyNoPlan(const AtomGroup &group) const;
  /// Why a group can't be one kernel, whatever its price.
  std::string whyNoKernel(const AtomGroup &group) const;

  const AtomGraph &atoms;
  ChoiceProblem problem;

private:
  struct Products {
    size_t dots = 0, convolutions = 0;
  };
  AtomGroup withoutDead(AtomGroup group) const;
  const GroupEstimate &estimateOf(const AtomGroup &group);
  void setPrice(size_t column, const GroupPrice &price);
  bool makesMore(const Column &more, const Column &less) const;
  void raiseEstimate(size_t column, const Column &less);
  void raiseByPriced(size_t column);
  void raiseThoseThatMakeMore(size_t priced);
  Products productsOf(std::span<const AtomId> set) const;
  bool hasChain(std::span<const AtomId> set, size_t dots) const;

  const Graph &graph;
  const GroupPricing &pricing;
  std::function<bool(std::span<const AtomId>)> isAllowed;     ///< null: everything
  std::vector<std::pair<std::vector<AtomId>, size_t>> chains; ///< with their numbers of dots
  std::map<AtomGroup, size_t> known;                          ///< by group: its column
  std::map<AtomGroup, std::string> refusals;
  std::map<AtomGroup, GroupEstimate> estimates;
  std::vector<std::vector<size_t>> estimated; ///< by atom: columns that had estimates
  std::vector<std::vector<size_t>> priced;    ///< by first result
  struct Kind {
    std::optional<GroupPrice> price;
    unsigned asked = 0;
    std::vector<size_t> columns; ///< with estimates
  };
  std::map<StructureKey, Kind> kinds;
  size_t pricedColumns = 0;
};

/// What is near to a choice: see partition.h.
enum class Neighbourhood : uint8_t {
  Larger, ///< kernels merged, or computed again in another
  Finer,  ///< kernels split, atoms handed on
};
/// `seen`: pairs and columns that were looked at.
void proposeNeighbours(Columns &columns, std::span<const size_t> chosen, Neighbourhood which,
                       std::set<std::pair<size_t, size_t>> &seen);

/// Proposes all convex groups with their results where there are at most `limit`; else none. What
/// can't be faster than the chosen kernels that it has atoms of is left out.
bool proposeAll(Columns &columns, std::span<const size_t> chosen, size_t limit);

} // namespace tilewright
