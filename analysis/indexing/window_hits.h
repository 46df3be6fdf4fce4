// What the windows of a convolution, reduce-window or select-and-scatter meet of their input.
#pragma once

#include "analysis/ir/op.h"

#include <cstdint>
#include <optional>

namespace tilewright {

/// Along one dim. Running example: windows of 2 over [a, b] with two holes between them, a . . b:
/// (a .), (. .), (. b) are 3 positions with 2 hits, 2 positions of which meet anything.
struct WindowHits {
  int64_t hits = 0;      ///< pairs of a position and a window element that meet the input
  int64_t positions = 0; ///< that meet some of it
};

/// For so many positions of a window over an input of this extent: padding and the holes of a base
/// dilation are met by nothing. Nothing where a number leaves 64 bits.
std::optional<WindowHits> windowHits(const WindowDim &window, int64_t positions, int64_t extent);

/// Of all dims together: products of what each dim has.
std::optional<WindowHits> windowHits(const std::vector<WindowDim> &window,
                                     const std::vector<int64_t> &positions,
                                     const std::vector<int64_t> &extents);

} // namespace tilewright
