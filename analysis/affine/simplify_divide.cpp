// floordiv, ceildiv and mod of a linear form by a positive constant.
#include "analysis/affine/simplify_impl.h"
#include "analysis/support/checked.h"

#include <algorithm>
#include <llvm/ADT/STLExtras.h>
#include <numeric>

namespace tilewright {

Expr Simplifier::Impl::makeDivision(ExprKind kind, Expr lhs, Expr rhs) {
  if (!rhs.isConstant())
    return divideSymbolically(kind, lhs, rhs);
  int64_t d = rhs.constant();
  if (d <= 0)
    return ctx.binary(kind, lhs, rhs);
  LinearForm form = LinearForm::of(lhs);
  if (kind == ExprKind::Mod)
    return modBy(std::move(form), d);
  // ⌈x/d⌉ = (x + d - 1) // d
  if (kind == ExprKind::CeilDiv && !form.addConstant(d - 1))
    return ctx.binary(kind, lhs, rhs);
  if (kind == ExprKind::CeilDiv)
    fired(Rule::CeilToFloor);
  return floorDivBy(std::move(form), d);
}

/// If every value of the interval has the same quotient by d, that quotient.
static std::optional<int64_t> commonQuotient(Interval values, int64_t d) {
  if (!values.isBounded() || values.isEmpty())
    return std::nullopt;
  int64_t low = *checkedFloorDiv(values.lo, d), high = *checkedFloorDiv(values.hi, d);
  return low == high ? std::optional(low) : std::nullopt;
}

std::optional<Simplifier::Impl::Split> Simplifier::Impl::splitBy(const LinearForm &form,
                                                                 int64_t d) {
  llvm::SmallVector<uint64_t, 8> candidates;
  for (const LinearForm::Term &term : form.terms)
    candidates.push_back(std::gcd(magnitude(term.coefficient), static_cast<uint64_t>(d)));
  std::sort(candidates.rbegin(), candidates.rend());
  uint64_t running = 0;
  for (size_t i = 0, own = candidates.size(); i < own; ++i)
    candidates.push_back(running = std::gcd(running, candidates[i]));
  std::sort(candidates.rbegin(), candidates.rend());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  for (uint64_t candidate : candidates) {
    int64_t g = static_cast<int64_t>(candidate);
    if (g <= 1)
      break;
    Split split{g, {}, LinearForm::ofConstant(form.constant), 0};
    for (const LinearForm::Term &term : form.terms)
      if (term.coefficient % g == 0)
        split.high.terms.push_back({term.expr, term.coefficient / g});
      else
        split.low.terms.push_back(term);
    std::optional<int64_t> quotient = commonQuotient(range(split.low), g);
    std::optional<int64_t> base = quotient ? checkedMul(*quotient, g) : std::nullopt;
    if (!base || !split.high.addConstant(*quotient))
      continue;
    split.base = *base;
    return split;
  }
  return std::nullopt;
}

/// The constant, changed by a multiple of d, that makes the smallest value of the form lie in
/// [0, d); without a known smallest value, the one that lies in [0, d) itself.
int64_t Simplifier::Impl::startInFirstPeriod(LinearForm form, int64_t d) {
  form.constant = *checkedMod(form.constant, d);
  Interval values = range(form);
  if (values.lo == INT64_MIN || values.lo == INT64_MAX)
    return form.constant;
  std::optional<int64_t> periods = checkedMul(*checkedFloorDiv(values.lo, d), d);
  return periods ? checkedSub(form.constant, *periods).value_or(form.constant) : form.constant;
}

Expr Simplifier::Impl::floorDivBy(LinearForm form, int64_t d) {
  if (d == 1)
    return sum(std::move(form));
  if (std::optional<int64_t> quotient = commonQuotient(range(form), d)) {
    fired(Rule::FloorDivOnePeriod);
    return ctx.constant(*quotient);
  }
  // Multiples of d leave the division.
  LinearForm whole, rest = LinearForm::ofConstant(form.constant);
  for (const LinearForm::Term &term : form.terms)
    if (term.coefficient % d == 0)
      whole.terms.push_back({term.expr, term.coefficient / d});
    else
      rest.terms.push_back(term);
  rest.constant = startInFirstPeriod(rest, d);
  std::optional<int64_t> shift = checkedSub(form.constant, rest.constant);
  if (shift && (!whole.isConstant() || *shift != 0)) {
    whole.constant = *shift / d;
    fired(Rule::FloorDivMultiples);
    return make(ExprKind::Add, whole.build(ctx), floorDivBy(std::move(rest), d));
  }
  // (g·a + low) // (g·b) = a // b for low in [0, g)
  if (std::optional<Split> split = splitBy(form, d)) {
    fired(Rule::FloorDivSplit);
    return floorDivBy(std::move(split->high), d / split->g);
  }
  // (y // e + r) // d = (y + e·r) // (e·d); with several divisions it would only grow.
  const LinearForm::Term *division = nullptr;
  int divisions = 0;
  for (const LinearForm::Term &term : form.terms)
    if (term.expr.kind() == ExprKind::FloorDiv && term.expr.rhs().isConstant()) {
      ++divisions;
      division = &term;
    }
  if (divisions == 1 && division->coefficient == 1) {
    int64_t e = division->expr.rhs().constant();
    std::optional<int64_t> product = checkedMul(e, d);
    LinearForm merged = LinearForm::of(division->expr.lhs()), others = form;
    if (product && others.add(division->expr, -1) && merged.add(others, e) &&
        merged.terms.size() <= LinearForm::maxTerms &&
        (form.isMonomial() || range(merged).isBounded())) {
      fired(Rule::FloorDivNested);
      return floorDivBy(std::move(merged), *product);
    }
  }
  // (x mod d·b) // d = (x // d) mod b
  if (form.isMonomial() && form.terms.front().coefficient == 1 &&
      form.terms.front().expr.kind() == ExprKind::Mod) {
    Expr mod = form.terms.front().expr;
    if (mod.rhs().isConstant() && mod.rhs().constant() % d == 0) {
      fired(Rule::FloorDivOfMod);
      return make(ExprKind::Mod, floorDivBy(LinearForm::of(mod.lhs()), d),
                  ctx.constant(mod.rhs().constant() / d));
    }
  }
  // Taking terms out may have left a pair that belongs together.
  Expr dividend = sum(form);
  if (dividend != form.build(ctx))
    return make(ExprKind::FloorDiv, dividend, ctx.constant(d));
  return ctx.binary(ExprKind::FloorDiv, dividend, ctx.constant(d));
}

/// The number of smallest magnitude that is congruent to c modulo d: in (-d/2, d/2].
static int64_t nearestToZero(int64_t c, int64_t d) {
  int64_t reduced = *checkedMod(c, d);
  return reduced > d / 2 ? reduced - d : reduced;
}

/// The form with coefficients in [0, d) and congruent ones: how row-major offsets are written.
/// Nothing where a coefficient so large might overflow on a value of its term for which the one
/// nearest to zero does not.
std::optional<LinearForm> Simplifier::Impl::withPositiveCoefficients(LinearForm form, int64_t d) {
  constexpr int64_t assumed = int64_t{1} << 40; // of values without bounds
  constexpr __int128 limit = __int128{1} << 56; // so that maxTerms terms fit in 64 bits
  for (LinearForm::Term &term : form.terms) {
    if (term.coefficient > 0)
      continue;
    term.coefficient = *checkedMod(term.coefficient, d);
    Interval values = range(term.expr);
    int64_t lo = values.lo == INT64_MIN ? -assumed : values.lo;
    int64_t hi = values.hi == INT64_MAX ? assumed : values.hi;
    if (__int128{lo} * term.coefficient < -limit || __int128{hi} * term.coefficient > limit)
      return std::nullopt;
  }
  form.constant = startInFirstPeriod(form, d);
  return form;
}

Expr Simplifier::Impl::modBy(LinearForm form, int64_t d) {
  if (d == 1)
    return ctx.constant(0);
  auto inOnePeriod = [&](const LinearForm &f) -> Expr {
    std::optional<int64_t> quotient = commonQuotient(range(f), d);
    std::optional<int64_t> start = quotient ? checkedMul(*quotient, d) : std::nullopt;
    LinearForm shifted = f;
    if (!start || !shifted.add(LinearForm::ofConstant(*start), -1))
      return Expr();
    fired(Rule::ModOnePeriod);
    return sum(std::move(shifted));
  };
  if (Expr result = inOnePeriod(form))
    return result;
  // c·(y mod m) ≡ c·y when d divides c·m. Each step removes a mod from the top level.
  LinearForm reduced = LinearForm::ofConstant(*checkedMod(form.constant, d));
  bool opened = false; // a sum came out of a mod: its terms are to be looked at too
  for (const LinearForm::Term &term : form.terms) {
    int64_t c = nearestToZero(term.coefficient, d);
    LinearForm inner{{{term.expr, 1}}, 0};
    for (bool again = true; again && inner.isMonomial();) {
      again = false;
      Expr mod = inner.terms.front().expr;
      if (mod.kind() != ExprKind::Mod || !mod.rhs().isConstant())
        continue;
      std::optional<int64_t> scaled = checkedMul(inner.terms.front().coefficient, c);
      std::optional<int64_t> period =
          scaled ? checkedMul(*scaled, mod.rhs().constant()) : std::nullopt;
      if (!period || *period % d != 0)
        continue;
      LinearForm next = LinearForm::of(mod.lhs());
      if (!next.scale(inner.terms.front().coefficient))
        continue;
      fired(Rule::ModOpen);
      inner = std::move(next);
      again = true;
      opened = opened || !inner.isMonomial();
    }
    if (!reduced.add(inner, c))
      return ctx.binary(ExprKind::Mod, form.build(ctx), ctx.constant(d));
  }
  if (reduced.terms.size() > LinearForm::maxTerms)
    return ctx.binary(ExprKind::Mod, form.build(ctx), ctx.constant(d));
  if (opened)
    return modBy(std::move(reduced), d);
  for (LinearForm::Term &term : reduced.terms)
    term.coefficient = nearestToZero(term.coefficient, d);
  llvm::erase_if(reduced.terms, [](const LinearForm::Term &t) { return t.coefficient == 0; });
  reduced.constant = startInFirstPeriod(reduced, d);
  // Only residues matter from here on, so that equal functions get equal forms.
  llvm::SmallVector<LinearForm, 2> candidates{reduced};
  if (std::optional<LinearForm> positive = withPositiveCoefficients(reduced, d))
    candidates.insert(candidates.begin(), std::move(*positive));
  for (const LinearForm &candidate : candidates)
    if (Expr result = inOnePeriod(candidate))
      return result;
  // (g·a + low) mod (g·b) = g·(a mod b) + low for low in [0, g)
  for (const LinearForm &candidate : candidates)
    if (std::optional<Split> split = splitBy(candidate, d)) {
      LinearForm low = std::move(split->low);
      Expr high = modBy(std::move(split->high), d / split->g);
      if (low.add(LinearForm::ofConstant(split->base), -1) &&
          low.add(LinearForm::of(high), split->g) && low.terms.size() <= LinearForm::maxTerms) {
        fired(Rule::ModSplit);
        return sum(std::move(low));
      }
    }
  reduced = std::move(candidates.front());
  fired(Rule::ModReduce);
  Expr dividend = sum(reduced);
  if (dividend != reduced.build(ctx))
    return make(ExprKind::Mod, dividend, ctx.constant(d));
  return ctx.binary(ExprKind::Mod, dividend, ctx.constant(d));
}

} // namespace tilewright
