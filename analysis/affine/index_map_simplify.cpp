#include "analysis/affine/expr_internal.h"
#include "analysis/affine/normal_map.h"

#include <algorithm>
#include <tuple>

namespace tilewright {

using detail::MapDraft;
using detail::MapNode;

namespace {

/// The variables of some expressions; cheap for the first variables of a context.
class UsedVariables {
public:
  explicit UsedVariables(ExprContext &ctx) : ctx(ctx) {}

  void add(Expr expr) {
    mask |= detail::nodeOf(expr)->variables;
    if (mask & shared)
      exprs.push_back(expr);
  }
  bool contains(Expr var) {
    uint64_t bit = detail::nodeOf(var)->variables;
    if (bit != shared || !(mask & shared))
      return mask & bit;
    if (late.size() < ctx.variableCount())
      late.resize(ctx.variableCount());
    if (seen < exprs.size())
      for (VarId id : variablesOf(std::span(exprs).subspan(seen)))
        late[id.index] = true;
    seen = exprs.size();
    return late[var.variable().index];
  }

private:
  static constexpr uint64_t shared = uint64_t{1} << 63; ///< the bit of all later variables
  ExprContext &ctx;
  uint64_t mask = 0;
  llvm::SmallVector<Expr, 8> exprs; ///< those that may hold a later variable
  size_t seen = 0;
  std::vector<bool> late;
};

/// Dims stay, and so do variables in results and constraints, and those in the sources of runtime
/// variables that stay.
void dropUnused(ExprContext &ctx, MapDraft &draft) {
  auto isDim = [&](const MapVariable &v) {
    return ctx.info(v.var.variable()).kind == VarKind::Dim;
  };
  if (std::all_of(draft.vars.begin(), draft.vars.end(), isDim))
    return;
  UsedVariables used(ctx);
  for (Expr e : draft.exprs)
    used.add(e);
  for (const MapConstraint &c : draft.conds)
    used.add(c.expr);
  // Backwards: the sources of variables that a composition appends are earlier variables, so one
  // round suffices.
  llvm::SmallVector<bool, 16> visited(draft.vars.size());
  for (bool again = true; again;) {
    again = false;
    for (size_t i = draft.vars.size(); i-- > 0;) {
      const MapVariable &v = draft.vars[i];
      if (visited[i] || !v.source || !used.contains(v.var))
        continue;
      visited[i] = again = true;
      for (Expr e : v.source->element)
        used.add(e);
    }
  }
  llvm::erase_if(draft.vars,
                 [&](const MapVariable &v) { return !isDim(v) && !used.contains(v.var); });
}

/// Merges variables with the same element and interval, which are one value; true if there were
/// any.
bool mergeRuntimes(ExprContext &ctx, MapDraft &draft) {
  struct Value {
    const RuntimeSource *source;
    Interval domain;
    size_t at; ///< in draft.vars
  };
  llvm::SmallVector<Value, 8> values;
  for (size_t i = 0; i < draft.vars.size(); ++i)
    if (const MapVariable &v = draft.vars[i]; v.source)
      values.push_back({v.source, v.domain, i});
  auto key = [](const Value &v) { return std::tuple(v.source, v.domain.lo, v.domain.hi, v.at); };
  std::sort(values.begin(), values.end(),
            [&](const Value &a, const Value &b) { return key(a) < key(b); });
  std::vector<Expr> same;
  for (size_t i = 1, first = 0; i < values.size(); ++i) {
    if (values[i].source != values[first].source || values[i].domain != values[first].domain) {
      first = i;
      continue;
    }
    same.resize(ctx.variableCount());
    same[draft.vars[values[i].at].var.variable().index] = draft.vars[values[first].at].var;
  }
  if (same.empty())
    return false;
  llvm::erase_if(draft.vars,
                 [&](const MapVariable &v) { return bool(same[v.var.variable().index]); });
  draft.substitute(same);
  return true;
}

const MapNode *simplify(ExprContext &ctx, MapDraft &draft) {
  if (draft.provedEmpty)
    return detail::emptied(ctx, draft);
  MapConstraints system(ctx, draft);
  if (!system.solve())
    return detail::emptied(ctx, draft);
  Simplifier::Impl &simplifier = system.simplifier();
  for (Expr &e : draft.exprs)
    e = simplifier.simplify(e);
  for (MapVariable &v : draft.vars)
    if (v.source)
      v.source = v.source->mapped([&](Expr e) { return simplifier.simplify(e); });
  llvm::SmallVector<Interval, 8> ranges;
  for (Expr e : draft.exprs)
    ranges.push_back(simplifier.range(e));
  return detail::finish(ctx, draft, ranges);
}

} // namespace

const MapNode *detail::emptied(ExprContext &ctx, MapDraft &draft) {
  draft.makeEmpty(ctx);
  llvm::SmallVector<Interval, 8> zeros(draft.exprs.size(), Interval::point(0));
  return ctx.maps().internNormal(draft, zeros);
}

const MapNode *detail::finish(ExprContext &ctx, MapDraft &draft, std::span<const Interval> ranges) {
  dropUnused(ctx, draft);
  if (mergeRuntimes(ctx, draft))
    return simplify(ctx, draft);
  return ctx.maps().internNormal(draft, ranges);
}

const MapNode *detail::normalForm(const MapNode *node) {
  if (!node->normal) {
    MapDraft draft(*node);
    node->normal = simplify(*node->context, draft);
  }
  return node->normal;
}

IndexMap IndexMap::simplified() const { return IndexMap(detail::normalForm(node)); }

IndexMap IndexMap::rescaled() const {
  ExprContext &ctx = context();
  MapDraft draft(*detail::normalForm(node));
  std::vector<Expr> table(ctx.variableCount());
  bool any = false;
  for (const MapConstraint &c : draft.conds) {
    if (c.modulus == 1 || !c.expr.isVariable() ||
        ctx.info(c.expr.variable()).kind != VarKind::Range)
      continue;
    for (MapVariable &v : draft.vars) {
      if (v.var != c.expr || table[v.var.variable().index] || !v.domain.isBounded())
        continue;
      // Domains stand on members already: lo = k·first + r, so counting starts at lo.
      table[v.var.variable().index] = v.var * c.modulus + v.domain.lo;
      v.domain = {0, (v.domain.hi - v.domain.lo) / c.modulus};
      any = true;
    }
  }
  if (!any)
    return simplified();
  draft.substitute(table);
  return IndexMap(simplify(ctx, draft));
}

} // namespace tilewright
