// Convolutions as products of matrices.
//
// K consists of the window's elements and the input features of a group, features fastest.
// Coordinates come from the op's index maps, whose range variables are K's digits and whose
// constraints say where a window element lies in the padding, or between the elements of a dilated
// image.
#include "codegen/dot_lowering.h"

#include <algorithm>

namespace tilewright {

namespace {
/// The variables that a convolution sums over, each with the sub-range that lies in the image for
/// every element of the result; empty where that is the whole range.
std::optional<std::vector<MapVariable>> sumOf(const OpIndexing &maps) {
  if (maps.isOpaque || maps.operands.size() != 2)
    return std::nullopt;
  std::vector<MapVariable> ranges[2];
  for (size_t i : {0, 1}) {
    if (maps.operands[i].maps.size() != 1 || maps.operands[i].maps[0].isKnownEmpty())
      return std::nullopt;
    ranges[i] = maps.operands[i].maps[0].variables(VarKind::Range);
  }
  auto isSame = [](const MapVariable &a, const MapVariable &b) {
    return a.var == b.var && a.domain == b.domain && !a.domain.isEmpty();
  };
  if (!std::equal(ranges[0].begin(), ranges[0].end(), ranges[1].begin(), ranges[1].end(), isSame))
    return std::nullopt;
  return ranges[0];
}
} // namespace

llvm::Error DotLowering::analyseConvolution() {
  const Graph &graph = spec.graph();
  const Op &op = graph[dot];
  if (usesWgmma()) {
    isWrongInstruction = true;
    return makeError(DiagClass::Unsupported, "%{}: TMA copies of windows are not used", op.name);
  }
  if (op.attrs.batchGroupCount != 1)
    return makeError(DiagClass::Unsupported, "%{}: {} batch groups, one is allowed", op.name,
                     op.attrs.batchGroupCount);
  if (int64_t groups = op.attrs.featureGroupCount; groups != 1) {
    int64_t outputs = graph[op.operands[1]].shape.dims[size_t(op.attrs.conv.kernelOutput)];
    int64_t wide = std::count_if(side(Side::Columns).tile.begin(), side(Side::Columns).tile.end(),
                                 [](int64_t size) { return size > 1; });
    if (outputs / groups % side(Side::Columns).size != 0 || wide > 1)
      return makeError(DiagClass::Unsupported,
                       "%{}: a tile of {} output features is not within one of {} groups of {}",
                       op.name, side(Side::Columns).size, groups, outputs / groups);
  }
  ExprContext exprs;
  auto maps = outputToOperands(graph, dot, exprs);
  if (!maps)
    return maps.takeError();
  auto ranges = sumOf(*maps);
  if (!ranges)
    return makeError(DiagClass::Unsupported, "%{}: lhs and rhs contract different extents",
                     op.name);
  for (const MapVariable &range : *ranges)
    kExtents.push_back(range.domain.hi - range.domain.lo + 1);
  return llvm::Error::success();
}

/// Rebuilds the maps over the emitter's expressions, once there is an emitter.
llvm::Error DotLowering::planConvolution() {
  auto maps = outputToOperands(lowering->graph, dot, lowering->emitter.context());
  if (!maps)
    return maps.takeError();
  convolution = std::move(*maps);
  return llvm::Error::success();
}

/// Coordinates in an operand for coordinates `at` of the result and element `k` of K; adds the
/// conditions under which an element of the image is there to the guard.
Coordinates DotLowering::convolved(const OperandTile &tile, const Coordinates &at, Expr k,
                                   Guard *guard) const {
  ValueEmitter &emitter = lowering->emitter;
  ExprContext &exprs = emitter.context();
  const IndexMap &map = convolution.operands[tile.side == Side::Rows ? 0 : 1].maps[0];
  std::vector<int64_t> order;
  for (size_t i = kExtents.size(); i-- > 0;)
    order.push_back(static_cast<int64_t>(i));
  Coordinates digits = emitter.delinearize(k, kExtents, order);
  std::vector<Expr> replacement;
  auto replace = [&](Expr var, Expr with) {
    if (replacement.size() <= var.variable().index)
      replacement.resize(var.variable().index + 1);
    replacement[var.variable().index] = with;
  };
  for (size_t i = 0; i < at.size(); ++i)
    replace(exprs.dim(static_cast<unsigned>(i)), at[i]);
  std::vector<MapVariable> ranges = map.variables(VarKind::Range);
  for (size_t i = 0; i < digits.size(); ++i)
    replace(ranges[i].var, digits[i] + ranges[i].domain.lo);
  Coordinates result;
  for (Expr coordinate : substitute(map.results(), replacement))
    result.push_back(emitter.simplify(coordinate));
  if (guard && tile.side == Side::Rows) // a zero of the image cancels the kernel's element
    for (MapConstraint condition : map.constraints()) {
      condition.expr = emitter.simplify(substitute(condition.expr, replacement));
      guard->push_back(condition);
    }
  return result;
}

} // namespace tilewright
