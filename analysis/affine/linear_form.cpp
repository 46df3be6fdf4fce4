#include "analysis/affine/linear_form.h"

#include "analysis/support/checked.h"

#include <algorithm>
#include <llvm/ADT/STLExtras.h>
#include <numeric>

namespace tilewright {

LinearForm LinearForm::of(Expr root) {
  LinearForm opaque{{{root, 1}}, 0};
  if (root.kind() != ExprKind::Add && root.kind() != ExprKind::Mul && !root.isConstant())
    return opaque;
  LinearForm form;
  llvm::SmallVector<Term, 8> leaves;
  llvm::SmallVector<Expr, 8> stack{root};
  while (!stack.empty()) {
    Expr expr = stack.back();
    stack.pop_back();
    if (expr.kind() == ExprKind::Add) {
      stack.push_back(expr.rhs());
      stack.push_back(expr.lhs());
      if (stack.size() + leaves.size() > maxTerms + 1)
        return opaque;
    } else if (expr.isConstant()) {
      if (!form.addConstant(expr.constant()))
        return opaque;
    } else if (expr.kind() == ExprKind::Mul && expr.rhs().isConstant()) {
      leaves.push_back({expr.lhs(), expr.rhs().constant()});
    } else {
      leaves.push_back({expr, 1});
    }
  }
  std::sort(leaves.begin(), leaves.end(),
            [](const Term &a, const Term &b) { return compareStructure(a.expr, b.expr) < 0; });
  for (const Term &leaf : leaves) {
    if (form.terms.empty() || form.terms.back().expr != leaf.expr) {
      form.terms.push_back(leaf);
      continue;
    }
    std::optional<int64_t> sum = checkedAdd(form.terms.back().coefficient, leaf.coefficient);
    if (!sum)
      return opaque;
    form.terms.back().coefficient = *sum;
  }
  llvm::erase_if(form.terms, [](const Term &t) { return t.coefficient == 0; });
  return form;
}

int64_t LinearForm::coefficientOf(Expr term) const {
  for (const Term &t : terms)
    if (t.expr == term)
      return t.coefficient;
  return 0;
}

bool LinearForm::add(const LinearForm &other, int64_t factor) {
  std::optional<int64_t> shift = checkedMul(other.constant, factor);
  if (!shift || !addConstant(*shift))
    return false;
  llvm::SmallVector<Term, 4> merged;
  merged.reserve(terms.size() + other.terms.size());
  size_t i = 0, j = 0;
  while (i < terms.size() || j < other.terms.size()) {
    int order = i == terms.size()         ? 1
                : j == other.terms.size() ? -1
                                          : compareStructure(terms[i].expr, other.terms[j].expr);
    if (order < 0) {
      merged.push_back(terms[i++]);
      continue;
    }
    std::optional<int64_t> scaled = checkedMul(other.terms[j].coefficient, factor);
    std::optional<int64_t> sum =
        !scaled ? scaled : checkedAdd(*scaled, order == 0 ? terms[i].coefficient : 0);
    if (!sum)
      return false;
    if (*sum != 0)
      merged.push_back({other.terms[j].expr, *sum});
    ++j;
    i += order == 0;
  }
  terms = std::move(merged);
  return true;
}

bool LinearForm::add(Expr term, int64_t coefficient) {
  return add(LinearForm{{{term, 1}}, 0}, coefficient);
}

bool LinearForm::addConstant(int64_t value) {
  std::optional<int64_t> sum = checkedAdd(constant, value);
  if (sum)
    constant = *sum;
  return sum.has_value();
}

bool LinearForm::scale(int64_t factor) {
  if (factor == 0) {
    *this = {};
    return true;
  }
  std::optional<int64_t> scaled = checkedMul(constant, factor);
  if (!scaled)
    return false;
  constant = *scaled;
  for (Term &t : terms) {
    scaled = checkedMul(t.coefficient, factor);
    if (!scaled)
      return false;
    t.coefficient = *scaled;
  }
  return true;
}

uint64_t LinearForm::content() const {
  uint64_t result = 0;
  for (const Term &t : terms)
    result = std::gcd(result, magnitude(t.coefficient));
  return result;
}

Expr LinearForm::build(ExprContext &context) const {
  Expr sum;
  for (const Term &t : terms) {
    Expr term = t.expr * t.coefficient;
    sum = sum ? sum + term : term;
  }
  return sum ? sum + constant : context.constant(constant);
}

std::vector<Expr> factorsOf(Expr monomial) {
  std::vector<Expr> factors, stack{monomial};
  while (!stack.empty()) {
    Expr expr = stack.back();
    stack.pop_back();
    if (expr.kind() == ExprKind::Mul && !expr.rhs().isConstant()) {
      stack.push_back(expr.rhs());
      stack.push_back(expr.lhs());
      if (stack.size() + factors.size() > maxFactors)
        return {monomial};
    } else {
      factors.push_back(expr);
    }
  }
  std::sort(factors.begin(), factors.end(),
            [](Expr a, Expr b) { return compareStructure(a, b) < 0; });
  return factors;
}

Expr productOf(ExprContext &context, std::vector<Expr> factors) {
  std::sort(factors.begin(), factors.end(),
            [](Expr a, Expr b) { return compareStructure(a, b) < 0; });
  Expr product;
  for (Expr factor : factors)
    product = product ? product * factor : factor;
  return product ? product : context.constant(1);
}

} // namespace tilewright
