#include "codegen/extract.h"

#include <algorithm>
#include <map>

namespace tilewright {

namespace {

class Extraction {
public:
  Extraction(const Module &from, Module &to) : from(from), to(to) {}

  /// The copy of a called computation, made on first use after those that it calls. A walk with its
  /// own stack: how deep calls nest is the input's choice.
  GraphId copyCalled(GraphId id) {
    std::vector<GraphId> open{id};
    while (!open.empty()) {
      const GraphId next = open.back();
      const size_t before = open.size();
      if (!copies.count(next))
        for (const Op &op : from.graph(next).all())
          for (const CalledGraph &called : op.called)
            if (!copies.count(called.graph))
              open.push_back(called.graph);
      if (open.size() > before)
        continue;
      open.pop_back();
      if (!copies.count(next))
        copies.emplace(next, copyOf(from.graph(next)));
    }
    return copies.at(id);
  }

  Op withCopiedCalls(Op op) {
    for (CalledGraph &called : op.called)
      called.graph = copyCalled(called.graph);
    op.loc = {};
    for (RawAttribute &attribute : op.rawAttrs)
      attribute.loc = {};
    return op;
  }

private:
  /// Precondition: there are copies of what it calls.
  GraphId copyOf(const Graph &original) {
    Graph copy(original.name());
    for (const Op &op : original.all())
      copy.add(withCopiedCalls(op));
    copy.setRoot(original.root());
    copy.signature = original.signature;
    return to.add(std::move(copy));
  }

  const Module &from;
  Module &to;
  std::map<GraphId, GraphId> copies;
};

std::string uniqueName(const Graph &graph, std::string name) {
  while (graph.find(name).isValid())
    name += "_";
  return name;
}

} // namespace

llvm::Expected<std::shared_ptr<const Module>> extractGroup(const Module &module, GraphId graphId,
                                                           const Group &group) {
  const Graph &graph = module.graph(graphId);
  auto result = std::make_shared<Module>();
  Extraction extraction(module, *result);
  // Called computations come first, so that the entry is the last computation.
  std::map<OpId, Op> bodies;
  for (OpId id : group.ops)
    bodies.emplace(id, extraction.withCopiedCalls(graph[id]));

  std::vector<OpId> inputs = group.inputs;
  for (OpId id : group.ops)
    if (graph[id].isElidedConstant())
      inputs.push_back(id);
  std::string entryName = "main";
  while (result->find(entryName).isValid())
    entryName += "_";
  Graph entry(entryName);
  std::map<OpId, OpId> newIds;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Op &original = graph[inputs[i]];
    if (original.shape.isTuple || bitWidth(original.shape.dtype) == 0)
      return makeError(DiagClass::Unsupported,
                       "%{}: a kernel can't read a value of type {} from memory", original.name,
                       original.shape.str());
    Op parameter;
    parameter.name = original.name;
    parameter.opcode = Opcode::Parameter;
    parameter.shape = original.shape;
    parameter.attrs.parameterNumber = static_cast<int64_t>(i);
    newIds[inputs[i]] = entry.add(std::move(parameter));
  }
  for (OpId id : group.ops) {
    if (newIds.count(id))
      continue;
    Op op = std::move(bodies.at(id));
    for (OpId &operand : op.operands) {
      auto known = newIds.find(operand);
      if (known == newIds.end())
        return makeError(DiagClass::Internal, "%{} reads %{}, which its group leaves out", op.name,
                         graph[operand].name);
      operand = known->second;
    }
    newIds[id] = entry.add(std::move(op));
  }
  // Ops with several results give each on its own.
  std::vector<OpId> results;
  for (OpId root : group.roots) {
    OpId id = newIds.at(root);
    if (!entry[id].shape.isTuple) {
      results.push_back(id);
      continue;
    }
    for (size_t i = 0; i < entry[id].shape.elements.size(); ++i) {
      Op element;
      element.name = uniqueName(entry, fmt::format("{}.{}", entry[id].name, i));
      element.opcode = Opcode::GetTupleElement;
      element.shape = entry[id].shape.elements[i];
      element.operands = {id};
      element.attrs.tupleIndex = static_cast<int64_t>(i);
      results.push_back(entry.add(std::move(element)));
    }
  }
  if (results.size() == 1) {
    entry.setRoot(results[0]);
  } else {
    Op tuple;
    tuple.name = uniqueName(entry, "results");
    tuple.opcode = Opcode::Tuple;
    std::vector<Shape> shapes;
    for (OpId result : results)
      shapes.push_back(entry[result].shape);
    tuple.operands = std::move(results);
    tuple.shape = Shape::tuple(std::move(shapes));
    entry.setRoot(entry.add(std::move(tuple)));
  }
  result->name = module.name.empty() ? "group" : module.name;
  result->entryId = result->add(std::move(entry));
  return result;
}

std::vector<OpId> idsOf(const Graph &graph) {
  std::vector<OpId> ids;
  for (uint32_t i = 0; i < graph.size(); ++i)
    ids.push_back(OpId{i});
  return ids;
}

std::vector<OpId> resultsOf(const Graph &graph) {
  const Op &root = graph[graph.root()];
  if (root.opcode == Opcode::Tuple)
    return root.operands;
  return {graph.root()};
}

} // namespace tilewright
