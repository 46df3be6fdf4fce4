#include "analysis/tiling/tile_space.h"

#include <algorithm>

namespace tilewright {

std::optional<size_t> TileSpace::indexOf(std::string_view name) const {
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].name == name)
      return i;
  return std::nullopt;
}

const TileParameter *TileSpace::find(std::string_view name) const {
  std::optional<size_t> index = indexOf(name);
  return index ? &parameters[*index] : nullptr;
}

Bounds TileSpace::bounds() const {
  Bounds bounds;
  for (const TileParameter &parameter : parameters) {
    bounds.set(parameter.size, {1, parameter.largest()});
    if (parameter.index)
      bounds.set(parameter.index, {0, parameter.largest() - 1});
  }
  return bounds;
}

Assignment TileSpace::assign(std::span<const int64_t> values) const {
  Assignment point;
  for (size_t i = 0; i < parameters.size() && i < values.size(); ++i)
    point.set(parameters[i].size, values[i]);
  return point;
}

} // namespace tilewright
