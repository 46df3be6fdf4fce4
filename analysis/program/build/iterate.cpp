// Loops of a thread over an op's own iteration, with values that each step makes anew: reducers of
// more than one op, scatters, select-and-scatter.
#include "analysis/program/build/builder.h"
#include "analysis/support/diag.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright::program {

namespace {

const Graph *calledBy(const Module &module, const tilewright::Op &op, CallRole role) {
  for (const CalledGraph &called : op.called)
    if (called.role == role)
      return &module.graph(called.graph);
  return nullptr;
}

} // namespace

AxisSet Builder::axesAt(const Coordinates &at, const Guard &guard) const {
  AxisSet axes;
  for (Expr e : at)
    unite(axes, p.axesOf(e));
  for (const MapConstraint &condition : guard)
    unite(axes, p.axesOf(condition.expr));
  return axes;
}

/// The value holds a leaf at every place of the axes.
void Builder::assign(unsigned level, ValueId value, const Leaf &leaf) {
  const Tile &tile = p[value].tile;
  if (leaf.kind == ScalarNode::Kind::Number) {
    append(level, FullOp{leaf.number, tile.type, tile.axes, layoutOf(tile.axes)}, {value});
    return;
  }
  ScalarExpr scalar;
  scalar.add(leafOf(materialised(leaf, tile.axes)));
  append(level, MapOp{std::move(scalar), std::nullopt}, {value});
}

llvm::Expected<std::vector<Builder::Leaf>> Builder::iterate(std::span<const MapVariable> ranges,
                                                            unsigned outer, const AxisSet &axes,
                                                            const std::vector<Leaf> &start,
                                                            const std::vector<DType> &types,
                                                            const Step &step) {
  Aside aside = putAside(outer);
  const auto inner = outer + static_cast<unsigned>(ranges.size());
  std::vector<ValueId> carried;
  std::vector<Leaf> before;
  for (size_t i = 0; i < start.size(); ++i) {
    carried.push_back(newValue(types[i], axes, inner));
    assign(outer, carried.back(), start[i]);
    before.push_back(leafOf(carried.back()));
  }
  std::vector<Binding> bound;
  unsigned opened = 0;
  for (const MapVariable &range : ranges) {
    std::string name = names.of("tuvwz");
    Expr at = context.variable(VarKind::Step, name);
    const int64_t count = range.domain.hi - range.domain.lo + 1;
    setBounds(at, Interval::ofExtent(count));
    openLoop(outer + opened++, at, name, p.number(count));
    bound.push_back({range.var, at + range.domain.lo});
  }
  auto next = step(bound, before);
  if (!next)
    return next.takeError();
  // All are made before one is assigned.
  std::vector<ValueId> made;
  for (size_t i = 0; i < carried.size(); ++i) {
    made.push_back(newValue(types[i], axes, inner));
    assign(inner, made.back(), (*next)[i]);
  }
  for (size_t i = 0; i < carried.size(); ++i)
    assign(inner, carried[i], leafOf(made[i]));
  for (unsigned i = 0; i < opened; ++i)
    closeLoop();
  for (ValueId value : carried)
    valueLevels[value.index] = outer;
  putBack(std::move(aside));
  return before;
}

/// Each of some values by its own choice.
llvm::Expected<std::vector<Builder::Leaf>> Builder::chosen(const std::optional<Leaf> &condition,
                                                           const std::vector<Leaf> &yes,
                                                           const std::vector<Leaf> &no,
                                                           const std::vector<DType> &types) {
  std::vector<Leaf> result;
  for (size_t i = 0; i < yes.size(); ++i) {
    Made one = select(condition, yes[i], no[i], types[i]);
    if (!one)
      return one.takeError();
    result.push_back(*one);
  }
  return result;
}

