// What the files behind indexing.h share.
#pragma once

#include "analysis/indexing/indexing.h"

namespace tilewright::indexing {

/// One op whose maps are made: shapes, dims, and helpers that build maps over its output.
struct OpView {
  const Graph &graph;
  const Op &op;
  ExprContext &ctx;
  const Shape &out; ///< of the result at hand
  const ResultPath &path;
  /// Only this operand's maps are asked for: ops with many operands may leave the others' out.
  std::optional<size_t> only = std::nullopt;

  bool wants(size_t operand) const { return !only || *only == operand; }
  size_t operandCount() const { return op.operands.size(); }
  const Op &operandOp(size_t i) const { return graph.op(op.operands[i]); }
  const Shape &operand(size_t i) const { return operandOp(i).shape; }
  Expr dim(size_t i) const { return ctx.dim(static_cast<unsigned>(i)); }
  Expr constant(int64_t v) const { return ctx.constant(v); }

  /// A map from the output dims, simplified; `more` are range and runtime variables.
  IndexMap map(std::vector<Expr> results, std::vector<MapVariable> more = {},
               std::vector<MapConstraint> constraints = {}) const;
  IndexMap identity() const;
  IndexMap scalar() const { return map({}); } ///< the map () of a scalar operand

  /// An error about this op's operands or attributes: they don't fit.
  llvm::Error malformed(std::string_view what) const;
};

using Maps = llvm::Expected<OpIndexing>;

/// outputToOperands(); with `only`, maps of other operands may be missing.
Maps mapsOf(const Graph &graph, OpId op, ExprContext &context, const ResultPath &path,
            std::optional<size_t> only);

OpIndexing opaque(std::string reason);
OperandMaps exactly(IndexMap map);
OperandMaps atMost(IndexMap map, std::string note);

MapVariable rangeVariable(Expr var, int64_t extent);

/// The relation of a map read the other way: from coordinates of the operand, which has these
/// extents, to the output coordinates that read it. Exact. Needs one result for each extent; the
/// map's dims are its output's.
IndexMap inverted(const IndexMap &map, std::span<const int64_t> extents);

/// The coordinates in `to` of the element that a reshape moves there from coordinates `at` in
/// `from`. Works on the smallest groups of neighbouring dims with equal element counts. Both
/// shapes have the same number of elements, which is not 0.
std::vector<Expr> reshapeCoordinates(ExprContext &ctx, const std::vector<int64_t> &from,
                                     std::span<const Expr> at, const std::vector<int64_t> &to);

/// bitcast: from coordinates `at` in `from` to those in `to`, through the bytes. `extra` receives
/// a range variable where an element of `from` covers several of `to`. Nothing where the layouts
/// are tiled or the widths don't divide.
std::optional<std::vector<Expr>> bitcastCoordinates(ExprContext &ctx, const Shape &from,
                                                    std::span<const Expr> at, const Shape &to,
                                                    std::vector<MapVariable> &extra);

/// Dims of one side of a dot that are neither batch nor contracted, in order.
std::vector<int64_t> freeDims(const Shape &shape, const std::vector<int64_t> &batch,
                              const std::vector<int64_t> &contracting);

/// A value that is known when the model is read: element `element` of an integer constant, also
/// behind convert, copy, reshape and broadcast of a scalar.
std::optional<int64_t> knownInteger(const Graph &graph, OpId id, size_t element);

/// The text of an attribute as it stood in the file; empty if it is not there.
std::string_view rawAttribute(const Op &op, std::string_view name);

/// The window's own range variables (none for dims of size 1, which stay at 0), from `first` on.
struct WindowVariables {
  std::vector<Expr> at; ///< one expression a window dim
  std::vector<MapVariable> variables;
};
WindowVariables windowVariables(ExprContext &ctx, const std::vector<WindowDim> &window,
                                unsigned first);

// One function for each family of ops.
Maps elementwiseMaps(const OpView &v);
Maps movementMaps(const OpView &v);
Maps contractionMaps(const OpView &v);
Maps windowMaps(const OpView &v);
Maps dynamicMaps(const OpView &v);
Maps collectiveMaps(const OpView &v);
Maps asyncMaps(const OpView &v); ///< reduce-scatter-start and the like

/// Whether every one of `dims` is a dim of a shape of that rank.
bool inRange(const std::vector<int64_t> &dims, size_t rank);

} // namespace tilewright::indexing
