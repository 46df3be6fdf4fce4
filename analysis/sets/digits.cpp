#include "analysis/sets/digits.h"

#include "analysis/affine/linear_form.h"
#include "analysis/support/checked.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace tilewright::sets {
namespace {

using Outcome = DigitProgram::Outcome;
using Alternative = Split::Alternative;

/// A digit of at most this many values may be split into single values.
constexpr int64_t maxSingleValues = 16;

bool fits(int64_t value) { return value >= -maxMagnitude && value <= maxMagnitude; }

/// The interval that constraints imply for a variable without bounds of its own: c·v + rest ∈ [lo,
/// hi].
Interval boundedBy(const IndexMap &map, Expr var) {
  Interval result;
  Bounds bounds = map.bounds();
  for (const MapConstraint &constraint : map.constraints()) {
    LinearForm form = LinearForm::of(constraint.expr);
    int64_t c = form.coefficientOf(var);
    if (c != 1 && c != -1)
      continue;
    Interval rest = Interval::point(form.constant);
    for (const LinearForm::Term &t : form.terms)
      if (t.expr != var)
        rest = rest + rangeOf(t.expr, bounds) * Interval::point(t.coefficient);
    Interval values = constraint.range + -rest; // saturates where either has no bound
    result = result.intersect(c == 1 ? values : -values);
  }
  return result;
}

int64_t floorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0); }
int64_t ceilDivide(int64_t a, int64_t b) { return a / b + (a % b > 0); }

Outcome fail(DigitProgram::Values &out, std::string reason) {
  out.reason = std::move(reason);
  return Outcome::Failed;
}

Outcome overflow(DigitProgram::Values &out) { return fail(out, "numbers near 64 bits"); }

Outcome split(DigitProgram::Values &out, uint32_t digit,
              llvm::SmallVector<Alternative, 4> alternatives) {
  out.split.digit = digit;
  out.split.alternatives = std::move(alternatives);
  return Outcome::Split;
}

/// Values first … last of a digit only.
Outcome narrow(DigitProgram::Values &out, uint32_t digit, int64_t first, int64_t last) {
  if (first > last)
    return split(out, digit, {});
  return split(out, digit, {{first, last - first + 1, 1, 1, 0}});
}

/// Fallback: splits the smallest digit of a sum into single values.
Outcome splitSmallest(const DigitSum &sum, const Piece &piece, DigitProgram::Values &out,
                      std::string_view what) {
  const DigitSum::Term *best = nullptr;
  for (const DigitSum::Term &t : sum.terms)
    if (!best || piece.extents[t.digit] < piece.extents[best->digit])
      best = &t;
  if (!best || piece.extents[best->digit] > maxSingleValues)
    return fail(out, fmt::format("{} of digits that do not fit it", what));
  llvm::SmallVector<Alternative, 4> alternatives;
  for (int64_t v = 0; v < piece.extents[best->digit]; ++v)
    alternatives.push_back({v});
  return split(out, best->digit, std::move(alternatives));
}

/// k in [0, n) cut at first, first + period, …: the part before, whole periods as two digits, the
/// part after.
llvm::SmallVector<Alternative, 4> cutInPeriods(int64_t n, int64_t first, int64_t period) {
  llvm::SmallVector<Alternative, 4> parts;
  first = std::min(first, n);
  if (first > 0)
    parts.push_back({0, first});
  int64_t whole = (n - first) / period;
  if (whole > 0)
    parts.push_back({first, period, 1, whole, period});
  int64_t rest = n - first - whole * period;
  if (rest > 0)
    parts.push_back({first + whole * period, rest});
  return parts;
}

