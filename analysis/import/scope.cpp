#include "analysis/import/scope.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

namespace tilewright {

namespace {

size_t nodesOf(const Shape &shape) {
  size_t count = 1;
  for (const Shape &element : shape.elements)
    count += nodesOf(element);
  return count;
}

} // namespace

std::string hloName(std::string_view name) {
  std::string out(name.substr(0, 200));
  for (char &c : out)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.' && c != '-')
      c = '_';
  if (out.empty())
    out = "_";
  if (!std::isalnum(static_cast<unsigned char>(out.front())))
    out.front() = '_';
  return out;
}

OpId Scope::add(Op op, std::string_view base) {
  ++totals.ops;
  totals.shapeNodes += nodesOf(op.shape);
  std::string name = hloName(base);
  // Until the number is free, too: a file may hold %x, %x and %x.2.
  while (taken.contains(name))
    name = fmt::format("{}.{}", hloName(base), ++taken[hloName(base)] + 1);
  taken.emplace(name, 0);
  op.name = std::move(name);
  return graph.add(std::move(op));
}

OpId Scope::element(OpId tuple, size_t index, SourceLoc loc) {
  Op op;
  op.opcode = Opcode::GetTupleElement;
  op.operands = {tuple};
  op.shape = graph.op(tuple).shape.elements[index];
  op.attrs.tupleIndex = static_cast<int64_t>(index);
  op.loc = loc;
  const std::string base = fmt::format("{}.{}", graph.op(tuple).name, index);
  return add(std::move(op), base);
}

OpId Scope::tuple(const std::vector<OpId> &elements, std::string_view base, SourceLoc loc) {
  Op op;
  op.opcode = Opcode::Tuple;
  op.operands = elements;
  op.shape = Shape::tuple({});
  for (OpId id : elements)
    op.shape.elements.push_back(graph.op(id).shape);
  op.loc = loc;
  return add(std::move(op), base);
}

OpId Scope::rootOf(const std::vector<OpId> &results, SourceLoc loc) {
  return results.size() == 1 ? results[0] : tuple(results, "results", loc);
}

bool Scope::bind(std::string_view name, std::vector<OpId> values) {
  return bindings.emplace(name, Binding{std::move(values), {}, 0}).second;
}

bool Scope::bindTuple(std::string_view name, OpId tuple, size_t first, size_t count) {
  return bindings.emplace(name, Binding{std::vector<OpId>(count), tuple, first}).second;
}

Scope::Found Scope::find(std::string_view name, size_t index, SourceLoc loc) {
  auto it = bindings.find(name);
  if (it == bindings.end()) {
    if (!outer)
      return {};
    Found found = outer->find(name, index, loc);
    return found.status == Found::Value ? capture(found.op, loc) : found;
  }
  Binding &binding = it->second;
  if (index >= binding.values.size())
    return {Found::NoSuchResult, {}, binding.values.size()};
  OpId &value = binding.values[index];
  if (!value.isValid())
    value = element(binding.tuple, binding.first + index, graph.op(binding.tuple).loc);
  return {Found::Value, value, 0};
}

/// Constants and what merely spreads or counts: cheaper made again than carried along, and a loop's
/// bound stays visible in its condition.
bool Scope::isCopied(OpId id) const {
  constexpr size_t mostCharacters = 256;
  const Op &op = graph.op(id);
  if (op.opcode == Opcode::Constant)
    return op.literal.size() <= mostCharacters;
  if (op.opcode == Opcode::Broadcast)
    return graph.op(op.operands[0]).opcode == Opcode::Constant && isCopied(op.operands[0]);
  return op.opcode == Opcode::Iota;
}

OpId Scope::copyOf(const Scope &from, OpId id) {
  Op op = from.graph.op(id);
  for (OpId &operand : op.operands)
    operand = copyOf(from, operand);
  const std::string base = op.name;
  return add(std::move(op), base);
}

Scope::Found Scope::capture(OpId op, SourceLoc loc) {
  if (auto it = captured.find(op.index); it != captured.end())
    return {Found::Value, it->second, 0};
  OpId inner;
  if (outer->isCopied(op)) {
    inner = copyOf(*outer, op);
  } else if (captures && kind != RegionKind::Scalars) {
    auto [it, isNew] = captures->fields.emplace(op.index, captures->outer.size());
    if (isNew)
      captures->outer.push_back(op);
    inner = stateField(ownFields + it->second, outer->graph.op(op).shape, loc);
  } else {
    return {Found::NotCapturable, op, 0};
  }
  captured.emplace(op.index, inner);
  return {Found::Value, inner, 0};
}

void Scope::startState(std::vector<Shape> own, SourceLoc loc) {
  ownFields = own.size();
  Op op;
  op.opcode = Opcode::Parameter;
  op.shape = Shape::tuple(std::move(own));
  op.loc = loc;
  state = add(std::move(op), "state");
}

OpId Scope::stateField(size_t field, const Shape &shape, SourceLoc loc) {
  auto [it, isNew] = fields.emplace(field, OpId{});
  if (isNew) {
    Op op;
    op.opcode = Opcode::GetTupleElement;
    op.operands = {state};
    op.shape = shape;
    op.attrs.tupleIndex = static_cast<int64_t>(field);
    op.loc = loc;
    it->second = add(std::move(op), fmt::format("state.{}", field));
  }
  return it->second;
}

} // namespace tilewright
