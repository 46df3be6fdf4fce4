#include "costmodel/plan_numbers.h"

#include "analysis/support/diag.h"
#include "analysis/tiling/loop_range.h"

#include <algorithm>

namespace tilewright {

bool hasUnevenLoops(const TiledGroup &group) {
  for (unsigned i = 0; i < group.ranges.size(); ++i) {
    const LoopRange &range = group.ranges[i];
    if (range.end &&
        !(range.first.isConstant(0) && range.end == group.space.parameters[i].tileCount()))
      return true;
  }
  return false;
}

llvm::Expected<PlanNumbers<double>> numbersOf(const KernelPlan &plan) {
  const auto &parameters = plan.tiled->space.parameters;
  if (plan.values.size() != parameters.size())
    return makeError(DiagClass::Internal, "plan '{}': {} values for {} parameters", plan.name,
                     plan.values.size(), parameters.size());
  PlanNumbers<double> numbers;
  for (unsigned i = 0; i < parameters.size(); ++i) {
    if (plan.values[i] < 1)
      return makeError(DiagClass::Internal, "plan '{}': parameter {} is {}, at least 1 is needed",
                       plan.name, parameters[i].name, plan.values[i]);
    numbers.values.push_back(double(plan.values[i]));
  }
  if (hasUnevenLoops(*plan.tiled))
    for (const LoopSteps &steps : loopSteps(*plan.tiled, plan.values)) {
      numbers.meanSteps.push_back(steps.average);
      numbers.maxSteps.push_back(double(steps.largest));
    }
  return numbers;
}

namespace {

bool isPowerOfTwo(int64_t x) { return x > 0 && (x & (x - 1)) == 0; }

std::optional<Traced> combined(ExprKind kind, const Traced &a, const Traced &b) {
  switch (kind) {
  case ExprKind::Add:
    return a + b;
  case ExprKind::Mul:
    return a * b;
  case ExprKind::Min:
    return smaller(a, b);
  case ExprKind::Max:
    return larger(a, b);
  case ExprKind::IsAtLeast:
    return larger(Traced(0.0), smaller(a - b + 1.0, Traced(1.0)));
  case ExprKind::IsEqual:
    return 1.0 - smaller(larger(a - b, b - a), Traced(1.0));
  case ExprKind::Pow2Ceil:
    return powerOfTwoBelow(larger(a, Traced(1.0)) * 2.0 - 1.0);
  case ExprKind::FloorDiv:
  case ExprKind::CeilDiv:
  case ExprKind::Mod:
    break;
  default: // logarithms have no recorded form
    return std::nullopt;
  }
  if (b < 1.0) // divisors are positive
    return std::nullopt;
  if (kind == ExprKind::CeilDiv)
    return ceilOf(a / b);
  Traced quotient = floorOf(a / b);
  return kind == ExprKind::FloorDiv ? quotient : a - b * quotient;
}

/// Of a number of at most `most`.
Traced powerDividing(const Traced &a, int64_t most) {
  constexpr int64_t largest = int64_t(1) << 20;
  Traced divides(1.0);
  for (int64_t power = 2; power <= std::min(most, largest); power *= 2) {
    const auto p = double(power);
    divides = larger(divides, p * (1.0 - smaller(a - floorOf(a * (1 / p)) * p, Traced(1.0))));
  }
  return divides;
}

} // namespace

void TracingEvaluator::set(VarId var, const Traced &value) {
  if (var.index >= values.size())
    values.resize(var.index + 1);
  values[var.index] = value;
  known.clear();
}

std::optional<Traced> TracingEvaluator::operator()(Expr expr) {
  if (expr.isConstant())
    return Traced(double(expr.constant()));
  if (expr.isVariable()) {
    VarId var = expr.variable();
    return var.index < values.size() ? values[var.index] : std::nullopt;
  }
  if (expr.isPoison())
    return std::nullopt;
  if (const Traced *value = known.find(expr.id()))
    return *value;
  std::optional<Traced> result = smallPower(expr);
  if (!result)
    result = operation(expr);
  if (result)
    known.set(expr.id(), *result);
  return result;
}

std::optional<Traced> TracingEvaluator::operation(Expr expr) {
  std::optional<Traced> a = (*this)(expr.lhs()), b = (*this)(expr.rhs());
  if (!a || !b)
    return std::nullopt;
  if (expr.kind() == ExprKind::Pow2Divisor)
    return powerDividing(*a, rangeOf(expr.lhs(), bounds).hi);
  if (expr.kind() != ExprKind::Select)
    return combined(expr.kind(), *a, *b);
  std::optional<Traced> condition = (*this)(expr.third());
  if (!condition)
    return std::nullopt;
  Traced holds = smaller(larger(*condition, 0.0 - *condition), Traced(1.0));
  return *b + holds * (*a - *b);
}

/// min(pow2Divisor(x), most): powers beyond `most` need not be tried.
std::optional<Traced> TracingEvaluator::smallPower(Expr expr) {
  if (expr.kind() != ExprKind::Min)
    return std::nullopt;
  for (auto [power, most] : {std::pair(expr.lhs(), expr.rhs()), {expr.rhs(), expr.lhs()}})
    if (power.kind() == ExprKind::Pow2Divisor && most.isConstant() && isPowerOfTwo(most.constant()))
      if (std::optional<Traced> of = (*this)(power.lhs()))
        return powerDividing(*of, std::min(most.constant(), rangeOf(power.lhs(), bounds).hi));
  return std::nullopt;
}

template <class Q>
EvaluatorOf<Q> evaluatorAt(const TiledGroup &group, const PlanNumbers<Q> &numbers) {
  EvaluatorOf<Q> at;
  for (size_t i = 0; i < group.space.parameters.size(); ++i) {
    const TileParameter &parameter = group.space.parameters[i];
    at.setLargest(parameter.size.variable(), parameter.largest());
    at.set(parameter.size.variable(), numbers.values[i]);
  }
  for (const RuntimeVariable &variable : group.runtime)
    at.set(variable.var.variable(), double(std::max<int64_t>(variable.range.lo, 0)));
  return at;
}

template EvaluatorOf<double> evaluatorAt(const TiledGroup &, const PlanNumbers<double> &);
template EvaluatorOf<Traced> evaluatorAt(const TiledGroup &, const PlanNumbers<Traced> &);

} // namespace tilewright
