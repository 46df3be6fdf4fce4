// Maps read the other way.
//
// The relation "element e is read at o" is a system: e[i] = f[i](o, s, rt) for every result, with
// the domains and constraints of the map. Read backwards its parameters are e, its unknowns o and
// s. Every equation that is linear in an unknown is solved for it, exactly:
//   v + rest = 0               v = -rest, whose domain becomes a constraint
//   x floordiv c + rest = 0    x = c·(-rest) + r for a new r in [0, c), then as above
//   c·v + rest = 0             v = -rest floordiv c where rest mod c = 0
// What is left over stays as a constraint, and unknowns that nothing determines are enumerated.
#include "analysis/affine/linear_form.h"
#include "analysis/affine/simplify.h"
#include "analysis/indexing/indexing_internal.h"

#include <algorithm>

namespace tilewright::indexing {

namespace {

class Inverter {
public:
  Inverter(const IndexMap &map, std::span<const int64_t> extents);
  IndexMap run();

private:
  enum class Pass : uint8_t { Unit, Quotient, Multiple };

  /// Solves equation `at` for an unknown in the way of the pass; false where it can't.
  bool solve(size_t at, Pass pass);
  bool splitQuotient(size_t at, const LinearForm &form);
  /// unknowns[i] = value, everywhere.
  void eliminate(size_t i, Expr value);
  LinearForm normalForm(Expr equation) const;
  bool isMultiple(Expr dividend, int64_t divisor) const;

