#include "analysis/solve/program.h"

#include "analysis/support/checked.h"

#include <algorithm>
#include <cassert>

namespace tilewright::detail {

Program::Program(const ConstraintSystem &system) {
  assert(system.parameters.size() <= ConstraintSystem::maxParameters);
  for (const SolveParameter &parameter : system.parameters) {
    uint64_t bit = uint64_t(1) << registers.size();
    parameterRegisters.emplace_back(parameter.var, RegisterId(registers.size()));
    registers.push_back({Code::Parameter, 0, 0, 0, bit});
  }
}

RegisterId Program::intern(Register reg) {
  if (reg.op != Code::Constant && reg.op != Code::Undefined) {
    reg.parameters = registers[reg.a].parameters;
    if (!isUnary(reg.op))
      reg.parameters |= registers[reg.b].parameters;
    if (reg.op == Code::Select)
      reg.parameters |= registers[reg.c].parameters;
  }
  auto [it, isNew] =
      interned.try_emplace({reg.op, reg.a, reg.b, reg.c, reg.value}, RegisterId(registers.size()));
  if (isNew)
    registers.push_back(reg);
  return it->second;
}

namespace {

bool isLeaf(const Register &reg) { return reg.op <= Code::Undefined; }

Code codeOf(ExprKind kind) {
  switch (kind) {
  case ExprKind::Add:
    return Code::Add;
  case ExprKind::Mul:
    return Code::Mul;
  case ExprKind::FloorDiv:
    return Code::FloorDiv;
  case ExprKind::CeilDiv:
    return Code::CeilDiv;
  case ExprKind::Mod:
    return Code::Mod;
  case ExprKind::Min:
    return Code::Min;
  case ExprKind::Max:
    return Code::Max;
  case ExprKind::IsAtLeast: // b <= a: the operands are swapped
    return Code::LessEqual;
  case ExprKind::IsEqual:
    return Code::Equal;
  case ExprKind::Pow2Ceil:
    return Code::Pow2Ceil;
  case ExprKind::Pow2Divisor:
    return Code::Pow2Divisor;
  case ExprKind::Log2:
    return Code::Log2;
  case ExprKind::Select:
    return Code::Select;
  case ExprKind::Constant:
    return Code::Constant;
  case ExprKind::Variable:
  case ExprKind::Poison:
    break;
  }
  return Code::Undefined;
}

} // namespace

RegisterId Program::add(Expr expr) {
  // Post-order with an explicit stack: expressions can be deeper than the call stack.
  std::vector<Expr> stack{expr};
  while (!stack.empty()) {
    Expr top = stack.back();
    if (exprRegisters.count(top.id())) {
      stack.pop_back();
      continue;
    }
    Register reg{codeOf(top.kind())};
    if (top.isConstant()) {
      reg.value = top.constant();
    } else if (top.isVariable()) {
      auto it = std::find_if(parameterRegisters.begin(), parameterRegisters.end(),
                             [&](const auto &entry) { return entry.first == top.variable(); });
      if (it != parameterRegisters.end()) {
        exprRegisters[top.id()] = it->second;
        stack.pop_back();
        continue;
      }
    } else if (!top.isPoison()) {
      auto a = exprRegisters.find(top.lhs().id()), b = exprRegisters.find(top.rhs().id());
      auto c = top.third() ? exprRegisters.find(top.third().id()) : a;
      if (a == exprRegisters.end() || b == exprRegisters.end() || c == exprRegisters.end()) {
        if (c == exprRegisters.end())
          stack.push_back(top.third() ? top.third() : top.lhs());
        if (b == exprRegisters.end())
          stack.push_back(top.rhs());
        if (a == exprRegisters.end())
          stack.push_back(top.lhs());
        continue;
      }
      reg.a = a->second;
      reg.b = isUnary(reg.op) ? 0 : b->second;
      if (top.third())
        reg.c = c->second;
      if (top.kind() == ExprKind::IsAtLeast)
        std::swap(reg.a, reg.b);
    }
    exprRegisters[top.id()] = intern(reg);
    stack.pop_back();
  }
  return exprRegisters.at(expr.id());
}

RegisterId Program::add(const Formula &formula) {
  switch (formula.kind()) {
  case Formula::Kind::True:
  case Formula::Kind::False:
    return intern({Code::Constant, 0, 0, formula.isTrue()});
  case Formula::Kind::LessEqual:
  case Formula::Kind::Equal:
  case Formula::Kind::Divides: {
    Code op = formula.kind() == Formula::Kind::LessEqual ? Code::LessEqual
              : formula.kind() == Formula::Kind::Equal   ? Code::Equal
                                                         : Code::Divides;
    RegisterId a = add(formula.lhs()), b = add(formula.rhs());
    return intern({op, a, b});
  }
  case Formula::Kind::Not:
    return intern({Code::Not, add(formula.parts().front())});
  case Formula::Kind::And:
  case Formula::Kind::Or:
    break;
  }
  bool isAnd = formula.kind() == Formula::Kind::And;
  if (formula.parts().empty())
    return intern({Code::Constant, 0, 0, isAnd});
  RegisterId result = add(formula.parts().front());
  for (size_t i = 1; i < formula.parts().size(); ++i)
    result = intern({isAnd ? Code::And : Code::Or, result, add(formula.parts()[i])});
  return result;
}

ConcreteState Program::initialState() const {
  ConcreteState state{std::vector<int64_t>(size()), std::vector<uint8_t>(size())};
  for (size_t i = 0; i < size(); ++i)
    if (registers[i].op == Code::Constant) {
      state.value[i] = registers[i].value;
      state.known[i] = true;
    }
  return state;
}

void Program::step(RegisterId id, ConcreteState &state) const {
  const Register &reg = registers[id];
  if (isLeaf(reg))
    return;
  auto read = [&](RegisterId from) { return Concrete{state.value[from], state.known[from] != 0}; };
  const Concrete result = computeChecked(reg.op, read(reg.a), read(reg.b), read(reg.c));
  state.value[id] = result.value;
  state.known[id] = result.isKnown;
}

Step Program::stepOf(RegisterId id, std::span<const Abstract> box) const {
  const Register &reg = registers[id];
  RegisterId c = reg.op == Code::Select ? reg.c : reg.a;
  return {reg.op, !box[id].mayBeUnknown, false, id, reg.a, isUnary(reg.op) ? reg.a : reg.b, c};
}

void Program::markTotal(std::span<const Abstract> box, ConcreteState &state) const {
  for (RegisterId id = 0; id < size(); ++id)
    state.known[id] |= !box[id].mayBeUnknown;
}

void Program::run(std::span<const Step> steps, ConcreteState &state) const {
  int64_t *value = state.value.data();
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step &s = steps[i];
    if (s.jump)
      i += (value[s.a] == 0) == s.isJumpWhereZero ? s.jump : 0;
    else if (s.isTotal)
      value[s.result] = compute(s.op, value[s.a], value[s.b], value[s.c]);
    else
      step(s.result, state);
  }
}

