// Tile origins: what the tiles of one dim are, for all CTAs and all sizes.
//
// An op that shifts, clips, spreads or reverses a dim creates a new origin. An origin has a plain
// tile, which holds for all sizes, and patterns of its tiles (tile_pattern.h): one for all sizes if
// it is *regular*; otherwise *cases*, each for the sizes for which its `when` is 1. At most one
// case holds, and its pattern describes only the CTAs that have an element by the plain tile. A dim
// joined from several has one case for each of them that may be the innermost with several indices,
// since the stride is constant within a case: [4, 2] joined to 8 with one index of the inner dim
// has stride 2, with both of them 1.
//
// An origin without cases (run-time offsets, windows) is opaque: only its plain tile and the hull
// [lower, upper) of all its tiles are known.
#pragma once

#include "analysis/tiling/tile_pattern.h"

namespace tilewright {

struct TileCase {
  Expr when; ///< 1 for the sizes for which the pattern holds, 0 for others; null: always
  TilePattern pattern;
};

struct TileOrigin {
  int64_t extent = 1; ///< of the dim that it is a tile of
  TileDim tile;       ///< the dim's plain tile, for all sizes
  /// The offset is index · size with an index variable of its own, whose values together cover the
  /// dim.
  bool isDirect = false;
  /// Some CTA may have no valid element (pad, concatenate).
  bool mayBeEmpty = false;
  int64_t lower = 0, upper = 1; ///< the hull of all tiles
  std::vector<TileCase> cases;

  bool isRegular() const { return cases.size() == 1 && !cases.front().when; }
  /// Like a tile of the root: every index, in tiles from 0 on.
  bool isRooted() const;
  /// No CTA has an element, whatever the sizes.
  bool isNever() const { return lower >= upper; }
};

/// Tile `index` of size `size` of a dim.
TileOrigin rootOrigin(ExprContext &ctx, Expr index, Expr size, int64_t extent);

/// The one index, for all CTAs.
TileOrigin constantOrigin(ExprContext &ctx, int64_t index, int64_t extent);

/// The tiles of a pattern without a drift.
TileOrigin regularOrigin(TilePattern pattern, int64_t extent);

/// Index y becomes step · y + start, in a dim of `extent`.
TileOrigin shiftedOrigin(TileOrigin o, int64_t start, int64_t step, int64_t extent);

/// Index y becomes extent - 1 - y.
TileOrigin reversedOrigin(TileOrigin o);

/// Keeps the indices in [low, low + extent), counted from low.
TileOrigin clippedOrigin(TileOrigin o, int64_t low, int64_t extent);

/// The indices i in [0, extent) with low + step · i in the tile, for the sizes for which `isKnown`
/// holds.
struct SpreadOrigin {
  TileOrigin origin;
  Formula isKnown;
};
SpreadOrigin spreadOrigin(const TileOrigin &o, int64_t low, int64_t step, int64_t extent);

/// When the origin may be cut at weight w, 1 < w < extent: exact for regular origins.
Formula cutCondition(const TileOrigin &o, int64_t w);

/// The block of w that holds every element of every CTA; nothing where there are several.
std::optional<int64_t> onlyBlock(const TileOrigin &o, int64_t w);

/// The digit (y floordiv inner) mod extent of every element of every CTA, where there is one.
std::optional<int64_t> onlyDigit(const TileOrigin &o, int64_t inner, int64_t extent);

/// Lowest and highest digit (y floordiv inner) mod extent of all elements of all CTAs; bounds
/// of them where they lie in several blocks.
struct DigitHull {
  int64_t low, high;
};
DigitHull digitHull(const TileOrigin &o, int64_t inner, int64_t extent);

/// The known properties of the digit (y floordiv inner) mod extent under the conditions of its
/// cuts.
std::vector<TileCase> digitCases(const TileOrigin &o, int64_t inner, int64_t extent);
DigitRun digitRun(const TileOrigin &o, int64_t inner, int64_t extent);

/// True if every CTA with any element has all digits, apart from the first one's phase.
Formula isAlwaysFull(const TileOrigin &o, int64_t inner, int64_t extent);

/// 1 for CTAs with an element, 0 for those without.
Expr occupancy(const TileOrigin &o);

} // namespace tilewright
