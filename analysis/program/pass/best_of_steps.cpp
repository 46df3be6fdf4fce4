#include "analysis/program/pass/best_of_steps.h"

#include <algorithm>
#include <limits>

namespace tilewright::program {

namespace {

bool isValue(const ScalarNode &node, ValueId id) {
  return node.kind == ScalarNode::Kind::Value && node.value == id;
}

/// A part of an expression.
struct Part {
  const ScalarExpr *scalar = nullptr;
  uint32_t node = 0;
  const ScalarNode &operator*() const { return scalar->nodes[node]; }
  Part operand(size_t i) const { return {scalar, (**this).operands[i]}; }
};

Part rootOf(const ScalarExpr &scalar) {
  return {&scalar, static_cast<uint32_t>(scalar.nodes.size() - 1)};
}

/// Whether two parts compute the same.
bool areEqual(Part a, Part b) {
  ScalarNode first = *a, second = *b;
  if (first.operands.size() != second.operands.size())
    return false;
  for (size_t k = 0; k < first.operands.size(); ++k)
    if (!areEqual(a.operand(k), b.operand(k)))
      return false;
  first.operands = second.operands;
  first.sources = second.sources;
  return first == second;
}

/// `where(condition, taken, carried)` that sets what a loop carries.
struct Choice {
  Part condition, taken;
  size_t at = 0; ///< the place of what computes the condition among the ops of the body
};

/// The only op of a body that sets a value, and its place; nothing if there are several.
std::pair<const Op *, size_t> onlyOpOf(const Region &body, ValueId value) {
  std::pair<const Op *, size_t> found;
  bool isOther = false;
  size_t at = 0;
  forEachOp(body, [&](const Op &op, const LoopNest &nest) {
    ++at;
    if (std::find(op.results.begin(), op.results.end(), value) == op.results.end())
      return;
    isOther = isOther || found.first || !nest.empty();
    found = {&op, at};
  });
  return isOther ? std::pair<const Op *, size_t>() : found;
}

std::optional<Choice> choiceOf(const Region &body, ValueId carried) {
  const auto [op, at] = onlyOpOf(body, carried);
  const auto *map = op ? op->as<MapOp>() : nullptr;
  if (!map)
    return std::nullopt;
  const Part root = rootOf(map->value);
  if ((*root).kind != ScalarNode::Kind::Operation || (*root).opcode != Opcode::Select ||
      !isValue(*root.operand(2), carried))
    return std::nullopt;
  Choice choice{root.operand(0), root.operand(1), at};
  // The condition may be a value of its own, from before.
  if ((*choice.condition).kind == ScalarNode::Kind::Value) {
    const auto [other, before] = onlyOpOf(body, (*choice.condition).value);
    if (const auto *compared = other && before < at ? other->as<MapOp>() : nullptr) {
      choice.at = before;
      choice.condition = rootOf(compared->value);
    }
  }
  return choice;
}

/// `x > best` where x is what is taken, alone or with other conditions beside it.
bool isBetter(Part condition, Part taken, ValueId best, Comparison comparison) {
  if ((*condition).kind != ScalarNode::Kind::Operation)
    return false;
  if ((*condition).opcode == Opcode::And)
    return isBetter(condition.operand(0), taken, best, comparison) ||
           isBetter(condition.operand(1), taken, best, comparison);
  return (*condition).opcode == Opcode::Compare && (*condition).comparison == comparison &&
         areEqual(condition.operand(0), taken) && isValue(*condition.operand(1), best);
}

/// `where(best == all, place, the highest place)`.
bool isPlaceOfBest(Part of, ValueId best, ValueId all, ValueId place) {
  if ((*of).kind != ScalarNode::Kind::Operation || (*of).opcode != Opcode::Select)
    return false;
  const Part equal = of.operand(0);
  const ScalarNode &highest = *of.operand(2);
  return (*equal).kind == ScalarNode::Kind::Operation && (*equal).opcode == Opcode::Compare &&
         (*equal).comparison == Comparison::Eq && isValue(*equal.operand(0), best) &&
         isValue(*equal.operand(1), all) && isValue(*of.operand(1), place) &&
         highest.kind == ScalarNode::Kind::Number &&
         highest.number == std::numeric_limits<int32_t>::max();
}

} // namespace

std::optional<BestOfSteps> bestOfSteps(const Program &program, size_t at,
                                       const std::vector<ValueId> &carried) {
  if (carried.size() != 2 || at + 2 >= program.body.size())
    return std::nullopt;
  const Op &first = program.body[at + 1], &second = program.body[at + 2];
  const auto *values = first.as<ReduceOp>(), *places = second.as<ReduceOp>();
  if (!values || !places || values->over != places->over || places->monoid != Monoid::Min ||
      (values->monoid != Monoid::Max && values->monoid != Monoid::Min))
    return std::nullopt;
  const bool isMax = values->monoid == Monoid::Max;
  const Comparison comparison = isMax ? Comparison::Gt : Comparison::Lt;
  const Region &body = program.body[at].as<ForOp>()->body;
  for (size_t i : {0, 1}) {
    const ValueId best = carried[i], place = carried[1 - i];
    const std::optional<Choice> value = choiceOf(body, best), where = choiceOf(body, place);
    if (!value || !where || values->value.nodes.size() != 1 ||
        !isValue(values->value.root(), best) ||
        !isPlaceOfBest(rootOf(places->value), best, first.results[0], place))
      continue;
    // The place is chosen by the best value of before.
    if (isBetter(value->condition, value->taken, best, comparison) &&
        areEqual(value->condition, where->condition) && where->at <= value->at)
      return BestOfSteps{isMax ? Monoid::ArgMax : Monoid::ArgMin, first.results[0],
                         second.results[0]};
  }
  return std::nullopt;
}

} // namespace tilewright::program
