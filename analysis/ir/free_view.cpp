#include "analysis/ir/free_view.h"

#include <algorithm>

namespace tilewright {

namespace {

/// Dims from the fastest on. Those of one element may stand anywhere and are left out.
std::vector<int64_t> orderOf(const Shape &shape) {
  std::vector<int64_t> order = shape.minorToMajorOrDefault();
  std::erase_if(order, [&](int64_t dim) { return shape.dims[static_cast<size_t>(dim)] == 1; });
  return order;
}

/// Tiles and memory spaces.
std::string_view annotationsOf(const Shape &shape) {
  return shape.layout ? std::string_view(shape.layout->annotations) : std::string_view();
}

} // namespace

bool isScheduled(const Module &module) {
  return std::any_of(module.attributes.begin(), module.attributes.end(),
                     [](const RawAttribute &attribute) {
                       return attribute.name == "is_scheduled" && attribute.text == "true";
                     });
}

bool movesNoByte(const Graph &graph, OpId id, bool isScheduled) {
  const Op &op = graph.op(id);
  if (op.opcode == Opcode::Bitcast)
    return true;
  if (op.shape.isTuple || op.operands.empty())
    return false;
  const Shape &from = graph.op(op.operands[0]).shape;
  if (annotationsOf(op.shape) != annotationsOf(from))
    return false;
  switch (op.opcode) {
  case Opcode::Reshape:
    return isRowMajor(op.shape) && isRowMajor(from);
  case Opcode::Copy:
    return !isScheduled && orderOf(op.shape) == orderOf(from);
  case Opcode::Transpose: {
    std::vector<int64_t> order = orderOf(op.shape);
    for (int64_t &dim : order)
      dim = op.attrs.dimensions[static_cast<size_t>(dim)];
    return order == orderOf(from);
  }
  default:
    return false;
  }
}

} // namespace tilewright
