#include "analysis/ir/inline.h"

#include "analysis/ir/annotation.h"
#include "analysis/ir/call_graph.h"
#include "analysis/ir/origin.h"

#include <unordered_map>

namespace tilewright {

namespace {

/// Builds one computation with its calls replaced by their bodies.
class GraphInliner {
public:
  /// `bodies` holds the finished computations by old id.
  GraphInliner(const Graph &source, const std::vector<Graph> &bodies, const InlineOptions &options)
      : source(source), bodies(bodies), options(options) {
    for (const Op &op : source.all())
      taken.emplace(op.name, 1);
  }

  /// False when the result would be too large.
  bool run(size_t &opsLeft);
  Graph finish();

private:
  bool isInlined(const Op &op) const {
    return (options.calls && op.opcode == Opcode::Call) ||
           (options.fusions && op.opcode == Opcode::Fusion);
  }
  OpId append(Op op, bool isInlinedOp);
  OpId appendBody(const Op &call, const std::vector<OpId> &arguments);
  std::string uniqueName(const std::string &name);

  const Graph &source;
  const std::vector<Graph> &bodies;
  const InlineOptions &options;
  std::unordered_map<std::string, uint32_t> taken; ///< names, and the next number to try
  std::vector<Op> ops;
  std::vector<bool> cameFromBody; ///< by op of the result
  OpId root;
};

std::string GraphInliner::uniqueName(const std::string &name) {
  auto [it, isNew] = taken.emplace(name, 1);
  if (isNew)
    return name;
  uint32_t &next = it->second; // stays valid: emplace never moves elements of this map
  while (true) {
    std::string candidate = name + "." + std::to_string(next++);
    if (taken.emplace(candidate, 1).second)
      return candidate;
  }
}

OpId GraphInliner::append(Op op, bool isInlinedOp) {
  ops.push_back(std::move(op));
  cameFromBody.push_back(isInlinedOp);
  return OpId{static_cast<uint32_t>(ops.size() - 1)};
}

OpId GraphInliner::appendBody(const Op &call, const std::vector<OpId> &arguments) {
  const Graph &body = bodies[call.called.front().graph.index];
  std::vector<OpId> place(body.size()); // of the body's ops in the result
  for (uint32_t i = 0; i < body.size(); ++i) {
    const Op &op = body.op(OpId{i});
    if (op.opcode == Opcode::Parameter) {
      place[i] = arguments[static_cast<size_t>(op.attrs.parameterNumber)];
      continue;
    }
    Op copy = op;
    for (OpId &operand : copy.operands)
      operand = place[operand.index];
    copy.name = OpId{i} == body.root() ? call.name : uniqueName(op.name);
    setOriginWithin(call, copy);
    place[i] = append(std::move(copy), true);
  }
  return place[body.root().index];
}

bool GraphInliner::run(size_t &opsLeft) {
  std::vector<OpId> place(source.size());
  for (uint32_t i = 0; i < source.size(); ++i) {
    const Op &op = source.op(OpId{i});
    std::vector<OpId> operands = op.operands;
    for (OpId &operand : operands)
      operand = place[operand.index];
    size_t before = ops.size();
    if (isInlined(op)) {
      if (bodies[op.called.front().graph.index].size() > opsLeft)
        return false;
      place[i] = appendBody(op, operands);
    } else if (op.opcode == Opcode::GetTupleElement && cameFromBody[operands[0].index] &&
               ops[operands[0].index].opcode == Opcode::Tuple) {
      place[i] = ops[operands[0].index].operands[static_cast<size_t>(op.attrs.tupleIndex)];
    } else {
      Op copy = isAnnotation(source, op) ? withoutAnnotation(source, op) : op;
      copy.operands = std::move(operands);
      place[i] = append(std::move(copy), false);
    }
    if (ops.size() - before > opsLeft)
      return false;
    opsLeft -= ops.size() - before;
  }
  root = place[source.root().index];
  return true;
}

Graph GraphInliner::finish() {
  // Tuples whose elements were all taken directly have no users left. Users follow what they use,
  // so that going backwards finds tuples of such tuples too.
  std::vector<bool> isUsed(ops.size());
  isUsed[root.index] = true;
  auto isDropped = [&](size_t i) {
    return !isUsed[i] && cameFromBody[i] && ops[i].opcode == Opcode::Tuple;
  };
  for (size_t i = ops.size(); i-- > 0;)
    if (!isDropped(i))
      for (OpId operand : ops[i].operands)
        isUsed[operand.index] = true;
  Graph result(source.name());
  result.loc = source.loc;
  result.signature = source.signature;
  result.suffix = source.suffix;
  std::vector<OpId> place(ops.size());
  for (uint32_t i = 0; i < ops.size(); ++i) {
    if (isDropped(i))
      continue;
    for (OpId &operand : ops[i].operands)
      operand = place[operand.index];
    place[i] = result.add(std::move(ops[i]));
  }
  result.setRoot(place[root.index]);
  return result;
}

/// The computations that the entry still reaches, in file order, with their calls renumbered.
Module collect(const Module &old, std::vector<Graph> graphs) {
  std::vector<bool> isReached(graphs.size());
  std::vector<GraphId> toVisit{old.entryId};
  isReached[old.entryId.index] = true;
  while (!toVisit.empty()) {
    GraphId id = toVisit.back();
    toVisit.pop_back();
    for (const Op &op : graphs[id.index].all())
      for (const CalledGraph &called : op.called)
        if (!isReached[called.graph.index]) {
          isReached[called.graph.index] = true;
          toVisit.push_back(called.graph);
        }
  }
  std::vector<GraphId> newId(graphs.size());
  uint32_t count = 0;
  for (uint32_t i = 0; i < graphs.size(); ++i)
    if (isReached[i])
      newId[i] = GraphId{count++};

  Module result;
  result.name = old.name;
  result.attributes = old.attributes;
  result.preamble = old.preamble;
  result.source = old.source;
  for (uint32_t i = 0; i < graphs.size(); ++i) {
    if (!isReached[i])
      continue;
    for (uint32_t j = 0; j < graphs[i].size(); ++j)
      for (CalledGraph &called : graphs[i].op(OpId{j}).called)
        called.graph = newId[called.graph.index];
    result.add(std::move(graphs[i]));
  }
  result.entryId = newId[old.entryId.index];
  return result;
}

} // namespace

llvm::Expected<Module> inlineCalls(const Module &module, const InlineOptions &options) {
  llvm::Expected<std::vector<GraphId>> order = calleesFirst(module);
  if (!order)
    return order.takeError();
  std::vector<Graph> graphs(module.all().size());
  size_t opsLeft = options.maxOps;
  for (GraphId id : *order) {
    GraphInliner inliner(module.graph(id), graphs, options);
    if (!inliner.run(opsLeft))
      return makeError(module.diagAt(module.graph(id).loc,
                                     fmt::format("inlining makes over {} ops", options.maxOps),
                                     DiagClass::BudgetSpent));
    graphs[id.index] = inliner.finish();
  }
  return collect(module, std::move(graphs));
}

} // namespace tilewright
