// Sums in linear form, products distributed over short sums, and the recombination of quotient and
// remainder terms.
#include "analysis/affine/simplify_impl.h"
#include "analysis/support/checked.h"

#include <algorithm>
#include <llvm/ADT/STLExtras.h>

namespace tilewright {

namespace {

/// v for a variable v or a multiple v * c; null for anything else.
Expr multipliedVariable(Expr expr) {
  if (expr.kind() == ExprKind::Mul && expr.rhs().isConstant())
    expr = expr.lhs();
  return expr.isVariable() ? expr : Expr();
}

} // namespace

Expr Simplifier::Impl::makeAdd(Expr lhs, Expr rhs) {
  // A constant does not affect which terms of a normal form can be recombined.
  if (rhs.isConstant()) {
    if (lhs.kind() != ExprKind::Add || !lhs.rhs().isConstant())
      return ctx.binary(ExprKind::Add, lhs, rhs);
    if (std::optional<int64_t> constant = checkedAdd(lhs.rhs().constant(), rhs.constant())) {
      fired(Rule::FlattenSum);
      return ctx.binary(ExprKind::Add, lhs.lhs(), ctx.constant(*constant));
    }
  }
  if (Expr a = multipliedVariable(lhs), b = multipliedVariable(rhs); a && b && a != b) {
    fired(Rule::FlattenSum);
    return ctx.binary(ExprKind::Add, lhs, rhs);
  }
  LinearForm form = LinearForm::of(lhs), other = LinearForm::of(rhs);
  size_t terms = form.terms.size() + other.terms.size();
  if (!form.add(other) || form.terms.size() > LinearForm::maxTerms)
    return ctx.binary(ExprKind::Add, lhs, rhs);
  fired(form.terms.size() < terms ? Rule::CollectTerms : Rule::FlattenSum);
  return sum(std::move(form));
}

Expr Simplifier::Impl::sum(LinearForm form) {
  // Searching for a pair builds its parts, which are sums themselves: without a bound, sums of
  // products of remainders would take exponential time.
  if (recombining >= maxNested)
    return form.build(ctx);
  ++recombining;
  recombine(form);
  --recombining;
  return form.build(ctx);
}

void Simplifier::Impl::recombine(LinearForm &form) {
  // Every rule removes a division or a remainder, so that this ends.
  bool changed = true;
  while (changed) {
    changed = false;
    auto apply = [&](Rule rule, bool (Impl::*recombine)(LinearForm &, size_t), size_t at) {
      if (!(this->*recombine)(form, at))
        return false;
      fired(rule);
      return true;
    };
    for (size_t i = 0; i < form.terms.size() && !changed; ++i)
      changed = apply(Rule::RecombineMod, &Impl::recombineMod, i) ||
                apply(Rule::RecombineCongruent, &Impl::recombineCongruent, i) ||
                apply(Rule::RecombineMods, &Impl::recombineMods, i) ||
                apply(Rule::RecombineFloorDiv, &Impl::recombineFloorDiv, i);
  }
}

namespace {

/// True if the term can have a factor of that kind. A quick test: most terms are variables.
bool mayHaveFactor(const LinearForm::Term &term, ExprKind kind) {
  return term.expr.kind() == kind || term.expr.kind() == ExprKind::Mul;
}

/// The first factor of that kind, taken out of the factors.
std::optional<Expr> takeFactor(Factors &factors, ExprKind kind) {
  for (size_t i = 0; i < factors.size(); ++i)
    if (factors[i].kind() == kind) {
      Expr found = factors[i];
      factors.erase(factors.begin() + static_cast<ptrdiff_t>(i));
      return found;
    }
  return std::nullopt;
}

} // namespace

namespace {

/// True if another term may contain a division.
bool anotherMayDivide(const LinearForm &form, size_t at) {
  for (size_t i = 0; i < form.terms.size(); ++i)
    if (i != at && mayHaveFactor(form.terms[i], ExprKind::FloorDiv))
      return true;
  return false;
}

} // namespace

/// c·f·(x mod e) + c·f·e·(x // e)  →  c·f·x
bool Simplifier::Impl::recombineMod(LinearForm &form, size_t at) {
  const LinearForm::Term term = form.terms[at];
  if (!mayHaveFactor(term, ExprKind::Mod) || !anotherMayDivide(form, at))
    return false;
  Factors factors = factorsOf(term.expr);
  std::optional<Expr> mod = takeFactor(factors, ExprKind::Mod);
  if (!mod)
    return false;
  Expr x = mod->lhs(), e = mod->rhs(), rest = productOf(ctx, factors);
  LinearForm whole = LinearForm::of(make(ExprKind::Mul, x, rest));
  Expr quotient = make(ExprKind::FloorDiv, x, e);
  LinearForm multiple = LinearForm::of(make(ExprKind::Mul, make(ExprKind::Mul, quotient, e), rest));
  // All terms of the division must be present to cancel.
  bool any = false;
  for (const LinearForm::Term &t : multiple.terms) {
    if (whole.coefficientOf(t.expr) == t.coefficient)
      continue;
    std::optional<int64_t> wanted = checkedMul(term.coefficient, t.coefficient);
    bool divides = t.expr.kind() == ExprKind::FloorDiv || t.expr.kind() == ExprKind::Mul;
    if (!divides || whole.coefficientOf(t.expr) != 0)
      continue;
    if (!wanted || form.coefficientOf(t.expr) != *wanted)
      return false;
    any = true;
  }
  if (!any)
    return false;
  LinearForm result = form;
  if (!result.add(term.expr, -term.coefficient) || term.coefficient == INT64_MIN ||
      !result.add(multiple, -term.coefficient) || !result.add(whole, term.coefficient) ||
      result.terms.size() > LinearForm::maxTerms)
    return false;
  form = std::move(result);
  return true;
}

namespace {

/// True if x - y is a sum of multiples of d.
bool congruent(const LinearForm &x, const LinearForm &y, int64_t d) {
  LinearForm difference = x;
  return difference.add(y, -1) && difference.constant % d == 0 &&
         std::all_of(difference.terms.begin(), difference.terms.end(),
                     [d](const LinearForm::Term &t) { return t.coefficient % d == 0; });
}

} // namespace

/// c·f·(x mod e) + c·f·e·(y // e)  →  c·f·y  for x ≡ y (mod e), a constant e
bool Simplifier::Impl::recombineCongruent(LinearForm &form, size_t at) {
  const LinearForm::Term term = form.terms[at];
  if (form.terms.size() < 2 || !mayHaveFactor(term, ExprKind::Mod))
    return false;
  Factors factors = factorsOf(term.expr);
  std::optional<Expr> mod = takeFactor(factors, ExprKind::Mod);
  if (!mod || !mod->rhs().isConstant() || term.coefficient == INT64_MIN)
    return false;
  int64_t e = mod->rhs().constant();
  std::optional<int64_t> wanted = checkedMul(term.coefficient, e);
  if (!wanted || *wanted == INT64_MIN)
    return false;
  for (const LinearForm::Term &other : form.terms) {
    if (other.coefficient != *wanted || !mayHaveFactor(other, ExprKind::FloorDiv))
      continue;
    Factors otherFactors = factorsOf(other.expr);
    std::optional<Expr> division = takeFactor(otherFactors, ExprKind::FloorDiv);
    if (!division || division->rhs() != mod->rhs() || otherFactors != factors ||
        !congruent(LinearForm::of(division->lhs()), LinearForm::of(mod->lhs()), e))
      continue;
    Expr whole = make(ExprKind::Mul, division->lhs(), productOf(ctx, factors));
    LinearForm result = form;
    if (!result.add(term.expr, -term.coefficient) || !result.add(other.expr, -other.coefficient) ||
        !result.add(LinearForm::of(whole), term.coefficient) ||
        result.terms.size() > LinearForm::maxTerms)
      continue;
    form = std::move(result);
    return true;
  }
  return false;
}

/// Some z with z // d ≡ quotient (mod b) and z ≡ x (mod d), if one is seen: y + d·u for a quotient
/// y // d + u with y ≡ x, or x itself.
std::optional<Expr> Simplifier::Impl::undivided(const LinearForm &quotient, Expr x, int64_t d,
                                                int64_t b) {
  for (const LinearForm::Term &term : quotient.terms) {
    if (term.coefficient != 1 || term.expr.kind() != ExprKind::FloorDiv ||
        !term.expr.rhs().isConstant(d))
      continue;
    LinearForm y = LinearForm::of(term.expr.lhs()), others = quotient;
    if (congruent(y, LinearForm::of(x), d) && others.add(term.expr, -1) && y.add(others, d) &&
        y.terms.size() <= LinearForm::maxTerms)
      return sum(std::move(y));
  }
  if (congruent(LinearForm::of(make(ExprKind::FloorDiv, x, ctx.constant(d))), quotient, b))
    return x;
  return std::nullopt;
}

/// c·f·(x mod d) + c·f·d·((y // d + u) mod b)  →  c·f·((y + d·u) mod d·b)  for x ≡ y (mod d),
/// constants
bool Simplifier::Impl::recombineMods(LinearForm &form, size_t at) {
  const LinearForm::Term term = form.terms[at];
  if (form.terms.size() < 2 || !mayHaveFactor(term, ExprKind::Mod))
    return false;
  Factors factors = factorsOf(term.expr);
  std::optional<Expr> mod = takeFactor(factors, ExprKind::Mod);
  if (!mod || !mod->rhs().isConstant() || term.coefficient == INT64_MIN)
    return false;
  int64_t d = mod->rhs().constant();
  std::optional<int64_t> wanted = checkedMul(term.coefficient, d);
  if (!wanted)
    return false;
  for (const LinearForm::Term &other : form.terms) {
    if (other.coefficient != *wanted || other.coefficient == INT64_MIN)
      continue;
    Factors otherFactors = factorsOf(other.expr);
    std::optional<Expr> outer = takeFactor(otherFactors, ExprKind::Mod);
    if (!outer || !outer->rhs().isConstant() || otherFactors != factors)
      continue;
    int64_t b = outer->rhs().constant();
    std::optional<int64_t> modulus = checkedMul(d, b);
    if (!modulus)
      continue;
    std::optional<Expr> dividend = undivided(LinearForm::of(outer->lhs()), mod->lhs(), d, b);
    if (!dividend)
      continue;
    Expr merged = make(ExprKind::Mul, make(ExprKind::Mod, *dividend, ctx.constant(*modulus)),
                       productOf(ctx, factors));
    LinearForm result = form;
    if (!result.add(term.expr, -term.coefficient) || !result.add(other.expr, -other.coefficient) ||
        !result.add(LinearForm::of(merged), term.coefficient))
      continue;
    form = std::move(result);
    return true;
  }
  return false;
}

/// c·f·x - c·f·e·(x // e)  →  c·f·(x mod e), when all of x is there to vanish
bool Simplifier::Impl::recombineFloorDiv(LinearForm &form, size_t at) {
  const LinearForm::Term term = form.terms[at];
  if (form.terms.size() < 2 || !mayHaveFactor(term, ExprKind::FloorDiv))
    return false;
  Factors factors = factorsOf(term.expr);
  std::optional<Expr> division = takeFactor(factors, ExprKind::FloorDiv);
  if (!division || term.coefficient == INT64_MIN)
    return false;
  Expr x = division->lhs(), e = division->rhs();
  LinearForm divisor = LinearForm::of(e);
  int64_t unit = divisor.constant;
  if (!divisor.isConstant()) {
    if (!divisor.isMonomial())
      return false;
    unit = divisor.terms.front().coefficient;
    for (Expr factor : factorsOf(divisor.terms.front().expr)) {
      auto it = std::find(factors.begin(), factors.end(), factor);
      if (it == factors.end())
        return false;
      factors.erase(it);
    }
  }
  if (unit == 0 || unit == -1 || term.coefficient % unit != 0)
    return false;
  int64_t c = -(term.coefficient / unit);
  Expr rest = productOf(ctx, factors);
  LinearForm whole = LinearForm::of(make(ExprKind::Mul, x, rest));
  if (whole.isConstant())
    return false;
  for (const LinearForm::Term &t : whole.terms) {
    std::optional<int64_t> wanted = checkedMul(c, t.coefficient);
    if (!wanted || form.coefficientOf(t.expr) != *wanted)
      return false;
  }
  Expr remainder = make(ExprKind::Mul, make(ExprKind::Mod, x, e), rest);
  LinearForm result = form;
  if (c == INT64_MIN || !result.add(term.expr, -term.coefficient) || !result.add(whole, -c) ||
      !result.add(LinearForm::of(remainder), c) || result.terms.size() > LinearForm::maxTerms)
    return false;
  form = std::move(result);
  return true;
}

namespace {

/// Σ a·b over all pairs of terms, products of terms as sorted monomials.
std::optional<LinearForm> distribute(ExprContext &ctx, const LinearForm &a, const LinearForm &b) {
  std::optional<int64_t> constant = checkedMul(a.constant, b.constant);
  if (!constant)
    return std::nullopt;
  LinearForm result = LinearForm::ofConstant(*constant);
  LinearForm aTerms{a.terms, 0}, bTerms{b.terms, 0};
  if (!result.add(aTerms, b.constant) || !result.add(bTerms, a.constant))
    return std::nullopt;
  for (const LinearForm::Term &x : a.terms)
    for (const LinearForm::Term &y : b.terms) {
      Factors factors = factorsOf(x.expr), more = factorsOf(y.expr);
      factors.append(more.begin(), more.end());
      std::optional<int64_t> coefficient = checkedMul(x.coefficient, y.coefficient);
      if (!coefficient || factors.size() > maxFactors ||
          !result.add(productOf(ctx, std::move(factors)), *coefficient))
        return std::nullopt;
    }
  return result;
}

} // namespace

Expr Simplifier::Impl::makeMul(Expr lhs, Expr rhs) {
  if (lhs.isConstant() || rhs.isConstant()) {
    std::optional<LinearForm> product = distribute(ctx, LinearForm::of(lhs), LinearForm::of(rhs));
    if (!product || product->terms.size() > LinearForm::maxTerms)
      return ctx.binary(ExprKind::Mul, lhs, rhs);
    fired(Rule::Distribute);
    return sum(std::move(*product));
  }
  Expr factors[] = {lhs, rhs};
  return makeProduct(factors);
}

/// Multiplies out everything or nothing, so that the form of a product does not depend on the order
/// of multiplication.
Expr Simplifier::Impl::makeProduct(std::span<const Expr> operands) {
  auto raw = [&] { return productOf(ctx, Factors(operands.begin(), operands.end())); };
  int64_t coefficient = 1;
  Factors atoms, sums;
  for (Expr operand : operands) {
    LinearForm form = LinearForm::of(operand);
    if (!form.isMonomial() && !form.isConstant()) {
      sums.push_back(operand);
      continue;
    }
    bool isNumber = form.isConstant();
    std::optional<int64_t> product =
        checkedMul(coefficient, isNumber ? form.constant : form.terms.front().coefficient);
    if (!product)
      return raw();
    coefficient = *product;
    if (!isNumber)
      for (Expr factor : factorsOf(form.terms.front().expr))
        (factor.kind() == ExprKind::Add ? sums : atoms).push_back(factor);
  }
  if (atoms.size() + sums.size() > maxFactors)
    return raw();
  // Products of long sums stay products: multiplying out repeatedly would grow without bound.
  constexpr size_t maxProduct = 32;
  size_t size = atoms.empty() ? 1 : 2;
  for (Expr factor : sums)
    size = std::min(size * (LinearForm::of(factor).terms.size() + 1), 2 * maxProduct);
  LinearForm whole;
  bool fits = whole.add(productOf(ctx, atoms), coefficient);
  if (atoms.empty())
    whole = LinearForm::ofConstant(coefficient);
  if (size <= maxProduct || (atoms.empty() && sums.size() == 1)) {
    llvm::sort(sums, [](Expr a, Expr b) { return compareStructure(a, b) < 0; });
    for (Expr factor : sums) {
      std::optional<LinearForm> product =
          fits ? distribute(ctx, whole, LinearForm::of(factor)) : std::nullopt;
      fits = product && product->terms.size() <= LinearForm::maxTerms;
      if (fits)
        whole = std::move(*product);
    }
    if (fits) {
      fired(Rule::Distribute);
      return sum(std::move(whole));
    }
  }
  Factors all = atoms;
  all.append(sums.begin(), sums.end());
  return productOf(ctx, std::move(all)) * coefficient;
}

} // namespace tilewright
