// floordiv, ceildiv and mod by an expression, such as a tile size. A rule is applied only where
// the divisor is proved positive.
#include "analysis/affine/simplify_impl.h"
#include "analysis/support/checked.h"

#include <algorithm>
#include <numeric>

namespace tilewright {

namespace {

/// dividend = divisor·quotient + rest, with whole terms (or the whole divisor) taken out.
struct Extraction {
  LinearForm quotient, rest;
};

/// a with the factors of b removed; nothing if one is missing.
std::optional<Factors> withoutFactors(Factors a, const Factors &b) {
  for (Expr factor : b) {
    auto it = std::find(a.begin(), a.end(), factor);
    if (it == a.end())
      return std::nullopt;
    a.erase(it);
  }
  return a;
}

std::optional<Extraction> extract(ExprContext &ctx, const LinearForm &dividend,
                                  const LinearForm &divisor) {
  Extraction result{{}, LinearForm::ofConstant(dividend.constant)};
  if (divisor.isMonomial()) {
    int64_t unit = divisor.terms.front().coefficient;
    Factors factors = factorsOf(divisor.terms.front().expr);
    for (const LinearForm::Term &term : dividend.terms) {
      std::optional<Factors> others = withoutFactors(factorsOf(term.expr), factors);
      bool divides = others && unit != -1 && term.coefficient % unit == 0;
      bool fits = !divides ? result.rest.add(term.expr, term.coefficient)
                  : others->empty()
                      ? result.quotient.addConstant(term.coefficient / unit)
                      : result.quotient.add(productOf(ctx, *others), term.coefficient / unit);
      if (!fits)
        return std::nullopt;
    }
    return result;
  }
  // A sum is divided as a whole: k·divisor is taken out if each of its terms has the factor k.
  const LinearForm::Term &lead = divisor.terms.front();
  int64_t c = dividend.coefficientOf(lead.expr);
  result.rest = dividend;
  if (c == 0 || lead.coefficient == -1 || c % lead.coefficient != 0)
    return result;
  int64_t k = c / lead.coefficient;
  if (k == INT64_MIN || !result.rest.add(divisor, -k))
    return std::nullopt;
  for (const LinearForm::Term &term : divisor.terms)
    if (result.rest.coefficientOf(term.expr) != 0) {
      result.rest = dividend;
      return result;
    }
  result.quotient.constant = k;
  return result;
}

} // namespace

Expr Simplifier::Impl::divideSymbolically(ExprKind kind, Expr lhs, Expr rhs) {
  Expr raw = ctx.binary(kind, lhs, rhs);
  if (range(rhs).lo < 1)
    return raw;
  LinearForm dividend = LinearForm::of(lhs), divisor = LinearForm::of(rhs);
  std::optional<Extraction> parts = extract(ctx, dividend, divisor);
  if (!parts)
    return raw;
  bool isMod = kind == ExprKind::Mod;
  if (!parts->quotient.isConstant() || parts->quotient.constant != 0) {
    fired(isMod                       ? Rule::ExtractMod
          : kind == ExprKind::CeilDiv ? Rule::ExtractCeilDiv
                                      : Rule::ExtractFloorDiv);
    Expr rest = make(kind, sum(std::move(parts->rest)), rhs);
    return isMod ? rest : make(ExprKind::Add, sum(std::move(parts->quotient)), rest);
  }
  // A quotient that is constant over the domain. ⌈x/e⌉ = (x - 1) // e + 1.
  LinearForm numerator = dividend;
  if (kind == ExprKind::CeilDiv && !numerator.addConstant(-1))
    return raw;
  std::optional<int64_t> quotient;
  if (Interval q = floorDiv(range(numerator), range(rhs)); q.isPoint() && q.isBounded())
    quotient = q.lo;
  LinearForm below = divisor, above = numerator; // divisor - numerator, numerator + divisor
  if (!quotient && below.add(numerator, -1) && above.add(divisor)) {
    Interval values = range(numerator);
    if (values.lo >= 0 && range(below).lo >= 1)
      quotient = 0;
    else if (values.hi <= -1 && range(above).lo >= 0)
      quotient = -1;
  }
  if (!quotient && dividend.isMonomial() && dividend.terms.front().coefficient == 1 &&
      dividend.terms.front().expr.kind() == ExprKind::Mod &&
      dividend.terms.front().expr.rhs() == rhs && kind != ExprKind::CeilDiv) {
    fired(Rule::DivideOfMod);
    quotient = 0;
  }
  if (quotient) {
    if (isMod) {
      LinearForm rest = dividend;
      if (*quotient == INT64_MIN || !rest.add(divisor, -*quotient))
        return raw;
      fired(Rule::SymbolicModOnePeriod);
      return sum(std::move(rest));
    }
    std::optional<int64_t> value = checkedAdd(*quotient, kind == ExprKind::CeilDiv);
    if (!value)
      return raw;
    fired(kind == ExprKind::CeilDiv ? Rule::SymbolicCeilDivOnePeriod
                                    : Rule::SymbolicFloorDivOnePeriod);
    return ctx.constant(*value);
  }
  // Common factors that are positive: (m·a) // (m·b) = a // b, (m·a) mod (m·b) = m·(a mod b).
  if (dividend.constant == 0 && divisor.constant == 0 && !dividend.isConstant()) {
    uint64_t g = std::gcd(dividend.content(), divisor.content());
    Factors common;
    for (Expr factor : factorsOf(divisor.terms.front().expr)) {
      if (range(factor).lo < 1)
        continue;
      common.push_back(factor);
      for (const LinearForm *form : {&dividend, &divisor})
        for (const LinearForm::Term &term : form->terms)
          if (!common.empty() && common.back() == factor &&
              !withoutFactors(factorsOf(term.expr), common))
            common.pop_back();
    }
    if ((g > 1 && g <= INT64_MAX) || !common.empty()) {
      int64_t unit = static_cast<int64_t>(std::max<uint64_t>(g, 1));
      auto divided = [&](const LinearForm &form) -> std::optional<LinearForm> {
        LinearForm result;
        for (const LinearForm::Term &term : form.terms) {
          Factors others = *withoutFactors(factorsOf(term.expr), common);
          if (!(others.empty() ? result.addConstant(term.coefficient / unit)
                               : result.add(productOf(ctx, others), term.coefficient / unit)))
            return std::nullopt;
        }
        return result;
      };
      std::optional<LinearForm> a = divided(dividend), b = divided(divisor);
      if (!a || !b)
        return raw;
      fired(isMod                       ? Rule::CommonFactorMod
            : kind == ExprKind::CeilDiv ? Rule::CommonFactorCeilDiv
                                        : Rule::CommonFactorFloorDiv);
      Expr result = make(kind, sum(std::move(*a)), sum(std::move(*b)));
      if (!isMod)
        return result;
      Expr factor = make(ExprKind::Mul, productOf(ctx, common), ctx.constant(unit));
      return make(ExprKind::Mul, result, factor);
    }
  }
  // (y // f) // e = y // (f·e), unless f·e may leave 64 bits where neither division does.
  if (kind == ExprKind::FloorDiv && dividend.isMonomial() &&
      dividend.terms.front().coefficient == 1 && lhs.kind() == ExprKind::FloorDiv &&
      range(lhs.rhs()).lo >= 1) {
    constexpr size_t fewFactors = 4; // of unbounded sizes
    Expr divisor = make(ExprKind::Mul, lhs.rhs(), rhs);
    Expr factors =
        divisor.kind() == ExprKind::Mul && divisor.rhs().isConstant() ? divisor.lhs() : divisor;
    if (range(divisor).isBounded() || factorsOf(factors).size() <= fewFactors) {
      fired(Rule::SymbolicNested);
      return make(kind, lhs.lhs(), divisor);
    }
  }
  return raw;
}

} // namespace tilewright
