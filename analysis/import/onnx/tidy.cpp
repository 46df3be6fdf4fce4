#include "analysis/import/onnx/tidy.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace tilewright::onnx_format {

namespace {

/// Ops from which the root follows, and the parameters that are no weights.
std::vector<bool> neededOps(const Graph &graph, const std::set<OpId> &dispensable) {
  std::vector<bool> needed(graph.size());
  needed[graph.root().index] = true;
  for (size_t i = graph.size(); i-- > 0;) {
    const OpId id{static_cast<uint32_t>(i)};
    if (graph.op(id).opcode == Opcode::Parameter && !dispensable.contains(id))
      needed[i] = true;
    if (needed[i])
      for (OpId operand : graph.op(id).operands)
        needed[operand.index] = true;
  }
  return needed;
}

/// Takes the name that waits in an op's attributes, the last one; empty if there is none.
std::string takeResultName(Op &op) {
  std::string name;
  std::erase_if(op.rawAttrs, [&](RawAttribute &attribute) {
    if (attribute.name != resultName)
      return false;
    name = std::move(attribute.text);
    return true;
  });
  return name;
}

/// Names that differ: those of results first, others give way by a number.
std::vector<std::string> namesOf(Graph &graph, const std::vector<bool> &needed) {
  std::vector<std::string> names(graph.size());
  std::set<std::string> taken;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    Op &op = graph.op(OpId{i});
    std::string name = takeResultName(op);
    if (op.opcode == Opcode::Parameter)
      name = op.name;
    if (needed[i] && !name.empty() && taken.insert(name).second)
      names[i] = std::move(name);
  }
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (!needed[i] || !names[i].empty())
      continue;
    const std::string &base = graph.op(OpId{i}).name;
    names[i] = base;
    for (size_t number = 2; !taken.insert(names[i]).second; ++number)
      names[i] = fmt::format("{}.{}", base, number);
  }
  return names;
}

/// The ops that are needed, by their old ids.
std::vector<OpId> tidyGraph(Graph &graph, const std::set<OpId> &dispensable) {
  const std::vector<bool> needed = neededOps(graph, dispensable);
  const std::vector<std::string> names = namesOf(graph, needed);
  std::vector<OpId> now(graph.size());
  Graph kept(graph.name());
  kept.loc = graph.loc;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (!needed[i])
      continue;
    Op op = std::move(graph.op(OpId{i}));
    op.name = names[i];
    for (OpId &operand : op.operands)
      operand = now[operand.index];
    now[i] = kept.add(std::move(op));
  }
  kept.setRoot(now[graph.root().index]);
  graph = std::move(kept);
  return now;
}

} // namespace

std::vector<const ::onnx::TensorProto *>
tidy(Module &module, const std::map<OpId, const ::onnx::TensorProto *> &weights) {
  std::set<OpId> dispensable;
  for (const auto &[id, tensor] : weights)
    dispensable.insert(id);
  for (uint32_t g = 0; g < module.all().size(); ++g)
    if (g != module.entryId.index)
      tidyGraph(module.graph(GraphId{g}), {});
  Graph &entry = module.graph(module.entryId);
  const std::vector<OpId> now = tidyGraph(entry, dispensable);
  std::vector<const ::onnx::TensorProto *> used;
  int64_t number = 0;
  for (const Op &op : entry.all())
    number += op.opcode == Opcode::Parameter;
  number -= std::count_if(weights.begin(), weights.end(),
                          [&](const auto &weight) { return now[weight.first.index].isValid(); });
  for (const auto &[id, tensor] : weights)
    if (now[id.index].isValid()) {
      entry.op(now[id.index]).attrs.parameterNumber = number++;
      used.push_back(tensor);
    }
  return used;
}

} // namespace tilewright::onnx_format
