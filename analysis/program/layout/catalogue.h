// Register layouts that instructions have, by name, as nested tilings.
//
// Each tile splits the trailing dims of what is before it into quotients and the tile; dims are
// counted from the end (-1 is the fastest). Some go to warps and lanes, the rest to registers, the
// vector dim first. Names and tilings are those of Mosaic GPU (jax/experimental/mosaic/gpu), whose
// fragments are those of the PTX ISA; `wgmma` of [i, j] is the family wgmma(1, 1) of the tile
// program.
#pragma once

#include "analysis/program/layout/tile_layout.h"

namespace tilewright::layout {

/// A dim counted from the end, or so many copies.
struct TiledDim {
  int dim = 0;
  int64_t copies = 0; ///< not 0: no dim
};

struct NestedTiling {
  std::string name, description;
  std::vector<std::vector<int64_t>> tiles;
  std::vector<TiledDim> warps, lanes; ///< major first
  int vector = -1;
};

const std::vector<NestedTiling> &registerCatalogue();
const NestedTiling *findInCatalogue(std::string_view name);

/// The tiling for a tile; what is left of its base tile is in registers, the slowest ones.
/// `mayPad`: boxes are rounded up to the base tile; else Unsupported where it does not divide.
llvm::Expected<TileLayout> instantiate(const NestedTiling &tiling, TileDims dims,
                                       bool mayPad = false);
/// BadInput: no such name, with the names there are.
llvm::Expected<TileLayout> instantiate(std::string_view name, TileDims dims, bool mayPad = false);

/// Flat order: `vector` neighbours a thread, then lanes, warps, rounds. Unsupported where that does
/// not divide the tile's elements.
llvm::Expected<TileLayout> strided(TileDims dims, int64_t threads, int64_t vector);

} // namespace tilewright::layout
