#include "analysis/affine/index_map.h"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>

namespace tilewright {

namespace {

/// Hands out range and runtime variables that the maps at hand don't use, lowest numbers first.
class FreshNames {
public:
  FreshNames(ExprContext &ctx, const IndexMap &a) : ctx(ctx) { use(a.variables()); }

  void use(const std::vector<MapVariable> &vars) {
    for (const MapVariable &v : vars)
      taken.push_back(v.var);
  }
  bool isTaken(Expr var) const { return std::find(taken.begin(), taken.end(), var) != taken.end(); }

  Expr make(VarKind kind) {
    for (unsigned i = 0;; ++i) {
      Expr var = kind == VarKind::Range ? ctx.range(i) : ctx.variable(kind, fmt::format("rt{}", i));
      if (isTaken(var))
        continue;
      taken.push_back(var);
      return var;
    }
  }

private:
  ExprContext &ctx;
  std::vector<Expr> taken;
};

} // namespace

IndexMap compose(const IndexMap &first, const IndexMap &second) {
  ExprContext &ctx = first.context();
  assert(&ctx == &second.context());
  std::vector<MapVariable> variables = first.variables();
  std::vector<MapConstraint> constraints = first.constraints();
  if (first.isKnownEmpty() || second.isKnownEmpty()) {
    // An empty domain says it all; the simplifier turns it into a known empty map.
    std::vector<Expr> results(second.results().size(), ctx.constant(0));
    constraints.push_back({ctx.constant(0), Interval::point(1)});
    return IndexMap(ctx, std::move(variables), std::move(results), std::move(constraints))
        .simplified();
  }
  FreshNames names(ctx, first);
  std::vector<MapVariable> clashing;
  for (const MapVariable &v : second.variables())
    if (ctx.info(v.var.variable()).kind != VarKind::Dim && !names.isTaken(v.var))
      clashing.push_back(v); // keeps its name, which new names must avoid
  FreshNames fresh = names;
  fresh.use(clashing);

  std::vector<Expr> table(ctx.variableCount());
  size_t dim = 0;
  for (const MapVariable &v : second.variables()) {
    VarKind kind = ctx.info(v.var.variable()).kind;
    Expr &to = table[v.var.variable().index];
    if (kind == VarKind::Dim) {
      assert(dim < first.results().size() && "one result for each dim of the second map");
      to = first.results()[dim++];
      constraints.push_back({to, v.domain});
    } else if ((kind == VarKind::Range || kind == VarKind::Runtime) && names.isTaken(v.var)) {
      to = fresh.make(kind);
    }
  }
  assert(dim == first.results().size() && "one result for each dim of the second map");
  for (const MapVariable &v : second.variables()) {
    VarKind kind = ctx.info(v.var.variable()).kind;
    if (kind == VarKind::Dim ||
        (kind != VarKind::Range && kind != VarKind::Runtime && names.isTaken(v.var)))
      continue;
    MapVariable copy = v;
    if (Expr to = table[v.var.variable().index])
      copy.var = to;
    if (copy.source)
      copy.source->element = substitute(copy.source->element, table);
    variables.push_back(std::move(copy));
  }
  for (MapConstraint c : second.constraints()) {
    c.expr = substitute(c.expr, table);
    constraints.push_back(std::move(c));
  }
  return IndexMap(ctx, std::move(variables), substitute(second.results(), table),
                  std::move(constraints))
      .simplified();
}

} // namespace tilewright