/// A reduction or a window whose results are made together, or by more than one op.
Builder::Made Builder::foldedTogether(OpId id, const OpIndexing &maps, const Coordinates &at,
                                      const Guard &guard, unsigned result) {
  const tilewright::Op &op = graph[id];
  const Graph *reducer = calledBy(module, op, CallRole::ToApply);
  if (!reducer)
    return unsupported(id, "it has no computation");
  const size_t results = op.operands.size() / 2;
  std::vector<DType> types;
  std::vector<Leaf> start;
  for (size_t r = 0; r < results; ++r) {
    if (maps.operands[r].maps.size() != 1)
      return unsupported(id, "an operand is read at several places");
    types.push_back(op.shape.isTuple ? op.shape.elements[r].dtype : op.shape.dtype);
    Made init = value(op.operands[results + r], {}, {});
    if (!init)
      return init;
    Made first = converted(*init, graph[op.operands[results + r]].shape.dtype, types[r]);
    if (!first)
      return first;
    start.push_back(*first);
  }
  const std::vector<MapVariable> ranges = maps.operands[0].maps[0].variables(VarKind::Range);
  bool isEmpty = maps.operands[0].maps[0].isKnownEmpty();
  for (const MapVariable &range : ranges)
    isEmpty |= range.domain.isEmpty();
  if (isEmpty)
    return start[result];
  const unsigned outer = levelOf(at, guard);
  auto made = iterate(ranges, outer, axesAt(at, guard), start, types,
                      [&](const std::vector<Binding> &bound,
                          const std::vector<Leaf> &before) -> llvm::Expected<std::vector<Leaf>> {
                        Guard conditions;
                        std::vector<Leaf> arguments = before;
                        for (unsigned r = 0; r < results; ++r) {
                          Made x = throughMap(id, r, maps.operands[r].maps[0], at, guard,
                                              &conditions, bound);
                          if (!x)
                            return x.takeError();
                          Made own = converted(*x, graph[op.operands[r]].shape.dtype, types[r]);
                          if (!own)
                            return own.takeError();
                          arguments.push_back(*own);
                        }
                        auto next = computation(*reducer, std::move(arguments), true);
                        if (!next)
                          return next.takeError();
                        auto condition = predicate(id, conditions);
                        if (!condition)
                          return condition.takeError();
                        return chosen(*condition, *next, before, types);
                      });
  if (!made)
    return made.takeError();
  for (unsigned r = 0; r < results; ++r)
    levels[outer].known.emplace(keyOf(id, at, guard, r), (*made)[r]);
  return (*made)[result];
}

/// Scatter as a gather: an element of the base combined with every update that lands on it, in the
/// order of the indices. Needs no atomics and is deterministic.
Builder::Made Builder::scattered(OpId id, const OpIndexing &maps, const Coordinates &at,
                                 const Guard &guard) {
  const tilewright::Op &op = graph[id];
  const Graph *reducer = calledBy(module, op, CallRole::ToApply);
  if (!reducer || op.operands.size() != 3 || maps.operands[2].maps.size() != 1)
    return unsupported(id, "it has several operands");
  const DType type = op.shape.dtype;
  Made base = throughMap(id, 0, maps.operands[0].maps[0], at, guard, nullptr);
  if (!base)
    return base;
  // Update elements that fall outside are dropped and not clamped.
  std::vector<MapVariable> variables = maps.operands[2].maps[0].variables();
  int64_t largest = 1;
  for (int64_t extent : op.shape.dims)
    largest = std::max(largest, extent);
  for (MapVariable &variable : variables)
    if (context.info(variable.var.variable()).kind == VarKind::Runtime)
      variable.domain = {-largest, largest};
  const IndexMap &own = maps.operands[2].maps[0];
  const IndexMap map(context, std::move(variables), own.results(), own.constraints());
  if (map.isKnownEmpty())
    return base;
  auto made =
      iterate(map.variables(VarKind::Range), levelOf(at, guard), axesAt(at, guard), {*base}, {type},
              [&](const std::vector<Binding> &bound,
                  const std::vector<Leaf> &before) -> llvm::Expected<std::vector<Leaf>> {
                Guard conditions;
                Made update = throughMap(id, 2, map, at, guard, &conditions, bound);
                if (!update)
                  return update.takeError();
                auto next = computation(*reducer, {before[0], *update}, true);
                if (!next)
                  return next.takeError();
                auto condition = predicate(id, conditions);
                if (!condition)
                  return condition.takeError();
                return chosen(*condition, *next, before, {type});
              });
  if (!made)
    return made.takeError();
  return (*made)[0];
}

