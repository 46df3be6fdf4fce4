// Where tiles cross from one operand of a concatenation to the next.
#pragma once

#include "tools/tilewright/tile_output.h"

#include <optional>
#include <vector>

namespace tilewright::cli {

/// A concatenation of a kernel. A tile that lies in one operand is a plain read; one that holds a
/// boundary reads its neighbours masked, and its threads part ways there.
struct Join {
  OpId op;
  int64_t dim = 0;
  std::vector<int64_t>
      boundaries; ///< first element of every operand that has elements but the first
  /// Tiles along the dim, and those of them that hold elements of two operands or more. Nothing
  /// where sizes are free, or the tiles are too many to look at.
  std::optional<int64_t> tiles, straddling;
};

/// In graph order; those without a boundary are left out.
std::vector<Join> joinsOf(const TileReport &report);

/// "%grid dim 1: boundaries 8, 1520; 2 of 12 tiles have elements of several operands, masked"
std::string toText(const Join &join, const Graph &graph);

} // namespace tilewright::cli
