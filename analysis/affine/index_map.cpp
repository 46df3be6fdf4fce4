#include "analysis/affine/index_map.h"

#include "analysis/affine/map_pool.h"
#include "analysis/support/checked.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilewright {

using detail::MapDraft;

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

const RuntimeSource *RuntimeSource::withElement(std::vector<Expr> coordinates) const {
  if (coordinates == element)
    return this;
  ExprContext &context = coordinates.front().context();
  return context.maps().intern(RuntimeSource{tensor, tensorName, std::move(coordinates)});
}

MapVariable::MapVariable(Expr var, Interval domain, std::optional<RuntimeSource> source)
    : var(var), domain(domain),
      source(source ? var.context().maps().intern(std::move(*source)) : nullptr) {}

IndexMap::IndexMap(ExprContext &context, const std::vector<MapVariable> &variables,
                   const std::vector<Expr> &results,
                   const std::vector<MapConstraint> &constraints) {
  MapDraft draft;
  draft.vars.append(variables.begin(), variables.end());
  draft.exprs.append(results.begin(), results.end());
  draft.conds.append(constraints.begin(), constraints.end());
  node = context.maps().intern(draft);
}

IndexMap IndexMap::overExtents(ExprContext &context, std::span<const int64_t> extents,
                               std::vector<Expr> results) {
  std::vector<MapVariable> variables;
  for (unsigned i = 0; i < extents.size(); ++i)
    variables.push_back({context.dim(i), Interval::ofExtent(extents[i])});
  return IndexMap(context, variables, results);
}

IndexMap IndexMap::identity(ExprContext &context, std::span<const int64_t> extents) {
  std::vector<Expr> results;
  for (unsigned i = 0; i < extents.size(); ++i)
    results.push_back(context.dim(i));
  return overExtents(context, extents, std::move(results));
}

IndexMap IndexMap::knownEmpty(ExprContext &context, std::span<const int64_t> extents,
                              unsigned resultCount) {
  MapDraft draft;
  for (unsigned i = 0; i < extents.size(); ++i)
    draft.vars.push_back({context.dim(i), Interval::ofExtent(extents[i])});
  draft.exprs.assign(resultCount, context.constant(0));
  draft.makeEmpty(context);
  return IndexMap(context.maps().intern(draft));
}

ExprContext &IndexMap::context() const { return *node->context; }
llvm::ArrayRef<MapVariable> IndexMap::variables() const {
  return llvm::ArrayRef(node->vars.data(), node->vars.size());
}
llvm::ArrayRef<Expr> IndexMap::results() const {
  return llvm::ArrayRef(node->exprs.data(), node->exprs.size());
}
llvm::ArrayRef<MapConstraint> IndexMap::constraints() const {
  return llvm::ArrayRef(node->conds.data(), node->conds.size());
}

std::vector<MapVariable> IndexMap::variables(VarKind kind) const {
  std::vector<MapVariable> result;
  for (const MapVariable &v : node->vars)
    if (context().info(v.var.variable()).kind == kind)
      result.push_back(v);
  return result;
}

bool IndexMap::isKnownEmpty() const {
  return node->provedEmpty || std::any_of(node->vars.begin(), node->vars.end(),
                                          [](const MapVariable &v) { return v.domain.isEmpty(); });
}

Bounds IndexMap::bounds() const { return MapDraft(*node).bounds(); }

std::optional<std::vector<int64_t>> IndexMap::evaluate(const Assignment &point) const {
  if (node->provedEmpty)
    return std::nullopt;
  for (const MapVariable &v : node->vars) {
    std::optional<int64_t> value = point.get(v.var.variable());
    if (!value || !v.domain.contains(*value))
      return std::nullopt;
  }
  for (const MapConstraint &c : node->conds) {
    std::optional<int64_t> value = tilewright::evaluate(c.expr, point);
    if (!value || !c.range.contains(*value) ||
        (c.modulus > 1 && *checkedMod(*value, c.modulus) != c.residue))
      return std::nullopt;
  }
  std::vector<int64_t> results;
  results.reserve(node->exprs.size());
  for (Expr expr : node->exprs) {
    std::optional<int64_t> value = tilewright::evaluate(expr, point);
    if (!value)
      return std::nullopt;
    results.push_back(*value);
  }
  return results;
}

namespace {

/// Range variables become s0, s1, … and runtime variables rt0, rt1, … in list order.
void renumber(ExprContext &ctx, MapDraft &draft) {
  std::vector<Expr> table(ctx.variableCount());
  unsigned ranges = 0, runtimes = 0;
  bool changes = false;
  for (const MapVariable &v : draft.vars) {
    VarKind kind = ctx.info(v.var.variable()).kind;
    if (kind != VarKind::Range && kind != VarKind::Runtime)
      continue;
    Expr to = kind == VarKind::Range ? ctx.range(ranges++) : ctx.runtime(runtimes++);
    table[v.var.variable().index] = to;
    changes = changes || to != v.var;
  }
  if (changes)
    draft.substitute(table);
}

} // namespace

IndexMap IndexMap::renumbered() const {
  MapDraft draft(*node);
  renumber(context(), draft);
  return IndexMap(context().maps().intern(draft));
}

IndexMap IndexMap::canonicallyNamed() const {
  // Variables in the order in which they are met in results, then constraints, then the list.
  if (node->named)
    return IndexMap(node->named);
  ExprContext &ctx = context();
  MapDraft draft(*node);
  std::vector<Expr> met;
  auto meet = [&](Expr expr) {
    std::vector<VarId> ids = variablesOf(expr);
    std::sort(ids.begin(), ids.end(),
              [&](VarId a, VarId b) { return ctx.compareVariables(a, b) < 0; });
    for (VarId id : ids)
      if (std::find(met.begin(), met.end(), ctx.variableExpr(id)) == met.end())
        met.push_back(ctx.variableExpr(id));
  };
  for (Expr expr : node->exprs)
    meet(expr);
  for (const MapConstraint &c : node->conds)
    meet(c.expr);
  auto rank = [&](const MapVariable &v) {
    VarKind kind = ctx.info(v.var.variable()).kind;
    if (kind != VarKind::Range && kind != VarKind::Runtime)
      return std::pair(kind, ptrdiff_t{0});
    return std::pair(kind, std::find(met.begin(), met.end(), v.var) - met.begin());
  };
  std::stable_sort(draft.vars.begin(), draft.vars.end(),
                   [&](const MapVariable &a, const MapVariable &b) { return rank(a) < rank(b); });
  renumber(ctx, draft);
  const IndexMap named = IndexMap(ctx.maps().intern(draft)).simplified();
  node->named = named.node;
  return named;
}

bool IndexMap::equivalent(const IndexMap &other) const {
  if (&context() != &other.context() || results().size() != other.results().size())
    return false;
  IndexMap a = simplified(), b = other.simplified();
  if (a.node == b.node)
    return true;
  if (a.node->provedEmpty || b.node->provedEmpty)
    return false;
  return a.canonicallyNamed().node == b.canonicallyNamed().node;
}

std::string IndexMap::str() const {
  ExprContext &ctx = context();
  MapDraft named(*node);
  renumber(ctx, named);
  std::vector<std::string> dims, ranges, runtimes, others, results, domain;
  for (const MapVariable &v : named.vars) {
    const Variable &info = ctx.info(v.var.variable());
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
  if (named.provedEmpty)
    return text + ", empty";
  if (!domain.empty())
    text += fmt::format(", domain: {}", fmt::join(domain, ", "));
  return text;
}

} // namespace tilewright
