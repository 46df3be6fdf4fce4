// Reductions, running sums and the largest elements.
#include "analysis/import/onnx/node.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace tilewright::onnx_format {

namespace {

/// The input over those dims, in the way that the op's name says.
OpId reduced(Node &n, std::string_view kind, OpId x, const Dims &axes) {
  const DType type = n.shapeOf(x).dtype;
  const Dims dims = n.shapeOf(x).dims;
  if (kind == "Max" || kind == "Min") {
    if (axes.empty())
      return x;
    return n.reduce(x, kind == "Max" ? Opcode::Maximum : Opcode::Minimum, axes);
  }
  if (kind == "Prod")
    return n.reduce(x, Opcode::Multiply, axes);
  if (kind == "L1")
    return n.reduce(n.unary(Opcode::Abs, x), Opcode::Add, axes);
  if (kind == "SumSquare")
    return n.reduce(n.times(x, x), Opcode::Add, axes);
  if (kind == "L2") {
    const OpId sum = n.reduce(n.times(x, x), Opcode::Add, axes);
    return isFloat(type) ? n.unary(Opcode::Sqrt, sum)
                         : n.convert(n.unary(Opcode::Sqrt, n.convert(sum, DType::F64)), type);
  }
  if (kind == "LogSumExp") {
    const OpId most = n.reduce(x, Opcode::Maximum, axes);
    const OpId powers = n.unary(Opcode::Exp, n.minus(x, n.spreadOver(most, dims, axes)));
    return n.plus(n.unary(Opcode::Log, n.reduce(powers, Opcode::Add, axes)), most);
  }
  const OpId sum = n.reduce(x, Opcode::Add, axes);
  if (kind == "LogSum")
    return n.unary(Opcode::Log, sum);
  if (kind == "Mean") {
    int64_t count = 1;
    for (int64_t axis : axes)
      count *= dims[static_cast<size_t>(axis)];
    return n.binary(Opcode::Divide, sum, static_cast<double>(count));
  }
  return sum;
}

} // namespace

/// Axes are an attribute, later an input; without them all dims are reduced.
bool lowerReduction(Node &n) {
  Dims values, axes;
  bool isGiven = false;
  if (!n.isTensor(0) || !n.integersOfEither("axes", 1, isGiven, values) ||
      !n.axesOf(values, n.rank(0), axes))
    return false;
  const std::string_view kind = n.type().substr(6); // behind "Reduce"
  if ((kind.starts_with("Log")) && !isFloat(n.dtype(0)))
    return n.refuse(fmt::format("of {} it is not lowered", n.shape(0).str(false)));
  const bool keepsAll = n.integer("noop_with_empty_axes", 0) != 0;
  OpId x = n.input(0);
  if (axes.empty()) {
    if (keepsAll)
      return n.finish(x);
    axes.resize(n.rank(0));
    std::iota(axes.begin(), axes.end(), 0);
  }
  Dims kept = n.dims(0);
  for (int64_t axis : axes)
    kept[static_cast<size_t>(axis)] = 1;
  const OpId result = reduced(n, kind, x, axes);
  return n.finish(n.integer("keepdims", 1) != 0 ? n.reshape(result, kept) : result);
}

bool lowerArgExtreme(Node &n) {
  size_t axis = 0;
  if (!n.isTensor(0) || !n.axisOf(n.integer("axis", 0), n.rank(0), axis))
    return false;
  const OpId x = n.input(0);
  const Dims dims = n.dims(0);
  const DType type = n.dtype(0);
  const bool isLargest = n.type() == "ArgMax", isLast = n.integer("select_last_index", 0) != 0;
  const OpId places = n.iota(DType::S64, dims, axis);
  const OpId worst = n.constant(type, isLargest ? lowestText(type) : largestText(type));
  const OpId none = n.constant(DType::S64, isLast ? "-1" : largestText(DType::S64));
  OpAttributes attrs;
  attrs.dimensions = {static_cast<int64_t>(axis)};
  const Dims rest = without(dims, attrs.dimensions);
  const OpId both = n.add(
      Opcode::Reduce, Shape::tuple({Shape::tensor(type, rest), Shape::tensor(DType::S64, rest)}),
      {x, places, worst, none}, attrs);
  n.scope.graph.op(both).called = {
      {CallRole::ToApply, n.computations.extreme(isLargest, isLast, type, DType::S64)}};
  const OpId index = n.scope.element(both, 1, SourceLoc{});
  Dims kept = dims;
  kept[axis] = 1;
  return n.finish(n.integer("keepdims", 1) != 0 ? n.reshape(index, kept) : index);
}

