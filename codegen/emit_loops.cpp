// ValueEmitter's direct loops: ops with range variables, evaluated element by element.
//
// A result element of a dot, a convolution, a reduce, a windowed reduce, a scatter or a
// select-and-scatter is computed by a loop nest over the range variables of the op's index maps. A
// short inner part of the loop nest is unrolled (a 3x3 window, say), the rest are run-time loops
// that carry one accumulator a lane.
#include "codegen/value_emitter.h"

#include <algorithm>

namespace tilewright {

namespace {

constexpr int64_t maxUnrolled = 9; // iterations of the inner dims: a 3x3 window

const Graph *calledBy(const Module &module, const Op &op, CallRole role) {
  for (const CalledGraph &called : op.called)
    if (called.role == role)
      return &module.graph(called.graph);
  return nullptr;
}

} // namespace

llvm::Error ValueEmitter::forRanges(const std::vector<MapVariable> &ranges, Values &carried,
                                    const RangeBody &body) {
  if (std::any_of(ranges.begin(), ranges.end(),
                  [](const MapVariable &range) { return range.domain.isEmpty(); }))
    return llvm::Error::success();
  // Unroll as many inner dims as fit.
  size_t loops = ranges.size();
  int64_t unrolled = 1;
  while (loops > 0) {
    const Interval &domain = ranges[loops - 1].domain;
    int64_t extent = domain.hi - domain.lo + 1;
    if (unrolled * extent > maxUnrolled)
      break;
    unrolled *= extent;
    --loops;
  }
  std::vector<Binding> bound;
  std::function<llvm::Error(size_t, Values &)> nest = [&](size_t depth,
                                                          Values &values) -> llvm::Error {
    if (depth == ranges.size())
      return body(bound, values);
    Interval domain = ranges[depth].domain;
    llvm::Error error = llvm::Error::success();
    if (depth >= loops) {
      for (int64_t i = domain.lo; i <= domain.hi && !error; ++i) {
        bound.push_back({ranges[depth].var, constant(i)});
        error = nest(depth + 1, values);
        bound.pop_back();
      }
      return error;
    }
    values = k.forLoop(
        k.c32(domain.lo), k.c32(domain.hi + 1), k.c32(1), values,
        [&](llvm::Value *counter, const Values &before) -> Values {
          Scope scope(*this);
          Values next = before;
          bound.push_back({ranges[depth].var, variable(VarKind::Step, "step", domain, counter)});
          error = nest(depth + 1, next);
          bound.pop_back();
          return next;
        });
    return error;
  };
  return nest(0, carried);
}

namespace {
/// The loops of a map. A map that reads nothing (a window that lies in the padding) has an empty
/// range, so that its body is never emitted.
std::vector<MapVariable> rangesOf(const IndexMap &map) {
  std::vector<MapVariable> ranges = map.variables(VarKind::Range);
  if (map.isKnownEmpty())
    ranges.push_back({map.context().range(0), Interval{0, -1}, std::nullopt});
  return ranges;
}
} // namespace

llvm::Expected<Values> ValueEmitter::emitIteration(OpId id, const OpIndexing &maps,
                                                   const Coordinates &coordinates,
                                                   const Guard &guard, unsigned lanes) {
  switch (ir[id].opcode) {
  case Opcode::Dot:
  case Opcode::Convolution:
    return emitContraction(id, maps, coordinates, guard, lanes);
  case Opcode::Scatter:
    return emitScatter(id, maps, coordinates, guard, lanes);
  case Opcode::SelectAndScatter:
    return emitSelectAndScatter(id, maps, coordinates, guard, lanes);
  default:
    return emitFold(id, maps, coordinates, guard, lanes);
  }
}

llvm::Expected<Values> ValueEmitter::emitContraction(OpId id, const OpIndexing &maps,
                                                     const Coordinates &coordinates,
                                                     const Guard &guard, unsigned lanes) {
  const Op &op = ir[id];
  DType type = op.shape.dtype;
  if (maps.operands[0].maps.size() != 1 || maps.operands[1].maps.size() != 1 || type == DType::Pred)
    return makeError(DiagClass::Unsupported, "%{}: no code for a {} of {}", op.name,
                     toString(op.opcode), toString(type));
  // Sums of narrow floats are kept in f32 and rounded once.
  bool isFused = isFloat(type);
  Values sums(lanes, ops.constant(type, int64_t(0)));
  auto error =
      forRanges(rangesOf(maps.operands[0].maps[0]), sums,
                [&](const std::vector<Binding> &at, Values &partial) -> llvm::Error {
                  Values factors[2];
                  Guard conditions = guard;
                  for (unsigned i = 0; i < 2; ++i) {
                    auto value = throughMap(id, i, maps.operands[i].maps[0], coordinates, guard,
                                            lanes, &conditions, at);
                    if (!value)
                      return value.takeError();
                    DType from = ir[op.operands[i]].shape.dtype;
                    for (llvm::Value *element : *value)
                      factors[i].push_back(isFloat(type) && isFloat(from) && type != DType::F64
                                               ? element
                                               : ops.convert(from, type, element));
                  }
                  for (unsigned lane = 0; lane < lanes; ++lane) {
                    llvm::Value *x = factors[0][lane], *y = factors[1][lane], *sum = partial[lane];
                    llvm::Value *next =
                        isFused ? k.intrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, sum})
                                : b.CreateAdd(sum, b.CreateMul(x, y));
                    llvm::Value *counts = holdsAtLane(conditions, lane);
                    partial[lane] = counts ? b.CreateSelect(counts, next, sum) : next;
                  }
                  return llvm::Error::success();
                });
  if (error)
    return error;
  for (llvm::Value *&sum : sums)
    sum = ops.round(type, sum);
  return sums;
}

