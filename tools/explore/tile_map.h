// Tile map: a plan's predicted time as two of its tile sizes vary, and the constraints that refuse
// some of these plans. Shows how sharp an optimum is, and what limits it.
#pragma once

#include "tools/explore/plan_search.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>
#include <vector>

namespace tilewright {

/// Predicted time in ns. Unsupported: this plan can't be priced or launched.
using PlanPricer = llvm::function_ref<llvm::Expected<double>(const KernelPlan &)>;

struct TileMap {
  struct Axis {
    std::string parameter;      ///< "t0"
    std::vector<int64_t> sizes; ///< ascending; the plan's own size is among them
  };
  struct Cell {
    double timeNs = 0;  ///< 0 where `rule` is set
    std::string rule;   ///< id of the constraint that refuses the plan, "price" if none does
    std::string reason; ///< that constraint in words, with the numbers of this plan
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
/// everything else as in the plan. Constraints are those of plan.tiled, tested in their order.
/// Errors: Internal ones of the pricer.
llvm::Expected<TileMap> tileMap(const KernelPlan &plan, PlanPricer price);

} // namespace tilewright
