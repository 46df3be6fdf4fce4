// How warps walk a tile in memory. Internal to the cost model.
#pragma once

#include "costmodel/plan_view.h"

#include <algorithm>

namespace tilewright {

constexpr double sectorBytes = 32, lineBytes = 128, vectorBytes = 16;
/// Rows whose length is not a multiple of this many elements are loaded element by element:
/// compilers prove vector alignment only for multiples.
constexpr int64_t alignedElements = 16;

/// DRAM transfers two sectors at a time (a strided read on an H100 of 4 bytes in every 128 takes as
/// long as 4 in every 64, and twice as long as 4 in every 32).
constexpr double dramAtomBytes = 64;

/// Bytes transferred for each byte of a tile whose elements are not contiguous (uncoalesced), where
/// memory transfers `atom` bytes at a time.
template <class Q> double strideSpread(const InstanceViewOf<Q> &view, double atom) {
  const double width = bitWidth(view.op->shape.dtype) / 8.0;
  return std::max(1.0, std::min(double(view.minorStride()) * width, atom) / width);
}

/// Coalesced vector accesses along the contiguous elements of a tile: lanes first, then warps.
template <class Q> struct AccessLayout {
  Q vector = 1;        ///< elements per access
  Q perThread = 1;     ///< accesses of one thread
  Q rowsPerAccess = 1; ///< separate pieces of one warp access
  Q pieceBytes = 0;    ///< of one such piece
};
template <class Q> AccessLayout<Q> accessLayout(const InstanceViewOf<Q> &view, const Q &warps);

/// Elements of one vector access if a thread has `perThread` elements of the tile.
template <class Q> Q vectorElements(const InstanceViewOf<Q> &view, const Q &perThread);

} // namespace tilewright
