#include "analysis/ir/reducer.h"
#include "analysis/program/build/builder.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace tilewright::program {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

/// The type in which values of a type are summed.
DType sumType(DType type) {
  if (isFloat(type))
    return type == DType::F64 ? type : DType::F32;
  return type == DType::Pred || bitWidth(type) < 32 ? DType::S32 : type;
}

double lowestOf(DType type) {
  if (isFloat(type))
    return -inf;
  return dtypeClass(type) == DTypeClass::Signed ? -std::ldexp(1.0, int(bitWidth(type)) - 1) : 0;
}

double highestOf(DType type) {
  if (isFloat(type))
    return inf;
  bool isSigned = dtypeClass(type) == DTypeClass::Signed;
  return std::ldexp(1.0, int(bitWidth(type)) - isSigned) - 1;
}

const Graph *reducerOf(const Module &module, const tilewright::Op &op) {
  for (const CalledGraph &called : op.called)
    if (called.role == CallRole::ToApply)
      return &module.graph(called.graph);
  return nullptr;
}

} // namespace

llvm::Expected<Builder::Combination> Builder::combinationOf(OpId id, DType type) const {
  const Graph *reducer = reducerOf(module, graph[id]);
  std::optional<Opcode> opcode = reducer ? reducerOpcode(*reducer) : std::nullopt;
  DType sum = sumType(type);
  if (!opcode)
    return unsupported(id, "its reducer is not one of add, multiply, minimum, maximum, and, or");
  switch (*opcode) {
  case Opcode::Add:
    return Combination{*opcode, Monoid::Add, sum, 0};
  case Opcode::Multiply:
    return Combination{*opcode, Monoid::Mul, sum, 1};
  case Opcode::Maximum:
    return Combination{*opcode, Monoid::Max, sum, lowestOf(sum)};
  case Opcode::Minimum:
    return Combination{*opcode, Monoid::Min, sum, highestOf(sum)};
  case Opcode::And:
  case Opcode::Or:
    if (type == DType::Pred)
      return Combination{*opcode, *opcode == Opcode::And ? Monoid::And : Monoid::Or, type,
                         *opcode == Opcode::And ? 1.0 : 0.0};
    break;
  default:
    break;
  }
  return unsupported(id, fmt::format("{} of {} as a reducer", toString(*opcode), toString(type)));
}

Builder::Made Builder::initialised(OpId id, const Combination &with, unsigned result,
                                   const Leaf &sum) {
  const tilewright::Op &op = graph[id];
  const Shape &shape = op.shape.isTuple ? op.shape.elements[result] : op.shape;
  OpId start = op.operands[op.operands.size() / 2 + result];
  Made init = value(start, {}, {});
  if (!init)
    return init;
  Leaf total = sum;
  bool isNeutral = init->kind == ScalarNode::Kind::Number &&
                   (init->number == with.identity ||
                    (with.monoid == Monoid::Max && init->number <= lowestOf(shape.dtype)) ||
                    (with.monoid == Monoid::Min && init->number >= highestOf(shape.dtype)));
  if (!isNeutral) {
    Made first = converted(*init, graph[start].shape.dtype, with.type);
    if (!first)
      return first;
    Made both = binary(with.opcode, total, *first, with.type, false);
    if (!both)
      return both;
    total = *both;
  }
  return converted(total, with.type, shape.dtype);
}

unsigned Builder::openSteps(unsigned level, const std::vector<unsigned> &parameters) {
  unsigned opened = 0;
  for (unsigned parameter : parameters)
    if (isStepped(parameter))
      openLoop(
          level + opened++, steps[parameter], stepNames[parameter],
          p.number(group.space.parameters[parameter].extent).ceilDiv(p[*axisOf[parameter]].extent));
  return opened;
}

llvm::Expected<ValueId> Builder::accumulate(unsigned outer, const Combination &with, const Leaf &x,
                                            const std::optional<Leaf> &condition,
                                            const AxisSet &axes) {
  AxisSet all = axes;
  unite(all, axesOf(x));
  if (condition)
    unite(all, axesOf(*condition));
  auto inner = static_cast<unsigned>(levels.size() - 1);
  ValueId sum = newValue(with.type, all, inner);
  append(outer, FullOp{with.identity, with.type, all, layoutOf(all)}, {sum});
  Made next = binary(with.opcode, leafOf(sum), x, with.type, false);
  if (!next)
    return next.takeError();
  Made chosen = select(condition, *next, leafOf(sum), with.type);
  if (!chosen)
    return chosen.takeError();
  ScalarExpr scalar;
  scalar.add(*chosen);
  append(inner, MapOp{std::move(scalar), std::nullopt}, {sum});
  return sum;
}

