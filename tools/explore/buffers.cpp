#include "tools/explore/buffers.h"

#include "analysis/ir/free_view.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright {

namespace {

bool isUpdate(const Op &op) {
  return op.opcode == Opcode::DynamicUpdateSlice || op.opcode == Opcode::Scatter;
}

/// Operands of a dynamic-update-slice or scatter that are written over: one a result.
size_t bufferCount(const Op &op) {
  return op.opcode == Opcode::Scatter ? op.operands.size() / 2 : 1;
}

const Graph *calledBy(const Module &module, const Op &op, CallRole role) {
  for (const CalledGraph &call : op.called)
    if (call.role == role && call.graph.isValid())
      return &module.graph(call.graph);
  return nullptr;
}

OpId behindViews(const Graph &graph, OpId id) {
  while (movesNoByte(graph, id))
    id = graph.op(id).operands[0];
  return id;
}

/// Does an op of a fusion's body read just the window that the update writes?
bool readsWindow(const Graph &body, const Op &reader, const Op &update) {
  return reader.opcode == Opcode::DynamicSlice && update.opcode == Opcode::DynamicUpdateSlice &&
         reader.shape.dims == body.op(update.operands[1]).shape.dims &&
         std::equal(reader.operands.begin() + 1, reader.operands.end(), update.operands.begin() + 2,
                    update.operands.end());
}

/// Nothing reads `parameter` but the update, perhaps through views, and what reads the window
/// alone.
std::string whyReadElsewhere(const Graph &body, OpId parameter, OpId update) {
  const std::vector<std::vector<OpId>> users = body.users();
  std::vector<OpId> work{parameter};
  while (!work.empty()) {
    const OpId id = work.back();
    work.pop_back();
    for (OpId user : users[id.index]) {
      const Op &op = body.op(user);
      const auto uses = std::count(op.operands.begin(), op.operands.end(), id);
      if (movesNoByte(body, user))
        work.push_back(user);
      else if (uses != 1 || (user != update && !readsWindow(body, op, body.op(update))))
        return fmt::format("%{} reads more of %{} than what it writes", body.op(user).name,
                           body.op(parameter).name);
    }
  }
  return {};
}

std::optional<BufferUpdate> fusedUpdate(const Graph &body, OpId fusion, const Op &op, OpId root,
                                        std::string &reason) {
  const OpId inner = behindViews(body, root);
  if (!isUpdate(body.op(inner)) || bufferCount(body.op(inner)) != 1)
    return std::nullopt;
  const OpId parameter = behindViews(body, body.op(inner).operands[0]);
  if (body.op(parameter).opcode != Opcode::Parameter) {
    reason = fmt::format("%{} is made in the same kernel", body.op(parameter).name);
    return std::nullopt;
  }
  if (std::string why = whyReadElsewhere(body, parameter, inner); !why.empty()) {
    reason = std::move(why);
    return std::nullopt;
  }
  const auto number = static_cast<size_t>(body.op(parameter).attrs.parameterNumber);
  return BufferUpdate{{fusion, -1}, op.operands[number], -1, inner};
}

} // namespace

std::vector<BufferUpdate> updatesOf(const Module &module, const Op &op, OpId id,
                                    std::string &reason) {
  std::vector<BufferUpdate> result;
  if (isUpdate(op)) {
    for (size_t i = 0; i < bufferCount(op); ++i)
      result.push_back(
          {{id, op.shape.isTuple ? static_cast<int64_t>(i) : -1}, op.operands[i], -1, id});
    return result;
  }
  const Graph *body = op.opcode == Opcode::Fusion ? calledBy(module, op, CallRole::Calls) : nullptr;
  if (!body || !body->root().isValid())
    return {};
  const Op &root = body->op(body->root());
  if (root.opcode != Opcode::Tuple) {
    if (auto update = fusedUpdate(*body, id, op, body->root(), reason))
      result.push_back(*update);
    return result;
  }
  for (size_t i = 0; i < root.operands.size(); ++i)
    if (auto update = fusedUpdate(*body, id, op, root.operands[i], reason)) {
      update->result.element = static_cast<int64_t>(i);
      result.push_back(*update);
    }
  return reason.empty() ? result : std::vector<BufferUpdate>();
}

Buffers::Buffers(const Module &module, GraphId id, const std::vector<KernelGroup> &kernels,
                 UpdatedElements &known)
    : module(module), graph(module.graph(id)), isEntry(id == module.entryId),
      isScheduledModule(isScheduled(module)), donated(donatedArguments(module)),
      users(graph.users()), together(graph.size()) {
  for (const Graph &caller : module.all())
    for (const Op &op : caller.all())
      for (const CalledGraph &call : op.called)
        isBody |= op.opcode == Opcode::While && call.role == CallRole::Body && call.graph == id;
  for (const KernelGroup &kernel : kernels)
    for (OpId op : kernel.ops)
      together[op.index] = kernel.ops;
  auto sourcesOf = [&](OpId op) {
    const Shape &shape = graph.op(op).shape;
    std::vector<BufferValue> values;
    for (size_t i = 0; i < shape.elements.size(); ++i)
      values.push_back(source({op, static_cast<int64_t>(i)}));
    if (!shape.isTuple)
      values.push_back(source({op}));
    return values;
  };
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Op &op = graph.op(OpId{i});
    if (opClass(op.opcode) == OpClass::Tuple || movesNoByte(graph, OpId{i}, isScheduledModule))
      continue;
    for (OpId operand : op.operands)
      for (BufferValue value : sourcesOf(operand))
        readers[value].push_back(OpId{i});
    std::string reason;
    for (const BufferUpdate &update : updatesOf(module, op, OpId{i}, reason))
      addUpdate(update);
    if (op.opcode == Opcode::While)
      addLoop(OpId{i}, known);
  }
  for (BufferValue value : sourcesOf(graph.root()))
    results.insert(value);
}

