// What a kernel reads of its inputs, whatever its sizes: what it would read as one program that
// does all in one step. A slice of a tensor keeps the rest of it in memory untouched, and two
// slices of one tensor are read together: x[0:8] + x[8:16] reads 16 elements, x[0:8] + x[1:9]
// reads 9.
//
//   tiles [0, 8) and [1, 9) of %x:   8 and 8 elements, together 9
#pragma once

#include "analysis/tiling/tiled_group.h"

#include <map>
#include <vector>

namespace tilewright {

struct Reachable {
  std::vector<double> elements;        ///< of each instance, in order: what its tiles read
  std::map<uint32_t, double> together; ///< by op: what all instances of an input read
};

/// Tensors of which only values tell what is read, or whose kernel can't be one program, count
/// whole.
Reachable reachableOf(const Graph &graph, const TiledGroup &tiled);

} // namespace tilewright
