// Horizontal fusion: groups whose roots can't share tile dims, such as f32[64,100] and f32[7].
//
// tileGroup() needs every root's tile to follow from that of the last one. Otherwise the roots can
// still be results of one launch: each set of compatible roots has tile dims and CTAs of its own,
// one set after the other (JointCtas in program_map.h). Ops that two sets need are computed in
// both.
#pragma once

#include "analysis/tiling/tiled_group.h"

namespace tilewright {

/// One set of roots that share tile dims, with the group's ops that they need.
struct SeparateTiles {
  std::shared_ptr<ExprContext> context; ///< owns the expressions of `tiled`
  TiledGroup tiled;
};

/// The sets in the order of their first roots; one where tileGroup() takes them all. A root joins
/// the first set that takes it. Errors: those of tileGroup() for a root alone; BudgetSpent for more
/// than 64 roots.
llvm::Expected<std::vector<SeparateTiles>> tileHorizontalFusion(const Graph &graph,
                                                                const Group &group);

} // namespace tilewright
