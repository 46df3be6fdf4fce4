// argmax and argmin: a reduction of values beside their coordinates.
#include "analysis/ir/evaluator_scalar.h"
#include "analysis/program/build/builder.h"

#include <cmath>
#include <limits>

namespace tilewright::program {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Runs a reducer of two values and their indices: whether it takes the first pair; nothing if it
/// makes another one.
std::optional<bool> takesFirst(eval::ScalarProgram &reducer, bool isFloatValue, double v, int64_t i,
                               double w, int64_t j) {
  auto scalar = [&](double number) {
    return isFloatValue ? eval::Scalar::of(number) : eval::Scalar::of(static_cast<int64_t>(number));
  };
  reducer.parameter(0) = scalar(v);
  reducer.parameter(1) = eval::Scalar::of(i);
  reducer.parameter(2) = scalar(w);
  reducer.parameter(3) = eval::Scalar::of(j);
  reducer.run();
  eval::Scalar value = reducer.result(0), index = reducer.result(1);
  if (value.words == scalar(v).words && index.integer() == i)
    return true;
  if (value.words == scalar(w).words && index.integer() == j)
    return false;
  return std::nullopt;
}

/// Of numbers the larger (or smaller) one is taken, of equal ones that of the lower index, which
/// comes first.
bool isIndexReducer(eval::ScalarProgram &reducer, bool isFloatValue, bool isMax) {
  std::vector<double> values{-7, -1, 0, 2, 100};
  if (isFloatValue)
    values.insert(values.end(), {-infinite, -0.5, 0.25, infinite});
  for (double v : values)
    for (double w : values)
      for (int64_t i : {0, 1, 5})
        for (int64_t j : {0, 1, 5}) {
          if (i == j || (v == w && i > j))
            continue;
          bool isFirst = v == w ? i < j : (v > w) == isMax;
          if (takesFirst(reducer, isFloatValue, v, i, w, j) != isFirst)
            return false;
        }
  return true;
}

/// A NaN wins wherever it stands, which is more than a comparison says; the first of several.
bool takesNaN(eval::ScalarProgram &reducer) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  return takesFirst(reducer, true, nan, 0, 1, 1) == std::optional(true) &&
         takesFirst(reducer, true, 1, 0, nan, 1) == std::optional(false) &&
         takesFirst(reducer, true, nan, 0, nan, 1) == std::optional(true);
}

} // namespace

std::optional<Builder::IndexReducer> Builder::indexReducer(OpId id) const {
  const tilewright::Op &op = graph[id];
  if (op.operands.size() != 4 || op.attrs.dimensions.size() != 1)
    return std::nullopt;
  const tilewright::Op &places = graph[op.operands[1]];
  int64_t along = places.attrs.dimensions.empty() ? 0 : places.attrs.dimensions[0];
  DType type = graph[op.operands[0]].shape.dtype;
  bool isPlace = places.opcode == Opcode::Iota && along == op.attrs.dimensions[0] &&
                 isInteger(places.shape.dtype) && bitWidth(places.shape.dtype) >= 32;
  if (!isPlace || (!isFloat(type) && dtypeClass(type) != DTypeClass::Signed))
    return std::nullopt;
  for (const CalledGraph &called : op.called) {
    if (called.role != CallRole::ToApply)
      continue;
    auto reducer = eval::ScalarProgram::compile(module, called.graph, eval::Rounding::All);
    if (!reducer) {
      llvm::consumeError(reducer.takeError());
      return std::nullopt;
    }
    if (reducer->parameterCount() != 4 || reducer->resultCount() != 2)
      return std::nullopt;
    for (bool isMax : {true, false})
      if (isIndexReducer(*reducer, isFloat(type), isMax))
        return IndexReducer{isMax ? Monoid::ArgMax : Monoid::ArgMin,
                            isFloat(type) && takesNaN(*reducer)};
  }
  return std::nullopt;
}

/// The bits of an f32 as integers of the same order, and back.
Builder::Made Builder::turned(const Leaf &bits) {
  Made sign = binary(Opcode::ShiftRightArithmetic, bits, numberOf(31), DType::S32);
  if (!sign)
    return sign;
  constexpr double allButTheSign = std::numeric_limits<int32_t>::max();
  Made mask = binary(Opcode::And, *sign, numberOf(allButTheSign), DType::S32);
  return mask ? binary(Opcode::Xor, bits, *mask, DType::S32) : std::move(mask);
}

/// Integers in the order of floats, with NaN beyond all of them; -0 is 0.
Builder::Made Builder::orderOf(const Leaf &x, DType type, bool isMax) {
  Made wide = converted(x, type, DType::F32);
  Made clean = wide ? binary(Opcode::Add, *wide, numberOf(0), DType::F32) : std::move(wide);
  if (!clean)
    return clean;
  Made bits = pointwise(scalarOp(Opcode::BitcastConvert, DType::S32), {*clean}, {DType::F32});
  Made order = bits ? turned(*bits) : std::move(bits);
  if (!order)
    return order;
  tilewright::Op unequal = scalarOp(Opcode::Compare, DType::Pred);
  unequal.attrs.comparison = Comparison::Ne;
  Made isNaN = pointwise(unequal, {*clean, *clean}, {DType::F32, DType::F32});
  if (!isNaN)
    return isNaN;
  const double beyond = isMax ? highestOf(DType::S32) : lowestOf(DType::S32);
  return select(*isNaN, numberOf(beyond), *order, DType::S32);
}

