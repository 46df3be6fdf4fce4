// The sizes that `tilewright tile` is asked about: --tile and --candidates.
#pragma once

#include "analysis/solve/explain.h"
#include "analysis/solve/tile_system.h"

#include <string>
#include <vector>

namespace tilewright::cli {

/// "128,64" by position over the tile parameters, or "t0=128,k0=32" by name.
llvm::Expected<Choice> parseChoice(const TileSpace &space, const std::string &given);

/// Rules for all tile sizes ("x16") or for one parameter ("k0=x32"); later ones win.
llvm::Expected<CandidatePlan> candidatesOf(const std::vector<std::string> &rules,
                                           const TileSpace &space, bool withDevice);

/// Reshapes often need divisors, so the nearest feasible size is searched among them, too.
void addDivisors(int64_t dim, std::vector<int64_t> &list);

} // namespace tilewright::cli
