#include "analysis/prove/witness.h"

#include "analysis/indexing/indexing_internal.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>

namespace tilewright::prove {

namespace {
constexpr int64_t maxListed = 20; ///< values of an open variable that are all tried
} // namespace

Witness::Witness(const IndexMap &map, std::span<const int64_t> toExtents)
    : dims(map.variables(VarKind::Dim)), ranges(map.variables(VarKind::Range)) {
  // The map with its range variables as further dims: all of them are unknowns.
  ExprContext &ctx = map.context();
  std::vector<Expr> table(ctx.variableCount());
  std::vector<MapVariable> variables = dims;
  for (size_t i = 0; i < ranges.size(); ++i) {
    Expr moved = ctx.dim(static_cast<unsigned>(dims.size() + i));
    table[ranges[i].var.variable().index] = moved;
    variables.push_back({moved, ranges[i].domain, std::nullopt});
  }
  for (MapVariable v : map.variables(VarKind::Runtime)) {
    if (v.source)
      v.source = v.source->mapped([&](Expr e) { return substitute(e, table); });
    variables.push_back(std::move(v));
  }
  std::vector<MapConstraint> constraints = map.constraints();
  for (MapConstraint &c : constraints)
    c.expr = substitute(c.expr, table);
  solved = indexing::inverted(
      IndexMap(ctx, std::move(variables), substitute(map.results(), table), std::move(constraints)),
      toExtents);
  findParts(map);
}

Witness::Open Witness::openVariable(const MapVariable &variable, bool isAlone,
                                    bool &isComplete) const {
  Open open{variable.var, variable.domain, {}};
  for (size_t i = 0; i < solved->results().size(); ++i)
    if (solved->results()[i] == variable.var)
      open.choices.push_back(i < dims.size() ? Choice{Choice::FirstTile, 0, i}
                                             : Choice{Choice::Step, 0, i - dims.size()});
  if (isAlone && open.choices.size() == 1)
    return open;
  const bool isShort = variable.domain.isBounded() && !variable.domain.isEmpty() &&
                       variable.domain.hi - variable.domain.lo < maxListed;
  if (isShort) {
    open.choices.clear();
    for (int64_t v = variable.domain.lo; v <= variable.domain.hi; ++v)
      open.choices.push_back({Choice::Number, v, 0});
    return open;
  }
  isComplete = false;
  if (open.choices.empty())
    open.choices.push_back(
        {Choice::Number, variable.domain.isBounded() ? variable.domain.lo : 0, 0});
  return open;
}

void Witness::findParts(const IndexMap &map) {
  const std::vector<MapVariable> open = solved->variables(VarKind::Range);
  const std::vector<MapVariable> elements = solved->variables(VarKind::Dim);
  const std::vector<MapVariable> runtimes = solved->variables(VarKind::Runtime);
  std::map<VarId, std::vector<VarId>> behind; // of the map's variables, in the solution
  auto reach = [&](Expr value) {
    std::vector<VarId> used = variablesOf(value);
    // What a runtime value is read at matters as well.
    for (size_t k = 0; k < used.size(); ++k)
      for (const MapVariable &rt : runtimes)
        if (rt.var.variable() == used[k])
          for (VarId v : variablesOf(rt.source->element))
            if (std::find(used.begin(), used.end(), v) == used.end())
              used.push_back(v);
    return used;
  };
  for (size_t i = 0; i < dims.size(); ++i)
    behind[dims[i].var.variable()] = reach(dimValue(i));
  for (size_t i = 0; i < ranges.size(); ++i)
    behind[ranges[i].var.variable()] = reach(rangeValue(i));
  for (const MapVariable &rt : map.variables(VarKind::Runtime))
    for (VarId v : variablesOf(rt.source->element))
      for (VarId deeper : behind[v])
        behind[rt.var.variable()].push_back(deeper);

  struct Condition {
    enum Kind : uint8_t { Dim, Range, Constraint, Result } kind;
    size_t index;
    std::vector<VarId> needs;
    std::string text;
  };
  std::vector<Condition> conditions;
  auto needsOf = [&](Expr expr) {
    std::vector<VarId> needs;
    for (VarId v : variablesOf(expr))
      needs.insert(needs.end(), behind[v].begin(), behind[v].end());
    std::sort(needs.begin(), needs.end());
    needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
    return needs;
  };
  for (size_t i = 0; i < dims.size(); ++i)
    conditions.push_back({Condition::Dim, i, needsOf(dims[i].var),
                          fmt::format("the reader lies in the tile's dim {}", i)});
  for (size_t i = 0; i < ranges.size(); ++i)
    conditions.push_back({Condition::Range, i, needsOf(ranges[i].var),
                          fmt::format("the reader reads it in this step (variable {})", i)});
  for (size_t c = 0; c < map.constraints().size(); ++c)
    conditions.push_back({Condition::Constraint, c, needsOf(map.constraints()[c].expr),
                          "the reader reads it: " + map.constraints()[c].str()});
  for (size_t j = 0; j < map.results().size(); ++j) {
    conditions.push_back({Condition::Result, j, needsOf(map.results()[j]),
                          fmt::format("the reader's dim {} is it", j)});
    conditions.back().needs.push_back(elements[j].var.variable());
  }

  // Conditions that share an open variable belong together.
  std::vector<size_t> group(conditions.size());
  std::iota(group.begin(), group.end(), 0);
  for (const MapVariable &v : open) {
    std::optional<size_t> first;
    for (size_t c = 0; c < conditions.size(); ++c) {
      const std::vector<VarId> &needs = conditions[c].needs;
      if (std::find(needs.begin(), needs.end(), v.var.variable()) == needs.end())
        continue;
      if (!first) {
        first = group[c];
        continue;
      }
      const size_t old = group[c];
      std::replace(group.begin(), group.end(), old, *first);
    }
  }
  std::map<size_t, Part> parts;
  std::map<VarId, size_t> uses;
  for (const Condition &c : conditions)
    for (const MapVariable &v : open)
      uses[v.var.variable()] +=
          static_cast<size_t>(std::count(c.needs.begin(), c.needs.end(), v.var.variable()));
  for (size_t c = 0; c < conditions.size(); ++c) {
    const Condition &condition = conditions[c];
    Part &part = parts[group[c]];
    if (part.text.empty())
      part.text = condition.text;
    switch (condition.kind) {
    case Condition::Dim:
      part.dims.push_back(condition.index);
      break;
    case Condition::Range:
      part.ranges.push_back(condition.index);
      break;
    case Condition::Constraint:
      part.constraints.push_back(condition.index);
      break;
    case Condition::Result:
      part.results.push_back(condition.index);
      break;
    }
    for (size_t j = 0; j < elements.size(); ++j)
      if (std::find(condition.needs.begin(), condition.needs.end(), elements[j].var.variable()) !=
              condition.needs.end() &&
          std::find(part.elements.begin(), part.elements.end(), j) == part.elements.end())
        part.elements.push_back(j);
    for (const MapVariable &v : open) {
      const bool isNeeded = std::find(condition.needs.begin(), condition.needs.end(),
                                      v.var.variable()) != condition.needs.end();
      const bool isThere = std::any_of(part.open.begin(), part.open.end(),
                                       [&](const Open &o) { return o.variable == v.var; });
      if (isNeeded && !isThere)
        part.open.push_back(openVariable(v, uses[v.var.variable()] == 1, part.isComplete));
    }
  }
  for (auto &[number, part] : parts)
    found.push_back(std::move(part));
}

} // namespace tilewright::prove
