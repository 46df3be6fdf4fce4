// Tile map: the predicted time as two of a plan's tile sizes vary, each pair with the warps and
// stages that suit it best, and the constraints that refuse some of them whatever these are. Shows
// how sharp an optimum is, and what limits it.
#pragma once

#include "tools/explore/plan_search.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>
#include <string>
#include <vector>

namespace tilewright {

/// Predicted time in ns. Unsupported: this plan can't be priced or launched.
using PlanPricer = llvm::function_ref<llvm::Expected<double>(const KernelPlan &)>;

struct TileMap {
  using Schedule = std::map<std::string, int64_t>; ///< values of parameters
  struct Axis {
    std::string parameter;      ///< "t0"
    std::vector<int64_t> sizes; ///< ascending; the plan's own size is among them
  };
  struct Cell {
    double timeNs = 0; ///< 0 where `rule` is set
    /// Id of the constraint that refuses the sizes with the plan's own schedule, where no other
    /// schedule is accepted either; "price" if none refuses.
    std::string rule;
    std::string reason; ///< that constraint in words, with the numbers of this plan
    Schedule schedule;  ///< warps and stages where they are not the plan's
  };
  Axis rows, columns;      ///< columns has no parameter and one size if only one dim can change
  std::vector<Cell> cells; ///< row-major; empty for a plan without any such dim

  const Cell &at(size_t row, size_t column) const {
    return cells[row * columns.sizes.size() + column];
  }
};

/// Longest axis. Longer candidate lists are thinned out around the plan's own size.
inline constexpr size_t maxTileMapSizes = 12;

/// The map of `plan` over the two tile dims with the most candidate sizes (the first of equals),
/// everything but warps and stages as in the plan, whose own values win ties. Constraints are those
/// of plan.tiled, tested in their order. `scorer` compares schedules, `price` gives the time of the
/// best. Errors: Internal ones of both.
llvm::Expected<TileMap> tileMap(const KernelPlan &plan, PlanScorer &scorer, PlanPricer price);

} // namespace tilewright
