#include "analysis/program/layout/general_map.h"

#include "analysis/prove/terms.h"
#include "analysis/support/checked.h"

#include <fmt/format.h>
#include <unordered_map>

namespace tilewright::layout {

namespace {

/// The dims' extents; nothing where one has no bounds.
std::optional<std::vector<Interval>> domainsOf(const IndexMap &map) {
  std::vector<Interval> domains;
  for (const MapVariable &variable : map.variables()) {
    if (variable.domain.lo == INT64_MIN || variable.domain.hi == INT64_MAX)
      return std::nullopt;
    domains.push_back(variable.domain);
  }
  return domains;
}

std::optional<int64_t> pointsOf(const std::vector<Interval> &domains) {
  std::optional<int64_t> points = 1;
  for (const Interval &domain : domains)
    if (points)
      points = checkedMul(*points, std::max<int64_t>(0, domain.hi - domain.lo + 1));
  return points;
}

/// Next point in row-major order; false behind the last one.
bool advance(std::vector<int64_t> &at, const std::vector<Interval> &domains) {
  for (size_t d = at.size(); d-- > 0;) {
    if (at[d] < domains[d].hi) {
      ++at[d];
      return true;
    }
    at[d] = domains[d].lo;
  }
  return false;
}

struct HashOfCoordinates {
  size_t operator()(const std::vector<int64_t> &at) const {
    size_t hash = 0;
    for (int64_t value : at)
      hash = hash * 0x9e3779b97f4a7c15ull + static_cast<size_t>(value) + (hash >> 29);
    return hash;
  }
};

MapAnswer byEnumeration(const IndexMap &map, const std::vector<Interval> &domains, int64_t points) {
  MapAnswer answer;
  answer.reason = fmt::format("all {} points", points);
  std::vector<int64_t> at;
  for (const Interval &domain : domains)
    at.push_back(domain.lo);
  std::unordered_map<std::vector<int64_t>, std::vector<int64_t>, HashOfCoordinates> holders;
  do {
    Assignment point;
    for (size_t d = 0; d < at.size(); ++d)
      point.set(map.variables()[d].var, at[d]);
    std::optional<std::vector<int64_t>> element = map.evaluate(point);
    if (!element)
      continue;
    auto [where, isNew] = holders.emplace(std::move(*element), at);
    if (!isNew) {
      answer.verdict = MapVerdict::NotInjective;
      answer.first = where->second;
      answer.second = at;
      return answer;
    }
  } while (advance(at, domains));
  answer.verdict = MapVerdict::Injective;
  return answer;
}

/// Terms over bit-vectors, for expressions whose parts all fit 32 bits: a map of digits is shifts
/// and masks there, which integers leave to search.
class WordTerms {
public:
  WordTerms(z3::context &context, const IndexMap &map) : z3(context), bounds(map.bounds()) {}

  void bind(Expr variable, z3::expr word) {
    bound.insert_or_assign(variable.variable(), std::move(word));
  }
  z3::expr number(int64_t value) { return z3.bv_val(value, bits); }

  /// Nothing where a part leaves the range, or is of another kind than those of quotients.
  std::optional<z3::expr> term(Expr e) {
    Interval range = rangeOf(e, bounds);
    if (range.lo < INT32_MIN || range.hi > INT32_MAX)
      return std::nullopt;
    if (e.isConstant())
      return number(e.constant());
    if (e.isVariable()) {
      auto found = bound.find(e.variable());
      return found == bound.end() ? std::nullopt : std::optional(found->second);
    }
    if (e.kind() == ExprKind::Poison || e.kind() == ExprKind::Select)
      return std::nullopt;
    std::optional<z3::expr> a = term(e.lhs()), b = term(e.rhs());
    return a && b ? combined(e, *a, *b) : std::nullopt;
  }

private:
  static constexpr unsigned bits = 32;

  std::optional<z3::expr> combined(Expr e, const z3::expr &a, const z3::expr &b) {
    // Unsigned quotients are those of the integers where nothing is negative.
    const bool dividesByNumber =
        e.rhs().isConstant() && e.rhs().constant() > 0 && rangeOf(e.lhs(), bounds).lo >= 0;
    switch (e.kind()) {
    case ExprKind::Add:
      return a + b;
    case ExprKind::Mul:
      return a * b;
    case ExprKind::FloorDiv:
      return dividesByNumber ? std::optional(z3::udiv(a, b)) : std::nullopt;
    case ExprKind::Mod:
      return dividesByNumber ? std::optional(z3::urem(a, b)) : std::nullopt;
    default:
      return std::nullopt;
    }
  }

  z3::context &z3;
  Bounds bounds;
  std::map<VarId, z3::expr> bound;
};

/// Two places of one element as bit-vectors; nothing where the map has no such terms.
struct WordPair {
  std::vector<z3::expr> first, second, statements;

