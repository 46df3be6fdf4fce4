// Layouts of what ops make of a tile, without moving a value between threads.
//
// Each function gives the one layout in which threads hold the result where they hold the operand
// now, or says why no layout by digits does. Running example: the accumulator [i: 64, j: 16] of
// tile_layout.h. Reduced over j it is held in the lanes 4:copies 8:1@i, without the register digits
// along j; as a tile [i: 4, h: 16, j: 16] its warps are 4:1@i.
#pragma once

#include "analysis/program/layout/tile_layout.h"

namespace tilewright::layout {

/// Result dim n is operand dim order[n], a permutation.
TileLayout transposed(const TileLayout &layout, std::span<const size_t> order);

/// A reduction over dims: their register digits go; lanes and warps that shared a sum hold copies
/// of it. `keepDims`: they stay, with one element.
TileLayout reduced(const TileLayout &layout, std::span<const size_t> over, bool keepDims = false);

/// The layout that a broadcast's operand has to have for the result to have this one. Dim n of the
/// operand is dim dims[n] of the result, or has one element of it.
TileLayout operandOfBroadcast(const TileLayout &layout, std::span<const size_t> dims,
                              std::span<const int64_t> extents);

/// The same elements in row-major order under other dims. BadInput: other numbers of elements;
/// Unsupported: a digit straddles a border of a dim, so that no digits hold the result.
llvm::Expected<TileLayout> reshaped(const TileLayout &layout, TileDims dims);

/// The elements [start, start + size) along a dim, each where it was. Unsupported where some
/// threads would have more of them than others.
llvm::Expected<TileLayout> sliced(const TileLayout &layout, size_t dim, int64_t start,
                                  int64_t size);

} // namespace tilewright::layout
