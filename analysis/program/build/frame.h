// The axes of a group's program: which parameters have one, and which share one.
#pragma once

#include "analysis/tiling/code_kind.h"
#include "analysis/tiling/tiled_group.h"

#include <optional>

namespace tilewright::program {

/// A column of the result and a reduced dim that walk the same elements are one axis: in a softmax
/// of [64, 100] the row's maximum is over the dim that the result has as its second. Dims are those
/// of the tiled root.
struct Frame {
  OpId root; ///< whose dims are tiled
  bool isReduction = false;
  OpId dot;                   ///< the product of tiles; invalid: none, or several
  std::vector<DotSide> sides; ///< of its result, by dim of the root
  /// Products of tiles beside each other or beside reductions.
  std::vector<OpId> dots;
  /// Dims of the root along which a tile of matrix instructions is one element: batches, and rows
  /// but for those of the instruction.
  std::vector<bool> isSingle;
  /// The reduced elements of a row are neighbours in memory: threads share rows.
  bool isAlongRows = false;
  std::vector<bool> isRow; ///< by dim: decides which element of a reduction is read
  std::vector<std::optional<unsigned>> joined; ///< by dim: the parameter of the reduced dim
  std::vector<unsigned> reduced;               ///< parameters of reduced dims, ascending
  /// The parameter along which the memory of the first reduction's input is contiguous.
  std::optional<unsigned> fastest;

  /// The parameters of a reduction's dims, in ascending order of these.
  static const std::vector<unsigned> &parametersOf(const TiledGroup &group, OpId reduce);
};

/// Unsupported: a reduction that another op's iteration decides.
llvm::Expected<Frame> frameOf(const Graph &graph, const TiledGroup &group, bool isByLoops);

} // namespace tilewright::program
