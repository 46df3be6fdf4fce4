#include "analysis/ir/fold_empty.h"

#include <algorithm>

namespace tilewright {

namespace {

bool isZeroAlong(const Shape &shape, const std::vector<int64_t> &dims) {
  return std::any_of(dims.begin(), dims.end(),
                     [&](int64_t dim) { return shape.dims[static_cast<size_t>(dim)] == 0; });
}

bool sumsNothing(const Graph &graph, const Op &op) {
  if (op.shape.isTuple || op.shape.elementCount() == int64_t{0})
    return false;
  if (op.opcode == Opcode::Dot)
    return isZeroAlong(graph[op.operands[0]].shape, op.attrs.dot.lhsContracting);
  // A window has at least one element, the features of a group may be none.
  return op.opcode == Opcode::Convolution &&
         isZeroAlong(graph[op.operands[1]].shape, {op.attrs.conv.kernelInput});
}

std::string zeroOf(DType dtype) {
  switch (dtypeClass(dtype)) {
  case DTypeClass::Pred:
    return "false";
  case DTypeClass::Complex:
    return "(0, 0)";
  default:
    return "0";
  }
}

Graph folded(const Graph &graph) {
  Graph result(graph.name());
  result.loc = graph.loc;
  result.signature = graph.signature;
  result.suffix = graph.suffix;
  std::vector<OpId> place;
  for (const Op &old : graph.all()) {
    Op op = old;
    for (OpId &operand : op.operands)
      operand = place[operand.index];
    if (sumsNothing(graph, old)) {
      Op zero;
      zero.name = old.name + ".zero";
      while (graph.find(zero.name).isValid())
        zero.name += "_";
      zero.opcode = Opcode::Constant;
      zero.shape = Shape::tensor(old.shape.dtype, {});
      zero.literal = zeroOf(old.shape.dtype);
      zero.loc = old.loc;
      op.opcode = Opcode::Broadcast;
      op.attrs = {};
      op.rawAttrs = {{"dimensions", "{}", old.loc}};
      op.called.clear();
      op.operands = {result.add(std::move(zero))};
    }
    place.push_back(result.add(std::move(op)));
  }
  result.setRoot(place[graph.root().index]);
  return result;
}

} // namespace

Module foldEmptyContractions(const Module &module) {
  Module result = module;
  for (uint32_t i = 0; i < module.all().size(); ++i) {
    const Graph &graph = module.all()[i];
    if (std::any_of(graph.all().begin(), graph.all().end(),
                    [&](const Op &op) { return sumsNothing(graph, op); }))
      result.graph(GraphId{i}) = folded(graph);
  }
  return result;
}

} // namespace tilewright
