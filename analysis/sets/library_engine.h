// The engine that hands a question to isl. Not for other folders; isl's headers stay behind it.
#pragma once

#include "analysis/sets/sets.h"

#include <optional>
#include <string>

namespace tilewright::sets {

/// Each makes a context of its own with `options.maxOperations` and is Unknown when they are spent
/// or the maps have what isl can't express: symbolic divisors and products of variables.
Answer libraryIsEmpty(const IndexSet &set, const Options &options);
Answer libraryIsSubset(const IndexSet &a, const IndexSet &b, const Options &options);
Answer libraryIsEqual(const IndexSet &a, const IndexSet &b, const Options &options);
/// Visits the points of the set, at most `options.maxPoints`.
Count libraryCount(const IndexSet &set, const Options &options);

} // namespace tilewright::sets
