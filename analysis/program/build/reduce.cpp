#include "analysis/ir/reducer.h"
#include "analysis/program/build/builder.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace tilewright::program {

namespace {

const Graph *reducerOf(const Module &module, const tilewright::Op &op) {
  for (const CalledGraph &called : op.called)
    if (called.role == CallRole::ToApply)
      return &module.graph(called.graph);
  return nullptr;
}

/// The op that combines one of several results, from the two parameters that are of it alone.
std::optional<Opcode> opcodeOfResult(const Graph &reducer, unsigned result) {
  const tilewright::Op &root = reducer[reducer.root()];
  if (root.opcode != Opcode::Tuple || result >= root.operands.size())
    return std::nullopt;
  const tilewright::Op &made = reducer[root.operands[result]];
  auto isParameter = [&](OpId id, size_t number) {
    return reducer[id].opcode == Opcode::Parameter &&
           reducer[id].attrs.parameterNumber == static_cast<int64_t>(number);
  };
  size_t other = root.operands.size() + result;
  bool isOwn = made.operands.size() == 2 &&
               ((isParameter(made.operands[0], result) && isParameter(made.operands[1], other)) ||
                (isParameter(made.operands[1], result) && isParameter(made.operands[0], other)));
  return isOwn ? std::optional(made.opcode) : std::nullopt;
}

} // namespace

DType sumType(DType type) {
  if (isFloat(type))
    return type == DType::F64 ? type : DType::F32;
  return type == DType::Pred || bitWidth(type) < 32 ? DType::S32 : type;
}

llvm::Expected<Builder::Combination> Builder::combinationOf(OpId id, DType type,
                                                            unsigned result) const {
  const Graph *reducer = reducerOf(module, graph[id]);
  std::optional<Opcode> opcode;
  if (reducer)
    opcode =
        graph[id].operands.size() == 2 ? reducerOpcode(*reducer) : opcodeOfResult(*reducer, result);
  DType sum = sumType(type);
  if (!opcode)
    return unsupported(id, "its reducer is not one of add, multiply, minimum, maximum, and, or");
  if (isComplex(graph[id].shape.isTuple ? DType::F32 : graph[id].shape.dtype) &&
      *opcode != Opcode::Add)
    return unsupported(id, fmt::format("{} of complex numbers as a reducer", toString(*opcode)));
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
  const DType type = partType(shape.dtype);
  OpId start = op.operands[op.operands.size() / 2 + result];
  Made init = value(start, {}, {});
  if (!init)
    return init;
  Leaf total = sum;
  bool isNeutral = init->kind == ScalarNode::Kind::Number &&
                   (init->number == with.identity ||
                    (with.monoid == Monoid::Max && init->number <= lowestOf(type)) ||
                    (with.monoid == Monoid::Min && init->number >= highestOf(type)));
  if (!isNeutral) {
    Made first = converted(*init, partType(graph[start].shape.dtype), with.type);
    if (!first)
      return first;
    Made both = binary(with.opcode, total, *first, with.type, false);
    if (!both)
      return both;
    total = *both;
  }
  return converted(total, with.type, type);
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

llvm::Expected<Builder::Pass> Builder::openPass(OpId id, const Coordinates &at,
                                                const Guard &guard) {
  Pass pass;
  pass.parameters = Frame::parametersOf(group, id);
  if (graph[id].attrs.dimensions.size() != pass.parameters.size())
    return unsupported(id, "its dims have no parameters");
  for (unsigned parameter : pass.parameters)
    if (axisOf[parameter]) {
      insert(pass.over, *axisOf[parameter]);
      if (p[*axisOf[parameter]].bound)
        insert(pass.moving, *axisOf[parameter]);
    }
  pass.outer = levelOf(at, guard);
  pass.aside = putAside(pass.outer);
  pass.opened = openSteps(pass.outer, pass.parameters);
  return pass;
}

void Builder::closeLoops(const Pass &pass) {
  for (unsigned i = 0; i < pass.opened; ++i)
    closeLoop();
}

/// Behind the loops: over the lanes.
Builder::Leaf Builder::reduced(const Pass &pass, Monoid monoid, const Leaf &of) {
  if (pass.over.empty())
    return of;
  ScalarExpr scalar;
  scalar.add(of);
  const Tile &tile = p[of.value].tile;
  ValueId result = newValue(tile.type, without(tile.axes, pass.over), pass.outer);
  append(pass.outer, ReduceOp{monoid, std::move(scalar), pass.over}, {result});
  return leafOf(result);
}

Builder::Made Builder::reduction(OpId id, const Coordinates &at, const Guard &guard,
                                 unsigned result) {
  const tilewright::Op &op = graph[id];
  if (std::optional<IndexReducer> of = indexReducer(id))
    return indexReduction(id, *of, at, guard, result);
  DType type = partType(graph[op.operands[result]].shape.dtype);
  auto with = combinationOf(id, type, result);
  if (!with)
    return with.takeError();
  const Renewed own(*this, id, at);
  auto pass = openPass(id, at, guard);
  if (!pass)
    return pass.takeError();
  Made read = value(op.operands[result], reducedAt(id, at), guard);
  if (!read)
    return read;
  Made x = converted(*read, type, with->type);
  if (!x)
    return x;
  Leaf summed;
  if (pass->opened == 0) {
    if (!pass->moving.empty() && !padWith(*x, pass->moving, with->identity))
      x = select(inside(pass->moving), *x, numberOf(with->identity), with->type);
    if (!x)
      return x;
    summed = leafOf(materialised(*x, pass->over));
    if (x->kind == ScalarNode::Kind::Value && x->value == summed.value)
      summed.sources = x->sources;
  } else {
    // Lanes beyond the end of the row leave the sum alone.
    std::optional<Leaf> condition;
    if (!padWith(*x, pass->moving, with->identity))
      condition = inside(pass->moving);
    auto sum = accumulate(pass->outer, *with, *x, condition, pass->over);
    if (!sum)
      return sum.takeError();
    closeLoops(*pass);
    valueLevels[sum->index] = pass->outer;
    summed = leafOf(*sum);
  }
  Leaf total = reduced(*pass, with->monoid, summed);
  putBack(std::move(pass->aside));
  return initialised(id, *with, result, total);
}

} // namespace tilewright::program
