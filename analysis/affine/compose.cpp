// Composition by what the two maps are, cheapest first; every way makes the same normal form.
//
//   nothing to do    second reads its own coordinates, or first does over the same domains; such a
//                    composition is not worth remembering
//   picking          second only picks and repeats dims: its results are some of first's
//   renaming         first only renames dims, in order: second with other variables
//   substitution     second's expressions are built anew from first's results, in one pass
//   solving          the same, and second restricts first: constraints are solved
//
// Both maps are in normal form, so only the last way can change a domain or needs to revisit
// first's expressions.
#include "analysis/affine/expr_internal.h"
#include "analysis/affine/normal_map.h"

#include <cassert>
#include <llvm/ADT/STLExtras.h>

namespace tilewright {

using detail::MapDraft;
using detail::MapNode;
using detail::nodeOf;

namespace {

class Composer {
public:
  Composer(const MapNode &first, const MapNode &second)
      : ctx(*first.context), first(first), second(second), replacements(*lent) {}
  ~Composer() {
    if (isRenamedApart)
      for (const MapVariable &v : second.vars)
        replacements.to[v.var.variable().index] = Expr();
  }
  Composer(const Composer &) = delete;
  Composer &operator=(const Composer &) = delete;

  const MapNode *run();

private:
  bool isDim(const MapVariable &v) const { return ctx.info(v.var.variable()).kind == VarKind::Dim; }
  Expr &replacementOf(Expr var) { return replacements.to[var.variable().index]; }
  void compareDomains();
  void renameApart();
  bool isRenaming();
  const MapNode *empty();
  const MapNode *picked();
  const MapNode *renamed();
  const MapNode *substituted();
  const MapNode *solved();
  void replaceSources(Simplifier::Impl &simplifier);