/// A window over all elements before (or behind) each.
bool lowerCumSum(Node &n) {
  int64_t value = 0;
  size_t axis = 0;
  if (!n.isTensor(0) || !n.integerOf(1, value) || !n.axisOf(value, n.rank(0), axis))
    return false;
  const OpId x = n.input(0);
  const Shape shape = n.shape(0);
  const int64_t extent = shape.dims[axis];
  if (extent == 0)
    return n.finish(x);
  const bool isExclusive = n.integer("exclusive", 0) != 0;
  int64_t before = extent - 1, behind = 0;
  if (isExclusive)
    before = extent, behind = -1;
  if (n.integer("reverse", 0) != 0)
    std::swap(before, behind);
  OpAttributes attrs;
  attrs.window.resize(shape.rank());
  attrs.window[axis].size = extent;
  attrs.window[axis].padLow = before;
  attrs.window[axis].padHigh = behind;
  const OpId zero = n.constant(shape.dtype, "0");
  const OpId sums =
      n.add(Opcode::ReduceWindow, Shape::tensor(shape.dtype, shape.dims), {x, zero}, attrs);
  n.scope.graph.op(sums).called = {
      {CallRole::ToApply, n.computations.reducer(Opcode::Add, shape.dtype)}};
  return n.finish(sums);
}

namespace {

/// Orders two pairs (value, index) by value, equals by index.
Graph pairOrder(std::string name, bool isLargest, DType type) {
  Graph graph(std::move(name));
  auto addOp = [&](Opcode opcode, const char *opName, DType of, std::vector<OpId> operands,
                   Comparison comparison, int64_t number) {
    Op op;
    op.opcode = opcode;
    op.name = opName;
    op.shape = Shape::tensor(of, {});
    op.operands = std::move(operands);
    op.attrs.comparison = comparison;
    op.attrs.parameterNumber = number;
    return graph.add(std::move(op));
  };
  const OpId v = addOp(Opcode::Parameter, "v", type, {}, Comparison::Eq, 0),
             w = addOp(Opcode::Parameter, "w", type, {}, Comparison::Eq, 1),
             i = addOp(Opcode::Parameter, "i", DType::S64, {}, Comparison::Eq, 2),
             j = addOp(Opcode::Parameter, "j", DType::S64, {}, Comparison::Eq, 3);
  const Comparison better = isLargest ? Comparison::Gt : Comparison::Lt;
  const OpId isBetter = addOp(Opcode::Compare, "is_better", DType::Pred, {v, w}, better, 0),
             isSame = addOp(Opcode::Compare, "is_same", DType::Pred, {v, w}, Comparison::Eq, 0),
             isFirst = addOp(Opcode::Compare, "is_first", DType::Pred, {i, j}, Comparison::Lt, 0);
  const OpId isTie =
      addOp(Opcode::And, "is_tie", DType::Pred, {isSame, isFirst}, Comparison::Eq, 0);
  graph.setRoot(addOp(Opcode::Or, "before", DType::Pred, {isBetter, isTie}, Comparison::Eq, 0));
  return graph;
}

} // namespace

/// The first k of each sorted line; they are sorted whatever `sorted` says.
bool lowerTopK(Node &n) {
  size_t axis = 0;
  int64_t k = 0;
  if (!n.isTensor(0) || !n.axisOf(n.integer("axis", -1), n.rank(0), axis))
    return false;
  if (n.has("k"))
    k = n.integer("k", 0);
  else if (!n.hasInput(1) || !n.integerOf(1, k))
    return n.fail("k is missing");
  const Dims dims = n.dims(0);
  const DType type = n.dtype(0);
  if (k < 0 || k > dims[axis])
    return n.fail(fmt::format("k is {}, the axis has {} elements", k, dims[axis]));
  const bool isLargest = n.integer("largest", 1) != 0;
  const OpId x = n.input(0), places = n.iota(DType::S64, dims, axis);
  OpAttributes attrs;
  attrs.dimensions = {static_cast<int64_t>(axis)};
  const OpId sorted = n.add(
      Opcode::Sort, Shape::tuple({Shape::tensor(type, dims), Shape::tensor(DType::S64, dims)}),
      {x, places}, attrs);
  const std::string name =
      fmt::format("{}_first.{}", isLargest ? "largest" : "smallest", toString(type));
  n.scope.graph.op(sorted).called = {
      {CallRole::ToApply, n.computations.named(name, [&](std::string graph) {
         return pairOrder(std::move(graph), isLargest, type);
       })}};
  std::vector<OpId> results;
  for (size_t i : {0, 1})
    results.push_back(n.slice(n.scope.element(sorted, i, SourceLoc{}), axis, 0, k));
  return n.finish(std::move(results));
}

bool lowerLpNormalization(Node &n) {
  size_t axis = 0;
  if (!n.isTensor(0) || !n.axisOf(n.integer("axis", -1), n.rank(0), axis))
    return false;
  const int64_t p = n.integer("p", 2);
  if (p != 1 && p != 2)
    return n.fail(fmt::format("the norm's order is {}", p));
  const OpId x = n.input(0);
  const Dims axes = {static_cast<int64_t>(axis)};
  const OpId norm = reduced(n, p == 1 ? "L1" : "L2", x, axes);
  return n.finish(n.over(x, n.spreadOver(norm, n.dims(0), axes)));
}

} // namespace tilewright::onnx_format
