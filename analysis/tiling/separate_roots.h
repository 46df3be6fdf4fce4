// Groups whose roots have nothing in common that a tile could follow: f32[64,100] and f32[7].
//
// tileGroup() needs every root's tile to follow from that of the last one. Where it does not, the
// roots can still be results of one launch: each set of roots that belong together has tile dims of
// its own and programs of its own, one set behind the other (JointPrograms in program_map.h). What
// two sets need is computed in both.
#pragma once

#include "analysis/tiling/tiled_group.h"

namespace tilewright {

/// One set of roots that share tile dims, with what they need of the group.
struct SeparateTiles {
  std::shared_ptr<ExprContext> context; ///< owns the expressions of `tiled`
  TiledGroup tiled;
};

/// The sets in the order of their first roots; one where tileGroup() takes them all. A root joins
/// the first set that takes it. Errors: those of tileGroup() for a root alone; BudgetSpent for more
/// than 64 roots.
llvm::Expected<std::vector<SeparateTiles>> tileRootsApart(const Graph &graph, const Group &group);

} // namespace tilewright