  static std::optional<WordPair> of(z3::context &context, const IndexMap &map) {
    WordPair result;
    std::vector<z3::expr> elements[2];
    for (size_t side = 0; side < 2; ++side) {
      std::vector<z3::expr> &place = side == 0 ? result.first : result.second;
      WordTerms terms(context, map);
      for (const MapVariable &variable : map.variables()) {
        if (variable.domain.lo < 0 || variable.domain.hi > INT32_MAX)
          return std::nullopt;
        z3::expr x = context.bv_const(fmt::format("p{}_{}", side, place.size()).c_str(), 32);
        result.statements.push_back(z3::uge(x, terms.number(variable.domain.lo)) &&
                                    z3::ule(x, terms.number(variable.domain.hi)));
        terms.bind(variable.var, x);
        place.push_back(x);
      }
      for (Expr e : map.results()) {
        std::optional<z3::expr> term = terms.term(e);
        if (!term)
          return std::nullopt;
        elements[side].push_back(*term);
      }
    }
    for (size_t d = 0; d < elements[0].size(); ++d)
      result.statements.push_back(elements[0][d] == elements[1][d]);
    return result;
  }
};

/// The map at a place of fresh integers, as Z3 terms.
struct PlaceTerms {
  std::vector<z3::expr> place, element, conditions;

  PlaceTerms(z3::context &context, const IndexMap &map, const Assignment &none,
             const std::string &prefix) {
    prove::Terms terms(context, none);
    for (size_t d = 0; d < map.variables().size(); ++d) {
      z3::expr x = context.int_const(fmt::format("{}{}", prefix, d).c_str());
      terms.bind(map.variables()[d].var, x);
      conditions.push_back(prove::within(x, map.variables()[d].domain));
      place.push_back(x);
    }
    for (const MapConstraint &constraint : map.constraints())
      conditions.push_back(prove::holds(terms, constraint));
    for (Expr result : map.results())
      element.push_back(terms.term(result));
    for (const z3::expr &condition : terms.sideConditions)
      conditions.push_back(condition);
    for (const z3::expr &divisor : terms.divisors)
      conditions.push_back(divisor >= 1);
  }
};

/// Is the pair that Z3 found one by our own arithmetic?
bool isConfirmed(const IndexMap &map, const MapAnswer &answer) {
  auto elementAt = [&](const std::vector<int64_t> &place) {
    Assignment point;
    for (size_t d = 0; d < place.size(); ++d)
      point.set(map.variables()[d].var, place[d]);
    return map.evaluate(point);
  };
  std::optional<std::vector<int64_t>> a = elementAt(answer.first), b = elementAt(answer.second);
  return answer.first != answer.second && a && b && *a == *b;
}

MapAnswer ask(z3::solver &solver, const std::vector<z3::expr> &first,
              const std::vector<z3::expr> &second, const IndexMap &map, const MapBudget &budget) {
  MapAnswer answer;
  z3::context &context = solver.ctx();
  z3::params params(context);
  params.set("rlimit", budget.rlimit);
  params.set("timeout", budget.watchdogMs);
  solver.set(params);
  z3::expr areDifferent = context.bool_val(false);
  for (size_t d = 0; d < first.size(); ++d)
    areDifferent = areDifferent || first[d] != second[d];
  solver.add(areDifferent);
  switch (solver.check()) {
  case z3::unsat:
    answer.verdict = MapVerdict::Injective;
    answer.reason = "proved by Z3";
    break;
  case z3::sat: {
    z3::model model = solver.get_model();
    for (size_t d = 0; d < first.size(); ++d) {
      answer.first.push_back(static_cast<int64_t>(model.eval(first[d], true).as_int64()));
      answer.second.push_back(static_cast<int64_t>(model.eval(second[d], true).as_int64()));
    }
    answer.reason = "a pair found by Z3";
    answer.verdict = isConfirmed(map, answer) ? MapVerdict::NotInjective : MapVerdict::Unknown;
    break;
  }
  case z3::unknown:
    answer.reason = fmt::format("Z3 has no answer within {} units and {} s", budget.rlimit,
                                budget.watchdogMs / 1000);
    break;
  }
  return answer;
}

MapAnswer byZ3(const IndexMap &map, const MapBudget &budget) {
  z3::context context;
  if (map.constraints().empty())
    if (std::optional<WordPair> words = WordPair::of(context, map)) {
      z3::solver solver(context, "QF_BV");
      for (const z3::expr &statement : words->statements)
        solver.add(statement);
      return ask(solver, words->first, words->second, map, budget);
    }
  z3::solver solver(context, z3::solver::simple());
  Assignment none;
  PlaceTerms a(context, map, none, "a"), b(context, map, none, "b");
  for (const PlaceTerms *terms : {&a, &b})
    for (const z3::expr &condition : terms->conditions)
      solver.add(condition);
  for (size_t d = 0; d < a.element.size(); ++d)
    solver.add(a.element[d] == b.element[d]);
  return ask(solver, a.place, b.place, map, budget);
}

} // namespace

MapAnswer isInjective(const IndexMap &map, const MapBudget &budget) {
  for (const MapVariable &variable : map.variables())
    if (map.context().info(variable.var.variable()).kind != VarKind::Dim)
      return {MapVerdict::Unknown, {}, {}, "it has variables that are no part of a place"};
  if (std::optional<std::vector<Interval>> domains = domainsOf(map)) {
    std::optional<int64_t> points = pointsOf(*domains);
    if (points && *points == 0)
      return {MapVerdict::Injective, {}, {}, "it has no points"};
    if (points && *points <= budget.maxPoints)
      return byEnumeration(map, *domains, *points);
  }
  return byZ3(map, budget);
}

} // namespace tilewright::layout
