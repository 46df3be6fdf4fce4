// Parts of the choice of kernels. Internal to the folder.
#pragma once

#include "tools/explore/partition/choice.h"

namespace tilewright {

/// A lower bound's proof. Each atom that has to be computed has a share y. Where it is computed by
/// a column that reads v, it passes u of its share on to whoever stores v, so that a column is
/// loaded with
///
///     Σ over its atoms of max(0, y - Σ u to what it reads)  +  Σ over its results v of all u to v
///
/// which is at most its price. In a choice every needed atom is computed by some column, and all
/// that this one reads is stored: the shares arrive somewhere, and their sum is at most the cost.
struct Packing {
  std::vector<double> shares;
  std::vector<std::vector<std::pair<AtomId, double>>> passedOn; ///< by v: atoms and u > 0
};

/// The shares' sum is large where `goodChoice` is cheap. `known`: of the same columns when none of
/// them cost more, which leaves less to be found.
Packing packingOf(const ChoiceProblem &problem, std::span<const size_t> goodChoice,
                  const Packing *known = nullptr);

/// Answers as chooseExactly(). `packing`: of the same problem with smaller costs, or empty; that of
/// this one is left there.
KernelChoice chooseExactly(const ChoiceProblem &problem, double upperBound, size_t maxStates,
                           Packing &packing);

/// What a column is loaded with.
double loadOf(const Packing &packing, const Column &column);

/// Atoms that have to be computed: what is required and its ancestors.
std::vector<bool> atomsNeeded(const ChoiceProblem &problem);

} // namespace tilewright
