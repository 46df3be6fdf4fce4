// Tiles that span several operands of a concatenation.
#pragma once

#include "tools/tilewright/tile_output.h"

#include <optional>
#include <vector>

namespace tilewright::cli {

/// A concatenation in a kernel. A tile within one operand is a plain read; a tile across a boundary
/// reads both operands masked, and its threads diverge there.
struct Join {
  OpId op;
  int64_t dim = 0;
  std::vector<int64_t>
      boundaries; ///< first element of every operand that has elements but the first
  /// Tiles along the dim, and those with elements of two or more operands. Empty if sizes are free,
  /// or there are too many tiles to enumerate.
  std::optional<int64_t> tiles, straddling;
};

/// In graph order; concatenations without a boundary are omitted.
std::vector<Join> joinsOf(const TileReport &report);

/// "%grid dim 1: boundaries 8, 1520; 2 of 12 tiles have elements of several operands, masked"
std::string toText(const Join &join, const Graph &graph);

} // namespace tilewright::cli
