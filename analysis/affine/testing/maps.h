// Random index maps of every class, and what compose() must agree with.
#pragma once

#include "analysis/affine/index_map.h"
#include "analysis/affine/transfer.h"

#include <map>
#include <random>
#include <set>

namespace tilewright::test {

/// The same expressions and maps in another context, which has not found anything out yet.
class Copier {
public:
  explicit Copier(ExprContext &to) : to(to) {}
  Expr copy(Expr e) {
    return transferred(e, to, [&](VarId var) {
      const Variable &v = e.context().info(var);
      return to.variable(v.kind, v.name);
    });
  }
  IndexMap copy(const IndexMap &map) {
    std::vector<MapVariable> variables;
    for (const MapVariable &v : map.variables()) {
      std::optional<RuntimeSource> source;
      if (v.source) {
        source = *v.source;
        for (Expr &e : source->element)
          e = copy(e);
      }
      variables.emplace_back(copy(v.var), v.domain, source);
    }
    std::vector<Expr> results;
    for (Expr e : map.results())
      results.push_back(copy(e));
    std::vector<MapConstraint> constraints = map.constraints();
    for (MapConstraint &c : constraints)
      c.expr = copy(c.expr);
    if (map.isKnownEmpty()) // said again, for it to be found out again
      constraints.push_back({to.constant(0), Interval::point(1)});
    return IndexMap(to, variables, results, constraints);
  }

private:
  ExprContext &to;
};

/// Composition as its definition says it: second's dims replaced, its other variables renamed
/// apart, first's results constrained to second's dims, and then everything simplified.
inline IndexMap composeByDefinition(const IndexMap &first, const IndexMap &second) {
  ExprContext &c = first.context();
  std::vector<MapVariable> variables = first.variables();
  std::vector<MapConstraint> constraints = first.constraints();
  if (first.isKnownEmpty() || second.isKnownEmpty())
    constraints.push_back({c.constant(0), Interval::point(1)});
  std::set<uint32_t> own, taken;
  for (const MapVariable &v : first.variables())
    own.insert(v.var.variable().index);
  taken = own;
  for (const MapVariable &v : second.variables())
    taken.insert(v.var.variable().index);
  std::vector<Expr> table(c.variableCount());
  size_t dim = 0;
  unsigned ranges = 0, runtimes = 0;
  for (const MapVariable &v : second.variables()) {
    VarKind kind = c.info(v.var.variable()).kind;
    if (kind == VarKind::Dim) {
      table[v.var.variable().index] = first.results()[dim];
      constraints.push_back({first.results()[dim++], v.domain});
      continue;
    }
    if (!own.count(v.var.variable().index))
      continue;
    Expr to;
    do
      to = kind == VarKind::Range ? c.range(ranges++) : c.runtime(runtimes++);
    while (!taken.insert(to.variable().index).second);
    table[v.var.variable().index] = to;
  }
  for (MapVariable v : second.variables()) {
    if (c.info(v.var.variable()).kind == VarKind::Dim)
      continue;
    v.var = substitute(v.var, table);
    if (v.source)
      v.source = v.source->mapped([&](Expr e) { return substitute(e, table); });
    variables.push_back(v);
  }
  for (MapConstraint condition : second.constraints()) {
    condition.expr = substitute(condition.expr, table);
    constraints.push_back(condition);
  }
  return IndexMap(c, variables, substitute(second.results(), table), constraints).simplified();
}

/// What each output element reads, over all values of the other variables, which are bounded.
inline std::map<std::vector<int64_t>, std::set<std::vector<int64_t>>> reads(const IndexMap &map) {
  std::map<std::vector<int64_t>, std::set<std::vector<int64_t>>> result;
  std::vector<int64_t> at;
  Assignment point;
  auto visit = [&](auto &self, size_t i) -> void {
    if (i < map.variables().size()) {
      const MapVariable &v = map.variables()[i];
      bool isDim = map.context().info(v.var.variable()).kind == VarKind::Dim;
      for (int64_t x = v.domain.lo; x <= v.domain.hi; ++x) {
        point.set(v.var, x);
        if (isDim)
          at.push_back(x);
        self(self, i + 1);
        if (isDim)
          at.pop_back();
      }
    } else if (std::optional<std::vector<int64_t>> values = map.evaluate(point)) {
      result[at].insert(*values);
    }
  };
  visit(visit, 0);
  return result;
}

/// Maps over small domains. Their classes: what an op of a model has, and anything at all.
class MapGenerator {
public:
  MapGenerator(ExprContext &c, uint64_t seed) : c(c), random(seed) {}