llvm::Expected<ValueEmitter::Folding> ValueEmitter::foldingOf(const Op &op, CallRole role,
                                                              size_t results) {
  const Graph *reducer = calledBy(module, op, role);
  if (!reducer)
    return makeError(DiagClass::Unsupported, "%{}: {} without a computation", op.name,
                     toString(op.opcode));
  Folding folding{reducer, {}};
  if (results == 1)
    folding.combiner = ScalarOps::inspectReducer(*reducer);
  return folding;
}

llvm::Expected<Values> ValueEmitter::fold(const Folding &folding, DType type, const Values &before,
                                          const Values &next) {
  if (folding.combiner)
    return Values{ops.combine(*folding.combiner, type, before[0], next[0])};
  Values arguments = before;
  arguments.insert(arguments.end(), next.begin(), next.end());
  return ops.applyGraph(*folding.reducer, arguments);
}

/// reduce and reduce-window, variadic ones too: one value for each result and lane, result by
/// result.
llvm::Expected<Values> ValueEmitter::emitFold(OpId id, const OpIndexing &maps,
                                              const Coordinates &coordinates, const Guard &guard,
                                              unsigned lanes) {
  const Op &op = ir[id];
  auto results = static_cast<unsigned>(op.operands.size() / 2);
  auto folding = foldingOf(op, CallRole::ToApply, results);
  if (!folding)
    return folding.takeError();
  auto typeOf = [&](unsigned r) {
    return op.shape.isTuple ? op.shape.elements[r].dtype : op.shape.dtype;
  };
  Values carried;
  for (unsigned r = 0; r < results; ++r) {
    if (maps.operands[r].maps.size() != 1 || !ScalarOps::isSupported(typeOf(r)))
      return makeError(DiagClass::Unsupported, "%{}: no code for a {} of {}", op.name,
                       toString(op.opcode), toString(typeOf(r)));
    auto start = values(op.operands[results + r], {}, {}, 1);
    if (!start)
      return start.takeError();
    llvm::Value *first =
        ops.convert(ir[op.operands[results + r]].shape.dtype, typeOf(r), (*start)[0]);
    carried.insert(carried.end(), lanes, first);
  }
  auto error =
      forRanges(rangesOf(maps.operands[0].maps[0]), carried,
                [&](const std::vector<Binding> &at, Values &partial) -> llvm::Error {
                  Guard conditions = guard;
                  std::vector<Values> elements;
                  for (unsigned r = 0; r < results; ++r) {
                    auto value = throughMap(id, r, maps.operands[r].maps[0], coordinates, guard,
                                            lanes, &conditions, at);
                    if (!value)
                      return value.takeError();
                    for (llvm::Value *&element : *value)
                      element = ops.convert(ir[op.operands[r]].shape.dtype, typeOf(r), element);
                    elements.push_back(std::move(*value));
                  }
                  for (unsigned lane = 0; lane < lanes; ++lane) {
                    Values before, next;
                    for (unsigned r = 0; r < results; ++r) {
                      before.push_back(partial[r * lanes + lane]);
                      next.push_back(elements[r][lane]);
                    }
                    auto after = fold(*folding, typeOf(0), before, next);
                    if (!after)
                      return after.takeError();
                    llvm::Value *counts = holdsAtLane(conditions, lane);
                    for (unsigned r = 0; r < results; ++r)
                      partial[r * lanes + lane] =
                          counts ? b.CreateSelect(counts, (*after)[r], before[r]) : (*after)[r];
                  }
                  return llvm::Error::success();
                });
  if (error)
    return error;
  for (unsigned r = 0; r < results; ++r)
    for (unsigned lane = 0; lane < lanes; ++lane)
      carried[r * lanes + lane] = ops.round(typeOf(r), carried[r * lanes + lane]);
  return carried;
}

