// Tiles with numbers: the concrete tiles of one CTA, for tests and footprints.
#pragma once

#include "analysis/tiling/tiled_group.h"

#include <optional>
#include <span>
#include <vector>

namespace tilewright {

/// One dim of a tile at one point.
struct NumericDim {
  int64_t offset = 0, size = 1, stride = 1, lower = 0, upper = 0;

  /// Number of elements that are in the tile and within its masks.
  int64_t validCount() const;
  /// The k-th lane's index; valid or not.
  int64_t index(int64_t lane) const { return offset + lane * stride; }
  bool isValid(int64_t lane) const { return lower <= index(lane) && index(lane) < upper; }
  bool operator==(const NumericDim &) const = default;
};

/// Empty if an expression has no value at the point: a parameter, program id, step or runtime
/// variable is missing, or the arithmetic leaves 64 bits.
std::optional<std::vector<NumericDim>> numericTile(const Tile &tile, const Assignment &point);

/// Valid elements of a tile: the product over the dims. Nothing on overflow.
std::optional<int64_t> validCount(std::span<const NumericDim> tile);

/// Row-major positions in a tensor of these extents of the tile's valid elements, lane by lane.
std::vector<int64_t> elementsOf(std::span<const NumericDim> tile, std::span<const int64_t> extents);

/// Tiles of each parameter's dim (1 for schedule parameters) for these values, in order.
std::vector<int64_t> tileCounts(const TileSpace &space, std::span<const int64_t> values);

/// Number of CTAs: the product of the parallel parameters' tile counts, without split-K. Empty on
/// overflow.
std::optional<int64_t> ctaCount(const TileSpace &space, std::span<const int64_t> values);

/// Sets the program ids (and steps) of tile `number`, counted row-major over the parallel
/// parameters (and then the sequential ones, where `withSteps`).
void setCta(const TileSpace &space, std::span<const int64_t> values, int64_t number, bool withSteps,
            Assignment &point);

/// True if all constraints hold. Empty if that can't be decided for these values.
std::optional<bool> isFeasible(const TiledGroup &group, std::span<const int64_t> values);

/// True if two instances of one op are the same tile for these parameter values, for every CTA and
/// step. False may mean "not known to be".
bool sameTileAt(const TiledGroup &group, unsigned a, unsigned b, std::span<const int64_t> values);

} // namespace tilewright
