// Parts of the choice of kernels. Internal to the folder.
#pragma once

#include "tools/explore/partition/choice.h"

namespace tilewright {

/// Shares of the atoms in the prices: each ≥ 0, those of a column's atoms at most its price
/// together. Their sum is large where `goodChoice` is cheap.
std::vector<double> packingOf(const ChoiceProblem &problem, std::span<const size_t> goodChoice);

/// Atoms that have to be computed: what is required and its ancestors.
std::vector<bool> atomsNeeded(const ChoiceProblem &problem);

} // namespace tilewright