/// Lanes of these axes that count.
Builder::Leaf Builder::inside(const AxisSet &axes) {
  ScalarExpr scalar;
  std::optional<uint32_t> all;
  auto operation = [&](Opcode opcode, uint32_t a, uint32_t b) {
    ScalarNode node;
    node.kind = ScalarNode::Kind::Operation;
    node.opcode = opcode;
    node.comparison = Comparison::Lt;
    node.operands = {a, b};
    node.type = DType::Pred;
    return scalar.add(std::move(node));
  };
  for (AxisId axis : axes) {
    uint32_t at = scalar.add(leafOf(p[axis].var)), end = scalar.add(leafOf(p[axis].bound));
    uint32_t holds = operation(Opcode::Compare, at, end);
    all = all ? operation(Opcode::And, *all, holds) : holds;
  }
  return mapOf(std::move(scalar));
}

/// Where a reduction reads its input, from where it is read itself.
Coordinates Builder::reducedAt(OpId id, const Coordinates &at) const {
  const std::vector<unsigned> &parameters = Frame::parametersOf(group, id);
  std::vector<int64_t> dims = graph[id].attrs.dimensions;
  std::sort(dims.begin(), dims.end());
  Coordinates places;
  size_t kept = 0;
  for (size_t d = 0; d < graph[graph[id].operands[0]].shape.rank(); ++d) {
    auto reduced = std::find(dims.begin(), dims.end(), static_cast<int64_t>(d));
    if (reduced == dims.end()) {
      places.push_back(at[kept++]);
      continue;
    }
    unsigned parameter = parameters[static_cast<size_t>(reduced - dims.begin())];
    places.push_back(axisOf[parameter] ? p[*axisOf[parameter]].var : p.number(0));
  }
  return places;
}

Builder::Made Builder::reduction(OpId id, const Coordinates &at, const Guard &guard,
                                 unsigned result) {
  const tilewright::Op &op = graph[id];
  const std::vector<unsigned> &parameters = Frame::parametersOf(group, id);
  DType type = graph[op.operands[result]].shape.dtype;
  auto with = combinationOf(id, type);
  if (!with)
    return with.takeError();
  if (op.operands.size() != 2)
    return unsupported(id, "a reduction of several operands");
  if (op.attrs.dimensions.size() != parameters.size())
    return unsupported(id, "its dims have no parameters");
  Coordinates places = reducedAt(id, at);
  AxisSet over;
  for (unsigned parameter : parameters)
    if (axisOf[parameter])
      insert(over, *axisOf[parameter]);
  for (Expr e : at)
    for (AxisId axis : p.axesOf(e))
      if (contains(over, axis))
        return unsupported(id, "it is needed for more rows than one at a time");

  unsigned outer = levelOf(at, guard);
  Aside aside = putAside(outer);
  unsigned opened = openSteps(outer, parameters);
  Made made = value(op.operands[result], places, guard);
  if (!made)
    return made;
  ValueId summed;
  if (opened == 0) {
    Made x = converted(*made, type, with->type);
    if (!x)
      return x;
    summed = over.empty() ? materialised(*x) : materialised(*x, over);
  } else {
    // Lanes beyond the end of the row leave the sum alone.
    std::optional<Leaf> condition;
    AxisSet moving;
    for (unsigned parameter : parameters)
      if (isStepped(parameter))
        insert(moving, *axisOf[parameter]);
    Made x = converted(*made, type, with->type);
    if (!x)
      return x;
    if (!padWith(*x, moving, with->identity))
      condition = inside(moving);
    auto sum = accumulate(outer, *with, *x, condition, over);
    if (!sum)
      return sum.takeError();
    for (unsigned i = 0; i < opened; ++i)
      closeLoop();
    valueLevels[sum->index] = outer;
    summed = *sum;
  }
  Leaf total = leafOf(summed);
  if (!over.empty()) {
    ScalarExpr scalar;
    scalar.add(total);
    ValueId reduced = newValue(with->type, without(p[summed].tile.axes, over), outer);
    append(outer, ReduceOp{with->monoid, std::move(scalar), over}, {reduced}, Source{id, at});
    total = leafOf(reduced);
  }
  putBack(std::move(aside));
  return initialised(id, *with, result, total);
}

