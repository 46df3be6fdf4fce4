#include "analysis/tiling/tile.h"

#include <fmt/format.h>

namespace tilewright {

Expr Tile::elementCount(ExprContext &context) const {
  Expr count = context.constant(1);
  for (const TileDim &dim : dims)
    count = count * dim.size;
  return count;
}

std::string Tile::str(std::span<const int64_t> extents) const {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    const TileDim &dim = dims[i];
    out += fmt::format("{}{} : {}", i ? ", " : "", dim.offset.str(), dim.size.str());
    if (!dim.stride.isConstant(1))
      out += " : " + dim.stride.str();
    bool wholeDim =
        i < extents.size() && dim.lower.isConstant(0) && dim.upper.isConstant(extents[i]);
    if (!wholeDim)
      out += fmt::format(" in [{}, {})", dim.lower.str(), dim.upper.str());
  }
  return out + "]";
}

} // namespace tilewright