/// ⌊sum / divisor⌋.
Outcome floorDivide(const DigitSum &sum, int64_t divisor, const Piece &piece, DigitSum &quotient,
                    DigitProgram::Values &out) {
  DigitSum rest;
  quotient = {};
  quotient.constant = floorDivide(sum.constant, divisor);
  rest.constant = sum.constant - quotient.constant * divisor;
  for (const DigitSum::Term &t : sum.terms) {
    if (t.coefficient % divisor == 0)
      quotient.terms.push_back({t.digit, t.coefficient / divisor});
    else
      rest.terms.push_back(t);
  }
  Interval range = rangeOf(rest, piece.extents);
  if (!fits(range.lo) || !fits(range.hi))
    return overflow(out);
  int64_t q = floorDivide(range.lo, divisor);
  if (q == floorDivide(range.hi, divisor)) {
    quotient.constant += q;
    return Outcome::Done;
  }
  // ⌊(c·k + inner) / divisor⌋ = ⌊(±k + t) / m⌋ with m = divisor / |c| where |c| divides the divisor
  // and inner lies in [|c|·t, |c|·(t + 1)). Then k is cut where ±k + t passes a multiple of m.
  auto top = std::max_element(rest.terms.begin(), rest.terms.end(), [](auto &a, auto &b) {
    return std::abs(a.coefficient) < std::abs(b.coefficient);
  });
  int64_t c = std::abs(top->coefficient);
  if (divisor % c == 0) {
    DigitSum inner = rest;
    inner.terms.erase(inner.terms.begin() + (top - rest.terms.begin()));
    Interval innerRange = rangeOf(inner, piece.extents);
    int64_t t = floorDivide(innerRange.lo, c), m = divisor / c;
    if (t == floorDivide(innerRange.hi, c)) {
      int64_t phase = *checkedMod(t, m);
      int64_t first = top->coefficient > 0 ? (m - phase) % m : phase + 1;
      return split(out, top->digit, cutInPeriods(piece.extents[top->digit], first, m));
    }
  }
  return splitSmallest(rest, piece, out, "a division");
}

/// min (or max) of two sums.
Outcome minimum(const DigitSum &a, const DigitSum &b, bool isMax, const Piece &piece,
                DigitSum &result, DigitProgram::Values &out) {
  DigitSum gap = a;
  if (!gap.add(b, -1))
    return overflow(out);
  Interval range = rangeOf(gap, piece.extents);
  if (!fits(range.lo) || !fits(range.hi))
    return overflow(out);
  if (range.hi <= 0 || range.lo >= 0) {
    result = (range.hi <= 0) != isMax ? a : b;
    return Outcome::Done;
  }
  if (gap.terms.size() == 1) {
    // c·k + constant changes its sign once.
    const DigitSum::Term &t = gap.terms[0];
    int64_t cut = t.coefficient > 0 ? ceilDivide(-gap.constant, t.coefficient)
                                    : gap.constant / -t.coefficient + 1;
    int64_t n = piece.extents[t.digit];
    cut = std::clamp<int64_t>(cut, 1, n - 1);
    return split(out, t.digit, {{0, cut}, {cut, n - cut}});
  }
  return splitSmallest(gap, piece, out, isMax ? "a maximum" : "a minimum");
}

/// sum ≡ residue (mod modulus) for a sum of one digit: the digit's values are a progression.
Outcome solveCongruence(const DigitSum &sum, int64_t modulus, int64_t residue, const Piece &piece,
                        DigitProgram::Values &out) {
  const DigitSum::Term &t = sum.terms[0];
  __int128 wanted = (static_cast<__int128>(residue) - sum.constant) % modulus;
  int64_t r = static_cast<int64_t>(wanted < 0 ? wanted + modulus : wanted);
  int64_t c = *checkedMod(t.coefficient, modulus), n = piece.extents[t.digit];
  int64_t g = std::gcd(c, modulus);
  if (r % g != 0)
    return split(out, t.digit, {});
  // All k with c·k ≡ r are a class modulo modulus / g; its least one by intersecting c·k with
  // r + modulus·j.
  int64_t step = modulus / g;
  __int128 a = c / g, x0 = 1, x1 = 0, u = a, v = step;
  while (v != 0) {
    __int128 q = u / v, nextU = v, nextV = u - q * v, nextX = x0 - q * x1;
    u = nextU, v = nextV, x0 = x1, x1 = nextX;
  }
  __int128 k = x0 % step * (r / g) % step;
  int64_t first = static_cast<int64_t>(k < 0 ? k + step : k);
  if (first >= n)
    return split(out, t.digit, {});
  if (step == 1)
    return Outcome::Done;
  return split(out, t.digit, {{first, (n - 1 - first) / step + 1, step}});
}

} // namespace

