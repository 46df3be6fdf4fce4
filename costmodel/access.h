// How warps walk a tile in memory. Internal to the cost model.
#pragma once

#include "costmodel/plan_view.h"

namespace tilewright {

constexpr double sectorBytes = 32, lineBytes = 128, vectorBytes = 16;
/// Rows whose length is no multiple of this many elements are loaded element by element: compilers
/// only prove the alignment of vectors for such lengths.
constexpr int64_t alignedElements = 16;

/// Vector accesses along the contiguous elements of a tile, lanes first, then warps.
template <class Q> struct AccessLayout {
  Q vector = 1;        ///< elements per access
  Q perThread = 1;     ///< accesses of one thread
  Q rowsPerAccess = 1; ///< separate pieces of one warp access
  Q pieceBytes = 0;    ///< of one such piece
};
template <class Q> AccessLayout<Q> accessLayout(const InstanceViewOf<Q> &view, const Q &warps);

/// Elements of one vector access where a thread has `perThread` elements of the tile.
template <class Q> Q vectorElements(const InstanceViewOf<Q> &view, const Q &perThread);

} // namespace tilewright
