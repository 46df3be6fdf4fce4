// The dims of a kernel's root, by the side of a dot that they belong to.
#pragma once

#include "analysis/tiling/code_kind.h"
#include "codegen/lowering.h"

namespace tilewright {

/// The dims of the root that belong to one side, and a CTA's tile of them.
struct RootSide {
  std::vector<size_t> dims;
  std::vector<int64_t> extents, tile, order; ///< order: positions, fastest-varying first
  int64_t size = 1;                          ///< elements of the tile
  int64_t tiles = 1;
  Coordinates pids; ///< tile of each dim

  /// Root coordinates, one for each of `dims`, of element `position` of the tile.
  Coordinates coordinates(ValueEmitter &emitter, Expr position) const;
};

/// The sides of all root dims (by DotSide) with the plan's tiles; pids are left to the caller.
/// Errors: Unsupported where a root dim runs over several sides, or repeats the dot's result.
llvm::Expected<std::vector<RootSide>> sidesOfRoot(const KernelSpec &spec, OpId dot);

/// Row and column tile of CTA `linear`, with `groupM` rows of tiles walked together.
std::pair<Expr, Expr> rasterizeTiles(ValueEmitter &emitter, Expr linear, int64_t rowTiles,
                                     int64_t columnTiles, int64_t groupM);

/// `what` with placeholder i replaced by with[i], simplified.
Coordinates replacePlaceholders(ValueEmitter &emitter, const Coordinates &what,
                                const Coordinates &placeholders, const Coordinates &with);

/// Coordinates in an operand of a dot for coordinates `at` in its result and element `k` of its
/// contracted dims as one.
Coordinates dotOperandCoordinates(ValueEmitter &emitter, OpId dot, bool isLeft,
                                  const Coordinates &at, Expr k);

/// Extents of a dot's contracted dims, in operand order.
std::vector<int64_t> contractedExtents(const Graph &graph, OpId dot);

} // namespace tilewright
