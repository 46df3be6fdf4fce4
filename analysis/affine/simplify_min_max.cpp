// min and max: flattened, sorted, without operands that are dominated.
#include "analysis/affine/simplify_impl.h"

#include <algorithm>
#include <llvm/ADT/STLExtras.h>
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
  if (operands.size() > 2)
    fired(Rule::FlattenMinMax);
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
        fired(Rule::MinMaxByRange);
        operands.erase(operands.begin() + static_cast<ptrdiff_t>(j));
        i -= j < i;
      } else {
        ++j;
      }
  if (operands.size() == 1)
    return operands.front();
  // Common parts of two operands are factored out: min(x + a, x + b) = x + min(a, b) and min(g·a,
  // g·b) = g·min(a, b). Pairwise, so that the parts of the result are in normal form, too.
  for (size_t i = 0; i < operands.size(); ++i)
    for (size_t j = i + 1; j < operands.size(); ++j) {
      Expr joined = joinOperands(kind, operands[i], operands[j]);
      if (!joined)
        continue;
      for (size_t k = 0; k < operands.size(); ++k)
        if (k != i && k != j)
          joined = make(kind, joined, operands[k]);
      return joined;
    }
  Expr result;
  for (Expr operand : operands)
    result = result ? ctx.binary(kind, result, operand) : operand;
  return result;
}

/// min or max of two operands with their common part factored out; null if they have none.
Expr Simplifier::Impl::joinOperands(ExprKind kind, Expr lhs, Expr rhs) {
  LinearForm shared, a = LinearForm::of(lhs), b = LinearForm::of(rhs);
  for (const LinearForm::Term &term : a.terms)
    if (b.coefficientOf(term.expr) == term.coefficient)
      shared.terms.push_back(term);
  if (!shared.isConstant()) { // constants stay inside, for readability
    for (LinearForm *form : {&a, &b})
      llvm::erase_if(form->terms, [&](const LinearForm::Term &term) {
        return shared.coefficientOf(term.expr) != 0;
      });
    fired(Rule::MinMaxCommonTerms);
    return make(ExprKind::Add, sum(shared), make(kind, sum(a), sum(b)));
  }
  uint64_t g = std::gcd(std::gcd(a.content(), magnitude(a.constant)),
                        std::gcd(b.content(), magnitude(b.constant)));
  if (g <= 1 || g > INT64_MAX)
    return Expr();
  for (LinearForm *form : {&a, &b}) {
    form->constant /= static_cast<int64_t>(g);
    for (LinearForm::Term &term : form->terms)
      term.coefficient /= static_cast<int64_t>(g);
  }
  fired(Rule::MinMaxCommonFactor);
  return make(ExprKind::Mul, make(kind, sum(a), sum(b)), ctx.constant(static_cast<int64_t>(g)));
}

} // namespace tilewright