  ExprContext &ctx;
  std::vector<MapVariable> unknowns, runtimes, dims;
  std::vector<Expr> results;
  std::vector<Expr> equations; ///< = 0
  std::vector<MapConstraint> constraints;
  unsigned nextRange;
};

/// `map` is numbered from s0 on without gaps.
Inverter::Inverter(const IndexMap &map, std::span<const int64_t> extents)
    : ctx(map.context()), nextRange(static_cast<unsigned>(map.variables(VarKind::Range).size())) {
  // The old dims make room for the operand's.
  std::vector<Expr> table(ctx.variableCount());
  for (const MapVariable &v : map.variables(VarKind::Dim)) {
    Expr moved = ctx.range(nextRange++);
    table[v.var.variable().index] = moved;
    unknowns.push_back({moved, v.domain, std::nullopt});
    results.push_back(moved);
  }
  for (MapVariable &v : map.variables(VarKind::Range))
    unknowns.push_back(std::move(v));
  for (MapVariable &v : map.variables(VarKind::Runtime)) {
    v.source = v.source->mapped([&](Expr e) { return substitute(e, table); });
    runtimes.push_back(std::move(v));
  }
  for (MapConstraint c : map.constraints()) {
    c.expr = substitute(c.expr, table);
    constraints.push_back(std::move(c));
  }
  for (size_t i = 0; i < extents.size(); ++i) {
    Expr dim = ctx.dim(static_cast<unsigned>(i));
    dims.push_back({dim, Interval::ofExtent(extents[i]), std::nullopt});
    equations.push_back(substitute(map.results()[i], table) - dim);
  }
}

void Inverter::eliminate(size_t i, Expr value) {
  MapVariable v = unknowns[i];
  unknowns.erase(unknowns.begin() + static_cast<std::ptrdiff_t>(i));
  std::vector<Expr> table(v.var.variable().index + 1);
  table[v.var.variable().index] = value;
  results = substitute(results, table);
  equations = substitute(equations, table);
  for (MapConstraint &c : constraints)
    c.expr = substitute(c.expr, table);
  for (MapVariable &runtime : runtimes)
    runtime.source = runtime.source->mapped([&](Expr e) { return substitute(e, table); });
  constraints.push_back({value, v.domain, 1, 0});
}

LinearForm Inverter::normalForm(Expr equation) const {
  Bounds bounds;
  for (const std::vector<MapVariable> *list : {&unknowns, &runtimes, &dims})
    for (const MapVariable &v : *list)
      bounds.set(v.var, v.domain);
  return LinearForm::of(Simplifier(ctx, bounds).simplify(equation));
}

bool Inverter::isMultiple(Expr dividend, int64_t divisor) const {
  LinearForm form = normalForm(dividend);
  return std::any_of(constraints.begin(), constraints.end(), [&](const MapConstraint &c) {
    if (c.modulus % divisor != 0)
      return false;
    LinearForm difference = normalForm(c.expr - c.residue);
    return difference.add(form, -1) && difference.isConstant() &&
           difference.constant % divisor == 0;
  });
}

bool Inverter::splitQuotient(size_t at, const LinearForm &form) {
  for (const LinearForm::Term &term : form.terms) {
    if (term.expr.kind() != ExprKind::FloorDiv || !term.expr.rhs().isConstant() ||
        magnitude(term.coefficient) != 1)
      continue;
    int64_t divisor = term.expr.rhs().constant();
    LinearForm rest = form;
    if (divisor < 1 || !rest.add(term.expr, -term.coefficient) || !rest.scale(-term.coefficient))
      continue;
    Expr equation = term.expr.lhs() - rest.build(ctx) * divisor;
    if (!isMultiple(term.expr.lhs(), divisor)) {
      unknowns.push_back({ctx.range(nextRange++), Interval::ofExtent(divisor), std::nullopt});
      equation = equation - unknowns.back().var;
    }
    if (equation.isPoison())
      return false;
    equations[at] = equation;
    return true;
  }
  return false;
}

bool Inverter::solve(size_t at, Pass pass) {
  LinearForm form = normalForm(equations[at]);
  if (pass == Pass::Quotient) {
    if (!splitQuotient(at, form))
      return false;
    solve(at, Pass::Unit); // else it stays a constraint, which is as exact
    return true;
  }
  for (size_t i = 0; i < unknowns.size(); ++i) {
    Expr unknown = unknowns[i].var;
    int64_t factor = form.coefficientOf(unknown);
    if (factor == 0 || factor == INT64_MIN || (pass == Pass::Unit && magnitude(factor) != 1))
      continue;
    LinearForm rest = form;
    if (!rest.add(unknown, -factor) || !rest.scale(factor > 0 ? -1 : 1))
      continue;
    Expr value = rest.build(ctx);
    std::vector<VarId> inRest = variablesOf(value);
    if (std::find(inRest.begin(), inRest.end(), unknown.variable()) != inRest.end())
      continue; // also inside of something that isn't linear
    int64_t divisor = factor > 0 ? factor : -factor;
    if (divisor > 1)
      constraints.push_back({value, {}, divisor, 0});
    equations[at] = ctx.constant(0);
    eliminate(i, value.floorDiv(divisor));
    return true;
  }
  return false;
}

IndexMap Inverter::run() {
  for (Pass pass : {Pass::Unit, Pass::Quotient, Pass::Multiple, Pass::Unit})
    for (size_t i = 0; i < equations.size(); ++i)
      if (!equations[i].isConstant(0))
        solve(i, pass);
  for (Expr equation : equations)
    if (!equation.isConstant(0))
      constraints.push_back({equation, Interval::point(0), 1, 0});
  std::vector<MapVariable> variables = std::move(dims);
  variables.insert(variables.end(), unknowns.begin(), unknowns.end());
  variables.insert(variables.end(), runtimes.begin(), runtimes.end());
  return IndexMap(ctx, std::move(variables), std::move(results), std::move(constraints))
      .simplified()
      .renumbered();
}

} // namespace

IndexMap inverted(const IndexMap &map, std::span<const int64_t> extents) {
  size_t outputs = map.variables(VarKind::Dim).size();
  if (map.isKnownEmpty())
    return IndexMap::knownEmpty(map.context(), extents, static_cast<unsigned>(outputs));
  return Inverter(map.renumbered(), extents).run();
}

} // namespace tilewright::indexing
