// Shared by the two halves of the patterns: moves and decisions.
#pragma once

#include "analysis/support/checked.h"
#include "analysis/tiling/tile_pattern.h"

namespace tilewright::pattern {

inline int64_t floorOf(int64_t a, int64_t b) { return checkedFloorDiv(a, b).value_or(0); }
inline int64_t ceilOf(int64_t a, int64_t b) { return checkedCeilDiv(a, b).value_or(0); }

/// Re-establishes 0 ≤ phase < step.
void normalise(TilePattern &p);

/// The masks in x.
inline Expr lowerOf(const TilePattern &p) {
  ExprContext &ctx = p.start.context();
  return p.drift ? (-p.drift + (p.clipLow - p.phase)).ceilDiv(p.step).max(p.lower)
                 : ctx.constant(p.lower);
}
inline Expr upperOf(const TilePattern &p) {
  ExprContext &ctx = p.start.context();
  return p.drift ? (-p.drift + (p.clipHigh - p.phase)).ceilDiv(p.step).min(p.upper)
                 : ctx.constant(p.upper);
}

} // namespace tilewright::pattern