namespace {

/// An interval whose lower end saturated to INT64_MAX means "at least that", which arithmetic would
/// take for infinity; one less is a true finite bound. Likewise for an upper end at INT64_MIN.
Interval withFiniteInnerEnds(Interval range) {
  if (range.lo == INT64_MAX)
    range.lo = INT64_MAX - 1;
  if (range.hi == INT64_MIN)
    range.hi = INT64_MIN + 1;
  return range;
}

Interval truth(bool canBeTrue, bool canBeFalse) { return {canBeFalse ? 0 : 1, canBeTrue ? 1 : 0}; }

Interval divides(Interval a, Interval b) {
  if (a.hi <= 0)
    return truth(false, false);
  if (a.isPoint() && b.isPoint() && b.isBounded())
    return truth(b.lo % a.lo == 0, b.lo % a.lo != 0);
  // A positive number below every divisor is not a multiple.
  return truth(!(b.lo >= 1 && b.hi < a.lo), true);
}

} // namespace

Abstract Program::apply(Code op, const Abstract &x, const Abstract &y, const Abstract &z) {
  Interval a = withFiniteInnerEnds(x.range), b = withFiniteInnerEnds(y.range);
  bool unknown = x.mayBeUnknown || y.mayBeUnknown;
  switch (op) {
  case Code::Parameter:
  case Code::Constant:
  case Code::Undefined:
    break;
  case Code::Add:
  case Code::Mul: {
    Interval range = op == Code::Add ? a + b : a * b;
    return {range, unknown || !range.isBounded()};
  }
  case Code::FloorDiv:
    return {floorDiv(a, b), unknown || b.lo <= 0};
  case Code::CeilDiv:
    return {ceilDiv(a, b), unknown || b.lo <= 0};
  case Code::Mod:
    return {mod(a, b), unknown || b.lo <= 0};
  case Code::Min:
    return {min(a, b), unknown};
  case Code::Max:
    return {max(a, b), unknown};
  case Code::LessEqual:
    return {truth(a.lo <= b.hi, a.hi > b.lo), unknown};
  case Code::Equal:
    return {truth(!a.intersect(b).isEmpty(), !(a.isPoint() && a == b && a.isBounded())), unknown};
  case Code::Divides:
    return {divides(a, b), unknown || a.lo <= 0};
  case Code::And: {
    bool surelyFalse = (!x.canBeTrue() && !x.mayBeUnknown) || (!y.canBeTrue() && !y.mayBeUnknown);
    return {truth(x.canBeTrue() && y.canBeTrue(), x.canBeFalse() || y.canBeFalse()),
            unknown && !surelyFalse};
  }
  case Code::Or: {
    bool surelyTrue = x.isSurelyTrue() || y.isSurelyTrue();
    return {truth(x.canBeTrue() || y.canBeTrue(), x.canBeFalse() && y.canBeFalse()),
            unknown && !surelyTrue};
  }
  case Code::Not:
    return {truth(x.canBeFalse(), x.canBeTrue()), x.mayBeUnknown};
  case Code::Pow2Ceil: {
    Interval range = pow2Ceil(a);
    return {range, x.mayBeUnknown || range.hi == INT64_MAX};
  }
  case Code::Pow2Divisor:
    return {pow2Divisor(a), x.mayBeUnknown || a.lo <= 0};
  case Code::Log2:
    return {log2(a), x.mayBeUnknown || a.lo <= 0};
  case Code::Select:
    return {select(withFiniteInnerEnds(z.range), a, b), unknown || z.mayBeUnknown};
  }
  return {{}, true};
}

