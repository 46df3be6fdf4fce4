#include "analysis/explore/lower_bound.h"

#include "analysis/indexing/op_cost.h"
#include "analysis/ir/call_graph.h"
#include "analysis/ir/free_view.h"

#include <algorithm>
#include <map>
#include <optional>

namespace tilewright {

namespace {

/// The computation of a fusion; an invalid id where it has none.
GraphId bodyOf(const Op &fusion) {
  for (const CalledGraph &called : fusion.called)
    if (called.role == CallRole::Calls)
      return called.graph;
  return {};
}

/// Of an extent that is known at run time only the least is 0.
double bytesOf(const Op &op) {
  const bool isKnown = !op.shape.isTuple && !op.shape.isDynamic();
  return isKnown ? static_cast<double>(op.shape.byteSize().value_or(0)) : 0;
}

/// What follows from a whole result of a computation, from the users back to what they read.
struct Needs {
  std::vector<bool> whole; ///< every element of the op's value is needed
  std::vector<bool> read;  ///< … by something that computes or moves it
  double flops = 0;
  double writtenBytes = 0; ///< by making the result
};

/// Looks at each computation once, however many fusions run it.
class NeedFinder {
public:
  explicit NeedFinder(const Module &module);

  const Needs &of(GraphId id) {
    std::optional<Needs> &needs = known[id.index];
    if (!needs)
      needs = find(module.graph(id));
    return *needs;
  }

private:
  Needs find(const Graph &graph);
  void visit(const Graph &graph, OpId id, Needs &needs);
  double writtenBytes(const Graph &graph, OpId id);

  const Module &module;
  std::vector<std::optional<Needs>> known;
};

/// Finds the needs of all fusions, what they call first, so that no walk nests as fusions do.
NeedFinder::NeedFinder(const Module &module) : module(module), known(module.all().size()) {
  std::vector<bool> isBody(module.all().size());
  for (const Graph &graph : module.all())
    for (const Op &op : graph.all())
      if (GraphId body = op.opcode == Opcode::Fusion ? bodyOf(op) : GraphId{}; body.isValid())
        isBody[body.index] = true;
  llvm::Expected<std::vector<GraphId>> order = calleesFirst(module);
  if (!order) { // verify() refuses it
    llvm::consumeError(order.takeError());
    return;
  }
  for (GraphId id : *order)
    if (isBody[id.index])
      of(id);
}

Needs NeedFinder::find(const Graph &graph) {
  Needs needs;
  needs.whole.assign(graph.size(), false);
  needs.read.assign(graph.size(), false);
  if (!graph.root().isValid())
    return needs;
  needs.whole[graph.root().index] = true;
  for (uint32_t i = static_cast<uint32_t>(graph.size()); i-- > 0;)
    if (needs.whole[i])
      visit(graph, OpId{i}, needs);
  needs.writtenBytes = writtenBytes(graph, graph.root());
  return needs;
}

void NeedFinder::visit(const Graph &graph, OpId id, Needs &needs) {
  auto need = [&](OpId operand) {
    needs.whole[operand.index] = true;
    needs.read[operand.index] = true;
  };
  const Op &op = graph.op(id);
  if (op.opcode == Opcode::Fusion) {
    const GraphId bodyId = bodyOf(op);
    if (!bodyId.isValid())
      return;
    const Needs &inner = of(bodyId);
    const Graph &body = module.graph(bodyId);
    needs.flops += inner.flops;
    for (OpId parameter : body.parameters())
      if (inner.read[parameter.index])
        need(op.operands[static_cast<size_t>(body.op(parameter).attrs.parameterNumber)]);
    return;
  }
  if (OpClass cls = opClass(op.opcode); cls != OpClass::Tuple && cls != OpClass::Leaf) {
    const OpCost cost = opCost(module, graph, id);
    needs.flops += static_cast<double>(cost.isCounted ? cost.flops : 0);
  }
  if (op.opcode == Opcode::Tuple || movesNoByte(graph, id)) {
    for (OpId operand : op.operands)
      needs.whole[operand.index] = true;
    return;
  }
  switch (op.opcode) {
  case Opcode::GetTupleElement:
    if (graph.op(op.operands[0]).opcode != Opcode::Parameter)
      needs.whole[op.operands[0].index] = true;
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

/// Bytes that making a result writes: none for arguments passed on, the update for updates in
/// place, and none that we know of for ops that are not modelled.
double NeedFinder::writtenBytes(const Graph &graph, OpId id) {
  const Op &op = graph.op(id);
  if (op.opcode == Opcode::DynamicUpdateSlice)
    return bytesOf(graph.op(op.operands[1]));
  if (op.opcode == Opcode::Scatter) // may be done in place, at places that values decide
    return 0;
  if (movesNoByte(graph, id))
    return writtenBytes(graph, op.operands[0]);
  if (op.opcode == Opcode::Fusion) {
    const GraphId body = bodyOf(op);
    return body.isValid() ? of(body).writtenBytes : 0;
  }
  OpClass cls = opClass(op.opcode);
  if (op.opcode == Opcode::Tuple) {
    double bytes = 0;
    for (OpId operand : op.operands)
      if (opClass(graph.op(operand).opcode) != OpClass::Tuple)
        bytes += writtenBytes(graph, operand);
    return bytes;
  }
  bool isMade = cls == OpClass::Elementwise || cls == OpClass::Structured;
  return isMade ? bytesOf(op) : 0;
}

} // namespace

double lowerBoundNs(const Module &module, GraphId id, const Device &device, CacheState cache) {
  const Graph &graph = module.graph(id);
  double peak = 1;
  for (DType type : {DType::F8E4M3FN, DType::BF16, DType::F32})
    peak = std::max({peak, device.peakFlops(type, true), device.peakFlops(type, false)});
  NeedFinder finder(module);
  const Needs &needs = finder.of(id);
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
  bytes += needs.writtenBytes;
  double moved = bytes / device.dramBandwidth;
  if (cache == CacheState::Warm)
    moved = std::max(std::max(bytes - device.l2Bytes, 0.0) / device.dramBandwidth,
                     bytes / device.l2Bandwidth);
  return std::max(needs.flops / peak, moved);
}

} // namespace tilewright
