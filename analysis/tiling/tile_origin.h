// Tile origins: what the tiles of one dim are, for all programs at once.
//
// An op that shifts, clips, spreads or reverses a dim makes a new origin of it. A *regular* origin
// keeps the pattern of the root's tiles: with x an index of its own,
//
//     index y = step · x + phase,   0 ≤ phase < step
//     the tile of a program is { y : start ≤ x < end } ∩ { y : lower ≤ x < upper }
//     start ≡ base (mod size),  end = start + size,  base, lower and upper constants
//
// so that its tiles cut [lower, upper) at the breakpoints base + j · size. Running example: a tile
// of size s of [8], sliced from [12] at 3, has step 1, base 3, [lower, upper) = [3, 11): its tiles
// are [3, 3+s), [3+s, 3+2s) … up to 11. Reversed it has base 9 and [1, 9).
//
// Whether all these tiles, as sets of two digits y = hi · w + lo, are products of progressions with
// the same strides is decided exactly by cutCondition(): the proof lies in the breakpoints. A tile
// of step 1 is one iff it lies in one block of w or consists of whole blocks. Let M be the
// multiples of w inside (lower, upper). All tiles are good iff
//   - M is empty; or
//   - every m in M is a breakpoint: size | m0 - base for the first of M and, if there are more,
//     size | w; or
//   - every breakpoint inside (lower, upper) is a multiple of w, and the first and the last tile
//     are whole blocks or lie in one: a tile that crosses some m is at least 2w long where it has
//     an m and two multiples of w at its ends, so that the tiles between its neighbours can't lie
//     in one block.
// With a step σ | w the same holds for x and w/σ; with w | σ there is nothing to cut; otherwise
// every tile must lie in one block.
//
// What is not regular (run-time offsets, windows) is opaque: only its plain tile is known, and the
// hull [lower, upper) of all its tiles.
#pragma once

#include "analysis/tiling/constraint.h"
#include "analysis/tiling/tile.h"

#include <optional>

namespace tilewright {

struct TileOrigin {
  int64_t extent = 1; ///< of the dim that it is a tile of
  TileDim tile;       ///< the dim's plain tile
  bool isRegular = false;
  /// Offset index · size with an index of its own: all indices together cover the dim.
  bool isDirect = false;
  /// Some program may have no valid element at all (pad, concatenate).
  bool mayBeEmpty = false;

  int64_t lower = 0, upper = 1; ///< in x; of an opaque origin the hull in y

  /// `tile` says more than the pattern: it holds for all sizes, the pattern for even ones.
  bool hasOwnTile = false;

  // Of regular origins only:
  Expr start, end;       ///< in x, before the masks
  Expr evenness;         ///< null: always regular; else 1 for sizes where it is, 0 for others
  bool isForward = true; ///< false: program 0 has the highest indices
  int64_t step = 1, phase = 0, base = 0;

  /// Like a tile of the root: every index, in tiles from 0 on.
  bool isRooted() const {
    return isRegular && isForward && !evenness && step == 1 && base == 0 && lower == 0 &&
           upper == extent;
  }
  /// No program has an element, whatever the sizes.
  bool isNever() const { return lower >= upper; }
  int64_t lowest() const { return isRegular ? step * lower + phase : lower; }
  int64_t highest() const { return isRegular ? step * (upper - 1) + phase : upper - 1; }
};

/// Tile `index` of size `size` of a dim.
TileOrigin rootOrigin(ExprContext &ctx, Expr index, Expr size, int64_t extent);

/// The one index, for all programs.
TileOrigin constantOrigin(ExprContext &ctx, int64_t index, int64_t extent);

/// Writes the plain tile of a regular origin from start, end and masks.
void makePlainTile(TileOrigin &o);

/// Index y becomes step · y + start, in a dim of `extent`.
TileOrigin shiftedOrigin(TileOrigin o, int64_t start, int64_t step, int64_t extent);

/// Index y becomes extent - 1 - y.
TileOrigin reversedOrigin(TileOrigin o);

/// Only indices in [low, low + extent) are left, and count from low.
TileOrigin clippedOrigin(TileOrigin o, int64_t low, int64_t extent);

/// The indices i in [0, extent) with low + step · i in the tile. Nothing for a tile of unknown
/// stride.
std::optional<TileOrigin> spreadOrigin(const TileOrigin &o, int64_t low, int64_t step,
                                       int64_t extent);

/// The digit (y floordiv inner) mod extent of every element of every program, where there is one.
std::optional<int64_t> onlyDigit(const TileOrigin &o, int64_t inner, int64_t extent);

/// The digit (y floordiv inner) mod extent as an origin of its own, where it is regular under the
/// conditions of its cuts; nothing else.
std::optional<TileOrigin> digitOrigin(const TileOrigin &o, int64_t inner, int64_t extent);

/// When the origin may be cut at weight w, 1 < w < extent: exact for regular origins.
Formula cutCondition(const TileOrigin &o, int64_t w);

/// The block of w that holds every element of every program; nothing where there are several.
std::optional<int64_t> onlyBlock(const TileOrigin &o, int64_t w);

/// The digit of weight `inner` and `extent` of each program: which ones, for programs that have any
/// element, and for how many at most. Holds under the conditions of its cuts.
struct DigitRun {
  Expr offset;      ///< of `most` lanes that hold all digits; below `first` where masked
  Expr first, last; ///< lowest and highest, also of a tile that runs backwards
  Expr step;        ///< > 0, between neighbouring digits; 1 where there is one digit
  Expr most;        ///< digits of the program with the most of them
};
DigitRun digitRun(const TileOrigin &o, int64_t inner, int64_t extent);

/// Does every program with any element have all digits, the first one's phase apart?
Formula isAlwaysFull(const TileOrigin &o, int64_t inner, int64_t extent);

/// 1 for programs with an element, 0 for those without.
Expr occupancy(const TileOrigin &o);

} // namespace tilewright
