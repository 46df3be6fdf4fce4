#include "analysis/affine/index_map.h"

#include "analysis/support/checked.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilewright {

std::string MapConstraint::str() const {
  std::string text;
  if (range != Interval{})
    text = fmt::format("{} in {}", expr.str(), range.str());
  if (modulus != 1) {
    bool atom = expr.isVariable();
    text += fmt::format("{}{}{}{} mod {} = {}", text.empty() ? "" : ", ", atom ? "" : "(",
                        expr.str(), atom ? "" : ")", modulus, residue);
  }
  return text.empty() ? "true" : text;
}

IndexMap IndexMap::overExtents(ExprContext &context, std::span<const int64_t> extents,
                               std::vector<Expr> results) {
  std::vector<MapVariable> variables;
  for (unsigned i = 0; i < extents.size(); ++i)
    variables.push_back({context.dim(i), Interval::ofExtent(extents[i]), std::nullopt});
  return IndexMap(context, std::move(variables), std::move(results));
}

IndexMap IndexMap::identity(ExprContext &context, std::span<const int64_t> extents) {
  std::vector<Expr> results;
  for (unsigned i = 0; i < extents.size(); ++i)
    results.push_back(context.dim(i));
  return overExtents(context, extents, std::move(results));
}

IndexMap IndexMap::knownEmpty(ExprContext &context, std::span<const int64_t> extents,
                              unsigned resultCount) {
  IndexMap map = overExtents(context, extents, std::vector<Expr>(resultCount, context.constant(0)));
  map.provedEmpty = true;
  return map;
}

IndexMap IndexMap::asEmpty() const {
  std::vector<MapVariable> dims = variables(VarKind::Dim);
  IndexMap map(*ctx, std::move(dims), std::vector<Expr>(exprs.size(), ctx->constant(0)));
  map.provedEmpty = true;
  return map;
}

std::vector<MapVariable> IndexMap::variables(VarKind kind) const {
  std::vector<MapVariable> result;
  for (const MapVariable &v : vars)
    if (ctx->info(v.var.variable()).kind == kind)
      result.push_back(v);
  return result;
}

bool IndexMap::isKnownEmpty() const {
  return provedEmpty || std::any_of(vars.begin(), vars.end(),
                                    [](const MapVariable &v) { return v.domain.isEmpty(); });
}

Bounds IndexMap::bounds() const {
  Bounds bounds;
  for (const MapVariable &v : vars)
    bounds.set(v.var, v.domain);
  return bounds;
}

std::optional<std::vector<int64_t>> IndexMap::evaluate(const Assignment &point) const {
  if (provedEmpty)
    return std::nullopt;
  for (const MapVariable &v : vars) {
    std::optional<int64_t> value = point.get(v.var.variable());
    if (!value || !v.domain.contains(*value))
      return std::nullopt;
  }
  for (const MapConstraint &c : conds) {
    std::optional<int64_t> value = tilewright::evaluate(c.expr, point);
    if (!value || !c.range.contains(*value) ||
        (c.modulus > 1 && *checkedMod(*value, c.modulus) != c.residue))
      return std::nullopt;
  }
  std::vector<int64_t> results;
  results.reserve(exprs.size());
  for (Expr expr : exprs) {
    std::optional<int64_t> value = tilewright::evaluate(expr, point);
    if (!value)
      return std::nullopt;
    results.push_back(*value);
  }
  return results;
}

IndexMap IndexMap::substituted(std::span<const Expr> table) const {
  IndexMap result = *this;
  auto replace = [&](Expr expr) { return substitute(expr, table); };
  for (MapVariable &v : result.vars) {
    if (Expr to = replace(v.var); to.isVariable())
      v.var = to;
    if (v.source)
      v.source->element = substitute(v.source->element, table);
  }
  result.exprs = substitute(exprs, table);
  for (MapConstraint &c : result.conds)
    c.expr = replace(c.expr);
  return result;
}

