#include "tests/fuzz/expr_program.h"

#include "analysis/affine/index_map.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright::fuzz {

namespace {

/// Bytes from the front; zeros after the end.
class Reader {
public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes(bytes) {}

  bool isEmpty() const { return bytes.empty(); }
  uint8_t byte() {
    if (bytes.empty())
      return 0;
    uint8_t value = bytes.front();
    bytes = bytes.subspan(1);
    return value;
  }
  /// Mostly small numbers, sometimes any of 64 bits.
  int64_t number() {
    uint8_t kind = byte();
    if (kind < 200)
      return static_cast<int64_t>(kind % 100) - (kind < 100 ? 0 : 40);
    if (kind < 230)
      return int64_t{1} << (kind - 200);
    uint64_t bits = 0;
    for (int i = 0; i < 8; ++i)
      bits = bits << 8 | byte();
    return static_cast<int64_t>(bits >> (kind % 24));
  }

private:
  std::span<const uint8_t> bytes;
};

struct Program {
  ExprContext c;
  std::vector<Expr> vars;
  std::vector<Interval> domains; ///< that points are taken from
  Bounds bounds;                 ///< that the simplifier is told
  std::vector<Expr> stack;

  explicit Program(Reader &in) {
    uint8_t shape = in.byte();
    // Dims only: a range variable that is narrowed and used nowhere is dropped, with its domain.
    vars = {c.dim(0), c.dim(1), c.dim(2), c.variable(VarKind::TileParam, "t")};
    for (size_t i = 0; i < vars.size(); ++i) {
      int64_t lo = i == 3 ? 1 : static_cast<int64_t>(in.byte() % 64) - 16;
      domains.push_back({lo, lo + in.byte() % 100});
      Interval told = domains.back();
      if (shape >> (2 * i) & 1)
        told.hi = INT64_MAX;
      if (i != 3 && shape >> (2 * i + 1) & 1)
        told.lo = INT64_MIN;
      bounds.set(vars[i], told);
      stack.push_back(vars[i]);
    }
  }

  Expr pick(Reader &in) {
    return stack[stack.size() - 1 - in.byte() % std::min<size_t>(stack.size(), 6)];
  }

  void step(Reader &in) {
    uint8_t op = in.byte();
    Expr a = pick(in);
    Expr b = op & 1 ? c.constant(in.number()) : pick(in);
    unsigned what = op >> 1 & 31;
    switch (what < 22 ? what : what & 15) {
    case 0:
      stack.push_back(a + b);
      break;
    case 1: { // what tiles of a size that is not known divide
      Expr t = vars[3], f = t * (1 + in.byte() % 6), g = t * (1 + in.byte() % 6);
      switch (in.byte() % 4) {
      case 0:
        stack.push_back((a * f).floorDiv(g));
        break;
      case 1:
        stack.push_back((a * f).ceilDiv(g));
        break;
      case 2:
        stack.push_back((a * f).mod(g));
        break;
      default:
        stack.push_back(a.floorDiv(f).floorDiv(g));
        break;
      }
      break;
    }
    case 2:
      stack.push_back(a - b);
      break;
    case 3:
    case 4:
      stack.push_back(a * b);
      break;
    case 5:
      stack.push_back(a.floorDiv(b));
      break;
    case 6:
      stack.push_back(a.mod(b));
      break;
    case 7:
      stack.push_back(a.ceilDiv(b));
      break;
    case 8:
      stack.push_back(a.min(b));
      break;
    case 9:
      stack.push_back(a.max(b));
      break;
    case 10: // what linearising and delinearising makes
      stack.push_back(a.floorDiv(b) * b + a.mod(b));
      break;
    case 11:
      stack.push_back(a - a.floorDiv(b) * b);
      break;
    case 12:
      stack.push_back(a * 8 + vars[in.byte() % 3].mod(8));
      break;
    case 13:
      stack.push_back(vars[in.byte() % vars.size()]);
      break;
    case 14: {
      Expr d = c.constant(1 + in.byte() % 12), m = c.constant(1 + in.byte() % 12);
      stack.push_back(a.mod(d) + a.floorDiv(d).mod(m) * d);
      break;
    }
    case 16:
      stack.push_back(a.isAtLeast(b));
      break;
    case 17:
      stack.push_back(a.isEqual(b));
      break;
    case 18:
      stack.push_back(select(a.isAtLeast(vars[in.byte() % vars.size()]), a, b));
      break;
    case 19: {
      Expr c = pick(in);
      stack.push_back(in.byte() & 1 ? select(a.isEqual(c), a, c) : select(c, a, b));
      break;
    }
    case 20:
      stack.push_back(a.pow2Ceil() + a.max(1).log2());
      break;
    case 21:
      stack.push_back(a.max(1).pow2Divisor());
      break;
    default: {
      std::vector<Expr> table(c.variableCount());
      table[vars[in.byte() % vars.size()].variable().index] = b;
      stack.push_back(substitute(a, table));
      break;
    }
    }
    if (stack.back().isPoison())
      stack.back() = vars[0];
  }

