// min and max: flattened, sorted, without operands that can't win.
#include "analysis/affine/simplify_impl.h"

#include <algorithm>
#include <numeric>

namespace tilewright {

Expr Simplifier::Impl::makeMinMax(ExprKind kind, Expr lhs, Expr rhs) {
  constexpr size_t maxOperands = 16;
  std::vector<Expr> operands, stack{rhs, lhs};
  while (!stack.empty()) {
    Expr expr = stack.back();
    stack.pop_back();
    if (expr.kind() == kind) {
      stack.push_back(expr.rhs());
      stack.push_back(expr.lhs());
    } else {
      operands.push_back(expr);
    }
    if (stack.size() + operands.size() > maxOperands)
      return ctx.binary(kind, lhs, rhs);
  }
  std::sort(operands.begin(), operands.end(),
            [](Expr a, Expr b) { return compareStructure(a, b) < 0; });
  operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
  // `loser` is never needed beside `winner`.
  auto beats = [&](Expr winner, Expr loser) {
    LinearForm gap = LinearForm::of(kind == ExprKind::Min ? loser : winner);
    return gap.add(LinearForm::of(kind == ExprKind::Min ? winner : loser), -1) &&
           range(gap).lo >= 0;
  };
  for (size_t i = 0; i < operands.size(); ++i)
    for (size_t j = 0; j < operands.size();)
      if (i != j && beats(operands[i], operands[j])) {
        operands.erase(operands.begin() + static_cast<ptrdiff_t>(j));
        i -= j < i;
      } else {
        ++j;
      }
  if (operands.size() == 1)
    return operands.front();
  // min(g·a, g·b) = g·min(a, b)
  uint64_t g = 0;
  std::vector<LinearForm> forms;
  for (Expr operand : operands) {
    forms.push_back(LinearForm::of(operand));
    g = std::gcd(std::gcd(g, forms.back().content()), magnitude(forms.back().constant));
  }
  Expr result;
  bool divides = g > 1 && g <= INT64_MAX;
  std::vector<Expr> reduced;
  for (LinearForm &form : forms) {
    if (divides) {
      form.constant /= static_cast<int64_t>(g);
      for (LinearForm::Term &term : form.terms)
        term.coefficient /= static_cast<int64_t>(g);
    }
    reduced.push_back(form.build(ctx));
  }
  std::sort(reduced.begin(), reduced.end(),
            [](Expr a, Expr b) { return compareStructure(a, b) < 0; });
  for (Expr operand : reduced)
    result = result ? ctx.binary(kind, result, operand) : operand;
  return divides ? make(ExprKind::Mul, result, ctx.constant(static_cast<int64_t>(g))) : result;
}

} // namespace tilewright
