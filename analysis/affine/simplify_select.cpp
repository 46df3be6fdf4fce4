// Comparisons, selects and powers of two: decided by ranges, or written as min and max.
#include "analysis/affine/expr_internal.h"
#include "analysis/affine/simplify_impl.h"

namespace tilewright {

Expr Simplifier::Impl::makeComparison(ExprKind kind, Expr lhs, Expr rhs) {
  Expr raw = ctx.binary(kind, lhs, rhs);
  LinearForm gap = LinearForm::of(lhs);
  if (!gap.add(LinearForm::of(rhs), -1))
    return raw;
  Interval values = range(gap), truth = kind == ExprKind::IsAtLeast
                                            ? isAtLeast(values, Interval::point(0))
                                            : isEqual(values, Interval::point(0));
  if (!truth.isPoint())
    return raw;
  fired(Rule::CompareByRange);
  return ctx.constant(truth.lo);
}

Expr Simplifier::Impl::makePower(ExprKind kind, Expr operand) {
  Expr raw = ctx.unary(kind, operand);
  Interval values = range(operand);
  // Only for operands that have a value throughout: ends are powers of numbers that occur.
  bool isDefined = kind == ExprKind::Pow2Ceil || values.lo >= 1;
  if (!isDefined || !values.isBounded())
    return raw;
  Interval result = detail::apply(kind, values, values);
  if (!result.isPoint())
    return raw;
  fired(Rule::PowerByRange);
  return ctx.constant(result.lo);
}

Expr Simplifier::Impl::makeSelect(Expr condition, Expr ifTrue, Expr ifFalse) {
  Interval truth = range(condition);
  if (!truth.contains(0)) {
    fired(Rule::SelectByRange);
    return ifTrue;
  }
  if (ifTrue.isConstant(1) && ifFalse.isConstant(0) && Interval{0, 1}.contains(truth)) {
    fired(Rule::SelectTruth);
    return condition;
  }
  bool isOrder = condition.kind() == ExprKind::IsAtLeast;
  bool isEquality = condition.kind() == ExprKind::IsEqual;
  if (isOrder || isEquality) {
    Expr a = condition.lhs(), b = condition.rhs();
    if (ifTrue == a && ifFalse == b) {
      fired(isOrder ? Rule::SelectMinMax : Rule::SelectEqual);
      return isOrder ? make(ExprKind::Max, a, b) : b;
    }
    if (ifTrue == b && ifFalse == a) {
      fired(isOrder ? Rule::SelectMinMax : Rule::SelectEqual);
      return isOrder ? make(ExprKind::Min, a, b) : a;
    }
  }
  return ctx.select(condition, ifTrue, ifFalse);
}

} // namespace tilewright
