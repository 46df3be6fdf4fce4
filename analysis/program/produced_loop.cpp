#include "analysis/program/produced_loop.h"

#include <algorithm>

namespace tilewright::program {

UseRange usesOf(const Region &body, BufferId ring) {
  UseRange result;
  for (size_t i = 0; i < body.size(); ++i) {
    if (!readsBuffer(body[i], ring))
      continue;
    result.first = std::min(result.first, i);
    result.last = i;
  }
  if (result.first == SIZE_MAX) // nothing reads it: given back at once
    result = {body.size(), body.size()};
  return result;
}

std::vector<BufferId> ringsOf(const ForOp &loop) {
  std::vector<BufferId> result;
  for (const Op &copy : loop.issue)
    if (BufferId id = copy.as<CopyOp>()->buffer;
        std::find(result.begin(), result.end(), id) == result.end())
      result.push_back(id);
  return result;
}

bool readsValue(const Op &op, ValueId value) {
  bool isRead = false;
  forEachOpOf(op, [&](const Op &one) {
    for (const ScalarExpr *scalar : scalarsOf(one))
      for (const ScalarNode &node : scalar->nodes)
        isRead = isRead || (node.kind == ScalarNode::Kind::Value && node.value == value);
    isRead = isRead || one.as<RelayoutOp>() || one.as<SelectAxisOp>() || one.as<JoinOp>();
  });
  return isRead;
}

std::vector<ValueId> valuesReadBy(const Op &op) {
  std::vector<ValueId> result;
  for (const ScalarExpr *scalar : scalarsOf(op))
    for (const ScalarNode &node : scalar->nodes)
      if (node.kind == ScalarNode::Kind::Value)
        result.push_back(node.value);
  return result;
}

bool assignsValue(const Op &op, ValueId value) {
  bool isAssigned = false;
  forEachOpOf(op, [&](const Op &one) {
    isAssigned =
        isAssigned || std::find(one.results.begin(), one.results.end(), value) != one.results.end();
  });
  return isAssigned;
}

namespace {

/// Has a ring at least so many slots? What is not known has enough.
bool hasSlots(const Program &program, BufferId ring, int64_t slots) {
  Expr stages = program.resolved(program[ring].stages);
  return !stages.isConstant() || stages.constant() >= slots;
}

const DotOp *warpgroupDot(const Op &op) {
  const auto *dot = op.as<DotOp>();
  return dot && dot->way == DotWay::Wgmma ? dot : nullptr;
}

bool isSlot(const ScalarExpr &scalar) { return scalar.root().kind == ScalarNode::Kind::Slot; }

/// The two products of a body, if there are no others.
std::optional<Rotation> twoProducts(const ForOp &loop) {
  std::vector<size_t> dots;
  for (size_t i = 0; i < loop.body.size(); ++i) {
    bool hasDot = false;
    forEachOpOf(loop.body[i], [&](const Op &op) { hasDot = hasDot || op.as<DotOp>(); });
    if (hasDot)
      dots.push_back(i);
  }
  if (dots.size() != 2)
    return std::nullopt;
  const DotOp *first = warpgroupDot(loop.body[dots[0]]), *second = warpgroupDot(loop.body[dots[1]]);
  if (!first || !second || first->isAdded || !second->isAdded || second->wait == 0 ||
      !isSlot(first->left) || isSlot(second->left))
    return std::nullopt;
  return Rotation{dots[0], dots[1], {}};
}

/// Whether what an op at `from` reads is the same at the end of the step, late ops aside.
bool isSameLater(const ForOp &loop, const Rotation &rotation, size_t from) {
  for (ValueId value : valuesReadBy(loop.body[from]))
    for (size_t i = from + 1; i < loop.body.size(); ++i) {
      bool isLate = i == rotation.outputs || rotation.isLate(i);
      if (!isLate && assignsValue(loop.body[i], value))
        return false;
    }
  return true;
}

} // namespace

std::optional<size_t> flyingDotOf(const Program &program, const ForOp &loop) {
  std::optional<size_t> found;
  for (size_t i = 0; i < loop.body.size(); ++i)
    if (const auto *dot = loop.body[i].as<DotOp>(); dot && dot->way == DotWay::Wgmma) {
      if (found || dot->wait == 0 || !dot->isAdded ||
          dot->left.root().kind != ScalarNode::Kind::Slot)
        return std::nullopt;
      found = i;
    }
  if (!found)
    return std::nullopt;
  for (BufferId ring : ringsOf(loop))
    if (!hasSlots(program, ring, 2) || usesOf(loop.body, ring).last > *found)
      return std::nullopt;
  ValueId sums = loop.body[*found].results[0];
  for (size_t i = 0; i < loop.body.size(); ++i)
    if (readsValue(loop.body[i], sums) || (i != *found && assignsValue(loop.body[i], sums)))
      return std::nullopt;
  return found;
}

std::optional<Rotation> rotationOf(const Program &program, const ForOp &loop) {
  std::optional<Rotation> found = twoProducts(loop);
  if (!found || loop.splitVar || loop.unroll)
    return std::nullopt;
  const Op &scores = loop.body[found->scores], &outputs = loop.body[found->outputs];
  for (size_t i = 0; i < loop.body.size(); ++i) {
    const Op &op = loop.body[i];
    if (i == found->scores || i == found->outputs)
      continue;
    if (assignsValue(op, scores.results[0]))
      return std::nullopt;
    if (!readsValue(op, outputs.results[0]) && !assignsValue(op, outputs.results[0]))
      continue;
    if (!op.as<MapOp>() || op.results != outputs.results || i > found->outputs)
      return std::nullopt;
    found->late.push_back(i);
  }
  for (size_t late : found->late)
    if (!isSameLater(loop, *found, late))
      return std::nullopt;
  if (!isSameLater(loop, *found, found->outputs))
    return std::nullopt;
  for (ValueId value : valuesReadBy(outputs)) // which are held back in registers of 32 bits
    if (bitWidth(program[value].tile.type) != 32)
      return std::nullopt;
  for (BufferId ring : ringsOf(loop)) { // which the products alone read
    for (size_t i = 0; i < loop.body.size(); ++i)
      if (i != found->scores && i != found->outputs && readsBuffer(loop.body[i], ring))
        return std::nullopt;
    if (!hasSlots(program, ring, 2) && readsBuffer(scores, ring) && readsBuffer(outputs, ring))
      return std::nullopt;
  }
  return found;
}

} // namespace tilewright::program
