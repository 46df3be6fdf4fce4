// The range of steps of a sequential loop that have an effect.
//
// A loop over a contracted or reduced dim of extent D has ⌈D / size⌉ steps, but under a mask some
// CTAs need fewer. In causal attention the CTA of queries [q, q + t1) has nothing to do
// with keys beyond its last query, so the loop over the keys ends at the diagonal:
//
//     first = 0,  end = min(⌈D / k0⌉, (t1·pid1 + t1 - 1) floordiv k0 + 1)
//
// A step is left out when some select over affine conditions on the indices takes the constant of
// its other side throughout the step's tile, and every reduction and dot that runs over the loop
// is then given only what does not change its result: the initial value of a reduce, zeros on one
// side of a dot. Inputs are taken as finite (as kernels do that stop at the diagonal).
//
// Of masks' values, -inf counts for nothing anywhere. A finite one of -1e9 or less, or in the
// lowest half of its type's range, does so beside a score that is kept, but in a row of nothing
// else all scores count alike: steps are left out only where every row is shown to keep one.
#pragma once

#include "analysis/tiling/tiled_group.h"

#include <optional>
#include <span>
#include <vector>

namespace tilewright {

/// Finds the ranges; one per parameter of the space, null expressions for those without a loop.
std::vector<LoopRange> findLoopRanges(const Graph &graph, const TiledGroup &group);

/// Steps that a CTA takes in a loop: program ids and sizes are those of `point`. Nothing for a
/// parameter that is not a loop or where the point gives no value to what the range depends on.
std::optional<int64_t> stepsAt(const TiledGroup &group, unsigned parameter,
                               const Assignment &point);

/// The same over all CTAs of a plan.
struct LoopSteps {
  double average = 1;
  int64_t smallest = 1, largest = 1;
  /// False: the range depends on more program ids than are visited one by one (2^16 combinations);
  /// the numbers are those of that many evenly spread CTAs.
  bool isExact = true;
  /// smallest < largest: CTAs differ, and the longest one determines the tail of the grid.
  bool isUneven() const { return smallest < largest; }
};

/// One per parameter; 1 step for those without a loop. `values` are those of a plan.
std::vector<LoopSteps> loopSteps(const TiledGroup &group, std::span<const int64_t> values);

} // namespace tilewright