bool DigitSum::add(const DigitSum &other, int64_t scale) {
  if (scale == 0)
    return true;
  auto accumulate = [scale](int64_t &into, int64_t from) {
    int64_t product;
    return !__builtin_mul_overflow(from, scale, &product) &&
           !__builtin_add_overflow(into, product, &into) && fits(into);
  };
  if (!accumulate(constant, other.constant))
    return false;
  llvm::SmallVector<Term, 4> merged;
  const Term *a = terms.begin(), *b = other.terms.begin();
  while (a != terms.end() || b != other.terms.end()) {
    Term t{};
    bool takeA = a != terms.end() && (b == other.terms.end() || a->digit <= b->digit);
    bool takeB = b != other.terms.end() && (a == terms.end() || b->digit <= a->digit);
    t.digit = takeA ? a->digit : b->digit;
    if (takeA)
      t.coefficient = (a++)->coefficient;
    if (takeB && !accumulate(t.coefficient, (b++)->coefficient))
      return false;
    if (t.coefficient != 0)
      merged.push_back(t);
  }
  terms = std::move(merged);
  return true;
}

Interval rangeOf(const DigitSum &sum, const std::vector<int64_t> &extents) {
  Interval range = Interval::point(sum.constant);
  for (const DigitSum::Term &t : sum.terms)
    range = range + Interval::ofExtent(extents[t.digit]) * Interval::point(t.coefficient);
  return range;
}

bool Residual::holds(int64_t value) const {
  return range.contains(value) && *checkedMod(value, modulus) == *checkedMod(residue, modulus);
}

DigitProgram::DigitProgram(const Reads &reads) : reads(reads) {
  const IndexMap &map = reads.map;
  std::vector<Expr> roots = map.results();
  struct Root {
    Expr expr;
    const MapConstraint *from;
    bool isCongruence;
  };
  std::vector<Root> constraintRoots;
  for (const MapConstraint &c : map.constraints()) {
    // e mod m ∈ [r, r] is a congruence of e: the mod need not be split.
    bool isCongruence = c.modulus == 1 && c.range.isPoint() && c.expr.kind() == ExprKind::Mod &&
                        c.expr.rhs().isConstant() && c.expr.rhs().constant() > 0;
    Expr root = isCongruence ? c.expr.lhs() : c.expr;
    constraintRoots.push_back({root, &c, isCongruence});
    roots.push_back(root);
  }
  nodes.emplace(roots);
  for (Expr result : map.results())
    resultNodes.push_back(nodes->positionOf(result));
  for (const Root &root : constraintRoots) {
    Condition condition{nodes->positionOf(root.expr), root.from->range, root.from->modulus,
                        root.from->residue};
    if (root.isCongruence) {
      condition.modulus = root.from->expr.rhs().constant();
      condition.residue = root.from->range.lo;
      condition.range = Interval{};
      // No value of the mod reaches such a residue.
      if (condition.residue < 0 || condition.residue >= condition.modulus)
        condition.range = Interval::empty();
    }
    conditions.push_back(condition);
  }
  for (size_t i = 0; i < map.variables().size(); ++i) {
    uint32_t index = map.variables()[i].var.variable().index;
    if (index >= variableIndex.size())
      variableIndex.resize(index + 1, -1);
    variableIndex[index] = static_cast<int32_t>(i);
  }
}

