#include "analysis/affine/map_pool.h"

#include "analysis/affine/expr_internal.h"
#include "analysis/affine/linear_form.h"

#include <llvm/ADT/STLExtras.h>

namespace tilewright::detail {

namespace {

uint64_t hashOf(Interval interval, uint64_t h) {
  return mixHash(mixHash(h, static_cast<uint64_t>(interval.lo)),
                 static_cast<uint64_t>(interval.hi));
}

uint64_t hashOf(const MapDraft &draft) {
  uint64_t h = mixHash(draft.vars.size(), draft.exprs.size() << 1 | draft.provedEmpty);
  for (const MapVariable &v : draft.vars)
    h = hashOf(v.domain, h + (v.source ? v.source->tensor : 0) + v.var.id());
  for (Expr e : draft.exprs)
    h = mixHash(h, e.id());
  for (const MapConstraint &c : draft.conds)
    h = hashOf(c.range, mixHash(h, c.expr.id() + (static_cast<uint64_t>(c.modulus) << 20) +
                                       static_cast<uint64_t>(c.residue)));
  return h;
}

} // namespace

MapNode *MapPool::find(const MapDraft &draft) {
  uint64_t hash = hashOf(draft);
  if (MapNode *const *known = maps.find(hash, [&](const MapNode *node) {
        return node->provedEmpty == draft.provedEmpty &&
               std::ranges::equal(node->vars, draft.vars) &&
               std::ranges::equal(node->exprs, draft.exprs) &&
               std::ranges::equal(node->conds, draft.conds);
      }))
    return *known;
  auto kept = [&](const auto &items) {
    using Item = std::decay_t<decltype(items[0])>;
    return std::span(arena.copy(std::span<const Item>(items.data(), items.size())), items.size());
  };
  MapNode *node = arena.make<MapNode>(MapNode{&ctx, hash, kept(draft.vars), kept(draft.exprs),
                                              kept(draft.conds), draft.provedEmpty});
  maps.insert(hash, node);
  return node;
}

namespace {

/// The interval that a map's constraints imply directly for an expression that is a multiple of a
/// constraint's expression plus a constant, or a divisor of one.
Interval saidOf(Expr e, std::span<const MapConstraint> conds, int depth) {
  LinearForm form = LinearForm::of(e);
  Interval values;
  if (form.isConstant())
    return values;
  for (const MapConstraint &c : conds) {
    if (c.modulus != 1 || nodeOf(c.expr)->variables != nodeOf(e)->variables)
      continue; // of other variables, hence of other terms
    LinearForm said = LinearForm::of(c.expr);
    if (said.terms.size() != form.terms.size() || said.terms[0].coefficient == -1 ||
        form.terms[0].coefficient % said.terms[0].coefficient != 0)
      continue;
    int64_t scale = form.terms[0].coefficient / said.terms[0].coefficient;
    LinearForm rest = form;
    if (scale != INT64_MIN && rest.add(said, -scale) && rest.isConstant())
      values = values.intersect(c.range * Interval::point(scale) + Interval::point(rest.constant));
  }
  const LinearForm::Term &term = form.terms[0];
  if (depth > 0 && form.terms.size() == 1 && term.expr.kind() == ExprKind::FloorDiv &&
      term.expr.rhs().isConstant())
    values = values.intersect(floorDiv(saidOf(term.expr.lhs(), conds, depth - 1),
                                       Interval::point(term.expr.rhs().constant())) *
                                  Interval::point(term.coefficient) +
                              Interval::point(form.constant));
  return values;
}

} // namespace

std::span<const Interval> MapPool::withConstraints(const MapNode &node) {
  constexpr int nestedDivisions = 4;
  llvm::SmallVector<Interval, 8> values(node.ranges.begin(), node.ranges.end());
  bool changed = false;
  for (size_t i = 0; i < values.size(); ++i)
    if (node.exprs[i].lhs()) {
      values[i] = values[i].intersect(saidOf(node.exprs[i], node.conds, nestedDivisions));
      changed = changed || values[i] != node.ranges[i];
    }
  return changed ? std::span(arena.copy(std::span<const Interval>(values)), values.size())
                 : node.ranges;
}

const MapNode *MapPool::intern(const MapDraft &draft) { return find(draft); }

const MapNode *MapPool::internNormal(const MapDraft &draft, std::span<const Interval> ranges) {
  MapNode *node = find(draft);
  if (node->normal)
    return node;
  node->normal = node;
  node->ranges = {arena.copy(ranges), ranges.size()};
  node->values = node->conds.empty() ? node->ranges : withConstraints(*node);
  bool onlyDims = true;
  for (const MapVariable &v : node->vars) {
    bool isDim = ctx.info(v.var.variable()).kind == VarKind::Dim;
    node->dims += isDim;
    onlyDims = onlyDims && isDim;
    if (v.source)
      for (Expr e : v.source->element)
        node->mask |= nodeOf(e)->variables;
  }
  node->isPlain = true;
  for (Expr e : node->exprs) {
    node->isPlain = node->isPlain && (e.isVariable() || e.isConstant());
    node->mask |= nodeOf(e)->variables;
  }
  for (const MapConstraint &c : node->conds)
    node->mask |= nodeOf(c.expr)->variables;
  node->isIdentity =
      onlyDims && !node->provedEmpty && node->conds.empty() && node->exprs.size() == node->dims;
  for (size_t i = 0; i < node->dims && node->isIdentity; ++i) {
    const MapVariable &v = node->vars[i];
    node->isIdentity =
        node->exprs[i] == v.var || (v.domain.isPoint() && node->exprs[i].isConstant(v.domain.lo));
  }
  return node;
}

const RuntimeSource *MapPool::intern(RuntimeSource source) {
  uint64_t hash = mixHash(source.tensor, source.element.size());
  for (Expr e : source.element)
    hash = mixHash(hash, e.id());
  if (const RuntimeSource *const *known =
          sourceTable.find(hash, [&](const RuntimeSource *other) { return *other == source; }))
    return *known;
  sources.push_back(std::move(source));
  sourceTable.insert(hash, &sources.back());
  return &sources.back();
}

namespace {

uint64_t hashOf(const MapNode *first, const MapNode *second) {
  return mixHash(first->hash, second->hash);
}

} // namespace

const MapNode *MapPool::composition(const MapNode *first, const MapNode *second) const {
  if (!remembers)
    return nullptr;
  const Composition *known = compositions.find(hashOf(first, second), [&](const Composition &c) {
    return c.first == first && c.second == second;
  });
  return known ? known->result : nullptr;
}

void MapPool::remember(const MapNode *first, const MapNode *second, const MapNode *result) {
  if (remembers)
    compositions.insert(hashOf(first, second), {first, second, result});
}

void MapDraft::makeEmpty(ExprContext &context) {
  llvm::erase_if(vars, [&](const MapVariable &v) {
    return context.info(v.var.variable()).kind != VarKind::Dim;
  });
  std::fill(exprs.begin(), exprs.end(), context.constant(0));
  conds.clear();
  provedEmpty = true;
}

void MapDraft::substitute(std::span<const Expr> table) {
  for (MapVariable &v : vars) {
    if (Expr to = tilewright::substitute(v.var, table); to.isVariable())
      v.var = to;
    if (v.source)
      v.source = v.source->mapped([&](Expr e) { return tilewright::substitute(e, table); });
  }
  for (Expr &e : exprs)
    e = tilewright::substitute(e, table);
  for (MapConstraint &c : conds)
    c.expr = tilewright::substitute(c.expr, table);
}

Bounds MapDraft::bounds() const {
  Bounds bounds;
  for (const MapVariable &v : vars)
    bounds.set(v.var, v.domain);
  return bounds;
}

} // namespace tilewright::detail
