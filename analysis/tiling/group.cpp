#include "analysis/tiling/group.h"

#include "analysis/ir/graph_algorithms.h"
#include "analysis/support/diag.h"

#include <algorithm>

namespace tilewright {
namespace {

/// Recomputed by every kernel that needs it, instead of being read from memory.
bool isRematerialised(const Op &op) {
  return op.opcode == Opcode::Constant || op.opcode == Opcode::Iota;
}

void sortUnique(std::vector<OpId> &ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

std::string namesOf(const Graph &graph, std::span<const OpId> ids) {
  std::string out;
  for (size_t i = 0; i < ids.size() && i < 4; ++i)
    out += (i ? ", %" : "%") + graph[ids[i]].name;
  if (ids.size() > 4)
    out += fmt::format(" and {} more", ids.size() - 4);
  return out;
}

} // namespace

bool Group::contains(OpId id) const { return std::binary_search(ops.begin(), ops.end(), id); }

/// The sorted ops, without inputs and roots yet.
static llvm::Expected<Group> checkedOps(const Graph &graph, std::span<const OpId> ops) {
  Group group;
  for (OpId id : ops) {
    if (id.index >= graph.size())
      return makeError(DiagClass::BadInput, "op {} is not in a graph of {} ops", id.index,
                       graph.size());
    if (graph[id].opcode == Opcode::Parameter)
      return makeError(DiagClass::BadInput, "%{} is a parameter, which no kernel computes",
                       graph[id].name);
  }
  group.ops.assign(ops.begin(), ops.end());
  sortUnique(group.ops);
  if (group.ops.empty())
    return makeError(DiagClass::BadInput, "a group needs at least one op");
  return group;
}

/// Finds the inputs and adds the constants that the ops read.
static void addInputsAndConstants(const Graph &graph, Group &group) {
  std::vector<OpId> added;
  for (OpId id : group.ops)
    for (OpId operand : graph[id].operands) {
      if (group.contains(operand))
        continue;
      (isRematerialised(graph[operand]) ? added : group.inputs).push_back(operand);
    }
  sortUnique(group.inputs);
  sortUnique(added);
  group.ops.insert(group.ops.end(), added.begin(), added.end());
  sortUnique(group.ops);
}

llvm::Expected<Group> makeGroup(const Graph &graph, std::span<const OpId> ops) {
  return makeGroup(graph, ops, graph.users());
}

llvm::Expected<Group> makeGroup(const Graph &graph, std::span<const OpId> ops,
                                const std::vector<std::vector<OpId>> &users) {
  llvm::Expected<Group> checked = checkedOps(graph, ops);
  if (!checked)
    return checked.takeError();
  Group group = std::move(*checked);
  if (!isConvex(graph, group.ops))
    return makeError(DiagClass::BadInput,
                     "the group {} is not convex: a path between two of its ops leaves it",
                     namesOf(graph, group.ops));

  // A constant added here may have users outside, which recompute it: it is never a root.
  for (OpId id : group.ops) {
    bool leaves = id == graph.root();
    for (OpId user : users[id.index])
      leaves |= !group.contains(user) &&
                !(isRematerialised(graph[id]) && graph[user].opcode != Opcode::Tuple);
    if (leaves || users[id.index].empty())
      group.roots.push_back(id);
  }
  addInputsAndConstants(graph, group);
  if (group.roots.empty())
    return makeError(DiagClass::BadInput, "no result of the group {} is used",
                     namesOf(graph, group.ops));
  return group;
}

llvm::Expected<Group> makeGroup(const Graph &graph, std::span<const OpId> ops,
                                std::span<const OpId> roots) {
  llvm::Expected<Group> checked = checkedOps(graph, ops);
  if (!checked)
    return checked.takeError();
  Group group = std::move(*checked);
  group.roots.assign(roots.begin(), roots.end());
  sortUnique(group.roots);
  if (group.roots.empty())
    return makeError(DiagClass::BadInput, "no result of the group {} is used",
                     namesOf(graph, group.ops));
  for (OpId root : group.roots)
    if (!group.contains(root))
      return makeError(DiagClass::BadInput, "the root %{} is not in the group {}", graph[root].name,
                       namesOf(graph, group.ops));
  // What no root needs is dead code: it has no tile, and what is made of the group must not count
  // it.
  std::vector<bool> isNeeded(group.ops.size());
  auto need = [&](OpId id) {
    const auto at = std::lower_bound(group.ops.begin(), group.ops.end(), id);
    if (at != group.ops.end() && *at == id)
      isNeeded[size_t(at - group.ops.begin())] = true;
  };
  for (OpId root : group.roots)
    need(root);
  for (size_t i = group.ops.size(); i-- > 0;)
    if (isNeeded[i])
      for (OpId operand : graph[group.ops[i]].operands)
        need(operand);
  size_t at = 0;
  std::erase_if(group.ops, [&](OpId) { return !isNeeded[at++]; });
  addInputsAndConstants(graph, group);

  // An input that depends on a root would make the kernel wait for itself.
  const uint32_t first = group.roots.front().index;
  const uint32_t end = group.inputs.empty() ? 0 : group.inputs.back().index + 1;
  std::vector<bool> dependsOnRoot(end > first ? end - first : 0); // of ops from the first root on
  auto needsRoot = [&](OpId id) { return id.index >= first && dependsOnRoot[id.index - first]; };
  for (uint32_t i = first; i < end; ++i) {
    const OpId id{i};
    const std::vector<OpId> &operands = graph[id].operands;
    dependsOnRoot[i - first] = std::binary_search(group.roots.begin(), group.roots.end(), id) ||
                               std::any_of(operands.begin(), operands.end(), needsRoot);
  }
  for (OpId input : group.inputs)
    if (needsRoot(input))
      return makeError(DiagClass::BadInput,
                       "the group {} is not convex: its input %{} depends on its root",
                       namesOf(graph, group.ops), graph[input].name);
  return group;
}

} // namespace tilewright
