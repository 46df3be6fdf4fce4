#include "analysis/program/point.h"

#include "analysis/support/checked.h"

#include <algorithm>
#include <unordered_map>

namespace tilewright::program {

bool Environment::knows(Expr expr) const {
  for (VarId var : variablesOf(expr))
    if (!isKnown[var.index])
      return false;
  return true;
}

PointExpr::PointExpr(Expr root) {
  std::unordered_map<uint32_t, uint32_t> places;
  std::vector<Expr> stack{root};
  while (!stack.empty()) {
    Expr e = stack.back();
    if (places.count(e.id())) {
      stack.pop_back();
      continue;
    }
    Step step{e.kind(), 0, 0, 0, 0};
    if (e.isConstant()) {
      step.value = e.constant();
    } else if (e.isVariable()) {
      step.value = e.variable().index;
    } else if (!e.isPoison()) {
      size_t before = stack.size();
      for (Expr operand : {e.lhs(), e.rhs(), e.third()})
        if (operand && !places.count(operand.id()))
          stack.push_back(operand);
      if (stack.size() > before)
        continue;
      step.a = places[e.lhs().id()];
      step.b = places[e.rhs().id()];
      step.c = e.third() ? places[e.third().id()] : 0;
    }
    places[e.id()] = static_cast<uint32_t>(steps.size());
    steps.push_back(step);
    stack.pop_back();
  }
  slots.resize(steps.size());
}

std::optional<int64_t> PointExpr::at(const std::vector<int64_t> &variables) const {
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step &s = steps[i];
    int64_t a = slots[s.a], b = slots[s.b];
    std::optional<int64_t> value;
    switch (s.kind) {
    case ExprKind::Constant:
      value = s.value;
      break;
    case ExprKind::Variable:
      value = variables[static_cast<size_t>(s.value)];
      break;
    case ExprKind::Add:
      value = checkedAdd(a, b);
      break;
    case ExprKind::Mul:
      value = checkedMul(a, b);
      break;
    case ExprKind::FloorDiv:
      value = b > 0 ? checkedFloorDiv(a, b) : std::nullopt;
      break;
    case ExprKind::CeilDiv:
      value = b > 0 ? checkedCeilDiv(a, b) : std::nullopt;
      break;
    case ExprKind::Mod:
      value = checkedMod(a, b);
      break;
    case ExprKind::Min:
      value = std::min(a, b);
      break;
    case ExprKind::Max:
      value = std::max(a, b);
      break;
    case ExprKind::IsAtLeast:
      value = a >= b;
      break;
    case ExprKind::IsEqual:
      value = a == b;
      break;
    case ExprKind::Select:
      value = slots[s.c] ? a : b;
      break;
    case ExprKind::Pow2Ceil:
      value = checkedPow2Ceil(a);
      break;
    case ExprKind::Pow2Divisor:
      value = checkedPow2Divisor(a);
      break;
    case ExprKind::Log2:
      value = checkedLog2(a);
      break;
    case ExprKind::Poison:
      break;
    }
    if (!value)
      return std::nullopt;
    slots[i] = *value;
  }
  return slots.back();
}

} // namespace tilewright::program