void Buffers::addUpdate(const BufferUpdate &update) {
  updates[update.result] = update;
  updaters[source({update.buffer, update.element})].push_back(update.result.op);
}

/// A loop updates the elements of its state that its body updates.
void Buffers::addLoop(OpId loop, UpdatedElements &known) {
  const Op &op = graph.op(loop);
  for (const CalledGraph &call : op.called) {
    if (call.role != CallRole::Body || !call.graph.isValid())
      continue;
    auto [it, isNew] = known.try_emplace(call.graph.index);
    if (isNew) { // computations don't call themselves
      std::vector<int64_t> elements = Buffers(module, call.graph, {}, known).updatedElements();
      it = known.insert_or_assign(call.graph.index, std::move(elements)).first;
    }
    for (int64_t element : it->second)
      addUpdate({{loop, element}, op.operands[0], element, loop});
  }
}

BufferValue Buffers::source(BufferValue value) const {
  while (true) {
    const Op &op = graph.op(value.op);
    if (value.element < 0) {
      if (op.opcode == Opcode::GetTupleElement)
        value = {op.operands[0], op.attrs.tupleIndex};
      else if ((op.opcode == Opcode::OptimizationBarrier && !op.shape.isTuple) ||
               movesNoByte(graph, value.op, isScheduledModule))
        value.op = op.operands[0];
      else
        return value;
    } else if (op.opcode == Opcode::Tuple &&
               value.element < static_cast<int64_t>(op.operands.size())) {
      value = {op.operands[static_cast<size_t>(value.element)], -1};
    } else if (op.opcode == Opcode::OptimizationBarrier && op.operands.size() == 1) {
      value.op = op.operands[0];
    } else {
      return value;
    }
  }
}

std::vector<bool> Buffers::after(OpId start) const {
  std::vector<bool> seen(graph.size());
  std::vector<OpId> work{start};
  while (!work.empty()) {
    const OpId id = work.back();
    work.pop_back();
    for (OpId user : users[id.index]) {
      if (!seen[user.index])
        work.push_back(user);
      seen[user.index] = true;
      for (OpId other : together[user.index]) {
        if (!seen[other.index])
          work.push_back(other);
        seen[other.index] = true;
      }
    }
  }
  return seen;
}

bool Buffers::isReadBesides(BufferValue value, OpId reader) const {
  if (results.count(value))
    return true;
  auto it = readers.find(value);
  return it != readers.end() && std::any_of(it->second.begin(), it->second.end(),
                                            [&](OpId other) { return other != reader; });
}

std::string Buffers::whyCopied(const BufferUpdate &update) const {
  const BufferValue value = source({update.buffer, update.element});
  if (std::string why = whyNotOurs(value, update); !why.empty())
    return why;
  const std::string name = graph.op(value.op).name;
  if (results.count(value))
    return fmt::format("%{} is a result, too", name);
  const OpId self = update.result.op;
  const std::vector<bool> later = after(self);
  for (OpId reader : readers.at(value))
    if (reader != self && later[reader.index])
      return fmt::format("%{} is read by %{} after the update", name, graph.op(reader).name);
  // Of several updates of one buffer the last one has it.
  const std::vector<OpId> &all = updaters.at(value);
  if (all.back() != self)
    return fmt::format("%{} is updated by %{}, too", name, graph.op(all.back()).name);
  return {};
}

std::string Buffers::whyNotOurs(BufferValue value, const BufferUpdate &update) const {
  const Op &op = graph.op(value.op);
  switch (op.opcode) {
  case Opcode::Constant:
    return fmt::format("%{} is a constant", op.name);
  case Opcode::Parameter:
    break;
  default:
    return {}; // something that ran has made it
  }
  if (isEntry)
    return donated.count({op.attrs.parameterNumber, value.element}) ||
                   donated.count({op.attrs.parameterNumber, -1})
               ? std::string()
               : fmt::format("%{} is an argument that is not donated", op.name);
  if (!isBody)
    return fmt::format("%{} is an argument of %{}", op.name, graph.name());
  return value.element >= 0 && isCarriedBack(value.element, update.result.op)
             ? std::string()
             : fmt::format("element {} of the loop's state is not carried on in its place",
                           value.element);
}

/// Is the next state's element the buffer of this one's, updated by `through` and others?
bool Buffers::isCarriedBack(int64_t element, std::optional<OpId> through) const {
  bool isThrough = !through, isUpdated = false;
  BufferValue value = source({graph.root(), element});
  while (true) {
    auto update = updates.find(value);
    if (update == updates.end())
      break;
    isUpdated = true;
    isThrough |= value.op == through;
    value = source({update->second.buffer, update->second.element});
  }
  return isUpdated && isThrough && value.element == element &&
         graph.op(value.op).opcode == Opcode::Parameter;
}

std::vector<int64_t> Buffers::updatedElements() const {
  std::vector<int64_t> elements;
  const Shape &state = graph.op(graph.root()).shape;
  for (size_t i = 0; i < state.elements.size(); ++i)
    if (isCarriedBack(static_cast<int64_t>(i), std::nullopt))
      elements.push_back(static_cast<int64_t>(i));
  return elements;
}

} // namespace tilewright
