#include "analysis/ir/graph.h"

#include <algorithm>
#include <cassert>

namespace tilewright {

OpId Graph::add(Op op) {
  OpId id{static_cast<uint32_t>(ops.size())};
  for ([[maybe_unused]] OpId operand : op.operands)
    assert(operand < id && "operands precede their users");
  [[maybe_unused]] bool isNew = byName.emplace(op.name, id).second;
  assert(isNew && "op names are unique in a graph");
  ops.push_back(std::move(op));
  return id;
}

OpId Graph::find(std::string_view name) const {
  auto it = byName.find(std::string(name));
  return it == byName.end() ? OpId{} : it->second;
}

std::vector<OpId> Graph::parameters() const {
  std::vector<OpId> result;
  for (uint32_t i = 0; i < ops.size(); ++i)
    if (ops[i].opcode == Opcode::Parameter)
      result.push_back(OpId{i});
  std::sort(result.begin(), result.end(), [&](OpId a, OpId b) {
    return op(a).attrs.parameterNumber < op(b).attrs.parameterNumber;
  });
  return result;
}

std::vector<std::vector<OpId>> Graph::users() const {
  std::vector<std::vector<OpId>> result(ops.size());
  for (uint32_t i = 0; i < ops.size(); ++i)
    for (OpId operand : ops[i].operands) {
      std::vector<OpId> &list = result[operand.index];
      if (list.empty() || list.back().index != i)
        list.push_back(OpId{i});
    }
  return result;
}

GraphId Module::add(Graph graph) {
  GraphId id{static_cast<uint32_t>(graphs.size())};
  byName.emplace(graph.name(), id);
  graphs.push_back(std::move(graph));
  return id;
}

GraphId Module::find(std::string_view name) const {
  auto it = byName.find(std::string(name));
  return it == byName.end() ? GraphId{} : it->second;
}

Diag Module::diagAt(SourceLoc where, std::string message, DiagClass cls) const {
  if (source)
    return tilewright::diagAt(*source, where, std::move(message), cls);
  Diag diag;
  diag.cls = cls;
  diag.message = std::move(message);
  return diag;
}

} // namespace tilewright
