// The engine without search: reads as unions of products of progressions. Not for other folders.
#pragma once

#include "analysis/sets/digits.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright::sets {

/// The values that some results take together, independent of all other results.
struct Component {
  std::vector<uint32_t> results; ///< which results, ascending
  /// Of one result: its values, as disjoint progressions.
  std::vector<Progression> line;
  /// Of several: the tuples, sorted and distinct.
  std::vector<std::vector<int64_t>> points;

  size_t parts() const { return results.size() == 1 ? line.size() : points.size(); }
};

/// A non-empty product of components that together have every result once.
struct Product {
  std::vector<Component> components;
  std::optional<int64_t> pointCount() const;
};

/// The set as a union of products. Empty, with `reason`, if closed forms don't cover it.
std::optional<std::vector<Product>> productsOf(const IndexSet &set, const Options &options,
                                               std::string &reason);

/// The same as disjoint boxes.
std::optional<std::vector<Box>> disjointBoxes(size_t rank, const std::vector<Product> &products,
                                              const Options &options, std::string &reason);

/// The values of a sum of independent digits: a Minkowski sum of progressions, as disjoint
/// progressions. Two of steps c ≤ C and m, r elements make one progression iff c | C and C ≤ m·c,
/// of m + (r - 1)·C/c elements: the steps in between are c, and the gap after (m - 1)·c closes.
/// Else they are copies, or are added as bits. Empty if it takes more than `maxParts` parts or the
/// work is spent.
std::optional<std::vector<Progression>>
valuesOf(const DigitSum &sum, const std::vector<int64_t> &extents, size_t maxParts, Work &work);

} // namespace tilewright::sets
