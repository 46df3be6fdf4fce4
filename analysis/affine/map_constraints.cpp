#include "analysis/affine/map_constraints.h"

#include "analysis/affine/expr_internal.h"
#include "analysis/support/checked.h"
#include "analysis/support/math.h"

#include <algorithm>
#include <llvm/ADT/STLExtras.h>
#include <numeric>

namespace tilewright {

namespace {

constexpr int64_t infinite = INT64_MAX;

/// Adds to an end of an interval; infinite ends stay. Empty on overflow.
std::optional<int64_t> shiftEnd(int64_t end, int64_t by) {
  return end == INT64_MIN || end == infinite ? std::optional(end) : checkedAdd(end, by);
}

/// x + k ∈ r ⇔ x ∈ shifted(r, -k); empty on overflow.
std::optional<Interval> shifted(Interval r, int64_t by) {
  std::optional<int64_t> lo = shiftEnd(r.lo, by), hi = shiftEnd(r.hi, by);
  if (!lo || !hi)
    return std::nullopt;
  return Interval{*lo, *hi};
}

/// {x : g·x ∈ r} for g ≠ 0.
Interval quotient(Interval r, int64_t g) {
  if (r.isEmpty())
    return r;
  if (g < 0)
    r = -r;
  g = std::abs(g);
  return {r.lo == INT64_MIN ? r.lo : *checkedCeilDiv(r.lo, g),
          r.hi == infinite ? r.hi : *checkedFloorDiv(r.hi, g)};
}

} // namespace

Simplifier::Impl &MapConstraints::simplifier() {
  if (isStale) {
    current.emplace(ctx);
    for (const MapVariable &v : map.vars)
      current->bounds.set(v.var, v.domain);
    narrowedSince = 0;
    isStale = false;
  }
  return *current;
}

MapVariable *MapConstraints::find(Expr var) {
  for (MapVariable &v : map.vars)
    if (v.var == var)
      return &v;
  return nullptr;
}

bool MapConstraints::hasEmptyDomain() const {
  return llvm::any_of(map.vars, [](const MapVariable &v) { return v.domain.isEmpty(); });
}

bool MapConstraints::isNarrowable(const MapVariable &v) const {
  VarKind kind = ctx.info(v.var.variable()).kind;
  return kind == VarKind::Dim || kind == VarKind::Range;
}

/// A simplifier keeps the wider domains that it was created with, which is sound.
void MapConstraints::setDomain(MapVariable &v, Interval domain) {
  if (v.domain == domain)
    return;
  v.domain = domain;
  isSettled = false;
  uint64_t variable = detail::nodeOf(v.var)->variables;
  narrowed |= variable;
  narrowedSince |= variable;
  llvm::erase_if(known, [&](const MapConstraint &c) {
    return (detail::nodeOf(c.expr)->variables & variable) != 0;
  });
}

bool MapConstraints::isKnown(const MapConstraint &c) const { return llvm::is_contained(known, c); }

bool MapConstraints::narrow(Expr var, Interval interval) {
  MapVariable *v = find(var);
  if (!v)
    return false;
  if (isNarrowable(*v))
    setDomain(*v, v->domain.intersect(interval));
  return interval.contains(v->domain);
}

MapConstraints::Outcome MapConstraints::normalise(MapConstraint &c) {
  c.expr = current->simplify(c.expr);
  return c.modulus == 1 ? normaliseRange(c) : normaliseModulus(c);
}

/// The range of a constraint on an expression of those values.
MapConstraints::Outcome MapConstraints::narrowToValues(MapConstraint &c, Interval values) {
  if (!c.range.isEmpty() && c.range.contains(values)) {
    ctx.countRule(Rule::ConstraintHolds);
    return Outcome::Drop;
  }
  c.range = c.range.intersect(values);
  if (!c.range.isEmpty())
    return Outcome::Keep;
  ctx.countRule(Rule::ConstraintFails);
  return Outcome::Empty;
}

MapConstraints::Outcome MapConstraints::normaliseRange(MapConstraint &c) {
  // Each step makes the expression smaller, so this terminates.
  while (true) {
    Interval values = current->range(c.expr);
    if (Outcome outcome = narrowToValues(c, values); outcome != Outcome::Keep)
      return outcome;
    LinearForm form = LinearForm::of(c.expr);
    if (form.constant != 0 && form.constant != INT64_MIN)
      if (std::optional<Interval> moved = shifted(c.range, -form.constant)) {
        ctx.countRule(Rule::ConstraintShift);
        form.constant = 0;
        c.range = *moved;
        c.expr = current->simplify(form.build(ctx));
        continue;
      }
    int64_t g = static_cast<int64_t>(std::min<uint64_t>(form.content(), INT64_MAX));
    if (!form.terms.empty() && form.terms.front().coefficient < 0)
      g = -g;
    if (form.constant == 0 && g != 1 && g != 0 && g != INT64_MAX && g != -INT64_MAX) {
      for (LinearForm::Term &term : form.terms)
        term.coefficient /= g;
      ctx.countRule(Rule::ConstraintScale);
      c.range = quotient(c.range, g);
      c.expr = current->simplify(form.build(ctx));
      continue;
    }
    if (c.expr.kind() == ExprKind::FloorDiv && c.expr.rhs().isConstant()) {
      int64_t d = c.expr.rhs().constant();
      std::optional<int64_t> lo =
          c.range.lo == INT64_MIN ? std::optional(c.range.lo) : checkedMul(c.range.lo, d);
      std::optional<int64_t> hi =
          c.range.hi == infinite ? std::optional(c.range.hi) : checkedMul(c.range.hi, d);
      if (hi && *hi != infinite)
        hi = checkedAdd(*hi, d - 1);
      if (lo && hi) {
        ctx.countRule(Rule::ConstraintFloorDiv);
        c = {c.expr.lhs(), {*lo, *hi}};
        continue;
      }
    }
    if (c.expr.kind() == ExprKind::Mod && c.expr.rhs().isConstant() && c.range.isPoint()) {
      ctx.countRule(Rule::ConstraintModPoint);
      c = {c.expr.lhs(), {}, c.expr.rhs().constant(), c.range.lo};
      return normaliseModulus(c);
    }
    if (keepHighDigits(c, form, values))
      continue;
    if (c.expr.isVariable() && narrow(c.expr, c.range))
      return Outcome::Drop;
    return Outcome::Keep;
  }
}

/// g·high + low with low in [0, g): only high matters to ends that are multiples of g.
bool MapConstraints::keepHighDigits(MapConstraint &c, const LinearForm &form, Interval values) {
  if (form.constant != 0)
    return false;
  for (const LinearForm::Term &lead : form.terms) {
    int64_t step = lead.coefficient;
    if (step <= 1)
      continue;
    LinearForm high, low;
    for (const LinearForm::Term &term : form.terms)
      if (term.coefficient % step == 0)
        high.terms.push_back({term.expr, term.coefficient / step});
      else
        low.terms.push_back(term);
    if (low.isConstant() || !Interval{0, step - 1}.contains(current->range(low)))
      continue;
    bool lowOpen = c.range.lo == values.lo, highOpen = c.range.hi == values.hi;
    if ((!lowOpen && *checkedMod(c.range.lo, step) != 0) ||
        (!highOpen && *checkedMod(c.range.hi, step) != step - 1))
      continue;
    c.range = {lowOpen ? INT64_MIN : *checkedFloorDiv(c.range.lo, step),
               highOpen ? infinite : *checkedFloorDiv(c.range.hi, step)};
    c.expr = current->simplify(high.build(ctx));
    ctx.countRule(Rule::ConstraintHighDigits);
    return true;
  }
  return false;
}

MapConstraints::Outcome MapConstraints::normaliseModulus(MapConstraint &c) {
  if (c.residue < 0 || c.residue >= c.modulus)
    return Outcome::Empty;
  const MapConstraint before = c;
  // The simplified form of e mod m decides which constraint it is.
  LinearForm form = LinearForm::of(current->simplify(c.expr.mod(c.modulus)));
  bool isMod = form.terms.size() == 1 && form.terms.front().expr.kind() == ExprKind::Mod &&
               form.terms.front().expr.rhs().isConstant();
  if (!isMod) {
    c = {form.build(ctx), Interval::point(c.residue)};
    return normaliseRange(c);
  }
  int64_t g = form.terms.front().coefficient;
  std::optional<int64_t> rest = checkedSub(c.residue, form.constant);
  if (!rest || g == -1 || g == 0)
    return Outcome::Keep;
  if (*rest % g != 0)
    return Outcome::Empty;
  Expr mod = form.terms.front().expr;
  int64_t m = mod.rhs().constant(), r = *rest / g;
  if (r < 0 || r >= m)
    return Outcome::Empty;
  // k·e + c ≡ r (mod m) with k prime to m: e ≡ (r - c)/k.
  LinearForm inner = LinearForm::of(mod.lhs());
  r = *checkedMod(r - *checkedMod(inner.constant, m), m);
  inner.constant = 0;
  uint64_t content = inner.content();
  if (content > 1 && content <= INT64_MAX && std::gcd(content, static_cast<uint64_t>(m)) == 1) {
    int64_t k = static_cast<int64_t>(content);
    for (LinearForm::Term &term : inner.terms)
      term.coefficient /= k;
    r = mulModulo(r, inverseModulo(k % m, m), m);
    ctx.countRule(Rule::CongruenceScale);
  }
  // d0 - d1 reads better than d0 + d1·(m - 1).
  if (std::all_of(inner.terms.begin(), inner.terms.end(), [m](const LinearForm::Term &t) {
        return t.coefficient == 1 || t.coefficient == -1 || t.coefficient == m - 1;
      }))
    for (LinearForm::Term &term : inner.terms)
      term.coefficient = term.coefficient == 1 ? 1 : -1;
  if (!inner.terms.empty() && inner.terms.front().coefficient < 0 && inner.scale(-1))
    r = *checkedMod(-r, m);
  c = {inner.build(ctx), {}, m, r};
  isSettled = isSettled && c == before; // another form may in turn be another constraint
  MapVariable *v = c.expr.isVariable() ? find(c.expr) : nullptr;
  if (v && isNarrowable(*v) && v->domain.isBounded()) {
    std::optional<int64_t> lo =
        checkedAdd(v->domain.lo, *checkedMod(r - *checkedMod(v->domain.lo, m), m));
    std::optional<int64_t> hi =
        checkedSub(v->domain.hi, *checkedMod(*checkedMod(v->domain.hi, m) - r, m));
    if (!lo || !hi || *lo > *hi)
      return Outcome::Empty;
    if (v->domain != Interval{*lo, *hi})
      ctx.countRule(Rule::CongruenceNarrows);
    setDomain(*v, {*lo, *hi});
    if (v->domain.isPoint())
      return Outcome::Drop;
  }
  return Outcome::Keep;
}

bool MapConstraints::merge() {
  if (map.conds.size() < 2)
    return true;
  std::sort(map.conds.begin(), map.conds.end(), [](const MapConstraint &a, const MapConstraint &b) {
    if (int order = compareStructure(a.expr, b.expr))
      return order < 0;
    if ((a.modulus == 1) != (b.modulus == 1))
      return a.modulus == 1;
    return std::pair(a.modulus, a.residue) < std::pair(b.modulus, b.residue);
  });
  llvm::SmallVector<MapConstraint, 4> merged;
  for (const MapConstraint &c : map.conds) {
    if (merged.empty() || merged.back().expr != c.expr ||
        (merged.back().modulus == 1) != (c.modulus == 1)) {
      merged.push_back(c);
      continue;
    }
    MapConstraint &last = merged.back();
    if (c.modulus == 1) {
      last.range = last.range.intersect(c.range);
      if (last.range.isEmpty())
        return false;
      continue;
    }
    ctx.countRule(Rule::CongruenceMerge);
    // x ≡ r (mod m), x ≡ s (mod n): x = r + m·t with m·t ≡ s - r (mod n).
    int64_t m = last.modulus, n = c.modulus, g = std::gcd(m, n);
    int64_t difference = c.residue - last.residue; // both in [0, modulus): fits
    if (difference % g != 0)
      return false;
    std::optional<int64_t> lcm = checkedMul(m / g, n);
    if (!lcm) {
      merged.push_back(c);
      continue;
    }
    int64_t step = n / g;
    int64_t t = step == 1 ? 0
                          : mulModulo(*checkedMod(difference / g, step),
                                      inverseModulo(m / g % step, step), step);
    last.residue += m * t; // below lcm
    last.modulus = *lcm;
  }
  isSettled = isSettled && merged.size() == map.conds.size();
  map.conds = std::move(merged);
  return true;
}

/// Narrows each variable that is alone in a sum to the values that the others allow.
bool MapConstraints::propagate(const MapConstraint &c, const LinearForm &form) {
  if (c.modulus != 1)
    return true;
  LinearForm others = form;
  if (!form.terms.empty())
    others.terms.erase(others.terms.begin());
  for (size_t i = 0; i < form.terms.size(); ++i) {
    if (i > 0)
      others.terms[i - 1] = form.terms[i - 1];
    LinearForm::Term term = form.terms[i];
    if (!term.expr.isVariable() || term.coefficient == INT64_MIN)
      continue;
    MapVariable *v = find(term.expr);
    if (!v || !isNarrowable(*v))
      continue;
    Interval left = c.range + -current->range(others);
    Interval narrowed =
        left.isEmpty() ? v->domain : v->domain.intersect(quotient(left, term.coefficient));
    if (narrowed != v->domain)
      ctx.countRule(Rule::ConstraintNarrows);
    setDomain(*v, narrowed);
    if (v->domain.isEmpty())
      return false;
  }
  return true;
}

namespace {

/// True if `var` is the only variable.
bool isOver(Expr expr, Expr var) {
  uint64_t mask = detail::nodeOf(expr)->variables, own = detail::nodeOf(var)->variables;
  constexpr uint64_t shared = uint64_t{1} << 63; // more than one variable may have this bit
  if (mask != own || own != shared)
    return mask == own;
  std::vector<VarId> used = variablesOf(expr);
  return used.size() == 1 && used.front() == var.variable();
}

} // namespace

bool MapConstraints::tryEveryValue() {
  constexpr int64_t maxValues = 4096;
  for (MapVariable &v : map.vars) {
    if (!isNarrowable(v) || !v.domain.isBounded() || v.domain.hi - v.domain.lo < 0 ||
        v.domain.hi - v.domain.lo >= maxValues)
      continue;
    llvm::SmallVector<size_t, 4> own;
    bool bareOnly = true;
    for (size_t i = 0; i < map.conds.size(); ++i)
      if (isOver(map.conds[i].expr, v.var)) {
        own.push_back(i);
        bareOnly = bareOnly && map.conds[i].expr.isVariable();
      }
    if (own.empty() || bareOnly)
      continue;
    int64_t first = 0, last = -1, count = 0;
    Assignment point;
    for (int64_t value = v.domain.lo; value <= v.domain.hi; ++value) {
      point.set(v.var, value);
      bool holds = std::all_of(own.begin(), own.end(), [&](size_t i) {
        const MapConstraint &c = map.conds[i];
        std::optional<int64_t> x = evaluate(c.expr, point);
        return x && c.range.contains(*x) &&
               (c.modulus == 1 || *checkedMod(*x, c.modulus) == c.residue);
      });
      if (!holds)
        continue;
      first = count++ == 0 ? value : first;
      last = value;
    }
    if (count == 0)
      return false;
    if (v.domain != Interval{first, last} || count == last - first + 1)
      ctx.countRule(Rule::EveryValue);
    setDomain(v, {first, last});
    if (count == last - first + 1) {
      isSettled = false;
      for (size_t i = own.size(); i-- > 0;)
        map.conds.erase(map.conds.begin() + static_cast<ptrdiff_t>(own[i]));
    }
  }
  return true;
}

/// One round: every constraint rewritten under the present domains.
bool MapConstraints::normaliseAll() {
  llvm::SmallVector<MapConstraint, 4> kept;
  auto keep = [&](MapConstraint c) {
    Outcome outcome = isKnown(c) ? Outcome::Keep : normalise(c);
    if (outcome == Outcome::Keep)
      kept.push_back(c);
    return outcome != Outcome::Empty;
  };
  for (const MapConstraint &c : map.conds)
    // A constraint of both kinds becomes two.
    if (!keep({c.expr, c.range}) || (c.modulus > 1 && !keep({c.expr, {}, c.modulus, c.residue})))
      return false;
  map.conds = std::move(kept);
  return true;
}

// Narrowing usually settles in two rounds. It can creep (x ≤ y - 1, y ≤ x), so rounds are bounded;
// stopping early is sound.
constexpr int maxRounds = 16;

constexpr size_t maxKnown = 32; // the list is searched linearly

/// Further rounds if all constraints are sums and differences of variables: unless a domain becomes
/// a point, their form stays and only numbers change. Does nothing if a constraint is of another
/// kind. `forms` are the linear forms of the constraints; those of known constraints may be
/// missing.
bool MapConstraints::narrowSums(llvm::SmallVectorImpl<LinearForm> &forms, int &round) {
  for (size_t i = 0; i < forms.size(); ++i) {
    if (forms[i].isConstant())
      forms[i] = LinearForm::of(map.conds[i].expr);
    if (map.conds[i].modulus != 1 || forms[i].constant != 0 ||
        !llvm::all_of(forms[i].terms, [](const LinearForm::Term &t) {
          return t.expr.isVariable() && (t.coefficient == 1 || t.coefficient == -1);
        }))
      return true;
  }
  while (!isSettled && round + 1 < maxRounds) {
    if (hasEmptyDomain())
      return false;
    isStale = true;
    simplifier();
    for (const LinearForm &form : forms)
      for (const LinearForm::Term &term : form.terms)
        if (current->bounds.get(term.expr.variable()).isPoint())
          return true;
    isSettled = true;
    ++round;
    size_t kept = 0;
    for (size_t i = 0; i < forms.size(); ++i) {
      MapConstraint &c = map.conds[i];
      switch (narrowToValues(c, current->range(forms[i]))) {
      case Outcome::Empty:
        return false;
      case Outcome::Drop:
        continue;
      case Outcome::Keep:
        break;
      }
      if (kept != i) {
        map.conds[kept] = c;
        forms[kept] = std::move(forms[i]);
      }
      ++kept;
    }
    map.conds.truncate(kept);
    forms.truncate(kept);
    for (size_t i = 0; i < forms.size(); ++i)
      if (!propagate(map.conds[i], forms[i]))
        return false;
  }
  return true;
}

bool MapConstraints::solve() {
  for (int round = 0; round < maxRounds; ++round) {
    if (hasEmptyDomain())
      return false;
    if (map.conds.empty())
      return true;
    simplifier();
    isSettled = true;
    if (!normaliseAll() || !merge())
      return false;
    llvm::SmallVector<LinearForm, 2> forms(map.conds.size());
    for (size_t i = 0; i < forms.size(); ++i) {
      const MapConstraint &c = map.conds[i];
      if (isKnown(c))
        continue;
      forms[i] = LinearForm::of(c.expr);
      if (!propagate(c, forms[i]))
        return false;
      bool isFinal = c.modulus == 1 || isSettled; // a congruence may in turn become another one
      if (isFinal && !(detail::nodeOf(c.expr)->variables & narrowedSince) &&
          known.size() < maxKnown)
        known.push_back(c);
    }
    if (!isSettled && !narrowSums(forms, round))
      return false;
    if (isSettled && !tryEveryValue())
      return false;
    if (isSettled)
      return true;
    isStale = true;
  }
  return true;
}

} // namespace tilewright