namespace {

Abstract leaf(const Register &reg, RegisterId id, std::span<const Interval> parameters) {
  if (reg.op == Code::Parameter)
    return {parameters[id], false};
  if (reg.op == Code::Constant)
    return {Interval::point(reg.value), false};
  return {{}, true};
}

} // namespace

std::vector<Abstract> Program::abstractly(std::span<const Interval> parameters) const {
  std::vector<Abstract> out(size());
  for (RegisterId id = 0; id < size(); ++id) {
    const Register &reg = registers[id];
    out[id] =
        isLeaf(reg) ? leaf(reg, id, parameters) : apply(reg.op, out[reg.a], out[reg.b], out[reg.c]);
  }
  return out;
}

Abstract Program::abstractly(RegisterId id, std::span<const RegisterId> cone,
                             std::span<const Interval> parameters,
                             std::vector<Abstract> &values) const {
  auto valueOf = [&](RegisterId r) {
    return isLeaf(registers[r]) ? leaf(registers[r], r, parameters) : values[r];
  };
  for (RegisterId r : cone) {
    const Register &reg = registers[r];
    values[r] = apply(reg.op, valueOf(reg.a), isUnary(reg.op) ? Abstract{} : valueOf(reg.b),
                      reg.op == Code::Select ? valueOf(reg.c) : Abstract{});
  }
  return valueOf(id);
}

Abstract Program::abstractly(RegisterId id, std::span<const Interval> parameters) const {
  std::vector<Abstract> values(size());
  return abstractly(id, cone(id), parameters, values);
}

namespace {

Trend opposite(Trend t) { return t == Trend::Up ? Trend::Down : t == Trend::Down ? Trend::Up : t; }

/// Of a result that moves with both operands.
Trend together(Trend a, Trend b) {
  if (a == Trend::Constant)
    return b;
  return b == Trend::Constant || a == b ? a : Trend::Mixed;
}

Trend trendOf(const Register &reg, Trend a, Trend b, Trend c, const Abstract &boxA,
              const Abstract &boxB) {
  if (reg.op == Code::Select)
    return c == Trend::Constant ? together(a, b) : Trend::Mixed;
  if (a == Trend::Constant && (b == Trend::Constant || isUnary(reg.op)))
    return Trend::Constant;
  switch (reg.op) {
  case Code::Add:
  case Code::Min:
  case Code::Max:
  case Code::And:
  case Code::Or:
    return together(a, b);
  case Code::Mul:
    if (boxA.range.lo >= 0 && boxB.range.lo >= 0)
      return together(a, b);
    if (a == Trend::Constant && boxA.range.hi <= 0)
      return opposite(b);
    if (b == Trend::Constant && boxB.range.hi <= 0)
      return opposite(a);
    // A non-negative factor that stays keeps the direction whatever the other's sign.
    if (a == Trend::Constant && boxA.range.lo >= 0)
      return b;
    if (b == Trend::Constant && boxB.range.lo >= 0)
      return a;
    return Trend::Mixed;
  case Code::FloorDiv:
  case Code::CeilDiv:
    if (b == Trend::Constant)
      return a;
    return boxA.range.lo >= 0 ? together(a, opposite(b)) : Trend::Mixed;
  case Code::LessEqual:
    return together(opposite(a), b);
  case Code::Not:
    return opposite(a);
  case Code::Pow2Ceil:
  case Code::Log2:
    return a;
  default:
    return Trend::Mixed;
  }
}

} // namespace

std::vector<Trend> Program::trends(unsigned parameter, std::span<const Abstract> box) const {
  std::vector<Trend> out(size(), Trend::Constant);
  out[parameter] = Trend::Up;
  for (RegisterId id = 0; id < size(); ++id) {
    const Register &reg = registers[id];
    if (!isLeaf(reg))
      out[id] = trendOf(reg, out[reg.a], out[reg.b], out[reg.c], box[reg.a], box[reg.b]);
  }
  return out;
}

std::vector<RegisterId> Program::cone(RegisterId id) const {
  // Operands have smaller numbers, so ascending order is evaluation order.
  std::vector<RegisterId> out, stack{id};
  std::unordered_map<RegisterId, bool> seen;
  while (!stack.empty()) {
    RegisterId top = stack.back();
    stack.pop_back();
    if (isLeaf(registers[top]) || !seen.try_emplace(top, true).second)
      continue;
    out.push_back(top);
    stack.push_back(registers[top].a);
    if (!isUnary(registers[top].op))
      stack.push_back(registers[top].b);
    if (registers[top].op == Code::Select)
      stack.push_back(registers[top].c);
  }
  std::sort(out.begin(), out.end());
  return out;
}

} // namespace tilewright::detail
