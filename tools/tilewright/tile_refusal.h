// Why a tiling is refused, as `tilewright tile` says it.
#pragma once

#include "tools/tilewright/tile_output.h"

namespace tilewright::cli {

/// The system of an answer with the chosen values as lists of one.
ConstraintSystem askedSystem(const TileReport &report, const TileSpaceAnswer &of);

Assignment chosenPoint(const TileReport &report, const TileSpaceAnswer &of);

/// The reasons of each instruction, and the nearest feasible tiling.
void printRefusal(const TileReport &report);

} // namespace tilewright::cli