/// Scatter as a gather: an element of the base combined with every update that lands on it, in the
/// order of the indices. Needs no atomics and is deterministic.
llvm::Expected<Values> ValueEmitter::emitScatter(OpId id, const OpIndexing &maps,
                                                 const Coordinates &coordinates, const Guard &guard,
                                                 unsigned lanes) {
  const Op &op = ir[id];
  if (op.operands.size() != 3 || maps.operands[2].maps.size() != 1)
    return makeError(DiagClass::Unsupported, "%{}: no code for a scatter of several operands",
                     op.name);
  DType type = op.shape.dtype;
  auto folding = foldingOf(op, CallRole::ToApply, 1);
  if (!folding)
    return folding.takeError();
  auto base = throughMap(id, 0, maps.operands[0].maps[0], coordinates, guard, lanes, nullptr);
  if (!base)
    return base.takeError();
  // Update elements that fall outside are dropped.
  IndexMap map = maps.operands[2].maps[0];
  std::vector<MapVariable> variables = map.variables();
  int64_t largest = 1;
  for (int64_t extent : op.shape.dims)
    largest = std::max(largest, extent);
  for (MapVariable &variable : variables)
    if (exprs.info(variable.var.variable()).kind == VarKind::Runtime)
      variable.domain = {-largest, largest};
  map = IndexMap(exprs, std::move(variables), map.results(), map.constraints());
  Values sums = std::move(*base);
  auto error = forRanges(
      rangesOf(map), sums, [&](const std::vector<Binding> &at, Values &partial) -> llvm::Error {
        Guard conditions = guard;
        auto update = throughMap(id, 2, map, coordinates, guard, lanes, &conditions, at);
        if (!update)
          return update.takeError();
        for (unsigned lane = 0; lane < lanes; ++lane) {
          auto after = fold(*folding, type, {partial[lane]}, {(*update)[lane]});
          if (!after)
            return after.takeError();
          llvm::Value *counts = holdsAtLane(conditions, lane);
          partial[lane] = counts ? b.CreateSelect(counts, (*after)[0], partial[lane]) : (*after)[0];
        }
        return llvm::Error::success();
      });
  if (error)
    return error;
  for (llvm::Value *&sum : sums)
    sum = ops.round(type, sum);
  return sums;
}

