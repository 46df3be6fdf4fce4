#include "analysis/affine/index_map.h"
#include "analysis/affine/map_constraints.h"
#include "analysis/support/checked.h"

#include <algorithm>

namespace tilewright {

namespace {

void markUsed(std::vector<bool> &used, Expr expr) {
  for (VarId id : variablesOf(expr))
    used[id.index] = true;
}

/// Which variables matter: dims, those in results and constraints, and those in the sources of
/// runtime variables that matter.
std::vector<bool> usedVariables(const ExprContext &ctx, const std::vector<MapVariable> &vars,
                                const std::vector<Expr> &results,
                                const std::vector<MapConstraint> &constraints) {
  std::vector<bool> used(ctx.variableCount());
  for (Expr e : results)
    markUsed(used, e);
  for (const MapConstraint &c : constraints)
    markUsed(used, c.expr);
  for (const MapVariable &v : vars)
    if (ctx.info(v.var.variable()).kind == VarKind::Dim)
      used[v.var.variable().index] = true;
  std::vector<bool> visited(vars.size());
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < vars.size(); ++i) {
      if (visited[i] || !vars[i].source || !used[vars[i].var.variable().index])
        continue;
      visited[i] = again = true;
      for (Expr e : vars[i].source->element)
        markUsed(used, e);
    }
  }
  return used;
}

} // namespace

IndexMap IndexMap::simplified() const {
  if (provedEmpty)
    return *this;
  IndexMap map = *this;
  while (true) {
    MapConstraints system(*ctx, map.vars, std::move(map.conds));
    if (!system.solve())
      return asEmpty();
    map.conds = system.result();
    Simplifier simplifier(*ctx, map.bounds());
    map.exprs = simplifier.simplify(map.exprs);
    for (MapVariable &v : map.vars)
      if (v.source)
        v.source->element = simplifier.simplify(v.source->element);
    std::vector<bool> used = usedVariables(*ctx, map.vars, map.exprs, map.conds);
    std::erase_if(map.vars, [&](const MapVariable &v) { return !used[v.var.variable().index]; });
    // The same element clamped to the same interval is one value.
    std::vector<Expr> same(ctx->variableCount());
    bool merged = false;
    for (size_t i = 0; i < map.vars.size(); ++i)
      for (size_t j = 0; j < i && map.vars[i].source; ++j)
        if (map.vars[j].source == map.vars[i].source && map.vars[j].domain == map.vars[i].domain) {
          same[map.vars[i].var.variable().index] = map.vars[j].var;
          map.vars.erase(map.vars.begin() + static_cast<ptrdiff_t>(i--));
          merged = true;
          break;
        }
    if (!merged)
      return map;
    map = map.substituted(same);
  }
}

IndexMap IndexMap::rescaled() const {
  IndexMap map = simplified();
  std::vector<Expr> table(ctx->variableCount());
  bool any = false;
  for (const MapConstraint &c : map.conds) {
    if (c.modulus == 1 || !c.expr.isVariable() ||
        ctx->info(c.expr.variable()).kind != VarKind::Range)
      continue;
    for (MapVariable &v : map.vars) {
      if (v.var != c.expr || table[v.var.variable().index] || !v.domain.isBounded())
        continue;
      // Domains stand on members already: lo = k·first + r, so counting starts at lo.
      table[v.var.variable().index] = v.var * c.modulus + v.domain.lo;
      v.domain = {0, (v.domain.hi - v.domain.lo) / c.modulus};
      any = true;
    }
  }
  return any ? map.substituted(table).simplified() : map;
}

} // namespace tilewright
