// Convolutions as products of matrices.
//
// K consists of the window's elements and the input features of a group, features fastest.
// Coordinates come from the op's index maps, whose range variables are K's digits and whose
// constraints say where a window element lies in the padding, or between the elements of a dilated
// image.
#include "codegen/dot_lowering.h"

#include <algorithm>

namespace tilewright {

llvm::Error DotLowering::analyseConvolution() {
  const Graph &graph = spec.graph();
  const Op &op = graph[dot];
  if (usesWgmma()) {
    isWrongInstruction = true;
    return makeError(DiagClass::Unsupported, "%{}: TMA copies of windows are not used", op.name);
  }
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
  const auto ranges = windowSum(*maps);
  if (!ranges)
    return makeError(DiagClass::Internal, "%{} is no sum over windows", op.name);
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