/// For every window that covers the element: finds the element that the window selects, and adds
/// the window's source value if that is this element.
llvm::Expected<Values> ValueEmitter::emitSelectAndScatter(OpId id, const OpIndexing &maps,
                                                          const Coordinates &coordinates,
                                                          const Guard &guard, unsigned lanes) {
  const Op &op = ir[id];
  DType type = op.shape.dtype;
  const Graph *select = calledBy(module, op, CallRole::Select);
  auto folding = foldingOf(op, CallRole::Scatter, 1);
  if (!folding)
    return folding.takeError();
  if (!select || maps.operands[0].maps.size() != 1 || maps.operands[1].maps.size() != 1)
    return makeError(DiagClass::Unsupported, "%{}: select-and-scatter without a computation",
                     op.name);
  const IndexMap &seen = maps.operands[0].maps[0], &source = maps.operands[1].maps[0];
  std::vector<MapVariable> element = rangesOf(source), other;
  for (const MapVariable &variable : rangesOf(seen))
    if (std::none_of(element.begin(), element.end(),
                     [&](const MapVariable &own) { return own.var == variable.var; }))
      other.push_back(variable);
  if (element.size() != other.size()) // simplified away: a window of one
    return makeError(DiagClass::Unsupported, "%{}: no code for a window without choice", op.name);
  auto initial = values(op.operands[2], {}, {}, 1);
  if (!initial)
    return initial.takeError();
  auto position = [&](const std::vector<MapVariable> &variables, const std::vector<Binding> &at) {
    Expr linear = constant(0);
    for (const MapVariable &variable : variables)
      for (const Binding &binding : at)
        if (binding.var == variable.var)
          linear = linear * (variable.domain.hi + 1) + binding.at;
    return b.CreateSExtOrTrunc(index(linear), k.i32);
  };
  Values sums(lanes, (*initial)[0]);
  auto error =
      forRanges(element, sums, [&](const std::vector<Binding> &at, Values &partial) -> llvm::Error {
        Guard covered = guard;
        auto added = throughMap(id, 1, source, coordinates, guard, lanes, &covered, at);
        if (!added)
          return added.takeError();
        // By lane: the value chosen so far and its position in the window, -1 before the first.
        Values chosen(lanes, ops.constant(type, int64_t(0)));
        chosen.insert(chosen.end(), lanes, k.c32(-1));
        auto inner = forRanges(
            other, chosen, [&](const std::vector<Binding> &more, Values &best) -> llvm::Error {
              std::vector<Binding> all = at;
              all.insert(all.end(), more.begin(), more.end());
              Guard inside = guard;
              auto candidate = throughMap(id, 0, seen, coordinates, guard, lanes, &inside, all);
              if (!candidate)
                return candidate.takeError();
              llvm::Value *place = position(other, all);
              for (unsigned lane = 0; lane < lanes; ++lane) {
                auto stays = ops.applyGraph(*select, {best[lane], (*candidate)[lane]});
                if (!stays)
                  return stays.takeError();
                llvm::Value *isFirst = b.CreateICmpSLT(best[lanes + lane], k.c32(0));
                llvm::Value *takes = b.CreateOr(isFirst, b.CreateNot((*stays)[0]));
                if (llvm::Value *counts = holdsAtLane(inside, lane))
                  takes = b.CreateAnd(takes, counts);
                best[lane] = b.CreateSelect(takes, (*candidate)[lane], best[lane]);
                best[lanes + lane] = b.CreateSelect(takes, place, best[lanes + lane]);
              }
              return llvm::Error::success();
            });
        if (inner)
          return inner;
        llvm::Value *own = position(element, at);
        for (unsigned lane = 0; lane < lanes; ++lane) {
          auto after = fold(*folding, type, {partial[lane]}, {(*added)[lane]});
          if (!after)
            return after.takeError();
          llvm::Value *counts = b.CreateICmpEQ(chosen[lanes + lane], own);
          if (llvm::Value *covers = holdsAtLane(covered, lane))
            counts = b.CreateAnd(counts, covers);
          partial[lane] = b.CreateSelect(counts, (*after)[0], partial[lane]);
        }
        return llvm::Error::success();
      });
  if (error)
    return error;
  for (llvm::Value *&sum : sums)
    sum = ops.round(type, sum);
  return sums;
}

/// dynamic-update-slice: the update where its window is, else the operand.
llvm::Expected<Values> ValueEmitter::emitUpdate(OpId id, const OpIndexing &maps,
                                                const Coordinates &coordinates, const Guard &guard,
                                                unsigned lanes) {
  if (maps.operands[0].maps.size() != 1 || maps.operands[1].maps.size() != 1)
    return makeError(DiagClass::Unsupported, "%{}: no code for {}", ir[id].name,
                     toString(ir[id].opcode));
  auto base = throughMap(id, 0, maps.operands[0].maps[0], coordinates, guard, lanes, nullptr);
  if (!base)
    return base.takeError();
  Guard conditions;
  auto update = throughMap(id, 1, maps.operands[1].maps[0], coordinates, guard, lanes, &conditions);
  if (!update)
    return update.takeError();
  for (unsigned lane = 0; lane < lanes; ++lane) {
    llvm::Value *isInside = holdsAtLane(conditions, lane);
    (*base)[lane] =
        isInside ? b.CreateSelect(isInside, (*update)[lane], (*base)[lane]) : (*update)[lane];
  }
  return std::move(*base);
}

} // namespace tilewright
