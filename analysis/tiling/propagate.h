// Tile rules: from the tile of an op's result to the tiles of its operands, op by op.
//
// The tiles are factored (factored_tile.h). The conditions of a rule become constraints with the
// op's name; sequential parameters and runtime variables are created on first use.
#pragma once

#include "analysis/indexing/indexing.h"
#include "analysis/ir/graph.h"
#include "analysis/tiling/factored_tile.h"
#include "analysis/tiling/tiled_group.h"

#include "llvm/Support/Error.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace tilewright {

struct OperandTile {
  FactoredTile tile;
  Exactness exactness = Exactness::Exact;
  double factor = 1; ///< 0: not bounded
  std::string why = {};
  Expr exactWhen = {}; ///< if not exact: 1 for the sizes for which it is; null: none
};

struct OperandTiles {
  std::vector<OperandTile> tiles; ///< one per operand
  std::vector<unsigned> reduces;  ///< sequential parameters that the op runs over
};

/// The same tile for every operand.
inline OperandTiles sameForAll(size_t count, const FactoredTile &tile) {
  OperandTiles out;
  out.tiles.resize(count, {tile});
  return out;
}

/// Dims of an op's result; of a variadic reduce those of its first element.
const std::vector<int64_t> &resultDims(const Op &op);

/// True for a tuple whose elements all have the first element's tile.
bool isTiledByFirstResult(const Op &op);

/// Reshape, transpose, bitcast: moves no data by itself.
bool isView(const Op &op);

/// A reshape in row-major order; a chain of them is one reshape.
bool isRowMajorReshape(const Op &op, const Op &operand);

class TilePropagator {
public:
  TilePropagator(const Graph &graph, ExprContext &context)
      : graph(graph), ctx(context), factory(context) {}

  /// The tiles of all operands for a tile of the result. Unsupported for ops without a rule.
  llvm::Expected<OperandTiles> operands(OpId id, const FactoredTile &tile);

  /// The other way: the tile of a result (`path` of a tuple) that an operand's tile reaches: every
  /// element that reads some element of it. Derived from the index map of the operand, but for
  /// reshapes. Unsupported where the operand has no map, or several.
  llvm::Expected<OperandTile> resultTouched(OpId id, unsigned operand, const FactoredTile &tile,
                                            const ResultPath &path = {});

  /// Through one view op (or a chain of reshapes, see `operandDims`) to a tensor of these dims.
  OperandTile throughReshape(OpId id, const FactoredTile &tile,
                             std::span<const int64_t> operandDims);

  /// Adds a constraint unless it is trivially true or a duplicate.
  void require(OpId id, int operand, TileCondition condition);
  /// `dimOf` maps a condition's dim to the op's dim, where they differ.
  ConditionSink sinkFor(OpId id, int operand, std::function<int(int)> dimOf = {});
  bool isRequired(const Formula &formula) const;

  const Graph &graph;
  ExprContext &ctx;
  TileFactory factory;
  std::vector<TileParameter> sequential;
  std::vector<RuntimeVariable> runtime;
  std::vector<Constraint> constraints;

private:
  using Result = llvm::Expected<OperandTiles>;
  llvm::Error unsupported(const Op &op, std::string reason) const;
  Result derive(OpId id, const FactoredTile &tile);
  Result elementwise(const Op &op, const FactoredTile &tile);
  Result samePlace(const Op &op, const FactoredTile &tile);
  Result broadcast(const Op &op, const FactoredTile &tile);
  Result transpose(const Op &op, const FactoredTile &tile);
  Result bitcast(OpId id, const FactoredTile &tile);
  /// From one shape to another with the same bytes in the same memory order.
  llvm::Expected<OperandTile> throughBytes(OpId id, const FactoredTile &tile, const Shape &source,
                                           const Shape &target);
  Result bitcastConvert(OpId id, const FactoredTile &tile);
  Result slice(OpId id, const FactoredTile &tile);
  Result reverse(OpId id, const FactoredTile &tile);
  Result pad(OpId id, const FactoredTile &tile);
  Result concatenate(OpId id, const FactoredTile &tile);
  Result dynamicSlice(OpId id, const FactoredTile &tile);
  Result dynamicUpdateSlice(OpId id, const FactoredTile &tile);
  Result reduce(OpId id, const FactoredTile &tile);
  Result dot(OpId id, const FactoredTile &tile);
  Result scaledDot(OpId id, const FactoredTile &tile);
  Result raggedDot(OpId id, const FactoredTile &tile);
  Result line(OpId id, const FactoredTile &tile);
  Result scan(OpId id, const FactoredTile &tile);
  Result tupleElement(OpId id, const FactoredTile &tile);
  Result scatter(OpId id, const FactoredTile &tile);
  Result selectAndScatter(OpId id, const FactoredTile &tile);
  Result allGather(OpId id, const FactoredTile &tile);
  Result ownShare(OpId id, const FactoredTile &tile);
  Result reduceWindow(OpId id, const FactoredTile &tile);
  Result convolution(OpId id, const FactoredTile &tile);
  Result gather(OpId id, const FactoredTile &tile);

