// The grid of a concrete program as the ProgramMap that is proved a bijection.
#pragma once

#include "analysis/program/program.h"
#include "analysis/tiling/program_map.h"

namespace tilewright::program {

/// How CTAs are numbered: the last two variables that are no split are rows and columns, of which
/// `group` rows are walked together; those before them are outer. Splits of a tile are consecutive.
/// `persistent G`: ⌈items / ⌈items / G⌉⌉ CTAs, at most G, each with work in all turns but the last.
struct GridMap {
  ProgramMap map;
  std::vector<VarId> tileVariables; ///< in order of map.tile
  std::optional<VarId> splitVariable;
};

/// Precondition: counts are numbers. BadInput and Unsupported as ProgramMap::make().
llvm::Expected<GridMap> gridMapOf(const Program &program, ExprContext &context);

/// CTAs that are launched, over size variables.
Expr ctaCount(const Program &program);

} // namespace tilewright::program
