#include "analysis/import/check_calls.h"

#include <algorithm>

namespace tilewright {

namespace {

bool isCheck(const Op &op) {
  const std::string &target = op.attrs.customCallTarget;
  return op.opcode == Opcode::CustomCall && op.operands.size() == 2 &&
         (target.starts_with("check.expect_") || target == "check.eq");
}

} // namespace

std::vector<CheckCall> takeChecks(Module &module) {
  const Graph &old = module.entry();
  std::vector<CheckCall> checks;
  if (std::none_of(old.all().begin(), old.all().end(), isCheck))
    return checks;
  Graph graph(old.name());
  std::vector<OpId> now(old.size());
  Op tuple;
  tuple.opcode = Opcode::Tuple;
  tuple.name = "checked values";
  tuple.shape = Shape::tuple({});
  for (uint32_t i = 0; i < old.size(); ++i) {
    Op op = old.op(OpId{i});
    const bool isDead = std::any_of(op.operands.begin(), op.operands.end(),
                                    [&](OpId id) { return !now[id.index].isValid(); });
    if (isDead) // of a check's result
      continue;
    for (OpId &operand : op.operands)
      operand = now[operand.index];
    if (!isCheck(op)) {
      now[i] = graph.add(std::move(op));
      continue;
    }
    checks.push_back({op.name, op.attrs.customCallTarget == "check.expect_eq" ||
                                   op.attrs.customCallTarget == "check.eq"});
    for (OpId operand : op.operands) {
      tuple.operands.push_back(operand);
      tuple.shape.elements.push_back(graph.op(operand).shape);
    }
  }
  graph.setRoot(graph.add(std::move(tuple)));
  module.graph(module.entryId) = std::move(graph);
  return checks;
}

} // namespace tilewright
