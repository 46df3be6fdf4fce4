// The choice of kernels: which columns make all results at the least cost.
//
// A column is a kernel that could be: a set of atoms, the results among them that it stores, the
// atoms whose results it reads, and its price. A choice is a set of columns that can run one after
// the other: everything required is stored by one, and whatever one reads was stored before it. An
// atom may be in several: it is computed again.
//
// Looked at from the last kernel backwards, all that matters is the set of values that are still
// needed in memory:
//
//     needed {v}  ──column (reads {a, b}, stores {v}) runs last──▶  needed {a, b}  ──▶ … ──▶ {}
//
// so that the best choice is the shortest path from the required values to the empty set, and no
// choice has a cycle. The search is A*: whatever is still needed has to compute all of its
// ancestors, which costs no less than their shares in a fractional packing: y ≥ 0 with
// Σ y over a column's atoms ≤ its price.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace tilewright {

using AtomId = uint32_t;

struct Column {
  std::vector<AtomId> atoms, results, inputs; ///< ascending
  double cost = 0;                            ///< ≥ 0
};

struct ChoiceProblem {
  std::vector<std::vector<AtomId>> reads; ///< of each atom, all smaller than it
  std::vector<AtomId> required;
  std::vector<Column> columns;
};

struct KernelChoice {
  std::vector<size_t> columns; ///< in an order in which they can run
  double cost = std::numeric_limits<double>::infinity();
  double bound = 0;       ///< no choice of these columns costs less
  bool isOptimal = false; ///< the bound is the cost
};

/// Largest number of atoms that chooseExactly() takes.
constexpr size_t maxExactAtoms = 256;

/// The cheapest choice. One with infinite cost where none is below `upperBound`, or where
/// `maxStates` sets were needed before the search ended: then only the bound is of use.
KernelChoice chooseExactly(const ChoiceProblem &problem,
                           double upperBound = std::numeric_limits<double>::infinity(),
                           size_t maxStates = 100'000);

/// Answers of chooseExactly(), each found once: of equal layers, and of what later rounds leave as
/// it is.
class ExactChoices {
public:
  /// Arguments and answer as of chooseExactly().
  const KernelChoice &of(const ChoiceProblem &problem, double upperBound, size_t maxStates);

private:
  std::map<std::vector<uint64_t>, KernelChoice> known; ///< by all that the problem says
};

/// A choice that no exchange within a neighbourhood of it improves. Neighbourhoods are searched
/// exactly, or halved where that takes more than `maxStates` sets.
KernelChoice improveChoice(const ChoiceProblem &problem, KernelChoice start, ExactChoices &known,
                           size_t maxStates = 5000);

/// A lower bound on all choices, by the packing.
double packingBound(const ChoiceProblem &problem, std::span<const size_t> goodChoice = {});

/// An order in which columns can run; nothing if there is none, or something is not made.
std::optional<std::vector<size_t>> runningOrder(const ChoiceProblem &problem,
                                                std::span<const size_t> columns);

} // namespace tilewright