  ExprContext &ctx;
  const MapNode &first, &second;
  detail::Loan<detail::Replacements> lent;
  detail::Replacements &replacements; ///< of second's variables
  MapDraft draft;
  bool isCovered = true;   ///< true if every result of first stays within second's domain
  bool hasSources = false; ///< true if second has runtime variables
  bool isRenamedApart = false;
};

void Composer::compareDomains() {
  size_t dim = 0;
  for (const MapVariable &v : second.vars)
    if (isDim(v))
      isCovered = isCovered && v.domain.contains(first.values[dim++]);
}

/// The variables of the composition: first's, then second's under free names with the lowest
/// numbers. Fills in the replacements.
void Composer::renameApart() {
  isRenamedApart = true;
  replacements.fit(ctx.variableCount());
  draft.vars.append(first.vars.begin(), first.vars.end());
  size_t dim = 0;
  for (const MapVariable &v : second.vars)
    if (isDim(v)) {
      replacementOf(v.var) = first.exprs[dim];
      replacements.values[v.var.variable().index] = first.ranges[dim++];
    }
  if (dim == second.vars.size())
    return;
  auto isRenamed = [&](const MapVariable &v) {
    VarKind kind = ctx.info(v.var.variable()).kind;
    return kind == VarKind::Range || kind == VarKind::Runtime;
  };
  replacements.forgetTaken();
  for (const MapVariable &v : first.vars)
    replacements.take(v.var);
  llvm::SmallVector<bool, 16> clashes(second.vars.size());
  for (size_t i = 0; i < second.vars.size(); ++i)
    if (const MapVariable &v = second.vars[i]; !isDim(v) && !replacements.take(v.var))
      clashes[i] = true;
  unsigned nextRange = 0, nextRuntime = 0;
  for (size_t i = 0; i < second.vars.size(); ++i) {
    MapVariable v = second.vars[i];
    if (isDim(v) || (clashes[i] && !isRenamed(v)))
      continue; // a tile parameter or the like that both have
    Expr old = v.var;
    if (clashes[i])
      do
        v.var = ctx.info(old.variable()).kind == VarKind::Range ? ctx.range(nextRange++)
                                                                : ctx.runtime(nextRuntime++);
      while (!replacements.take(v.var));
    replacementOf(old) = v.var;
    replacements.values[old.variable().index] = v.domain;
    hasSources = hasSources || v.source;
    draft.vars.push_back(v);
  }
}

/// True if second's variables only become other variables of the same domain in the same order.
/// Normal forms are then preserved: they depend only on the order of variables and on domains. (In
/// deep expressions the order of terms may depend on names.)
bool Composer::isRenaming() {
  constexpr uint32_t shallow = 24;
  auto isShallow = [](Expr e) { return nodeOf(e)->treeSize <= shallow; };
  if (!first.conds.empty() && !second.conds.empty())
    return false;
  Expr before, after;
  for (const MapVariable &v : second.vars) {
    Expr to = replacementOf(v.var);
    if (!(nodeOf(v.var)->variables & second.mask))
      continue;
    if (!to || !to.isVariable() || replacements.values[v.var.variable().index] != v.domain)
      return false;
    if (before && (ctx.compareVariables(before.variable(), v.var.variable()) >= 0 ||
                   ctx.compareVariables(after.variable(), to.variable()) >= 0))
      return false;
    before = v.var;
    after = to;
  }
  return std::ranges::all_of(second.exprs, isShallow) &&
         std::ranges::all_of(second.conds,
                             [&](const MapConstraint &c) { return isShallow(c.expr); });
}

const MapNode *Composer::empty() {
  draft.vars.append(first.vars.begin(), first.vars.end());
  draft.exprs.resize(second.exprs.size());
  return detail::emptied(ctx, draft);
}

const MapNode *Composer::picked() {
  draft.conds.append(first.conds.begin(), first.conds.end());
  llvm::SmallVector<Interval, 8> ranges;
  for (size_t i = 0; i < second.exprs.size(); ++i) {
    Expr e = second.exprs[i];
    Expr to = e.isVariable() ? replacementOf(e) : e;
    draft.exprs.push_back(to ? to : e);
    ranges.push_back(to && e.isVariable() ? replacements.values[e.variable().index]
                                          : second.ranges[i]);
  }
  return detail::finish(ctx, draft, ranges);
}

const MapNode *Composer::renamed() {
  draft.conds.append(first.conds.begin(), first.conds.end());
  for (Expr e : second.exprs)
    draft.exprs.push_back(substitute(e, replacements.to));
  for (MapConstraint c : second.conds) {
    c.expr = substitute(c.expr, replacements.to);
    draft.conds.push_back(c);
  }
  if (hasSources)
    for (MapVariable &v : llvm::MutableArrayRef(draft.vars).drop_front(first.vars.size()))
      if (v.source)
        v.source = v.source->mapped([&](Expr e) { return substitute(e, replacements.to); });
  return detail::finish(ctx, draft, second.ranges);
}

void Composer::replaceSources(Simplifier::Impl &simplifier) {
  if (hasSources)
    for (MapVariable &v : llvm::MutableArrayRef(draft.vars).drop_front(first.vars.size()))
      if (v.source)
        v.source =
            v.source->mapped([&](Expr e) { return simplifier.substituted(e, replacements.to); });
}

const MapNode *Composer::substituted() {
  draft.conds.append(first.conds.begin(), first.conds.end());
  Simplifier::Impl simplifier(ctx);
  for (const MapVariable &v : draft.vars)
    simplifier.bounds.set(v.var, v.domain);
  for (size_t i = 0; i < first.exprs.size(); ++i)
    simplifier.know(first.exprs[i], first.ranges[i]);
  llvm::SmallVector<Interval, 8> ranges;
  for (Expr e : second.exprs) {
    draft.exprs.push_back(simplifier.substituted(e, replacements.to));
    ranges.push_back(simplifier.range(draft.exprs.back()));
  }
  replaceSources(simplifier);
  return detail::finish(ctx, draft, ranges);
}

const MapNode *Composer::solved() {
  // A constraint that only bounds one variable needs no solving.
  draft.conds.append(first.conds.begin(), first.conds.end());
  MapConstraints system(ctx, draft);
  system.know(first.conds);
  size_t dim = 0;
  for (const MapVariable &v : second.vars) {
    if (!isDim(v))
      continue;
    Expr e = first.exprs[dim];
    if (v.domain.contains(first.values[dim++]))
      continue;
    if (!e.isVariable() || !system.narrow(e, v.domain))
      draft.conds.push_back({e, v.domain});
  }
  // Expressions in normal form for the current domains.
  auto renew = [&](Simplifier::Impl &simplifier) {
    size_t dim = 0;
    for (const MapVariable &v : second.vars) {
      Expr &to = replacementOf(v.var);
      if (isDim(v)) {
        // What it was at first decides: a variable that became a point is in it no more.
        if (system.isAffected(first.exprs[dim]))
          to = simplifier.simplify(to);
        else
          simplifier.know(to, first.ranges[dim]);
        ++dim;
      } else if (to) {
        to = simplifier.simplify(to);
      }
    }
  };
  {
    Simplifier::Impl &simplifier = system.simplifier();
    renew(simplifier);
    for (MapConstraint c : second.conds) {
      c.expr = simplifier.substituted(c.expr, replacements.to);
      draft.conds.push_back(c);
    }
  }
  if (!system.solve()) {
    draft.exprs.resize(second.exprs.size());
    return detail::emptied(ctx, draft);
  }
  Simplifier::Impl &simplifier = system.simplifier();
  renew(simplifier);
  llvm::SmallVector<Interval, 8> ranges;
  for (Expr e : second.exprs) {
    draft.exprs.push_back(simplifier.substituted(e, replacements.to));
    ranges.push_back(simplifier.range(draft.exprs.back()));
  }
  for (MapVariable &v : llvm::MutableArrayRef(draft.vars).take_front(first.vars.size()))
    if (v.source && llvm::any_of(v.source->element, [&](Expr e) { return system.isAffected(e); }))
      v.source = v.source->mapped([&](Expr e) { return simplifier.simplify(e); });
  replaceSources(simplifier);
  return detail::finish(ctx, draft, ranges);
}

const MapNode *Composer::run() {
  if (first.provedEmpty || second.provedEmpty)
    return empty();
  compareDomains();
  renameApart();
  if (isCovered && second.conds.empty() && second.isPlain && !hasSources)
    return picked();
  if (isCovered && isRenaming())
    return renamed();
  return isCovered && second.conds.empty() ? substituted() : solved();
}

/// If one of two maps is an identity, the other one, which is their composition; null otherwise. An
/// identity's variables are its dims.
const MapNode *composeIdentity(const MapNode &first, const MapNode &second) {
  if (first.provedEmpty || second.provedEmpty)
    return nullptr;
  if (second.isIdentity) {
    bool isKept = true;
    for (size_t i = 0; i < second.dims && isKept; ++i)
      isKept = second.vars[i].domain.contains(first.values[i]) &&
               (first.exprs[i] == second.exprs[i] || !second.exprs[i].isConstant());
    if (isKept)
      return &first;
  }
  if (!first.isIdentity)
    return nullptr;
  // Both have the same variables, so second is the whole composition.
  for (size_t i = 0; i < second.dims; ++i)
    if (first.vars[i] != second.vars[i])
      return nullptr;
  return &second;
}

} // namespace

IndexMap compose(const IndexMap &first, const IndexMap &second) {
  assert(&first.context() == &second.context());
  detail::MapPool &pool = first.context().maps();
  const MapNode *a = detail::normalForm(first.node), *b = detail::normalForm(second.node);
  assert(a->exprs.size() == b->dims && "one result for each dim of the second map");
  const MapNode *result = composeIdentity(*a, *b);
  if (!result)
    result = pool.composition(a, b);
  if (!result) {
    result = Composer(*a, *b).run();
    pool.remember(a, b, result);
  }
  return IndexMap(result);
}

} // namespace tilewright
