#include "analysis/program/pass/edit.h"

#include "analysis/program/substitute.h"
#include "analysis/support/diag.h"

#include <algorithm>

namespace tilewright::program {

std::string freeName(const Program &p, const std::string &wanted) {
  auto isTaken = [&](const std::string &name) {
    auto isNamed = [&](const auto &part) { return part.name == name; };
    auto any = [&](const auto &list) { return std::any_of(list.begin(), list.end(), isNamed); };
    bool isLoop = false;
    forEachOp(p.body, [&](const Op &op, const LoopNest &) {
      isLoop |= op.as<ForOp>() && op.as<ForOp>()->name == name;
    });
    return isLoop || any(p.tensors) || any(p.lets) || any(p.axes) || any(p.buffers) ||
           any(p.values) || any(p.grid.variables) || any(p.roles) ||
           std::any_of(p.sizes.begin(), p.sizes.end(),
                       [&](Expr size) { return p.context->info(size.variable()).name == name; });
  };
  std::string name = wanted;
  for (int number = 1; isTaken(name); ++number)
    name = wanted + std::to_string(number);
  return name;
}

llvm::Expected<Expr> addSize(Program &p, const std::string &name) {
  std::vector<std::string> sizes = freeSizes(p);
  if (std::find(sizes.begin(), sizes.end(), name) != sizes.end())
    return makeError(DiagClass::Unsupported, "{}: it has a size named {} already", p.name, name);
  Expr size = p.context->variable(VarKind::TileParam, name);
  p.sizes.push_back(size);
  return size;
}

void forEachRead(const Program &program, const Op &op, const std::function<void(ValueId)> &visit) {
  auto inExpr = [&](Expr e) {
    if (e)
      for (VarId var : variablesOf(e))
        if (ValueId value = program.valueOf(var); value.isValid())
          visit(value);
  };
  forEachOpOf(op, [&](const Op &one) {
    for (const ScalarExpr *scalar : scalarsOf(one))
      for (const ScalarNode &node : scalar->nodes) {
        if (node.kind == ScalarNode::Kind::Value)
          visit(node.value);
        inExpr(node.index);
      }
    if (const Access *access = accessOf(one))
      for (Expr index : access->index)
        inExpr(index);
    if (const auto *load = one.as<LoadOp>())
      for (const Condition &condition : load->conditions)
        inExpr(condition.value);
    if (const auto *o = one.as<RelayoutOp>())
      visit(o->value);
    if (const auto *o = one.as<SelectAxisOp>())
      visit(o->value);
    if (const auto *o = one.as<JoinOp>())
      std::for_each(o->parts.begin(), o->parts.end(), visit);
    if (const auto *o = one.as<SumSplitsOp>())
      std::for_each(o->values.begin(), o->values.end(), visit);
  });
}

void replaceReads(Op &op, const std::map<ValueId, ValueId> &values,
                  const std::map<BufferId, BufferId> &buffers) {
  auto at = [](const auto &map, auto &id) {
    if (auto it = map.find(id); it != map.end())
      id = it->second;
  };
  for (const ScalarExpr *scalar : scalarsOf(op))
    for (ScalarNode &node : const_cast<ScalarExpr *>(scalar)->nodes) {
      if (node.kind == ScalarNode::Kind::Value)
        at(values, node.value);
      if (node.kind == ScalarNode::Kind::Slot)
        at(buffers, node.buffer);
    }
  if (auto *o = op.as<ReadOp>())
    at(buffers, o->buffer);
  if (auto *o = op.as<RelayoutOp>())
    at(values, o->value);
  if (auto *o = op.as<SelectAxisOp>())
    at(values, o->value);
  if (auto *o = op.as<JoinOp>())
    for (ValueId &part : o->parts)
      at(values, part);
  if (auto *o = op.as<SumSplitsOp>())
    for (ValueId &value : o->values)
      at(values, value);
  for (Region *inner : regionsOf(op))
    for (Op &one : *inner)
      replaceReads(one, values, buffers);
}

} // namespace tilewright::program
