// The claims of a tile rule, and how they are proved.
//
// A rule goes from a tile of one tensor (the result of an op, or an operand) to a tile of another
// that the first one reads or is read by. Index maps define the reads, so a rule claims two
// inclusions for every CTA, tile size and runtime value that its constraints allow:
//
//   covers     every element that a map reaches from an element of the first tile is in the second
//   no extra   every element of the second tile is reached from some element of the first
//
// Both are stated with their witnesses, so that the negation has no quantifier: a lane of the
// first tile is a name; for "no extra" the map is solved for its variables (the solution is checked
// in the claim, never trusted), and open variables are chosen from a short list.
#pragma once

#include "analysis/affine/index_map.h"
#include "analysis/tiling/constraint.h"
#include "analysis/tiling/tile.h"
#include "analysis/tiling/tiled_group.h"

#include <string>
#include <vector>

namespace tilewright::prove {

struct TileRelation {
  std::vector<IndexMap> maps; ///< from coordinates of the first tensor; a union
  std::vector<int64_t> fromExtents, toExtents;
  std::vector<TileDim> from, to;
  /// Range variables that a loop walks: at one step they stay in that step's tile. The others run
  /// over their whole domain in every step.
  struct Walk {
    Expr range;
    TileDim tile;
  };
  std::vector<Walk> walks;
  std::vector<Formula> given; ///< the rule's constraints
  std::vector<RuntimeVariable> runtime;
  /// Variables of the tiles with what is known of them.
  struct Known {
    Expr variable;
    Interval domain;
    /// Tile sizes that stand in products: every value is tried, so that what Z3 sees is linear.
    std::vector<int64_t> values = {};
  };
  std::vector<Known> variables;
  std::vector<Formula> facts; ///< relations between them
  /// The first tile has a valid element for every value of the variables.
  bool isNonEmpty = true;
};

struct ProofOptions {
  unsigned rlimit = 400'000; ///< Z3's own steps, for one query
};

struct Outcome {
  enum class Status : uint8_t { Proved, Refuted, Unknown };
  Status status = Status::Proved;
  /// Refuted: what fails, and where. Unknown: which goal, and what was spent on it.
  std::string reason;
  uint64_t spent = 0;    ///< Z3's steps, all queries together
  size_t queries = 0;    ///< goals asked, each value of a tried size for itself
  bool isVacuous = true; ///< no value of the variables meets the rule's constraints
};

Outcome proveCovers(const TileRelation &relation, const ProofOptions &options);
Outcome proveNoExtra(const TileRelation &relation, const ProofOptions &options);

} // namespace tilewright::prove
