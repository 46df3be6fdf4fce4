// Layouts as pictures: a grid of the tile's elements, each with its thread and register.
//
// Rows are the dim before the last, columns the last one; of more dims the first slice is shown.
// "t22.5" is register 5 of thread 22 (lane 22 of warp 0); of copies the first holder.
#pragma once

#include "analysis/program/layout/shared_layout.h"
#include "analysis/program/layout/tile_layout.h"

namespace tilewright::layout {

struct PictureLimits {
  int64_t rows = 32, columns = 16;
};

/// A text grid with the numbers of rows and columns; what is left out is said below it.
std::string textPicture(const TileLayout &layout, const PictureLimits &limits = {});
/// The same as SVG, threads by colour.
std::string svgPicture(const TileLayout &layout, const PictureLimits &limits = {64, 64});

/// A grid of banks: in which of the 32 words of a 128-byte line each element starts.
std::string textPicture(const SharedLayout &layout, const PictureLimits &limits = {});

} // namespace tilewright::layout
