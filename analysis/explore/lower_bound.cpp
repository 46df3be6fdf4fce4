#include "analysis/explore/lower_bound.h"

#include "analysis/indexing/op_cost.h"
#include "analysis/ir/free_view.h"

#include <algorithm>
#include <map>

namespace tilewright {

namespace {

OpId fusedRoot(const Module &module, const Op &fusion, const Graph *&body) {
  for (const CalledGraph &called : fusion.called)
    if (called.role == CallRole::Calls) {
      body = &module.graph(called.graph);
      return body->root();
    }
  return OpId();
}

/// What follows from a whole result, from the users back to what they read.
class Needs {
public:
  Needs(const Module &module, const Graph &graph) : module(module), graph(graph) {
    whole.assign(graph.size(), false);
    read.assign(graph.size(), false);
    if (!graph.root().isValid())
      return;
    whole[graph.root().index] = true;
    for (uint32_t i = static_cast<uint32_t>(graph.size()); i-- > 0;)
      if (whole[i])
        visit(OpId{i});
  }

  std::vector<bool> whole; ///< every element of the op's value is needed
  std::vector<bool> read;  ///< … by something that computes or moves it
  double flops = 0;

private:
  void need(OpId id) {
    whole[id.index] = true;
    read[id.index] = true;
  }
  void visit(OpId id);
  void visitFusion(const Op &op);

  const Module &module;
  const Graph &graph;
};

void Needs::visit(OpId id) {
  const Op &op = graph.op(id);
  if (op.opcode == Opcode::Fusion)
    return visitFusion(op);
  if (OpClass cls = opClass(op.opcode); cls != OpClass::Tuple && cls != OpClass::Leaf) {
    OpCost cost = opCost(module, graph, id);
    flops += static_cast<double>(cost.isCounted ? cost.flops : 0);
  }
  if (op.opcode == Opcode::Tuple || movesNoByte(graph, id)) {
    for (OpId operand : op.operands)
      whole[operand.index] = true;
    return;
  }
  switch (op.opcode) {
  case Opcode::GetTupleElement:
    if (graph.op(op.operands[0]).opcode != Opcode::Parameter)
      whole[op.operands[0].index] = true;
    return;
  case Opcode::Broadcast:
  case Opcode::Concatenate:
  case Opcode::Dot:
  case Opcode::Reduce:
  case Opcode::Reshape:
  case Opcode::Reverse:
  case Opcode::Transpose:
    for (OpId operand : op.operands)
      need(operand);
    return;
  case Opcode::DynamicUpdateSlice: // may be done in place
    need(op.operands[1]);
    return;
  default:
    if (opClass(op.opcode) == OpClass::Elementwise && op.opcode != Opcode::Select)
      for (OpId operand : op.operands)
        need(operand);
    return;
  }
}

void Needs::visitFusion(const Op &op) {
  const Graph *body = nullptr;
  if (!fusedRoot(module, op, body).isValid())
    return;
  Needs inner(module, *body);
  flops += inner.flops;
  for (OpId parameter : body->parameters())
    if (inner.read[parameter.index])
      need(op.operands[static_cast<size_t>(body->op(parameter).attrs.parameterNumber)]);
}

double bytesOf(const Op &op) {
  return op.shape.isTuple ? 0 : static_cast<double>(op.shape.byteSize().value_or(0));
}

/// Bytes that making a result writes: none for arguments passed on, the update for updates in
/// place, and none that we know of for ops that are not modelled.
double writtenBytes(const Module &module, const Graph &graph, OpId id) {
  const Op &op = graph.op(id);
  if (op.opcode == Opcode::DynamicUpdateSlice)
    return bytesOf(graph.op(op.operands[1]));
  if (op.opcode == Opcode::Scatter) // may be done in place, at places that values decide
    return 0;
  if (movesNoByte(graph, id))
    return writtenBytes(module, graph, op.operands[0]);
  if (op.opcode == Opcode::Fusion) {
    const Graph *body = nullptr;
    OpId root = fusedRoot(module, op, body);
    return root.isValid() ? writtenBytes(module, *body, root) : 0;
  }
  OpClass cls = opClass(op.opcode);
  if (op.opcode == Opcode::Tuple) {
    double bytes = 0;
    for (OpId operand : op.operands)
      if (opClass(graph.op(operand).opcode) != OpClass::Tuple)
        bytes += writtenBytes(module, graph, operand);
    return bytes;
  }
  bool isMade = cls == OpClass::Elementwise || cls == OpClass::Structured;
  return isMade ? bytesOf(op) : 0;
}

} // namespace

double lowerBoundNs(const Module &module, const Graph &graph, const Device &device,
                    CacheState cache) {
  double peak = 1;
  for (DType type : {DType::F8E4M3FN, DType::BF16, DType::F32})
    peak = std::max({peak, device.peakFlops(type, true), device.peakFlops(type, false)});
  Needs needs(module, graph);
  double bytes = 0;
  std::map<std::pair<OpId, int64_t>, double> elements; // of tuple arguments, each once
  for (uint32_t i = 0; i < needs.read.size(); ++i) {
    const Op &op = graph.op(OpId{i});
    if (!needs.read[i])
      continue;
    if (op.opcode == Opcode::Parameter)
      bytes += bytesOf(op);
    else if (op.opcode == Opcode::GetTupleElement &&
             graph.op(op.operands[0]).opcode == Opcode::Parameter)
      elements[{op.operands[0], op.attrs.tupleIndex}] = bytesOf(op);
  }
  for (const auto &[element, size] : elements)
    bytes += size;
  if (graph.root().isValid())
    bytes += writtenBytes(module, graph, graph.root());
  double moved = bytes / device.dramBandwidth;
  if (cache == CacheState::Warm)
    moved = std::max(std::max(bytes - device.l2Bytes, 0.0) / device.dramBandwidth,
                     bytes / device.l2Bandwidth);
  return std::max(needs.flops / peak, moved);
}

} // namespace tilewright
