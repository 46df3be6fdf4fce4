// TiledGroup: the tile of every op of a group, as expressions in the tile parameters, with the
// constraints under which they hold.
#pragma once

#include "analysis/tiling/constraint.h"
#include "analysis/tiling/group.h"
#include "analysis/tiling/tile.h"
#include "analysis/tiling/tile_space.h"

#include <memory>
#include <string>
#include <vector>

namespace tilewright {

/// One op with one tile. An op that two consumers need with different tiles has two instances.
struct TileInstance {
  OpId op;
  Tile tile;
  std::vector<unsigned> operands; ///< instance of each operand; inputs have instances too
  bool isInput = false;           ///< read from memory: no operands here
  Exactness exactness = Exactness::Exact;
  double factor = 1; ///< of an over-approximation
  std::string why;   ///< says why it is not exact
  /// Sequential parameters (indices into the space) inside whose loops this instance lies.
  std::vector<unsigned> loops;
};

struct TiledGroup {
  Group group;
  TileSpace space;
  std::vector<TileInstance> instances; ///< operands before users
  std::vector<unsigned> roots;         ///< instance of each group root
  std::vector<Constraint> constraints;

  std::vector<unsigned> instancesOf(OpId op) const;
};

/// Tiles a group from its root. All roots must share the first root's iteration space up to
/// exact tiles; what can't be expressed is an Unsupported error that names the op and the reason.
llvm::Expected<TiledGroup> tileGroup(const Graph &graph, const Group &group, ExprContext &context);

} // namespace tilewright
