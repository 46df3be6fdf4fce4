// Tiles as `tilewright tile` shows them: with the chosen values in place.
#pragma once

#include "analysis/affine/simplify.h"
#include "tools/tilewright/tile_output.h"

#include <memory>

namespace tilewright::cli {

/// A free parameter keeps its name.
class Shown {
public:
  explicit Shown(const TileReport &report);

  Expr operator()(Expr expr) { return simplifier->simplify(substitute(expr, replacement)); }
  Tile operator()(const Tile &tile);
  /// With the sizes chosen.
  Exactness exactness(const TileInstance &instance);

private:
  ExprContext *context;
  std::vector<Expr> replacement;
  std::unique_ptr<Simplifier> simplifier;
};

/// True if some tile size is free. Schedule parameters don't count.
bool hasFreeSizes(const TileReport &report);
/// Tile sizes by name, "free" where there are none; of the schedule only what `asked` chose.
std::string valuesText(const TileSpace &space, const Choice &values, const Choice &asked);
Choice asChoice(const std::vector<int64_t> &values);

} // namespace tilewright::cli
