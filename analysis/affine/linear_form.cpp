#include "analysis/affine/linear_form.h"

#include "analysis/support/checked.h"

#include <algorithm>
#include <llvm/ADT/STLExtras.h>
#include <numeric>

namespace tilewright {

namespace {

bool precedes(const LinearForm::Term &a, const LinearForm::Term &b) {
  return compareStructure(a.expr, b.expr) < 0;
}

/// Terms in order, each once. False on overflow.
bool collect(llvm::SmallVectorImpl<LinearForm::Term> &terms) {
  std::sort(terms.begin(), terms.end(), precedes);
  size_t count = 0;
  for (const LinearForm::Term &term : terms) {
    if (count == 0 || terms[count - 1].expr != term.expr) {
      terms[count++] = term;
      continue;
    }
    std::optional<int64_t> sum = checkedAdd(terms[count - 1].coefficient, term.coefficient);
    if (!sum)
      return false;
    terms[count - 1].coefficient = *sum;
  }
  terms.resize(count);
  llvm::erase_if(terms, [](const LinearForm::Term &t) { return t.coefficient == 0; });
  return true;
}

} // namespace

LinearForm LinearForm::of(Expr root) {
  LinearForm form;
  if (root.isConstant()) {
    form.constant = root.constant();
    return form;
  }
  auto makeOpaque = [&] {
    form.terms.assign(1, {root, 1});
    form.constant = 0;
  };
  if (root.kind() != ExprKind::Add && root.kind() != ExprKind::Mul) {
    makeOpaque();
    return form;
  }
  // Sums are left-deep and their terms mostly in order: terms are taken off the right end and
  // reversed afterwards.
  auto take = [&](Expr expr) {
    if (expr.isConstant())
      return form.addConstant(expr.constant());
    if (expr.kind() == ExprKind::Mul && expr.rhs().isConstant())
      form.terms.push_back({expr.lhs(), expr.rhs().constant()});
    else
      form.terms.push_back({expr, 1});
    return true;
  };
  llvm::SmallVector<Expr, 4> others; // sums on the right
  Expr rest = root;
  bool fits = true, isDone = false;
  while (fits && !isDone) {
    bool isSum = rest.kind() == ExprKind::Add;
    Expr taken = isSum ? rest.rhs() : rest;
    fits = form.terms.size() + others.size() <= maxTerms;
    if (isSum && taken.kind() == ExprKind::Add)
      others.push_back(taken);
    else
      fits = fits && take(taken);
    isDone = !isSum && others.empty();
    if (!isDone)
      rest = isSum ? rest.lhs() : others.pop_back_val();
  }
  std::reverse(form.terms.begin(), form.terms.end());
  for (size_t i = 0; i < form.terms.size() && fits; ++i)
    if (form.terms[i].coefficient == 0 || (i > 0 && !precedes(form.terms[i - 1], form.terms[i]))) {
      fits = collect(form.terms);
      break;
    }
  if (!fits)
    makeOpaque();
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
  if (terms.empty() && factor == 1) {
    terms = other.terms;
    return true;
  }
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
    Expr term = t.coefficient == 1 ? t.expr : t.expr * t.coefficient;
    sum = sum ? sum + term : term;
  }
  if (!sum)
    return context.constant(constant);
  return constant == 0 ? sum : sum + constant;
}

Factors factorsOf(Expr monomial) {
  Factors factors;
  if (monomial.kind() != ExprKind::Mul || monomial.rhs().isConstant()) {
    factors.push_back(monomial);
    return factors;
  }
  Factors stack{monomial};
  while (!stack.empty()) {
    Expr expr = stack.back();
    stack.pop_back();
    if (expr.kind() == ExprKind::Mul && !expr.rhs().isConstant()) {
      stack.push_back(expr.rhs());
      stack.push_back(expr.lhs());
      if (stack.size() + factors.size() > maxFactors)
        return Factors{monomial};
    } else {
      factors.push_back(expr);
    }
  }
  std::sort(factors.begin(), factors.end(),
            [](Expr a, Expr b) { return compareStructure(a, b) < 0; });
  return factors;
}

Expr productOf(ExprContext &context, Factors factors) {
  std::sort(factors.begin(), factors.end(),
            [](Expr a, Expr b) { return compareStructure(a, b) < 0; });
  Expr product;
  for (Expr factor : factors)
    product = product ? product * factor : factor;
  return product ? product : context.constant(1);
}

} // namespace tilewright
