// The constraint system of a tile space: its parameters with candidate lists, and constraints.
#pragma once

#include "analysis/solve/candidates.h"
#include "analysis/solve/constraint_system.h"
#include "analysis/tiling/tile_space.h"

#include <map>

namespace tilewright {

/// The candidate rules of a space's parameters.
struct CandidatePlan {
  CandidateRule tiles; ///< for parallel and sequential parameters without an own rule
  std::map<std::string, CandidateRule> byName;

  /// Powers of two and the dim for tiles; warps 1, 2, 4, 8, 16, stages 1 to 5, group_m 1, 2, 4, 8;
  /// of split_k what the space says (TileParameter::tried). Other schedule parameters take powers
  /// of two up to their extent.
  static CandidatePlan standard();

  /// Reads "t0=pow2", "k0=x16", "warps=4,8" and adds the rule. BadInput otherwise.
  llvm::Error addRule(std::string_view text);
};

/// Parameters in the space's order; a candidate over a parameter's extent stands for the extent.
/// BadInput: a rule for a parameter that the space does not have (`plan.byName` may name schedule
/// parameters of other spaces: those of standard() are skipped), or that gives no list.
llvm::Expected<ConstraintSystem> makeSystem(const TileSpace &space,
                                            std::span<const Constraint> constraints,
                                            const CandidatePlan &plan = CandidatePlan::standard());

} // namespace tilewright
