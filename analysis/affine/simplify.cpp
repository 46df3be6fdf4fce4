#include "analysis/affine/simplify.h"

#include "analysis/affine/expr_internal.h"
#include "analysis/affine/simplify_impl.h"
#include "analysis/support/checked.h"

#include <algorithm>
#include <llvm/ADT/SmallVector.h>
#include <numeric>

namespace tilewright {

void detail::SimplifierTables::clear() {
  bounds.clear();
  normalForms.clear();
  for (ScratchTable<Expr> &table : withinSearch)
    table.clear();
  ranges.clear();
  divisors.clear();
}

Simplifier::Simplifier(ExprContext &context, Bounds bounds)
    : impl(std::make_unique<Impl>(context)) {
  impl->bounds = std::move(bounds);
}
Simplifier::~Simplifier() = default;

Expr Simplifier::simplify(Expr expr) { return impl->simplify(expr); }

std::vector<Expr> Simplifier::simplify(std::span<const Expr> exprs) {
  std::vector<Expr> results;
  results.reserve(exprs.size());
  for (Expr expr : exprs)
    results.push_back(simplify(expr));
  return results;
}

Interval Simplifier::range(Expr expr) { return impl->range(impl->simplify(expr)); }
int64_t Simplifier::knownDivisor(Expr expr) { return impl->knownDivisor(impl->simplify(expr)); }
const Bounds &Simplifier::bounds() const { return impl->bounds; }

Expr Simplifier::Impl::leaf(Expr expr) {
  if (expr.isVariable())
    if (Interval domain = bounds.get(expr.variable()); domain.isPoint()) {
      fired(Rule::KnownVariable);
      return ctx.constant(domain.lo);
    }
  return expr;
}

Expr Simplifier::Impl::simplify(Expr root) {
  if (!root.lhs())
    return leaf(root);
  // Operands first, with a stack of our own: chains can be long.
  auto &normalForms = tables->normalForms;
  llvm::SmallVector<Expr, 16> stack{root};
  auto known = [&](Expr expr) -> Expr {
    if (!expr.lhs())
      return leaf(expr);
    const Expr *found = normalForms.find(expr.id());
    return found ? *found : Expr();
  };
  while (!stack.empty()) {
    Expr expr = stack.back();
    if (normalForms.contains(expr.id())) {
      stack.pop_back();
      continue;
    }
    // A product of several factors is made at once.
    Factors operands = factorsOf(expr);
    bool isProduct = operands.size() >= 3;
    if (!isProduct)
      operands = {expr.lhs(), expr.rhs()};
    if (expr.third())
      operands.push_back(expr.third());
    size_t before = stack.size();
    for (Expr &operand : operands) {
      Expr normal = known(operand);
      if (!normal)
        stack.push_back(operand);
      operand = normal;
    }
    if (stack.size() > before)
      continue;
    Expr result = isProduct ? makeProduct(operands)
                            : make(expr.kind(), operands[0], operands[1],
                                   expr.third() ? operands[2] : Expr());
    if (result.isPoison())
      result = expr;
    normalForms.set(expr.id(), result);
    if (result.lhs() && !normalForms.contains(result.id()))
      normalForms.set(result.id(), result);
    range(result); // now, while its operands are known: keeps range() from going deep later
    stack.pop_back();
  }
  return *normalForms.find(root.id());
}

Expr Simplifier::Impl::substituted(Expr root, std::span<const Expr> table) {
  return detail::fold<Expr>(
      detail::nodeOf(root),
      [&](const detail::ExprNode *node) {
        Expr self(node);
        Expr to = self.isVariable() && self.variable().index < table.size()
                      ? table[self.variable().index]
                      : Expr();
        return to ? to : leaf(self);
      },
      [&](const detail::ExprNode *node, Expr lhs, Expr rhs, Expr third) {
        Expr result = make(node->kind, lhs, rhs, third);
        if (node->treeSize > detail::smallTree)
          range(result); // now, while its operands are known: keeps range() from going deep later
        return result;
      });
}

void Simplifier::Impl::know(Expr normal, Interval values) {
  if (!normal.lhs())
    return;
  tables->normalForms.set(normal.id(), normal);
  tables->ranges.set(normal.id(), values);
}

Expr Simplifier::Impl::make(ExprKind kind, Expr lhs, Expr rhs, Expr third) {
  Expr raw = ctx.operation(kind, lhs, rhs, third);
  if (!raw.lhs() || raw == lhs || raw == rhs)
    return raw;
  auto &known = recombining == 0 ? tables->normalForms : tables->withinSearch[recombining - 1];
  if (const Expr *found = known.find(raw.id()))
    return *found;
  // Every rule makes something smaller, so this depth is not reached in practice; it bounds the
  // stack if two rules should ever undo each other.
  constexpr int maxDepth = 200;
  if (depth > maxDepth)
    return raw;
  ++depth;
  Expr result = rewrite(kind, lhs, rhs, third);
  --depth;
  if (result.isPoison()) // only from a constant that does not fit: keep the original, which can be
                         // evaluated
    result = raw;
  known.set(raw.id(), result);
  return result;
}

Expr Simplifier::Impl::rewrite(ExprKind kind, Expr lhs, Expr rhs, Expr third) {
  switch (kind) {
  case ExprKind::Add:
    return makeAdd(lhs, rhs);
  case ExprKind::Mul:
    return makeMul(lhs, rhs);
  case ExprKind::FloorDiv:
  case ExprKind::CeilDiv:
  case ExprKind::Mod:
    return makeDivision(kind, lhs, rhs);
  case ExprKind::Min:
  case ExprKind::Max:
    return makeMinMax(kind, lhs, rhs);
  case ExprKind::IsAtLeast:
  case ExprKind::IsEqual:
    return makeComparison(kind, lhs, rhs);
  case ExprKind::Pow2Ceil:
  case ExprKind::Pow2Divisor:
  case ExprKind::Log2:
    return makePower(kind, lhs);
  case ExprKind::Select:
    return makeSelect(third, lhs, rhs);
  case ExprKind::Constant:
  case ExprKind::Variable:
  case ExprKind::Poison:
    break;
  }
  return ctx.binary(kind, lhs, rhs);
}

Interval Simplifier::Impl::leafRange(Expr expr) {
  if (expr.isConstant())
    return Interval::point(expr.constant());
  if (expr.isPoison())
    return {};
  Interval domain = bounds.get(expr.variable());
  return domain.isEmpty() ? Interval{} : domain; // an empty domain: claim nothing
}

Interval Simplifier::Impl::range(Expr root) {
  if (!root.lhs())
    return leafRange(root);
  auto &ranges = tables->ranges;
  if (const Interval *known = ranges.find(root.id()))
    return *known;
  // Parts first, with a stack of our own: chains can be long.
  llvm::SmallVector<Expr, 16> stack{root};
  auto wait = [&](Expr part) {
    if (part.lhs() && !ranges.contains(part.id()))
      stack.push_back(part);
  };
  while (!stack.empty()) {
    Expr expr = stack.back();
    if (ranges.contains(expr.id())) {
      stack.pop_back();
      continue;
    }
    size_t before = stack.size();
    bool isSum = expr.kind() == ExprKind::Add || expr.kind() == ExprKind::Mul;
    if (LinearForm form; isSum) {
      form = LinearForm::of(expr);
      if (!form.isMonomial() || form.terms.front().expr != expr) {
        for (const LinearForm::Term &term : form.terms)
          wait(term.expr);
        if (stack.size() == before) {
          ranges.set(expr.id(), range(form));
          stack.pop_back();
        }
        continue;
      }
    }
    Factors factors;
    if (isSum)
      factors = factorsOf(expr);
    if (factors.size() < 2)
      factors = {expr.lhs(), expr.rhs()};
    for (Expr factor : factors)
      wait(factor);
    Expr third = expr.third();
    if (third)
      wait(third);
    if (stack.size() > before)
      continue;
    Interval values = range(factors[0]);
    if (third) {
      ranges.set(expr.id(), select(range(third), values, range(factors[1])));
      stack.pop_back();
      continue;
    }
    for (size_t i = 1; i < factors.size(); ++i)
      values = detail::apply(expr.kind(), values, range(factors[i]));
    ranges.set(expr.id(), values);
    stack.pop_back();
  }
  return *ranges.find(root.id());
}

Interval Simplifier::Impl::range(const LinearForm &form) {
  // 128 bits: 64 terms of at most 2^126 would not fit, so ends are widened to infinity early.
  constexpr __int128 limit = static_cast<__int128>(1) << 100;
  __int128 lo = form.constant, hi = form.constant;
  bool loInfinite = false, hiInfinite = false;
  auto widen = [&](int64_t value, int64_t coefficient, __int128 &end, bool &infinite) {
    if (value == INT64_MIN || value == INT64_MAX)
      infinite = true;
    else
      end += static_cast<__int128>(value) * coefficient;
    infinite = infinite || end > limit || end < -limit;
    if (infinite)
      end = 0;
  };
  for (const LinearForm::Term &term : form.terms) {
    Interval r = range(term.expr);
    bool positive = term.coefficient > 0;
    widen(positive ? r.lo : r.hi, term.coefficient, lo, loInfinite);
    widen(positive ? r.hi : r.lo, term.coefficient, hi, hiInfinite);
  }
  Interval result{loInfinite || lo <= INT64_MIN ? INT64_MIN : static_cast<int64_t>(lo),
                  hiInfinite || hi >= INT64_MAX ? INT64_MAX : static_cast<int64_t>(hi)};
  // A range wholly outside 64 bits belongs to values that overflow; claim nothing about them.
  if (lo >= INT64_MAX || hi <= INT64_MIN)
    return {};
  if (form.terms.size() < 2 || form.constant != 0)
    return result;
  // a·t + b·t = (a + b)·t is often much tighter as a product. Terms are distinct, so that at most
  // one of those that share t is t itself.
  if (std::count_if(form.terms.begin(), form.terms.end(),
                    [](const LinearForm::Term &t) { return t.expr.kind() != ExprKind::Mul; }) > 1)
    return result;
  llvm::SmallVector<Factors, 4> factors;
  for (const LinearForm::Term &term : form.terms)
    factors.push_back(factorsOf(term.expr));
  for (Expr factor : factors.front()) {
    if (factor.isConstant())
      continue;
    bool common = true;
    for (const Factors &list : factors)
      common = common && std::find(list.begin(), list.end(), factor) != list.end();
    if (!common)
      continue;
    LinearForm rest;
    bool fits = true;
    for (size_t i = 0; i < factors.size(); ++i) {
      Factors others = factors[i];
      others.erase(std::find(others.begin(), others.end(), factor));
      if (others.empty())
        fits = fits && rest.addConstant(form.terms[i].coefficient);
      else
        fits = fits && rest.add(productOf(ctx, others), form.terms[i].coefficient);
    }
    if (fits) {
      Interval product = range(factor) * range(rest);
      Interval both = result.intersect(product);
      return both.isEmpty() ? result : both;
    }
  }
  return result;
}

int64_t Simplifier::Impl::knownDivisor(Expr expr, int level) {
  if (expr.isConstant())
    return expr.constant() == INT64_MIN ? 1 : std::abs(expr.constant());
  if (!expr.lhs())
    return 1;
  if (const int64_t *known = tables->divisors.find(expr.id()))
    return *known;
  constexpr int maxLevel = 100;
  if (level > maxLevel)
    return 1;
  auto of = [&](Expr e) { return knownDivisor(e, level + 1); };
  int64_t result = 1;
  switch (expr.kind()) {
  case ExprKind::Add:
  case ExprKind::Mod: // x mod m = x - m·k
  case ExprKind::Min:
  case ExprKind::Max:
  case ExprKind::Select:
    result = std::gcd(of(expr.lhs()), of(expr.rhs()));
    break;
  case ExprKind::Mul: {
    int64_t a = of(expr.lhs()), b = of(expr.rhs());
    result = checkedMul(a, b).value_or(std::max(a, b));
    break;
  }
  case ExprKind::FloorDiv:
  case ExprKind::CeilDiv:
    if (expr.rhs().isConstant() && of(expr.lhs()) % expr.rhs().constant() == 0)
      result = of(expr.lhs()) / expr.rhs().constant();
    break;
  default:
    break;
  }
  tables->divisors.set(expr.id(), result);
  return result;
}

} // namespace tilewright