std::optional<Piece> DigitProgram::start(std::string &reason) const {
  Piece piece;
  for (const MapVariable &v : reads.map.variables()) {
    bool isRestricted = false;
    Progression values{0, 0, 1};
    auto restrict = [&](const Progression &p) {
      values = isRestricted ? intersect(values, p) : p;
      isRestricted = true;
    };
    for (const auto &[var, given] : reads.restrictions)
      if (var == v.var) {
        std::optional<Progression> p = normalised(given);
        if (!p || !fits(p->offset) || !fits(p->last())) {
          reason = "a box with numbers near 64 bits";
          return std::nullopt;
        }
        restrict(*p);
      }
    Interval domain = v.domain;
    if (!domain.isBounded())
      domain = domain.intersect(boundedBy(reads.map, v.var));
    if (!domain.isEmpty()) {
      Interval wanted = domain;
      domain = domain.intersect({-maxMagnitude, maxMagnitude});
      if (!isRestricted && domain != wanted) {
        reason = fmt::format("{} is unbounded", v.var.str());
        return std::nullopt;
      }
    }
    restrict(Progression::interval(domain.lo, domain.isEmpty() ? domain.lo - 1 : domain.hi));
    DigitSum sum;
    sum.constant = values.offset;
    if (values.size != 1) {
      sum.terms.push_back({static_cast<uint32_t>(piece.extents.size()), values.stride});
      piece.extents.push_back(values.size);
    }
    piece.variables.push_back(std::move(sum));
  }
  return piece;
}

Outcome DigitProgram::visit(const NodeList::Node &node, const Piece &piece,
                            std::vector<DigitSum> &sums, size_t index, Values &out) const {
  DigitSum &result = sums[index];
  Expr e = node.expr;
  const DigitSum &a = sums[node.lhs], &b = sums[node.rhs];
  switch (e.kind()) {
  case ExprKind::Constant:
    result.constant = e.constant();
    return fits(e.constant()) ? Outcome::Done : overflow(out);
  case ExprKind::Variable: {
    uint32_t id = e.variable().index;
    if (id >= variableIndex.size() || variableIndex[id] < 0)
      return fail(out, fmt::format("{} has no domain", e.str()));
    result = piece.variables[variableIndex[id]];
    return Outcome::Done;
  }
  case ExprKind::Add:
    result = a;
    return result.add(b, 1) ? Outcome::Done : overflow(out);
  case ExprKind::Mul: {
    if (!a.isConstant() && !b.isConstant())
      return fail(out, "a product of variables");
    const DigitSum &sum = b.isConstant() ? a : b;
    return result.add(sum, b.isConstant() ? b.constant : a.constant) ? Outcome::Done
                                                                     : overflow(out);
  }
  case ExprKind::FloorDiv:
  case ExprKind::CeilDiv:
  case ExprKind::Mod: {
    if (!b.isConstant() || b.constant <= 0)
      return fail(out, "a divisor that is not a positive constant");
    int64_t divisor = b.constant;
    DigitSum quotient;
    if (e.kind() == ExprKind::CeilDiv) {
      DigitSum negative; // ⌈a/b⌉ = -⌊-a/b⌋
      if (!negative.add(a, -1))
        return overflow(out);
      if (Outcome o = floorDivide(negative, divisor, piece, quotient, out); o != Outcome::Done)
        return o;
      return result.add(quotient, -1) ? Outcome::Done : overflow(out);
    }
    if (Outcome o = floorDivide(a, divisor, piece, quotient, out); o != Outcome::Done)
      return o;
    if (e.kind() == ExprKind::FloorDiv) {
      result = std::move(quotient);
      return Outcome::Done;
    }
    result = a;
    return result.add(quotient, -divisor) ? Outcome::Done : overflow(out);
  }
  case ExprKind::Min:
  case ExprKind::Max:
    return minimum(a, b, e.kind() == ExprKind::Max, piece, result, out);
  case ExprKind::IsAtLeast:
  case ExprKind::IsEqual:
  case ExprKind::Pow2Ceil:
  case ExprKind::Pow2Divisor:
  case ExprKind::Log2:
  case ExprKind::Select:
    return fail(out, notAffine);
  case ExprKind::Poison:
    return fail(out, "an expression that leaves 64 bits");
  }
  return fail(out, "an unknown expression");
}