Builder::Made Builder::fromOrder(const Leaf &order, DType type) {
  Made bits = turned(order);
  if (!bits)
    return bits;
  Made wide = pointwise(scalarOp(Opcode::BitcastConvert, DType::F32), {*bits}, {DType::S32});
  return wide ? converted(*wide, DType::F32, type) : std::move(wide);
}

/// In steps each lane keeps its first best value and where that was; behind the loop the lowest
/// place among the lanes that have the best of all.
Builder::Made Builder::indexReduction(OpId id, const IndexReducer &with, const Coordinates &at,
                                      const Guard &guard, unsigned result) {
  const tilewright::Op &op = graph[id];
  const Monoid monoid = with.monoid;
  DType type = graph[op.operands[0]].shape.dtype, places = graph[op.operands[1]].shape.dtype;
  bool isMax = monoid == Monoid::ArgMax;
  Made init = value(op.operands[2], {}, {}), start = value(op.operands[3], {}, {});
  if (!init)
    return init;
  if (!start)
    return start;
  double worst = isMax ? lowestOf(type) : highestOf(type);
  bool isNeutral = init->kind == ScalarNode::Kind::Number && init->number == worst &&
                   start->kind == ScalarNode::Kind::Number && start->number == 0;
  if (!isNeutral)
    return unsupported(id, "it starts with something else than the worst value at 0");
  if (with.takesNaN && bitWidth(type) > 32)
    return unsupported(id, fmt::format("a NaN of {} that is taken", toString(type)));
  const Renewed own(*this, id, at);
  auto pass = openPass(id, at, guard);
  if (!pass)
    return pass.takeError();
  if (pass->over.empty())
    return unsupported(id, "its dim has one element");
  if (pass->opened == 0 && !pass->moving.empty())
    return unsupported(id, "along a padded row beside a dot");
  Made read = value(op.operands[0], reducedAt(id, at), guard);
  if (with.takesNaN && read)
    read = orderOf(*read, type, isMax);
  if (!read)
    return read;
  const DType compared = with.takesNaN ? DType::S32 : type;
  AxisId axis = pass->over[0];
  Leaf best, place;
  if (pass->opened == 0) {
    ScalarExpr scalar;
    scalar.add(leafOf(materialised(*read, pass->over)));
    AxisSet kept = without(p[scalar.root().value].tile.axes, pass->over);
    ValueId values = newValue(compared, kept, pass->outer);
    ValueId indices = newValue(DType::S32, kept, pass->outer);
    append(pass->outer, ReduceOp{monoid, std::move(scalar), pass->over}, {values, indices});
    best = leafOf(values);
    place = leafOf(indices);
  } else {
    DType wide = sumType(compared);
    Made x = converted(*read, compared, wide);
    if (!x)
      return x;
    AxisSet axes = axesOf(*x);
    unite(axes, pass->over);
    auto inner = static_cast<unsigned>(levels.size() - 1);
    ValueId bests = newValue(wide, axes, inner), at32 = newValue(DType::S32, axes, inner);
    append(pass->outer,
           FullOp{isMax ? lowestOf(wide) : highestOf(wide), wide, axes, layoutOf(axes)}, {bests});
    append(pass->outer, FullOp{0, DType::S32, axes, layoutOf(axes)}, {at32});
    tilewright::Op compare;
    compare.name = op.name;
    compare.opcode = Opcode::Compare;
    compare.shape = Shape::tensor(DType::Pred, {});
    compare.attrs.comparison = isMax ? Comparison::Gt : Comparison::Lt;
    Made isBetter = pointwise(compare, {*x, leafOf(bests)}, {wide, wide});
    if (!isBetter)
      return isBetter;
    Made counts = binary(Opcode::And, *isBetter, inside(pass->moving), DType::Pred);
    if (!counts)
      return counts;
    Made nextPlace = select(*counts, leafOf(p[axis].var), leafOf(at32), DType::S32);
    if (!nextPlace)
      return nextPlace;
    Made nextBest = select(*counts, *x, leafOf(bests), wide);
    if (!nextBest)
      return nextBest;
    for (auto [into, next] : {std::pair(at32, *nextPlace), std::pair(bests, *nextBest)}) {
      ScalarExpr scalar;
      scalar.add(next);
      append(inner, MapOp{std::move(scalar), std::nullopt}, {into});
    }
    closeLoops(*pass);
    valueLevels[bests.index] = valueLevels[at32.index] = pass->outer;
    Leaf top = reduced(*pass, isMax ? Monoid::Max : Monoid::Min, leafOf(bests));
    compare.attrs.comparison = Comparison::Eq;
    Made isBest = pointwise(compare, {leafOf(bests), top}, {wide, wide});
    if (!isBest)
      return isBest;
    constexpr double last = std::numeric_limits<int32_t>::max();
    Made candidates = select(*isBest, leafOf(at32), numberOf(last), DType::S32);
    if (!candidates)
      return candidates;
    place = reduced(*pass, Monoid::Min, leafOf(materialised(*candidates)));
    Made narrow = converted(top, wide, compared);
    if (!narrow)
      return narrow;
    best = *narrow;
  }
  putBack(std::move(pass->aside));
  if (with.takesNaN) {
    Made value = fromOrder(best, type);
    if (!value)
      return value;
    best = *value;
  }
  Made index = converted(place, DType::S32, places);
  if (!index)
    return index;
  levels[pass->outer].known[keyOf(id, at, simplified(guard), 1 - result)] =
      result == 0 ? *index : best;
  return result == 0 ? best : *index;
}

} // namespace tilewright::program
