#include "analysis/ir/annotation.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace tilewright {

bool isAnnotation(const Graph &graph, const Op &op) {
  constexpr std::array<std::string_view, 7> targets = {
      "Sharding",
      "SPMDFullToShardShape",
      "SPMDShardToFullShape",
      "LayoutConstraint",
      "xla.sdy.FuncResultSharding",
      "xla.sdy.GlobalToLocalShape",
      "xla.sdy.LocalToGlobalShape",
  };
  return op.opcode == Opcode::CustomCall && op.operands.size() == 1 && !op.shape.isTuple &&
         std::find(targets.begin(), targets.end(), op.attrs.customCallTarget) != targets.end() &&
         op.shape.sameDimsAndType(graph.op(op.operands[0]).shape);
}

Op withoutAnnotation(const Graph &graph, Op annotation) {
  Op op = std::move(annotation);
  const Shape &from = graph.op(op.operands[0]).shape;
  op.opcode = op.shape.minorToMajorOrDefault() == from.minorToMajorOrDefault() ? Opcode::Bitcast
                                                                               : Opcode::Copy;
  op.attrs = {};
  op.rawAttrs.clear();
  op.called.clear();
  return op;
}

} // namespace tilewright