Outcome DigitProgram::check(const Condition &condition, const DigitSum &sum, const Piece &piece,
                            Values &out) const {
  Interval range = rangeOf(sum, piece.extents);
  if (!fits(range.lo) || !fits(range.hi))
    return overflow(out);
  if (condition.modulus < 1)
    return fail(out, "a modulus that is not positive");
  DigitSum relevant = sum; // what the congruence depends on
  llvm::erase_if(relevant.terms,
                 [&](const DigitSum::Term &t) { return t.coefficient % condition.modulus == 0; });
  bool holdsModulo = relevant.isConstant();
  if (range.intersect(condition.range).isEmpty() ||
      (holdsModulo && *checkedMod(sum.constant, condition.modulus) !=
                          *checkedMod(condition.residue, condition.modulus)))
    return split(out, 0, {});
  if (!holdsModulo && relevant.terms.size() == 1) {
    if (Outcome o = solveCongruence(relevant, condition.modulus, condition.residue, piece, out);
        o != Outcome::Done)
      return o;
    holdsModulo = true;
  }
  if (!condition.range.contains(range)) {
    // Each digit is restricted to values for which the others can satisfy the constraint.
    for (const DigitSum::Term &t : sum.terms) {
      int64_t n = piece.extents[t.digit], c = t.coefficient;
      Interval own = Interval::ofExtent(n) * Interval::point(c);
      int64_t othersLo = range.lo - own.lo, othersHi = range.hi - own.hi;
      // c·k ≥ lo and c·k ≤ hi
      int64_t lo = std::max(condition.range.lo, range.lo) - othersHi;
      int64_t hi = std::min(condition.range.hi, range.hi) - othersLo;
      int64_t first = c > 0 ? ceilDivide(lo, c) : ceilDivide(-hi, -c);
      int64_t last = c > 0 ? floorDivide(hi, c) : floorDivide(-lo, -c);
      if (first > 0 || last < n - 1)
        return narrow(out, t.digit, std::max<int64_t>(first, 0), std::min(last, n - 1));
    }
  }
  if (!condition.range.contains(range) || !holdsModulo)
    out.residuals.push_back({sum, condition.range, condition.modulus, condition.residue});
  return Outcome::Done;
}

DigitProgram::Outcome DigitProgram::evaluate(const Piece &piece, Values &out) const {
  out = {};
  std::vector<DigitSum> sums(nodes->nodes().size());
  for (size_t i = 0; i < sums.size(); ++i)
    if (Outcome o = visit(nodes->nodes()[i], piece, sums, i, out); o != Outcome::Done)
      return o;
  for (const Condition &condition : conditions)
    if (Outcome o = check(condition, sums[condition.node], piece, out); o != Outcome::Done)
      return o;
  for (uint32_t node : resultNodes)
    out.results.push_back(sums[node]);
  return Outcome::Done;
}

std::optional<Piece> DigitProgram::apply(const Piece &piece, uint32_t digit,
                                         const Split::Alternative &alternative) {
  Piece result = piece;
  DigitSum replacement;
  replacement.constant = alternative.start;
  // The inner digit takes the old one's place; the outer one is new.
  result.extents[digit] = alternative.innerSize;
  if (alternative.innerSize > 1)
    replacement.terms.push_back({digit, alternative.innerStride});
  if (alternative.outerSize > 1) {
    replacement.terms.push_back(
        {static_cast<uint32_t>(result.extents.size()), alternative.outerStride});
    result.extents.push_back(alternative.outerSize);
  }
  for (DigitSum &sum : result.variables) {
    auto term = std::find_if(sum.terms.begin(), sum.terms.end(),
                             [&](const DigitSum::Term &t) { return t.digit == digit; });
    if (term == sum.terms.end())
      continue;
    int64_t coefficient = term->coefficient;
    sum.terms.erase(term);
    if (!sum.add(replacement, coefficient))
      return std::nullopt;
  }
  return result;
}

} // namespace tilewright::sets