/// Windows, and dots without tiles: a loop over the op's own iteration, an element of the result a
/// lane.
Builder::Made Builder::windowed(OpId id, const OpIndexing &maps, const Coordinates &at,
                                const Guard &guard, unsigned result) {
  const tilewright::Op &op = graph[id];
  bool isProduct = op.opcode == Opcode::Dot || op.opcode == Opcode::Convolution;
  if (!isProduct && op.operands.size() != 2)
    return unsupported(id, "a reduction of several operands");
  size_t factors = isProduct ? 2 : 1;
  for (size_t i = 0; i < factors; ++i)
    if (maps.operands[i].maps.size() != 1)
      return unsupported(id, "an operand is read at several places");
  DType type = op.shape.dtype;
  Combination with{Opcode::Add, Monoid::Add, sumType(type), 0};
  if (!isProduct) {
    auto found = combinationOf(id, type);
    if (!found)
      return found.takeError();
    with = *found;
  } else if (type == DType::Pred) {
    return unsupported(id, "products of pred");
  }
  std::vector<MapVariable> ranges = maps.operands[0].maps[0].variables(VarKind::Range);
  if (isProduct) // what one operand has no need of, the other may
    for (const MapVariable &variable : maps.operands[1].maps[0].variables(VarKind::Range))
      if (std::none_of(ranges.begin(), ranges.end(),
                       [&](const MapVariable &other) { return other.var == variable.var; }))
        ranges.push_back(variable);
  bool isEmpty = false;
  for (size_t i = 0; i < factors; ++i)
    isEmpty |= maps.operands[i].maps[0].isKnownEmpty();
  for (const MapVariable &range : ranges)
    isEmpty |= range.domain.isEmpty();
  if (isEmpty) {
    if (isProduct)
      return numberOf(0);
    return initialised(id, with, result, numberOf(with.identity));
  }
  unsigned outer = levelOf(at, guard), opened = 0;
  Aside aside = putAside(outer);
  std::vector<Binding> bound;
  for (const MapVariable &range : ranges) {
    std::string name = names.of("tuvwz");
    Expr step = context.variable(VarKind::Step, name);
    int64_t count = range.domain.hi - range.domain.lo + 1;
    setBounds(step, Interval::ofExtent(count));
    openLoop(outer + opened++, step, name, p.number(count));
    bound.push_back({range.var, step + range.domain.lo});
  }
  std::vector<Leaf> read;
  Guard conditions;
  bool isNeutral = false;
  for (unsigned i = 0; i < factors; ++i) {
    Guard own;
    Made x = throughMap(id, i, maps.operands[i].maps[0], at, guard, &own, bound);
    if (!x)
      return x;
    DType from = graph[op.operands[i]].shape.dtype;
    isNeutral = !isProduct && isFloat(from) && setElse(*x, with.identity);
    bool isFloatOfFloat = isFloat(from) && isFloat(with.type) && from != DType::F64;
    Made wide = isProduct && isFloatOfFloat && with.type != DType::F64
                    ? std::move(x)
                    : converted(*x, from, with.type);
    if (!wide)
      return wide;
    read.push_back(*wide);
    conditions.insert(conditions.end(), own.begin(), own.end());
  }
  Leaf x = read[0];
  if (isProduct) {
    Made product = binary(Opcode::Multiply, read[0], read[1], with.type, false);
    if (!product)
      return product;
    x = *product;
  }
  std::optional<Leaf> condition;
  if (!isNeutral) {
    auto found = predicate(id, conditions);
    if (!found)
      return found.takeError();
    condition = *found;
  }
  Leaf total = x;
  if (opened > 0 || condition) {
    auto sum = accumulate(outer, with, x, condition, {});
    if (!sum)
      return sum.takeError();
    for (unsigned i = 0; i < opened; ++i)
      closeLoop();
    valueLevels[sum->index] = outer;
    total = leafOf(*sum);
  }
  putBack(std::move(aside));
  if (isProduct)
    return converted(total, with.type, type);
  return initialised(id, with, result, total);
}

} // namespace tilewright::program
