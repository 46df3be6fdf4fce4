#include "analysis/program/inference/scalar_work.h"

#include <algorithm>

namespace tilewright::inference {

using program::AxisId;
using program::AxisSet;
using program::Program;
using program::ScalarExpr;
using program::ScalarNode;

namespace {

/// ALU instructions of a scalar op on a 32-bit register.
int64_t instructionsOf(Opcode opcode) {
  switch (opcode) {
  case Opcode::Exp:
  case Opcode::Log:
  case Opcode::Divide:
  case Opcode::Sqrt:
  case Opcode::Rsqrt:
  case Opcode::Tanh:
  case Opcode::Sine:
  case Opcode::Cosine:
  case Opcode::Power:
    return 2;
  case Opcode::BitcastConvert:
    return 0;
  default:
    return 1;
  }
}

AxisSet axesAt(const Program &p, const ScalarExpr &scalar, uint32_t node,
               std::vector<std::optional<AxisSet>> &known) {
  if (known[node])
    return *known[node];
  const ScalarNode &at = scalar.nodes[node];
  AxisSet axes;
  if (at.kind == ScalarNode::Kind::Value)
    axes = p[at.value].tile.axes;
  else if (at.kind == ScalarNode::Kind::Slot)
    for (AxisId axis : p[at.buffer].order)
      program::insert(axes, axis);
  else if (at.kind == ScalarNode::Kind::Index)
    axes = p.axesOf(at.index);
  for (uint32_t operand : at.operands)
    program::unite(axes, axesAt(p, scalar, operand, known));
  known[node] = axes;
  return axes;
}

} // namespace

std::vector<ScalarWork> scalarWorkOf(const Program &p, const ScalarExpr &scalar) {
  std::vector<std::optional<AxisSet>> known(scalar.nodes.size());
  std::vector<ScalarWork> result;
  for (uint32_t n = 0; n < scalar.nodes.size(); ++n) {
    const ScalarNode &node = scalar.nodes[n];
    if (node.kind != ScalarNode::Kind::Operation)
      continue;
    ScalarWork work{axesAt(p, scalar, n, known), 0, 0, 32};
    if (const unsigned bits = bitWidth(node.type);
        node.opcode == Opcode::Convert && bits < 32 && bits > 1) {
      work.perWord = 1;
      work.bits = bits;
    } else {
      work.perElement = instructionsOf(node.opcode);
    }
    auto alike = std::find_if(result.begin(), result.end(), [&](const ScalarWork &other) {
      return other.axes == work.axes && other.bits == work.bits;
    });
    if (alike == result.end()) {
      result.push_back(std::move(work));
      continue;
    }
    alike->perElement += work.perElement;
    alike->perWord += work.perWord;
  }
  return result;
}

} // namespace tilewright::inference
