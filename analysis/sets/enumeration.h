// The engine that visits every point. Not for other folders.
#pragma once

#include "analysis/sets/sets.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright::sets {

/// Points of one rank, sorted and distinct.
struct PointSet {
  size_t rank = 0;
  size_t count = 0;
  std::vector<int64_t> coordinates; ///< count × rank

  std::vector<int64_t> point(size_t i) const {
    return {coordinates.begin() + i * rank, coordinates.begin() + (i + 1) * rank};
  }
};

/// The number of points of all domains together, at most `limit` + 1; also then when a variable is
/// unbounded.
int64_t domainPoints(const IndexSet &set, int64_t limit);

/// Evaluates every map at every point. Nothing above `maxPoints` points of the domains, or where an
/// expression has a variable without domain; `reason` says why.
std::optional<PointSet> enumerate(const IndexSet &set, int64_t maxPoints, std::string &reason);

/// Is every point of a in b?
bool isSubset(const PointSet &a, const PointSet &b);

/// The points as boxes: runs along the last coordinate are progressions.
std::vector<Box> boxesOf(const PointSet &set);

} // namespace tilewright::sets
