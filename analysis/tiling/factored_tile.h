// Factored tiles: how tiles travel through reshapes and transposes.
//
// A reshape of [24] to [4, 6] cuts one dim in two; the inverse joins them again. Forcing the tile
// into (offset, size) form after every step would lose what a later step needs. So between ops each
// dim is a list of *atoms*, outermost first, whose extents multiply to the dim's extent: the set of
// indices is { Σ index_k · weight_k : index_k ∈ set of atom k }. A reshape regroups the atoms of
// all dims, cutting some; a transpose moves them; only where memory is read or a value is computed
// must the atoms of a dim form one (offset, size, stride) tile again.
//
//   Origin   the tiles of one dim before anything was cut (tile_origin.h)
//   Atom     the digit of an origin's index between weight `inner` and weight `inner · extent`:
//            (index floordiv inner) mod extent
//
// Cutting an origin at a weight is exact under a condition on its size alone (tile_origin.h).
// Joining atoms is exact iff their states read unit* (partial | full) full* unit* from the outside
// in, over all CTAs: an atom with several indices in some CTA must be full in all of them, unless
// no atom outside it has several, or none from it inwards (Theorem P2 of docs/tiles.md). Where the
// boundaries of both shapes have no common refinement, as in [2, 3] -> [3, 2], the atoms in between
// must be all full or all unit (Theorem P3). The formulas are linear in the number of atoms.
//
// Exact means exact as sets: a dim that runs backwards may become part of one that runs forwards.
//
// Digits keep more than tiles do: reversing a dim reverses each digit, and shifting, clipping or
// striding one by multiples of an inner weight leaves the digits below that weight alone. So only
// the part of a dim that an op mixes must be a tile.
//
// A dim that is dropped although some CTAs have no index in it leaves a *guard*: the tile is
// empty for those CTAs.
#pragma once

#include "analysis/tiling/constraint.h"
#include "analysis/tiling/tile.h"
#include "analysis/tiling/tile_origin.h"

#include <compare>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace tilewright {

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
  std::vector<unsigned> guards = {}; ///< origins, ascending: empty for CTAs where one of them is

  void addGuard(unsigned origin);
  auto operator<=>(const FactoredTile &) const = default;
};

/// A condition without its op, which the caller knows.
struct TileCondition {
  Formula formula;
  int dim; ///< meaning: see the function that returns it
  std::string rule;
  std::string text; ///< without the op's name; placeholders as in Provenance::text
  std::vector<Expr> textArgs;
  /// For a cut, which is needed only where its digits are used separately: who cut. Null: the op
  /// that uses it.
  const std::function<void(TileCondition)> *cutBy = nullptr;
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
  /// A dim that is one opaque tile, for what atoms can't express.
  FactoredDim opaqueDim(TileDim tile, int64_t extent, bool mayBeEmpty, FactoredTile &guards,
                        std::vector<TileCase> cases = {});
  /// Empty for an extent of 1; then `guards` receives the origins that may be empty.
  FactoredDim ofOrigin(TileOrigin origin, FactoredTile &guards);

  /// The tile of one atom. Holds under the conditions of the cuts that made it.
  TileDim atomTile(const Atom &atom);

  /// The dim as one tile. `conditions` receives the conditions for that (P2), with `dimIndex` as
  /// their dim.
  TileDim plainDim(const FactoredDim &dim, int64_t extent, int dimIndex,
                   const ConditionSink &conditions);
  /// The single origin of a dim, made by plainDim where there are several atoms.
  TileOrigin plainOrigin(const FactoredDim &dim, int64_t extent, int dimIndex,
                         const ConditionSink &conditions);
  Tile plainTile(const FactoredTile &tile, std::span<const int64_t> extents,
                 const ConditionSink &conditions);
  /// True if no CTA has an element at any size: then it is a tile without conditions.
  bool isNever(const FactoredTile &tile) const;

  /// Index y becomes step · y + start in a dim of extent `to`.
  FactoredDim shift(const FactoredDim &dim, int64_t from, int64_t to, int64_t start, int64_t step,
                    int dimIndex, const ConditionSink &conditions);
  /// Index y becomes extent - 1 - y.
  FactoredDim reverse(const FactoredDim &dim);
  /// The indices in [low, low + to), counted from low.
  FactoredDim clip(const FactoredDim &dim, int64_t from, int64_t low, int64_t to, int dimIndex,
                   const ConditionSink &conditions, FactoredTile &guards);
  /// The same tile for CTAs whose outermost digit `dims[dim]` lies in [low, low + count), with
  /// their other digits of its origin. Other CTAs may have any elements.
  FactoredTile within(FactoredTile tile, size_t dim, int64_t low, int64_t count);
  /// A dim that an operand does not have.
  void drop(const FactoredDim &dim, FactoredTile &guards);

  /// The tile in shape `to` of the elements that `tile` covers in shape `from` (row-major, equal
  /// element counts). The conditions' `dim` counts dims of `from`. Conditions of cuts are added
  /// when the digits are used separately, unless they are joined again before; `conditions` is kept
  /// for them.
  FactoredTile reshape(const FactoredTile &tile, std::span<const int64_t> from,
                       std::span<const int64_t> to, const ConditionSink &conditions);

private:
  /// A tile of a dim that is not a product of its atoms' tiles (factored_reorder.cpp).
  struct Reordered {
    Formula holds;
    Expr isHeld; ///< 1 for sizes for which it holds and is needed, else 0; at most one such tile is
                 ///< needed
    TileDim tile;
  };
  std::vector<Reordered> reordered(const FactoredDim &dim) const;
  void reorderedOf(unsigned origin, const FactoredDim &dim, std::vector<Reordered> &out) const;
  /// The dim as a product of its atoms' tiles.
  TileDim productDim(const FactoredDim &dim, int64_t extent, int dimIndex,
                     const ConditionSink &conditions);
  std::vector<TileCase> joinedCases(const FactoredDim &dim, int64_t extent) const;
  /// 1 for sizes for which the tiles of an atom, of `most` indices, partition it into equal parts;
  /// else 0.
  Expr isEvenlyCovered(const Atom &atom, Expr most) const;
  /// Copies the cuts of one origin to another.
  void copyCuts(const Atom &atom, unsigned to);
  /// Conditions under which the atom's origin may be cut where the atom begins and ends.
  void requireCuts(const Atom &atom, const ConditionSink &conditions) const;
  FactoredDim constantDim(int64_t index, int64_t extent);
  /// The atoms outside the largest weight that divides all of `numbers`, and those inside it.
  struct Halves {
    FactoredDim outer, inner;
    int64_t weight;
  };
  Halves splitFor(const FactoredDim &dim, std::initializer_list<int64_t> numbers) const;
  /// Cuts a digit at descending weights within it; reports each real cut (number of the weight).
  FactoredDim cut(Atom digit, std::span<const int64_t> weights,
                  const std::function<void(size_t, unsigned, const TileOrigin &, int64_t)> &onCut);

  ExprContext &ctx;
  std::vector<TileOrigin> origins;
  std::map<std::vector<int64_t>, unsigned> numbers;
  struct CutBy {
    TileCondition condition;
    ConditionSink by;
  };
  std::map<std::pair<unsigned, int64_t>, CutBy> cutConditions; ///< by origin and weight
};

/// Joins neighbouring digits of one origin.
FactoredDim mergeAtoms(FactoredDim dim);

} // namespace tilewright
