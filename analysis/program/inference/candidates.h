// Layouts that inference looks at, before the ops' own images of them.
#pragma once

#include "analysis/program/layout/tile_layout.h"

namespace tilewright::inference {

/// A blocked layout: `vector` neighbours along the dim `fast` a thread, then `lanesAlong` lanes
/// along it, the other lanes over the other dims, fastest first; warps over the slowest dims, or
/// over `fast` first; the rest in registers. Boxes are padded where sizes do not divide.
struct Blocked {
  size_t fast = 0;
  int64_t vector = 1, lanesAlong = 1;
  bool isWarpFast = false;
  /// So many neighbours along the next dim, too: what a thread transposes by packing words anew.
  int64_t second = 1;
};
llvm::Expected<layout::TileLayout> blockedLayout(const layout::TileDims &dims, int64_t warps,
                                                 const Blocked &how);

/// All blocked layouts of vectors of up to 16 bytes, of the tile and of the tile with two
/// neighbouring dims as one; of four warps also those of the catalogue that the tile can have. Each
/// covers the tile.
std::vector<layout::TileLayout> seedLayouts(const layout::TileDims &dims, unsigned bits,
                                            int64_t warps);

/// The layout that every thread holds all of a tile without dims in.
layout::TileLayout scalarLayout(int64_t warps);

} // namespace tilewright::inference
