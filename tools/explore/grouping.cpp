#include "tools/explore/grouping.h"

#include "analysis/ir/graph_algorithms.h"
#include "analysis/ir/run_time_extents.h"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <optional>
#include <set>

namespace tilewright {

std::string_view toString(KernelKind kind) {
  switch (kind) {
  case KernelKind::Elementwise:
    return "elementwise";
  case KernelKind::Reduce:
    return "reduce";
  case KernelKind::Dot:
    return "dot";
  case KernelKind::Opaque:
    return "opaque";
  }
  return "";
}

namespace {

/// The role of an op in a group.
enum class Role : uint8_t {
  None,       ///< needs no kernel
  Unmodelled, ///< does work that is not modelled
  Pointwise,  ///< elementwise, iota
  View,       ///< moves indices only: broadcast, reshape, transpose, slice, pad, concatenate …
  Reduce,
  Dot,
  Alone, ///< a kernel of its own: fusions, windows, gathers, updates
};

Role roleByOpcode(const Op &op) {
  switch (op.opcode) {
  case Opcode::Parameter:
  case Opcode::Constant:
    return Role::None;
  case Opcode::Iota:
    return Role::Pointwise;
  case Opcode::Dot:
    return Role::Dot;
  case Opcode::Reduce:
    return Role::Reduce;
  case Opcode::Broadcast:
  case Opcode::Reshape:
  case Opcode::Bitcast:
  case Opcode::Transpose:
  case Opcode::Slice:
  case Opcode::Pad:
  case Opcode::Concatenate:
  case Opcode::Reverse:
  case Opcode::DynamicSlice:
    return Role::View;
  case Opcode::Fusion: // its body says whether it can be tiled
    return Role::Alone;
  case Opcode::DynamicUpdateSlice:
  case Opcode::Convolution:
  case Opcode::ReduceWindow:
  case Opcode::Gather:
  case Opcode::Scatter:
  case Opcode::SelectAndScatter:
    return op.shape.isTuple ? Role::Unmodelled : Role::Alone;
  case Opcode::Map:
  case Opcode::CopyDone:
    return Role::Alone;
  default:
    break;
  }
  switch (opClass(op.opcode)) {
  case OpClass::Elementwise:
    return op.shape.isTuple ? Role::Unmodelled : Role::Pointwise;
  case OpClass::Tuple:
  case OpClass::Leaf:
    return Role::None;
  case OpClass::Structured:
  case OpClass::Call:
  case OpClass::Collective:
  case OpClass::Opaque:
    return Role::Unmodelled;
  }
  return Role::Unmodelled;
}

/// True if all results of an op are known to be empty.
bool isEmpty(const Shape &shape) {
  if (shape.isTuple)
    return !shape.elements.empty() &&
           std::all_of(shape.elements.begin(), shape.elements.end(), isEmpty);
  return shape.elementCount() == int64_t{0};
}

/// Ops with effects beyond their value, which its extents do not show.
bool mayDoMoreThanItsValue(const Op &op) {
  switch (op.opcode) {
  case Opcode::CustomCall:
  case Opcode::Infeed:
  case Opcode::Outfeed:
  case Opcode::RngGetAndUpdateState:
    return true;
  case Opcode::Fusion: // computes a value, like the ops in it
    return false;
  default:
    return opClass(op.opcode) == OpClass::Call || opClass(op.opcode) == OpClass::Collective;
  }
}

/// An op with an empty result needs no kernel.
bool hasEmptyResult(const Op &op) { return isEmpty(op.shape) && !mayDoMoreThanItsValue(op); }

Role roleOf(const Graph &graph, const Op &op) {
  if (hasEmptyResult(op))
    return Role::None;
  const Role role = roleByOpcode(op);
  return role != Role::None && runTimeExtentRefusal(graph, op) ? Role::Unmodelled : role;
}

std::string reasonOf(const Graph &graph, const Op &op) {
  std::string name(toString(op.opcode));
  if (std::optional<std::string> refusal = runTimeExtentRefusal(graph, op))
    return fmt::format("{}: {}", name, *refusal);
  switch (opClass(op.opcode)) {
  case OpClass::Call:
    return fmt::format("{}: the computations that it runs are not explored yet", name);
  case OpClass::Collective:
    return fmt::format("{}: communication between devices", name);
  case OpClass::Opaque:
    if (op.opcode == Opcode::CustomCall)
      return fmt::format("custom-call {}: a library's kernel", op.attrs.customCallTarget);
    return fmt::format("{}: has no index map", name);
  default:
    return op.shape.isTuple ? fmt::format("{}: several results are not supported yet", name)
                            : fmt::format("{}: there is no kernel of it here", name);
  }
}

std::string noKernelReason(const Op &op) {
  switch (op.opcode) {
  case Opcode::Parameter:
    return "parameter";
  case Opcode::Constant:
    return "constant: part of every kernel that reads it";
  default:
    if (hasEmptyResult(op) && opClass(op.opcode) != OpClass::Tuple)
      return fmt::format("{}: its result has no elements", toString(op.opcode));
    return opClass(op.opcode) == OpClass::Tuple
               ? fmt::format("{}: moves no data", toString(op.opcode))
               : fmt::format("{}: no data is read", toString(op.opcode));
  }
}

/// Views that a dot's loads can address without computing anything.
bool isPlainView(Opcode opcode) {
  return opcode == Opcode::Reshape || opcode == Opcode::Bitcast || opcode == Opcode::Transpose;
}

template <typename T> void sortUnique(std::vector<T> &values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

class Grouper {
public:
  Grouper(const Graph &graph, bool fuse) : graph(graph), fuse(fuse), users(graph.users()) {}

  Grouping run();

private:
  struct Draft {
    std::vector<OpId> ops; ///< descending: the root first
    KernelKind kind = KernelKind::Elementwise;
    OpId hero;   ///< the dot, or the first reduce
    bool closed; ///< accepts no more ops
  };

  /// The readers of an op, looking through repeatable ops.
  struct Readers {
    bool outside = false; ///< read outside all groups: the result, a library call, a tuple
    bool dotOperand = false;
    std::vector<int> groups;     ///< sorted, unique
    std::vector<OpId> consumers; ///< ops that are not repeatable; sorted, unique
  };

  void eliminateDeadOps();
  void findRepeatable();
  void assign(OpId id);
  std::optional<int> groupToJoin(OpId id) const;
  bool fits(const Op &op, Role role, const Draft &draft, const Readers &readers) const;
  void pull(KernelGroup &kernel, int index);
  std::vector<int> kernelOrder() const;

  const Op &op(OpId id) const { return graph.op(id); }

  const Graph &graph;
  bool fuse;
  std::vector<std::vector<OpId>> users;
  std::vector<Role> roles;
  std::vector<bool> isDead;
  std::vector<bool> repeatable; ///< cheap to recompute; part of every group that reads it
  std::vector<int> groupOf;     ///< draft that the op joined, or -1
  std::vector<Readers> readers;
  std::vector<Draft> drafts;
  std::vector<int> owner; ///< the kernel in which a repeatable op is counted, or -1
};

void Grouper::findRepeatable() {
  repeatable.assign(graph.size(), false);
  if (!fuse)
    return;
  std::vector<bool> fromLeaves(graph.size());
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Op &op = graph.op(OpId{i});
    bool leavesOnly = op.opcode == Opcode::Constant || op.opcode == Opcode::Iota;
    if (!op.operands.empty())
      leavesOnly = std::all_of(op.operands.begin(), op.operands.end(),
                               [&](OpId operand) { return fromLeaves[operand.index]; });
    fromLeaves[i] = leavesOnly;
    // Values computed from constants and iotas need no memory traffic; broadcasts and plain views
    // read no more than their result has.
    if (roles[i] == Role::View)
      repeatable[i] = leavesOnly || op.opcode == Opcode::Broadcast || isPlainView(op.opcode);
    else if (roles[i] == Role::Pointwise)
      repeatable[i] = leavesOnly;
  }
}

bool Grouper::fits(const Op &op, Role role, const Draft &draft, const Readers &readers) const {
  if (draft.closed || role == Role::Alone)
    return false;
  const Shape &root = graph.op(draft.ops.front()).shape;
  if (draft.kind == KernelKind::Dot) {
    // A second hero would have to complete before the dot starts; a computed operand could not be
    // loaded straight into the matrix pipeline.
    return role != Role::Dot && role != Role::Reduce && !readers.dotOperand;
  }
  if (role == Role::Dot) {
    // Broadcasting a dot's result over new dims would recompute it for each tile of them.
    return draft.kind == KernelKind::Elementwise && root.elementCount() == op.shape.elementCount();
  }
  if (role == Role::Reduce) {
    const Shape &mine = graph.op(op.operands[0]).shape;
    if (draft.kind == KernelKind::Reduce) {
      const Op &hero = graph.op(draft.hero);
      return mine.dims == graph.op(hero.operands[0]).shape.dims &&
             op.attrs.dimensions == hero.attrs.dimensions;
    }
    return root.elementCount() == op.shape.elementCount() ||
           root.elementCount() == mine.elementCount();
  }
  return true;
}

std::optional<int> Grouper::groupToJoin(OpId id) const {
  const Readers &r = readers[id.index];
  if (!fuse || r.outside || r.groups.size() != 1)
    return std::nullopt;
  const Draft &draft = drafts[static_cast<size_t>(r.groups.front())];
  if (!fits(op(id), roles[id.index], draft, r))
    return std::nullopt;
  return r.groups.front();
}

/// Decides one op after all of its users.
void Grouper::assign(OpId id) {
  Role role = roles[id.index];
  Readers &mine = readers[id.index];
  mine.outside = id == graph.root();
  for (OpId user : users[id.index]) {
    Role userRole = roles[user.index];
    if (repeatable[user.index]) {
      const Readers &theirs = readers[user.index];
      mine.outside |= theirs.outside;
      mine.dotOperand |= theirs.dotOperand;
      mine.groups.insert(mine.groups.end(), theirs.groups.begin(), theirs.groups.end());
      mine.consumers.insert(mine.consumers.end(), theirs.consumers.begin(), theirs.consumers.end());
      continue;
    }
    mine.consumers.push_back(user);
    if (userRole == Role::None || userRole == Role::Unmodelled || userRole == Role::Alone) {
      mine.outside = true;
    } else {
      mine.groups.push_back(groupOf[user.index]);
      mine.dotOperand |= userRole == Role::Dot;
    }
  }
  sortUnique(mine.groups);
  sortUnique(mine.consumers);

  if (role == Role::None || role == Role::Unmodelled)
    return;
  if (repeatable[id.index]) {
    bool readable = !mine.dotOperand || isPlainView(op(id).opcode);
    if (!mine.outside && readable)
      return;
    repeatable[id.index] = false; // needed in memory
  }
  int group = -1;
  if (std::optional<int> join = groupToJoin(id)) {
    group = *join;
  } else {
    group = static_cast<int>(drafts.size());
    drafts.push_back({{}, KernelKind::Elementwise, {}, role == Role::Alone});
  }
  groupOf[id.index] = group;
  Draft &draft = drafts[static_cast<size_t>(group)];
  draft.ops.push_back(id);
  if (role == Role::Dot || (role == Role::Reduce && draft.kind != KernelKind::Reduce)) {
    draft.kind = role == Role::Dot ? KernelKind::Dot : KernelKind::Reduce;
    draft.hero = id;
  }
}

/// Adds to a kernel the repeatable ops that it reads, transitively. Each is counted in the first
/// kernel that reads it.
void Grouper::pull(KernelGroup &kernel, int index) {
  std::vector<OpId> work(kernel.ops);
  std::set<OpId> seen(kernel.ops.begin(), kernel.ops.end());
  while (!work.empty()) {
    OpId id = work.back();
    work.pop_back();
    for (OpId operand : op(id).operands) {
      if (!repeatable[operand.index] || !seen.insert(operand).second)
        continue;
      bool isFirst = owner[operand.index] < 0;
      if (isFirst)
        owner[operand.index] = index;
      (isFirst ? kernel.ops : kernel.recomputed).push_back(operand);
      work.push_back(operand);
    }
  }
  std::sort(kernel.ops.begin(), kernel.ops.end());
  std::sort(kernel.recomputed.begin(), kernel.recomputed.end());
}

/// Drafts in topological order, in file order where that is free. Ops outside all drafts (library
/// calls, tuples) are nodes, too: a path may lead through them.
std::vector<int> Grouper::kernelOrder() const {
  int draftCount = static_cast<int>(drafts.size());
  auto nodeOf = [&](OpId id) {
    int group = groupOf[id.index];
    // Drafts were created from the last op to the first.
    return group >= 0 ? draftCount - 1 - group : draftCount + static_cast<int>(id.index);
  };
  std::set<std::pair<int, int>> edges;
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (!repeatable[i])
      for (OpId consumer : readers[i].consumers)
        if (nodeOf(OpId{i}) != nodeOf(consumer))
          edges.emplace(nodeOf(OpId{i}), nodeOf(consumer));
  std::vector<int> order = topologicalOrder(draftCount + static_cast<int>(graph.size()), edges);
  // An op joins a group only if all of its readers are in it, so no path leaves a group and
  // returns.
  assert(order.size() == drafts.size() + graph.size() && "groups are convex by construction");
  std::vector<int> result;
  for (int node : order)
    if (node < draftCount)
      result.push_back(draftCount - 1 - node);
  return result;
}

/// Dead ops need no kernel: those without readers, or whose readers are dead or have an empty
/// result.
void Grouper::eliminateDeadOps() {
  isDead.assign(graph.size(), false);
  for (uint32_t i = static_cast<uint32_t>(graph.size()); i-- > 0;) {
    const std::vector<OpId> &readers = users[i];
    isDead[i] = OpId{i} != graph.root() && !mayDoMoreThanItsValue(op(OpId{i})) &&
                std::all_of(readers.begin(), readers.end(), [&](OpId reader) {
                  return isDead[reader.index] || hasEmptyResult(op(reader));
                });
    if (isDead[i])
      roles[i] = Role::None;
  }
}

Grouping Grouper::run() {
  for (const Op &op : graph.all())
    roles.push_back(roleOf(graph, op));
  eliminateDeadOps();
  findRepeatable();
  groupOf.assign(graph.size(), -1);
  readers.resize(graph.size());
  owner.assign(graph.size(), -1);
  for (uint32_t i = static_cast<uint32_t>(graph.size()); i-- > 0;)
    assign(OpId{i});

  Grouping result;
  for (int index : kernelOrder()) {
    const Draft &draft = drafts[static_cast<size_t>(index)];
    KernelGroup kernel;
    kernel.kind = draft.closed ? KernelKind::Opaque : draft.kind;
    kernel.root = draft.ops.front();
    kernel.ops = draft.ops;
    if (!draft.closed)
      pull(kernel, index);
    std::sort(kernel.ops.begin(), kernel.ops.end());
    result.kernels.push_back(std::move(kernel));
  }
  for (uint32_t i = 0; i < graph.size(); ++i) {
    OpId id{i};
    if (roles[i] == Role::Unmodelled)
      result.unsupported.push_back({id, reasonOf(graph, op(id))});
    else if (roles[i] == Role::None)
      result.noKernel.push_back({id, isDead[i] && roleOf(graph, op(id)) != Role::None
                                         ? (users[i].empty() ? "its value is not used"
                                                             : "its value is read only where "
                                                               "nothing is computed")
                                         : noKernelReason(op(id))});
    else if (repeatable[i] && owner[i] < 0)
      result.noKernel.push_back({id, "its value is not used"});
  }
  return result;
}

} // namespace

std::optional<std::string> notModelled(const Graph &graph, OpId id) {
  const Op &op = graph.op(id);
  return roleOf(graph, op) == Role::Unmodelled ? std::optional(reasonOf(graph, op)) : std::nullopt;
}

Grouping groupSimply(const Graph &graph) { return Grouper(graph, true).run(); }
Grouping groupSingly(const Graph &graph) { return Grouper(graph, false).run(); }

std::vector<OpId> KernelGroup::allOps() const {
  std::vector<OpId> all(ops);
  all.insert(all.end(), recomputed.begin(), recomputed.end());
  std::sort(all.begin(), all.end());
  return all;
}

} // namespace tilewright
