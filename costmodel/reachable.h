// The elements of its inputs that a kernel reads, independent of its tile sizes: those that it
// would read as one CTA in one step. Of a sliced tensor only the slice is read, and slices of one
// tensor are united: x[0:8] + x[8:16] reads 16 elements, x[0:8] + x[1:9] reads 9.
//
//   tiles [0, 8) and [1, 9) of %x:   8 and 8 elements, together 9
#pragma once

#include "analysis/tiling/tiled_group.h"

#include <map>
#include <vector>

namespace tilewright {

struct Reachable {
  std::vector<double> elements; ///< elements that the tiles of each instance read, in order
  std::map<uint32_t, double>
      together; ///< by op: elements that all instances of an input read together
};

/// Tensors with data-dependent reads, or whose kernel can't be one CTA, are counted in full.
Reachable reachableOf(const Graph &graph, const TiledGroup &tiled);

} // namespace tilewright
