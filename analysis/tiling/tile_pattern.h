// Tile patterns: the tiles of one dim, for all CTAs at once, where they are regular.
//
// With x an index of its own,
//
//     index y = step · x + phase + drift
//     the tile of a CTA is { y : start ≤ x < end } ∩ { y : lower ≤ x < upper }
//     start ≡ base (mod size),  end = start + size,  base, lower and upper constants
//
// so that the tiles cut [lower, upper) at the breakpoints base + j · size. Running example: a tile
// of size s of [8], sliced from [12] at 3, has step 1, base 3, [lower, upper) = [3, 11): its tiles
// are [3, 3+s), [3+s, 3+2s) … up to 11. Reversed it has base 9 and [1, 9).
//
// The drift is 0 except for dims joined from several: with [4, 2] joined to 8, a CTA with one index
// p of the inner dim has the indices 2 · x + p. The drift differs from CTA to CTA. A statement
// about all CTAs is checked for each drift; equivalent drifts are deduplicated.
//
// Whether all tiles, as sets of two digits y = hi · w + lo, are products of progressions with the
// same strides is decided exactly by cutCondition(), by looking at the breakpoints. A tile of step
// 1 is one iff it lies in one block of w or consists of whole blocks. Let M be the multiples of w
// inside (lower, upper). All tiles are good iff
//   - M is empty; or
//   - every m in M is a breakpoint: size | m0 - base for the first of M and, if there are more,
//     size | w; or
//   - every breakpoint inside (lower, upper) is a multiple of w, and the first and the last tile
//     are whole blocks or lie in one: a tile that crosses some m is at least 2w long where it has
//     an m and two multiples of w at its ends, so that the tiles between its neighbours can't lie
//     in one block.
// With a step σ | w the same holds for x and w/σ; with w | σ there is nothing to cut; otherwise
// every tile must lie in one block.
#pragma once

#include "analysis/tiling/constraint.h"
#include "analysis/tiling/tile.h"

#include <optional>
#include <vector>

namespace tilewright {

struct TilePattern {
  Expr start, end;       ///< in x, before the masks
  Expr size;             ///< end - start, in tile parameters
  bool isForward = true; ///< false: CTA 0 has the highest indices
  int64_t step = 1, phase = 0, base = 0;
  int64_t lower = 0, upper = 1; ///< in x
  Expr drift;                   ///< null: none, and then 0 ≤ phase < step
  /// All values Σ unit · j with 0 ≤ j < count occur; the finest last.
  struct Drift {
    int64_t unit, count;
    int64_t most() const { return unit * (count - 1); }
  };
  std::vector<Drift> drifts;
  int64_t clipLow = 0, clipHigh = 1; ///< masks in y, where there is a drift

  /// No CTA has an element, whatever the sizes.
  bool isNever() const { return lower >= upper || (drift && clipLow >= clipHigh); }
  int64_t driftMost() const;
  // Bounds of y.
  int64_t lowest() const;
  int64_t highest() const;
};

/// Tile `index` of size `size` of a dim.
TilePattern rootPattern(Expr index, Expr size, int64_t extent);

/// The digits of weight `inner` and `extent` that each CTA has, for CTAs with any element. Holds
/// under the conditions of the cuts.
struct DigitRun {
  Expr offset;      ///< of the `most` lanes that contain all digits; below `first` if masked
  Expr first, last; ///< lowest and highest, also for a reversed tile
  Expr step;        ///< > 0, between neighbouring digits; 1 where there is one digit
  Expr most;        ///< largest number of digits of any CTA
};

/// A digit of a dim: (y floordiv inner) mod extent.
struct Digit {
  int64_t inner, extent;
  bool isOutermost; ///< inner · extent is the dim's extent

  bool isWhole() const { return inner == 1 && isOutermost; }
};

namespace pattern {

/// Index y becomes step · y + start.
TilePattern shifted(TilePattern p, int64_t start, int64_t step);
/// Index y becomes extent - 1 - y.
TilePattern reversed(TilePattern p, int64_t extent);
/// Only indices in [low, low + extent) are left, and count from low.
TilePattern clipped(TilePattern p, int64_t low, int64_t extent);

/// A pattern that holds only for the sizes for which `when` is 1 (null: all); `when` is 0 for the
/// others.
struct Conditional {
  TilePattern pattern;
  Expr when;
};

/// The indices i ≥ 0 with low + step · i in the tile.
struct Spread {
  TileDim tile;                     ///< right for all sizes
  std::vector<Conditional> regular; ///< for the CTAs for which the tile is not empty
};
Spread spread(const TilePattern &p, int64_t low, int64_t step, int64_t extent);

/// The digit as a pattern of its own, where it is known to be one.
std::optional<Conditional> digit(const TilePattern &p, const Digit &digit, bool isRooted);

/// The plain tile of a pattern without a drift; `isRounded`: the size is rounded up for some
/// CTAs.
TileDim plainTile(const TilePattern &p, int64_t extent, bool isRounded);

/// The pattern for each value of the drift; none where there are more than `most`.
std::vector<TilePattern> instances(const TilePattern &p, int64_t most);

/// When the tiles may be cut at weight w.
Formula cutCondition(const TilePattern &p, int64_t w);
DigitRun digitRun(const TilePattern &p, const Digit &digit);
/// Does every CTA with any element have all digits, the first one's phase apart?
Formula isAlwaysFull(const TilePattern &p, const Digit &digit);
/// 1 for CTAs with an element, 0 for those without. For patterns without a drift.
Expr occupancy(const TilePattern &p);

} // namespace pattern
} // namespace tilewright
