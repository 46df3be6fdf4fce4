// Program maps: which tile a CTA makes, and when.
//
// The tiles of a kernel are a grid, one count a parallel dim. A launch is a row of CTAs;
// each makes one tile, or, where it is persistent, several in turn. With split-K, several
// CTAs share a tile and each adds up a part of its sum. For tile counts [2, 3, 4], dims 1 and 2
// grouped in twos, the CTAs of the first index of dim 0 make
//
//     (0,0) (1,0) (0,1) (1,1) (0,2) (1,2) (0,3) (1,3)   rows 0 and 1, walked together
//     (2,0) (2,1) (2,2) (2,3)                           the last group may have fewer rows
//
// Every map is a bijection between the items {(tile, split)} and the pairs (cta, turn) with
// turn · ctas + cta < items: itemOf() is its inverse. Exhaustive tests pin it, and its
// parts are proved for all counts (tests/proofs).
#pragma once

#include "analysis/affine/expr.h"

#include "llvm/Support/Error.h"

#include <optional>
#include <span>
#include <vector>

namespace tilewright {

/// The order of tiles. Dims are positions in the list of tile counts; each is in exactly one of the
/// three lists, slowest first.
struct ProgramOrder {
  std::vector<unsigned> outer, rows, columns;
  int64_t group = 1;           ///< rows walked together, column by column, for L2 reuse
  int64_t splits = 1;          ///< CTAs that share one tile; they have consecutive numbers
  int64_t tilesPerProgram = 1; ///< turns of a CTA; its items are `ctas` apart

  /// All dims in their given order.
  static ProgramOrder inOrder(size_t dims);
};

class ProgramMap {
public:
  /// BadInput: a dim that occurs twice or nowhere, a number below 1. Unsupported: more than 2^31 -
  /// 1 CTAs.
  static llvm::Expected<ProgramMap> make(ExprContext &context, std::span<const int64_t> tileCounts,
                                         const ProgramOrder &order);

  int64_t items = 0; ///< tiles times splits
  int64_t ctas = 0;  ///< ⌈items / tilesPerProgram⌉
  Expr cta, turn;    ///< variables: program id, and step in [0, tilesPerProgram)
  /// turn · ctas + cta. Where it is not below `items`, the CTA has nothing to do.
  Expr item;
  std::vector<Expr> tile; ///< index along each dim
  Expr split;             ///< in [0, splits)

  struct Place {
    int64_t cta, turn;
    bool operator==(const Place &) const = default;
  };
  /// The CTA that makes a tile, and its turn.
  Place itemOf(std::span<const int64_t> tile, int64_t split) const;

private:
  std::vector<int64_t> counts;
  ProgramOrder order;
  int64_t rowTiles = 1, columnTiles = 1;
};

struct KernelPlan;

/// Options of the schedule beyond a plan's. Code exists for the defaults only: assignText() refuses
/// plans with others.
struct ProgramTurns {
  int64_t tilesPerProgram = 1;
  std::vector<unsigned> order = {}; ///< of the root's dims, slowest first; empty: their own order
};

/// How the CTAs of a plan are numbered: dims that both operands of its dot share are outermost,
/// then those of the left one are rows and those of the right one columns, of which group_m rows
/// are walked together; without a dot all dims as they stand, or in the order given. BadInput: an
/// order that is not a permutation of the root's dims.
llvm::Expected<ProgramMap> programMapOf(const KernelPlan &plan, ExprContext &context,
                                        const ProgramTurns &turns = {});

/// The steps first ≤ step < end of a loop of `steps` that CTA `split` of `splits` makes: runs
/// of equal length, of which the last ones may be shorter or empty.
struct SplitRange {
  Expr first, end;
};
SplitRange splitRange(Expr split, int64_t splits, int64_t steps);

/// Horizontal fusion, kernels whose roots have tile dims of their own: one launch has the CTAs of
/// each part in turn.
class JointCtas {
public:
  /// Unsupported: more than 2^31 - 1 CTAs in all.
  llvm::Error add(int64_t ctas);

  int64_t ctas() const { return ends.empty() ? 0 : ends.back(); }
  struct Place {
    size_t part;
    int64_t cta; ///< of the part
  };
  /// Nothing from ctas() on.
  std::optional<Place> partOf(int64_t cta) const;

private:
  std::vector<int64_t> ends; ///< by part: the first CTA behind it
};

} // namespace tilewright