IndexMap IndexMap::renumbered() const {
  std::vector<Expr> table(ctx->variableCount());
  unsigned ranges = 0, runtimes = 0;
  for (const MapVariable &v : vars) {
    VarKind kind = ctx->info(v.var.variable()).kind;
    if (kind == VarKind::Range)
      table[v.var.variable().index] = ctx->range(ranges++);
    else if (kind == VarKind::Runtime)
      table[v.var.variable().index] =
          ctx->variable(VarKind::Runtime, fmt::format("rt{}", runtimes++));
  }
  return substituted(table);
}

IndexMap IndexMap::canonicallyNamed() const {
  // Variables in the order in which they are met in results, then constraints, then the list.
  IndexMap ordered = *this;
  std::vector<Expr> met;
  auto meet = [&](Expr expr) {
    std::vector<VarId> ids = variablesOf(expr);
    std::sort(ids.begin(), ids.end(),
              [&](VarId a, VarId b) { return ctx->compareVariables(a, b) < 0; });
    for (VarId id : ids)
      if (std::find(met.begin(), met.end(), ctx->variableExpr(id)) == met.end())
        met.push_back(ctx->variableExpr(id));
  };
  for (Expr expr : exprs)
    meet(expr);
  for (const MapConstraint &c : conds)
    meet(c.expr);
  auto rank = [&](const MapVariable &v) {
    VarKind kind = ctx->info(v.var.variable()).kind;
    if (kind != VarKind::Range && kind != VarKind::Runtime)
      return std::pair(kind, ptrdiff_t{0});
    return std::pair(kind, std::find(met.begin(), met.end(), v.var) - met.begin());
  };
  std::stable_sort(ordered.vars.begin(), ordered.vars.end(),
                   [&](const MapVariable &a, const MapVariable &b) { return rank(a) < rank(b); });
  return ordered.renumbered().simplified();
}

bool IndexMap::equivalent(const IndexMap &other) const {
  if (ctx != other.ctx || exprs.size() != other.exprs.size())
    return false;
  IndexMap a = simplified(), b = other.simplified();
  if (a.provedEmpty || b.provedEmpty)
    return a.provedEmpty == b.provedEmpty && a.vars == b.vars;
  a = a.canonicallyNamed();
  b = b.canonicallyNamed();
  return a.vars == b.vars && a.exprs == b.exprs && a.conds == b.conds;
}

std::string IndexMap::str() const {
  IndexMap named = renumbered();
  std::vector<std::string> dims, ranges, runtimes, others, results, domain;
  for (const MapVariable &v : named.vars) {
    const Variable &info = ctx->info(v.var.variable());
    std::string name = info.name;
    switch (info.kind) {
    case VarKind::Dim:
      dims.push_back(name);
      break;
    case VarKind::Range:
      ranges.push_back(name);
      break;
    case VarKind::Runtime:
      if (v.source) {
        std::vector<std::string> element;
        for (Expr e : v.source->element)
          element.push_back(e.str());
        runtimes.push_back(
            fmt::format("{} = {}{}", name, v.source->tensorName,
                        element.empty() ? "" : fmt::format("[{}]", fmt::join(element, ", "))));
      } else {
        runtimes.push_back(name);
      }
      break;
    case VarKind::TileParam:
    case VarKind::ProgramId:
    case VarKind::Step:
      others.push_back(name);
      break;
    }
    domain.push_back(fmt::format("{} in {}", name, v.domain.str()));
  }
  for (Expr e : named.exprs)
    results.push_back(e.str());
  for (const MapConstraint &c : named.conds)
    domain.push_back(c.str());
  std::string text = fmt::format("({})", fmt::join(dims, ", "));
  if (!ranges.empty())
    text += fmt::format("[{}]", fmt::join(ranges, ", "));
  if (!runtimes.empty())
    text += fmt::format("{{{}}}", fmt::join(runtimes, ", "));
  if (!others.empty())
    text += fmt::format("<{}>", fmt::join(others, ", "));
  text += fmt::format(" -> ({})", fmt::join(results, ", "));
  if (provedEmpty)
    return text + ", empty";
  if (!domain.empty())
    text += fmt::format(", domain: {}", fmt::join(domain, ", "));
  return text;
}

} // namespace tilewright
