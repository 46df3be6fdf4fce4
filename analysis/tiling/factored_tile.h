// Factored tiles: how tiles travel through reshapes and transposes.
//
// A reshape of [24] to [4, 6] cuts one dim in two; the inverse joins them again. A tile that is
// asked for as (offset, size) after every step loses what a later step needs. So between ops each
// dim is a list of *atoms*, outermost first, whose extents multiply to the dim's extent: the set
// of indices is { Σ index_k · weight_k : index_k ∈ set of atom k }. A reshape regroups the atoms of
// all dims, cutting some; a transpose moves them; only where memory is read or a value is computed
// must the atoms of a dim form one (offset, size, stride) tile again.
//
//   Origin   one (offset, size, stride, lower, upper) over an extent, with what is known of it
//   Atom     the digit of an origin's index between weight `inner` and weight `inner · extent`:
//            (index floordiv inner) mod extent
//
// Cutting an origin of extent D and size s at c is exact for all programs iff s | c, or c | s, or
// s ≥ D (Theorem P, condition P1: every boundary for itself). Joining atoms is exact iff their
// states read  unit* (partial | full) full* unit*  from the outside in (P2). Where the boundaries
// of both shapes have no common refinement, as in [2, 3] -> [3, 2], the atoms in between must be
// all full or all unit (P3). The formulas are linear in the number of atoms.
//
// Origins whose offset is not program · size (behind slice, pad, concatenate, reverse) keep their
// base and masks as constants, and are cut under a condition that also keeps the masks on the cut
// (sound, not complete); origins with a stride or a run-time offset are cut at size 1 only.
#pragma once

#include "analysis/tiling/constraint.h"
#include "analysis/tiling/tile.h"

#include <compare>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace tilewright {

struct TileOrigin {
  int64_t extent; ///< of the dim that it is a tile of
  TileDim tile;

  /// Stride 1 (or -1, see `backwards`), constant masks, and lowest index ≡ base (mod size).
  bool aligned = false;
  bool backwards = false; ///< stride -1: lane 0 has the highest index
  int64_t base = 0, lower = 0, upper = 0;
  /// One program covers everything from size `length` on.
  int64_t length = 0;
  /// Offset index · size with an index of its own: all indices together cover the dim.
  bool isDirect = false;
  /// Some program may have no valid element at all (pad, concatenate).
  bool mayBeEmpty = false;

  /// Like a tile of the root: base 0, masks at the dim.
  bool isRooted() const {
    return aligned && !backwards && base == 0 && lower == 0 && upper == extent;
  }
};

struct Atom {
  unsigned origin = 0;
  int64_t inner = 1; ///< weight of this digit within the origin
  int64_t extent = 1;
  auto operator<=>(const Atom &) const = default;
};

/// Atoms from the outermost in; none for an extent of 1.
using FactoredDim = std::vector<Atom>;

struct FactoredTile {
  std::vector<FactoredDim> dims;
  auto operator<=>(const FactoredTile &) const = default;
};

/// A condition found on the way, without its op: the caller knows that.
struct TileCondition {
  Formula formula;
  int dim; ///< see the function that makes it
  std::string rule;
  std::string text; ///< without the op's name; placeholders as in Provenance::text
  std::vector<Expr> textArgs;
};
using ConditionSink = std::function<void(TileCondition)>;

/// Makes origins and factored dims. Equal origins get the same number, so that equal tiles
/// compare equal.
class TileFactory {
public:
  explicit TileFactory(ExprContext &context) : ctx(context) {}

  ExprContext &context() { return ctx; }
  const TileOrigin &origin(unsigned index) const { return origins[index]; }
  unsigned intern(TileOrigin origin);

  /// Tile `index` of size `size` of a dim.
  FactoredDim rootDim(Expr index, Expr size, int64_t extent);
  /// All of a dim.
  FactoredDim wholeDim(int64_t extent);
  /// A dim that is a tile of its own, for what atoms can't express.
  FactoredDim opaqueDim(TileDim tile, int64_t extent, bool mayBeEmpty);
  FactoredDim ofOrigin(TileOrigin origin);

  /// The tile of one atom. Holds under the boundary conditions of the cuts that made it.
  TileDim atomTile(const Atom &atom);

  /// The dim as one tile. `conditions` receives when it is one (P2); `dimIndex` goes into them.
  TileDim plainDim(const FactoredDim &dim, int64_t extent, int dimIndex,
                   const ConditionSink &conditions);
  /// The single origin of a dim, made by plainDim where there are several atoms.
  TileOrigin plainOrigin(const FactoredDim &dim, int64_t extent, int dimIndex,
                         const ConditionSink &conditions);
  Tile plainTile(const FactoredTile &tile, std::span<const int64_t> extents,
                 const ConditionSink &conditions);

  /// The tile in shape `to` of the elements that `tile` covers in shape `from` (row-major, equal
  /// element counts). The conditions' `dim` counts dims of `from`. A dim of extent 1 that some
  /// programs have no element of (behind a concatenate, say) loses its mask where `to` has no such
  /// dim: the result is then a superset, and `isSuperset` is set.
  FactoredTile reshape(const FactoredTile &tile, std::span<const int64_t> from,
                       std::span<const int64_t> to, const ConditionSink &conditions,
                       bool &isSuperset);

  /// When the origin may be cut at weight `c`, 1 < c < extent.
  Formula boundaryCondition(const TileOrigin &origin, int64_t c);

private:
  Formula isFull(const Atom &atom, const TileDim &tile);
  ExprContext &ctx;
  std::vector<TileOrigin> origins;
  std::map<std::vector<int64_t>, unsigned> numbers;
};

/// Joins neighbouring digits of one origin.
FactoredDim mergeAtoms(FactoredDim dim);

} // namespace tilewright