  /// The operands of a dot with this tile of its result, whose dims from `first` on are [batch, lhs
  /// free, rhs free]. `group` is a dim of the rhs that is walked after the contracted ones.
  OperandTiles product(OpId id, const FactoredTile &tile, size_t first,
                       std::optional<int64_t> group);
  /// The blocks of `block` elements that a tile of a dim touches.
  FactoredDim blocks(const Op &op, const TileOrigin &origin, int64_t block, int64_t count,
                     OperandTile &out);
  /// All indices of a dim from 0 to the tile's last one, or from its first one on.
  FactoredDim prefix(const Op &op, const TileOrigin &origin, bool isSuffix, OperandTile &out);
  void markCovering(OperandTile &out, std::string why);
  /// A value that all CTAs of a replica share: its position in its group.
  Expr ownPosition(OpId collective, int64_t replicas);

  /// For an operand without this dim of the result: adds a guard for CTAs that have no valid
  /// element in the dim.
  void dropDim(const FactoredDim &dim, OperandTile &out) { factory.drop(dim, out.tile); }
  /// Marks an operand whose tile can't express that a CTA without valid result elements needs
  /// nothing of it.
  void markDropped(const Op &op, OperandTile &out);
  /// Handles CTAs with an empty tile: adds the result's guards, and marks an operand whose tile
  /// can't express them.
  void passGuards(const Op &op, const FactoredTile &tile, OperandTile &out);
  TileOrigin originOf(OpId id, const FactoredTile &tile, size_t dim);
  /// Index i of the operand (of that extent) is at low + i in the result.
  FactoredDim placed(OpId id, int dim, const FactoredTile &tile, int64_t low, int64_t extent,
                     FactoredTile &guards);
  FactoredDim spread(OpId id, int dim, const TileOrigin &origin, int64_t low, int64_t step,
                     int64_t extent, FactoredTile &guards);
  FactoredDim window(OpId id, int dim, const FactoredTile &tile, const WindowDim &window,
                     int64_t extent, OperandTile &out);
  /// A scalar's value at run time, clamped to [0, limit]: an expression.
  Expr startValue(OpId scalar, int64_t limit);
  /// An element of a tensor at run time, clamped to [0, limit].
  Expr runtimeValue(OpId source, int64_t limit, const std::vector<Expr> &element);
  /// Some dims of a tensor of this shape, walked while the other dims have the tiles `kept`.
  struct Walked {
    std::vector<int64_t> extents, dims;
    FactoredTile kept;
    auto operator<=>(const Walked &) const = default;
  };
  /// The sequential parameters for walking dims, for an op whose result has the tile `result`; each
  /// of `ways` describes the walk of one operand. Shared with an op that walks one of them in the
  /// same way, unless this op lies inside that op's loop.
  std::vector<unsigned> walk(OpId id, char prefix, std::span<const Walked> ways,
                             const FactoredTile &result);
  /// Sequential parameters whose loops contain an op with this tile.
  std::set<unsigned> loopsAround(const FactoredTile &tile);
  FactoredDim stepDim(unsigned parameter);

  std::map<Walked, std::vector<std::vector<unsigned>>> walks;
  std::vector<std::set<unsigned>> outerLoops; ///< by sequential parameter, without itself
  std::map<char, unsigned> walkCount;
  std::map<std::tuple<OpId, int64_t, std::vector<uint32_t>>, Expr> starts;
  std::set<std::string> requiredFormulas;
  bool isMuted = false; ///< the current tile never has an element: it needs no constraints
};

} // namespace tilewright