/// For every window that covers the element: finds the element that the window selects, and adds
/// the window's source value if that is this element.
Builder::Made Builder::selectedAndScattered(OpId id, const OpIndexing &maps, const Coordinates &at,
                                            const Guard &guard) {
  const tilewright::Op &op = graph[id];
  const DType type = op.shape.dtype;
  const Graph *picks = calledBy(module, op, CallRole::Select);
  const Graph *adds = calledBy(module, op, CallRole::Scatter);
  if (!picks || !adds || maps.operands[0].maps.size() != 1 || maps.operands[1].maps.size() != 1)
    return unsupported(id, "it has no computation");
  const IndexMap &seen = maps.operands[0].maps[0], &source = maps.operands[1].maps[0];
  const std::vector<MapVariable> element = source.variables(VarKind::Range);
  std::vector<MapVariable> other;
  for (const MapVariable &variable : seen.variables(VarKind::Range))
    if (std::none_of(element.begin(), element.end(),
                     [&](const MapVariable &own) { return own.var == variable.var; }))
      other.push_back(variable);
  if (element.size() != other.size()) // simplified away: a window of one
    return unsupported(id, "a window without choice");
  Made initial = value(op.operands[2], {}, {});
  if (!initial)
    return initial;
  auto placeOf = [&](std::span<const MapVariable> variables, std::span<const Binding> bound) {
    Expr place = p.number(0);
    for (const MapVariable &variable : variables)
      for (const Binding &binding : bound)
        if (binding.var == variable.var)
          place = place * (variable.domain.hi + 1) + binding.at;
    return leafOf(simplify(place));
  };
  const AxisSet axes = axesAt(at, guard);
  const std::vector<DType> chosenTypes{type, DType::S32};

  // The value and the place that a window chooses; place -1 before its first element.
  auto choose = [&](const std::vector<Binding> &bound) {
    const auto level = static_cast<unsigned>(levels.size() - 1);
    return iterate(
        other, level, axes, {numberOf(0), numberOf(-1)}, chosenTypes,
        [&](const std::vector<Binding> &more,
            const std::vector<Leaf> &best) -> llvm::Expected<std::vector<Leaf>> {
          std::vector<Binding> all = bound;
          all.insert(all.end(), more.begin(), more.end());
          Guard inside;
          Made candidate = throughMap(id, 0, seen, at, guard, &inside, all);
          if (!candidate)
            return candidate.takeError();
          auto stays = computation(*picks, {best[0], *candidate}, true);
          if (!stays)
            return stays.takeError();
          Made isFirst = pointwise(compareOp(Comparison::Lt), {best[1], numberOf(0)},
                                   {DType::S32, DType::S32});
          if (!isFirst)
            return isFirst.takeError();
          auto kept = chosen((*stays)[0], best, {*candidate, placeOf(other, more)}, chosenTypes);
          if (!kept)
            return kept.takeError();
          auto taken = chosen(*isFirst, {*candidate, placeOf(other, more)}, *kept, chosenTypes);
          if (!taken)
            return taken.takeError();
          auto condition = predicate(id, inside);
          if (!condition)
            return condition.takeError();
          return chosen(*condition, *taken, best, chosenTypes);
        });
  };
  auto made = iterate(element, levelOf(at, guard), axes, {*initial}, {type},
                      [&](const std::vector<Binding> &bound,
                          const std::vector<Leaf> &before) -> llvm::Expected<std::vector<Leaf>> {
                        Guard covered;
                        Made added = throughMap(id, 1, source, at, guard, &covered, bound);
                        if (!added)
                          return added.takeError();
                        auto best = choose(bound);
                        if (!best)
                          return best.takeError();
                        auto next = computation(*adds, {before[0], *added}, true);
                        if (!next)
                          return next.takeError();
                        Made isOwn = pointwise(compareOp(Comparison::Eq),
                                               {(*best)[1], placeOf(element, bound)},
                                               {DType::S32, DType::S32});
                        if (!isOwn)
                          return isOwn.takeError();
                        auto own = chosen(*isOwn, *next, before, {type});
                        if (!own)
                          return own.takeError();
                        auto condition = predicate(id, covered);
                        if (!condition)
                          return condition.takeError();
                        return chosen(*condition, *own, before, {type});
                      });
  if (!made)
    return made.takeError();
  return (*made)[0];
}

} // namespace tilewright::program