  int64_t pick(int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random);
  }

  std::vector<Interval> domains(size_t rank) {
    std::vector<Interval> result;
    for (size_t i = 0; i < rank; ++i) {
      int64_t lo = pick(0, 5) ? 0 : pick(-3, 3);
      result.push_back({lo, lo + pick(0, rank > 2 ? 3 : 6)});
    }
    return result;
  }

  /// A map from dims with these domains.
  IndexMap map(const std::vector<Interval> &dims) {
    variables.clear();
    for (unsigned i = 0; i < dims.size(); ++i)
      variables.push_back({c.dim(i), dims[i]});
    std::vector<Expr> results;
    std::vector<MapConstraint> constraints;
    int64_t kind = pick(0, 9);
    bool mayRange = kind >= 3, isGeneral = kind >= 6;
    if (mayRange)
      for (unsigned n = static_cast<unsigned>(pick(0, 2)), i = 0; i < n; ++i)
        variables.push_back({c.range(i), {0, pick(0, 3)}});
    if (pick(0, 3) == 0)
      for (unsigned n = static_cast<unsigned>(pick(1, 2)), i = 0; i < n; ++i) {
        RuntimeSource source{static_cast<uint32_t>(pick(1, 2)), "%t", {}};
        if (pick(0, 1))
          source.element.push_back(isGeneral ? term() : variable());
        variables.push_back({c.runtime(i), {0, pick(1, 2)}, std::move(source)});
      }
    if (kind == 0) { // identity
      for (unsigned i = 0; i < dims.size(); ++i)
        results.push_back(c.dim(i));
    } else if (kind == 1 && !dims.empty()) { // a permutation
      for (unsigned i = 0; i < dims.size(); ++i)
        results.push_back(c.dim(i));
      std::shuffle(results.begin(), results.end(), random);
    } else {
      for (int64_t n = pick(0, 3); n > 0; --n)
        results.push_back(kind < 4    ? pick(0, 3) ? variable() : c.constant(pick(0, 3))
                             : kind == 4 ? variable() * pick(1, 3) + pick(-1, 2)
                          : isGeneral ? term()
                                      : variable() * pick(1, 4) + variable());
    }
    if (kind >= 7)
      for (int64_t n = pick(0, 2); n > 0; --n) {
        int64_t lo = pick(-3, 3), m = pick(2, 4);
        if (pick(0, 2))
          constraints.push_back({term(), {lo, lo + pick(1, 9)}});
        else
          constraints.push_back({term(), {}, m, pick(0, m - 1)});
      }
    return IndexMap(c, variables, results, constraints);
  }

  /// A map that starts from the results of `first`: over their ranges, sometimes over less.
  IndexMap mapAfter(const IndexMap &first) {
    Bounds bounds = first.bounds();
    std::vector<Interval> dims;
    for (Expr e : first.results()) {
      Interval values = Simplifier(c, bounds).range(e);
      if (pick(0, 3) == 0)
        values.lo += pick(-1, 1);
      if (pick(0, 3) == 0)
        values.hi += pick(-2, 1);
      dims.push_back(values);
    }
    return map(dims);
  }

private:
  Expr variable() {
    return variables.empty()
               ? c.constant(1)
               : variables[static_cast<size_t>(pick(0, int64_t(variables.size()) - 1))].var;
  }
  Expr term() {
    Expr e = variable() * pick(-2, 4) + variable() * pick(0, 3) + pick(-2, 4);
    switch (pick(0, 6)) {
    case 0:
      return e.floorDiv(pick(1, 4));
    case 1:
      return e.mod(pick(1, 5));
    case 2:
      return e.floorDiv(2) * 4 + variable().mod(3);
    case 3:
      return e.min(variable());
    case 4:
      return (e.floorDiv(3)).max(c.constant(pick(-1, 3)));
    case 5:
      return variable() * pick(1, 3) + pick(0, 2);
    default:
      return e;
    }
  }

  ExprContext &c;
  std::mt19937_64 random;
  std::vector<MapVariable> variables;
};

} // namespace tilewright::test
