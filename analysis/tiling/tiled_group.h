// TiledGroup: the tile of every op of a group, as expressions in the tile parameters, with the
// constraints under which they hold.
#pragma once

#include "analysis/tiling/constraint.h"
#include "analysis/tiling/group.h"
#include "analysis/tiling/tile.h"
#include "analysis/tiling/tile_space.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace tilewright {

/// One op with one tile. An op that two consumers need with different tiles has two instances;
/// they may become the same tile at some sizes: in a softmax, x is read with the root's tile t1 of
/// a row and, for the row's maximum, with the sequential tile r0, and with t1 = r0 = D both are the
/// whole row. sameTileAt() in numeric_tile.h tells.
///
/// Reshapes, transposes and bitcasts in the middle of a chain of such ops have no instance if their
/// own elements would not form a tile at every accepted point; the op above the chain then has the
/// operand below it as its operand.
struct TileInstance {
  OpId op;
  Tile tile;
  std::vector<unsigned> operands; ///< instance of each operand; inputs have instances too
  bool isInput = false;           ///< read from memory: no operands here
  /// Relative to what the root's tile needs, summed over the steps of the loops.
  Exactness exactness = Exactness::Exact;
  double factor = 1; ///< of an over-approximation; 0: unbounded
  std::string why;   ///< why it is not exact
  Expr exactWhen;    ///< 1 for sizes for which it is exact nevertheless, else 0; null: none
  /// Sequential parameters (indices into the space) inside whose loops this instance lies,
  /// outer loops included; ascending. Ops that do not depend on a step count as hoisted.
  std::vector<unsigned> loops;
  /// Sequential parameters that this op itself runs over (a dot's contracted dims in operand
  /// order, a reduce's dims in ascending order); its operands lie inside these loops.
  std::vector<unsigned> reduces;
};

/// A value that is only known when the kernel runs: the (clamped) start of a dynamic slice, or one
/// of a gather's indices.
struct RuntimeVariable {
  Expr var;
  OpId source; ///< the op whose value it is
  Interval range;
  std::vector<Expr> element; ///< of the source, in program ids; none for a scalar
};

/// The steps first ≤ step < end of a sequential loop that have an effect for a CTA, as expressions
/// in program ids and sizes: min, max, floordiv and ceildiv of affine ones. Null for a parameter
/// without a loop; first = 0 and end = the number of tiles where nothing is known to be skipped.
/// loop_range.h finds and counts them.
struct LoopRange {
  Expr first, end;
};

struct KindOfCode;
struct ProgramResources;

struct TiledGroup {
  Group group;
  TileSpace space;
  std::vector<TileInstance> instances; ///< operands before users
  std::vector<unsigned> roots;         ///< instance of each group root
  std::vector<Constraint> constraints;
  std::vector<RuntimeVariable> runtime;
  std::vector<LoopRange> ranges; ///< by parameter
  /// The lowering of its code, once kindOfCode() was asked; copies have it, too.
  mutable std::shared_ptr<const KindOfCode> code;
  /// What the group's programs take, by Instruction, once kernelResources() was asked
  /// (analysis/program/pass); copies have it, too.
  mutable std::array<std::shared_ptr<const ProgramResources>, 3> programs;

  std::vector<unsigned> instancesOf(OpId op) const;
  /// Of parameters, program ids, steps and runtime variables.
  Bounds bounds() const;
};

/// Tiles a group from its last root (the one with the highest id), whose dims become the parallel
/// parameters. The tiles of other roots must follow from it: they are read by it, or have the same
/// dims, or the same elements in another shape. If a program id does not occur in another root's
/// tile, a constraint keeps that dim in one tile, since otherwise several CTAs would write the same
/// elements. Errors: Unsupported, naming the op and the reason, for what can't be expressed;
/// BudgetSpent for more than 4096 + 4 · ops instances.
///
/// Sequential parameters: one per contracted or reduced dim. Dots and reduces that walk the same
/// dims of tensors of the same shape with the same tile of the other dims share them, so that a
/// softmax has one r0, and the row reduction between two dots walks with the second one's k0.
///
/// The index of t0 is named pid0, that of k0 step_k0. Tiles are in normal form (affine/simplify.h).
///
/// All schedule parameters always exist; an extent of 1 means that the group has no use for one:
/// warps [1, 32], stages [1, 16] (groups with a dot or reduce), split_k [1, 64] (where every root
/// is a dot; [1, 256] where the only loop is a reduction's and every root has an element for each
/// of its results), group_m [1, 64] (with a dot and two parallel dims).
llvm::Expected<TiledGroup> tileGroup(const Graph &graph, const Group &group, ExprContext &context);

} // namespace tilewright