  Assignment point(int n) const {
    Assignment at;
    int64_t mixed = n + 1;
    for (size_t i = 0; i < vars.size(); ++i) {
      Interval d = domains[i];
      mixed = (mixed * 6364136223 + 1442695041) % 1000000007;
      at.set(vars[i], n == 0 ? d.lo : n == 1 ? d.hi : d.lo + mixed % (d.hi - d.lo + 1));
    }
    return at;
  }
};

std::string shown(std::optional<int64_t> value) { return value ? fmt::to_string(*value) : "none"; }

/// May intermediate values leave 64 bits? Then a rewrite may lose or gain a value, never change it.
bool isSmall(Expr e, const Program &p) {
  constexpr int64_t limit = int64_t{1} << 30;
  Bounds exact;
  for (size_t i = 0; i < p.vars.size(); ++i)
    exact.set(p.vars[i], p.domains[i]);
  std::vector<Expr> stack{e};
  for (size_t visited = 0; !stack.empty() && visited < 500; ++visited) {
    Expr x = stack.back();
    stack.pop_back();
    if (!Interval{-limit, limit}.contains(rangeOf(x, exact)))
      return false;
    if (x.lhs()) {
      stack.push_back(x.lhs());
      if (x.third())
        stack.push_back(x.third());
      stack.push_back(x.rhs());
    }
  }
  return stack.empty();
}

std::string checkExpr(Program &p, Expr e) {
  Simplifier simplifier(p.c, p.bounds);
  Expr simple = simplifier.simplify(e);
  Interval loose = rangeOf(e, p.bounds), tight = simplifier.range(e);
  int64_t divisor = simplifier.knownDivisor(e);
  bool small = isSmall(e, p);
  for (int n = 0; n < 12; ++n) {
    Assignment at = p.point(n);
    std::optional<int64_t> before = evaluate(e, at), after = evaluate(simple, at);
    if (before && (after ? *after != *before : small))
      return fmt::format("{} is {} and as {} is {}", e.str(), shown(before), simple.str(),
                         shown(after));
    if (!before)
      continue;
    if (!loose.contains(*before) || !tight.contains(*before))
      return fmt::format("{} is {}, outside {} or {}", e.str(), *before, loose.str(), tight.str());
    if (divisor == 0 ? *before != 0 : *before % divisor != 0)
      return fmt::format("{} is {}, not a multiple of {}", e.str(), *before, divisor);
  }
  if (!small)
    return {};
  if (Expr again = Simplifier(p.c, p.bounds).simplify(simple); again != simple)
    return fmt::format("{} becomes {}, then {}", e.str(), simple.str(), again.str());
  return {};
}

/// A map of the last expressions under a constraint reads the same before and after.
std::string checkMap(Program &p, Reader &in) {
  std::vector<MapVariable> variables;
  for (size_t i = 0; i < p.vars.size(); ++i)
    variables.push_back({p.vars[i], p.domains[i], std::nullopt});
  std::vector<Expr> results = p.vars, picked;
  for (int i = 0; i < 3; ++i)
    picked.push_back(p.pick(in));
  for (Expr e : picked)
    if (!isSmall(e, p))
      return {};
  results.push_back(picked[0]);
  int64_t lo = static_cast<int8_t>(in.byte()), modulus = 1 + in.byte() % 12;
  MapConstraint range{picked[1], {lo, lo + in.byte()}};
  MapConstraint congruence{picked[2], {}, modulus, in.byte() % modulus};
  uint8_t form = in.byte();
  if (int64_t digit = 2 + form % 7;
      form & 64) { // high and low digits, and ends that say whole ones
    range.expr = range.expr * digit + p.vars[0].mod(digit);
    range.range = {range.range.lo * digit, range.range.hi * digit + digit - 1};
  }
  if (form & 128)
    congruence.expr = congruence.expr * (1 + form % 11);
  IndexMap map(p.c, variables, results, {range, congruence});
  IndexMap simple = map.simplified();
  for (int n = 0; n < 40; ++n) {
    Assignment at = p.point(n);
    if (map.evaluate(at) != simple.evaluate(at))
      return fmt::format("{} and {} differ", map.str(), simple.str());
  }
  return {};
}

/// A composition reads what the second map reads at what the first one reads. The first may leave
/// the second's domain, both have constraints, and the tile parameter is one of both.
std::string checkComposition(Program &p, Reader &in) {
  constexpr size_t dims = 3;
  auto map = [&](size_t results) -> std::optional<IndexMap> {
    std::vector<MapVariable> variables;
    for (size_t i = 0; i < p.vars.size(); ++i)
      variables.push_back({p.vars[i], p.domains[i], std::nullopt});
    std::vector<Expr> picked;
    for (size_t i = 0; i < results + 1; ++i) {
      picked.push_back(p.pick(in));
      if (!isSmall(picked.back(), p))
        return std::nullopt;
    }
    Expr restricted = picked.back();
    picked.pop_back();
    std::vector<MapConstraint> constraints;
    int64_t lo = static_cast<int8_t>(in.byte());
    if (uint8_t kind = in.byte(); kind % 4 == 0)
      constraints.push_back({restricted, {}, 2 + kind % 7, kind % 2});
    else if (kind % 4 != 1)
      constraints.push_back({restricted, {lo, lo + kind / 2}});
    return IndexMap(p.c, variables, picked, constraints);
  };
  std::optional<IndexMap> first = map(dims), second = map(2);
  if (!first || !second)
    return {};
  IndexMap both = compose(*first, *second);
  bool small = std::ranges::all_of(both.results(), [&](Expr e) { return isSmall(e, p); }) &&
               std::ranges::all_of(both.constraints(),
                                   [&](const MapConstraint &c) { return isSmall(c.expr, p); });
  for (int n = 0; n < 40; ++n) {
    Assignment at = p.point(n), between = at;
    std::optional<std::vector<int64_t>> read = first->evaluate(at);
    for (size_t i = 0; i < dims && read; ++i)
      between.set(p.vars[i], (*read)[i]);
    if (read)
      read = second->evaluate(between);
    std::optional<std::vector<int64_t>> composed = both.evaluate(at);
    if (composed != read && (small || composed))
      return fmt::format("{} and then {} is not {}", first->str(), second->str(), both.str());
  }
  return {};
}

} // namespace

std::string checkExprProgram(std::span<const uint8_t> bytes, RuleTotals *applied) {
  Reader in(bytes);
  Program p(in);
  constexpr int maxSteps = 40;
  constexpr size_t maxNodes = 3000; // the checks below take every sub-expression's range
  for (int i = 0; i < maxSteps && !in.isEmpty() && p.c.nodeCount() < maxNodes; ++i)
    p.step(in);
  std::string wrong = checkExpr(p, p.stack.back());
  if (wrong.empty())
    wrong = checkMap(p, in);
  if (wrong.empty())
    wrong = checkComposition(p, in);
  for (const RuleInfo &rule : rules())
    if (applied)
      (*applied)[static_cast<size_t>(rule.rule)] += p.c.ruleCounts()[rule.rule];
  return wrong;
}

} // namespace tilewright::fuzz
