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
//
// A price takes a search among plans, and most columns are of no use at any price. So a column may
// have an estimate, which its price is not below. What is chosen with estimates is asked for its
// prices; where it keeps them it is the best, else the next one is looked at.
#pragma once

#include "tools/explore/partition/key_hash.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tilewright {

using AtomId = uint32_t;

struct Column {
  std::vector<AtomId> atoms, results, inputs; ///< ascending
  double cost = 0;                            ///< ≥ 0; infinite: there is no such kernel
  bool isEstimate = false;                    ///< nobody knows yet; it costs no less
  StructureKey kind{};                        ///< those of one kind cost the same; 0: of none
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
  /// Where the search ended early: what the most hopeful choice begins with, from its last kernel.
  std::vector<size_t> hoped;
};

/// Sets the costs of columns with estimates to what they are, or raises the estimates, but not
/// again and again; and may do so for others.
using AskCosts = std::function<void(std::span<const size_t> columns)>;

/// The columns of a choice that have estimates; of one that was not found those it hopes for.
std::vector<size_t> estimatesIn(const ChoiceProblem &problem, const KernelChoice &choice);

/// Largest number of atoms that chooseExactly() takes.
constexpr size_t maxExactAtoms = 256;

/// The cheapest choice, estimates taken for costs. One with infinite cost where none is below
/// `upperBound`, or where `maxStates` sets were needed before the search ended: then only the bound
/// is of use.
KernelChoice chooseExactly(const ChoiceProblem &problem,
                           double upperBound = std::numeric_limits<double>::infinity(),
                           size_t maxStates = 100'000);

/// The same with prices in place of estimates: what it takes is asked for, until it takes none.
/// `problem` is what `ask` changes.
KernelChoice choosePriced(const ChoiceProblem &problem, const AskCosts &ask, double upperBound,
                          size_t maxStates = 100'000);

/// The `count` cheapest choices below `upperBound`, cheapest first, estimates taken for costs. None
/// has a column that it could do without. Fewer where there are no more, or where the search ended
/// at `maxWays` ways to sets of needed values.
std::vector<KernelChoice> chooseBest(const ChoiceProblem &problem, size_t count, double upperBound,
                                     size_t maxWays = 100'000);

/// The same with prices in place of estimates, as choosePriced().
std::vector<KernelChoice> chooseBestPriced(const ChoiceProblem &problem, const AskCosts &ask,
                                           size_t count, double upperBound,
                                           size_t maxWays = 100'000);

/// What searches of neighbourhoods have found, each once: of equal layers, whatever their columns
/// are known to cost by then, and of what later rounds leave as it is.
class KnownWindows {
public:
  struct Answer {
    std::vector<size_t> columns; ///< cheaper than what is chosen …
    bool isCheaper = false;      ///< … if there is anything
    bool isSearched = false;     ///< the search did not end early
  };
  const Answer *find(const StructureKey &window) {
    auto at = answers.find(window);
    return at == answers.end() ? nullptr : &at->second;
  }
  const Answer &add(const StructureKey &window, Answer answer) {
    return answers.insert_or_assign(window, std::move(answer)).first->second;
  }

private:
  std::map<StructureKey, Answer> answers; ///< by all that the windows say
};

struct WindowLimits {
  size_t atoms = 40;
  size_t states = 5000; ///< sets that the search of one may need
};

/// Improves a choice by exchanges within neighbourhoods of it. They are searched exactly, or halved
/// where that takes too many sets. Columns may be added between two calls: only what they are of
/// use for is searched again.
class ChoiceSearch {
public:
  /// References must live as long. `ask` may be empty where there are no estimates; the start has
  /// none.
  ChoiceSearch(const ChoiceProblem &problem, KernelChoice start, KnownWindows &known,
               AskCosts ask = {});
  ChoiceSearch(ChoiceSearch &&) noexcept;
  ChoiceSearch &operator=(ChoiceSearch &&) noexcept;
  ~ChoiceSearch();

  /// True if the choice is cheaper than it was.
  bool improve(const WindowLimits &limits = {});
  const KernelChoice &choice() const;

private:
  class Impl;
  std::unique_ptr<Impl> impl;
};

/// A lower bound on all choices, by the packing.
double packingBound(const ChoiceProblem &problem, std::span<const size_t> goodChoice = {});

/// An order in which columns can run; nothing if there is none, or something is not made.
std::optional<std::vector<size_t>> runningOrder(const ChoiceProblem &problem,
                                                std::span<const size_t> columns);

} // namespace tilewright
