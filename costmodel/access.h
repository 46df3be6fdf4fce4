// How warps walk a tile in memory. Internal to the cost model.
#pragma once

#include "costmodel/plan_view.h"

namespace tilewright {

constexpr double sectorBytes = 32, lineBytes = 128, vectorBytes = 16;
/// Rows whose length is no multiple of this many elements are loaded element by element: compilers
/// only prove the alignment of vectors for such lengths.
constexpr int64_t alignedElements = 16;

/// Vector accesses along the contiguous elements of a tile, lanes first, then warps.
struct AccessLayout {
  double vector = 1;        ///< elements per access
  double perThread = 1;     ///< accesses of one thread
  double rowsPerAccess = 1; ///< separate pieces of one warp access
  double pieceBytes = 0;    ///< of one such piece
};
AccessLayout accessLayout(const InstanceView &view, double warps);

/// Elements of one vector access where a thread has `perThread` elements of the tile.
double vectorElements(const InstanceView &view, double perThread);

} // namespace tilewright
