#include "analysis/import/onnx/builder.h"

#include "analysis/ir/infer_shape.h"
#include "analysis/ir/literal.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilewright::onnx_format {

std::string Computations::freshName(const std::string &base) {
  std::string name = hloName(base);
  for (; taken.contains(name); name = fmt::format("{}.{}", hloName(base), taken[hloName(base)]))
    ++taken[hloName(base)];
  taken.emplace(name, 1);
  return name;
}

GraphId Computations::named(const std::string &name,
                            const std::function<Graph(std::string)> &make) {
  auto [it, isNew] = known.emplace(name, GraphId{});
  if (isNew)
    it->second = module.add(make(freshName(name)));
  return it->second;
}

GraphId Computations::reducer(Opcode opcode, DType type) {
  return named(fmt::format("{}.{}", toString(opcode), toString(type)),
               [&](std::string name) { return makeReducer(std::move(name), opcode, type); });
}

GraphId Computations::extreme(bool isLargest, bool isLast, DType type, DType index) {
  auto make = [&](std::string name) {
    Graph graph(std::move(name));
    auto addOp = [&](Opcode opcode, const char *opName, Shape shape, std::vector<OpId> operands,
                     OpAttributes attrs = {}) {
      Op op;
      op.opcode = opcode;
      op.name = opName;
      op.shape = std::move(shape);
      op.operands = std::move(operands);
      op.attrs = std::move(attrs);
      return graph.add(std::move(op));
    };
    const Shape value = Shape::tensor(type, {}), place = Shape::tensor(index, {}),
                truth = Shape::tensor(DType::Pred, {});
    auto parameter = [&](const char *opName, const Shape &shape, int64_t number) {
      OpAttributes attrs;
      attrs.parameterNumber = number;
      return addOp(Opcode::Parameter, opName, shape, {}, std::move(attrs));
    };
    auto compared = [&](const char *opName, OpId a, Comparison comparison, OpId b) {
      OpAttributes attrs;
      attrs.comparison = comparison;
      return addOp(Opcode::Compare, opName, truth, {a, b}, std::move(attrs));
    };
    const OpId v = parameter("v", value, 0), i = parameter("i", place, 1),
               w = parameter("w", value, 2), j = parameter("j", place, 3);
    const OpId isBetter = compared("is_better", v, isLargest ? Comparison::Gt : Comparison::Lt, w);
    const OpId isSame = compared("is_same", v, Comparison::Eq, w);
    const OpId isFirst = compared("is_first", i, isLast ? Comparison::Gt : Comparison::Lt, j);
    const OpId isTie = addOp(Opcode::And, "is_tie", truth, {isSame, isFirst});
    OpId isLeft = addOp(Opcode::Or, "is_left", truth, {isBetter, isTie});
    if (isFloat(type)) {
      const OpId isNan = compared("is_nan", v, Comparison::Ne, v);
      isLeft = addOp(Opcode::Or, "is_taken", truth, {isLeft, isNan});
    }
    const OpId best = addOp(Opcode::Select, "value", value, {isLeft, v, w}),
               at = addOp(Opcode::Select, "index", place, {isLeft, i, j});
    graph.setRoot(addOp(Opcode::Tuple, "both", Shape::tuple({value, place}), {best, at}));
    return graph;
  };
  return named(fmt::format("{}{}.{}", isLargest ? "largest" : "smallest", isLast ? "_last" : "",
                           toString(type)),
               make);
}

std::string largestText(DType type) {
  if (isFloat(type))
    return "inf";
  if (type == DType::Pred)
    return "true";
  const unsigned bits = bitWidth(type);
  const bool isSigned = dtypeClass(type) == DTypeClass::Signed;
  return std::to_string(~uint64_t(0) >> (64 - bits + (isSigned ? 1 : 0)));
}

std::string lowestText(DType type) {
  if (isFloat(type))
    return "-inf";
  if (type == DType::Pred)
    return "false";
  if (dtypeClass(type) == DTypeClass::Unsigned)
    return "0";
  return fmt::format("{}", -(int64_t(1) << (bitWidth(type) - 2)) * 2);
}

std::string identityOf(Opcode opcode, DType type) {
  switch (opcode) {
  case Opcode::Multiply:
    return "1";
  case Opcode::Maximum:
    return lowestText(type);
  case Opcode::Minimum:
    return largestText(type);
  case Opcode::And:
    return type == DType::Pred ? "true" : "-1";
  default:
    return type == DType::Pred ? "false" : "0";
  }
}

Dims without(const Dims &all, const Dims &dims) {
  Dims rest;
  for (int64_t d = 0; d < static_cast<int64_t>(all.size()); ++d)
    if (std::find(dims.begin(), dims.end(), d) == dims.end())
      rest.push_back(all[static_cast<size_t>(d)]);
  return rest;
}

OpId Builder::number(Shape shape, double value) {
  const DType type = shape.dtype;
  if (type == DType::Pred)
    return splat(shape, value != 0 ? "true" : "false");
  if (isInteger(type))
    return splat(shape,
                 fmt::format("{}", static_cast<int64_t>(std::clamp(value, -0x1p62, 0x1p62))));
  if (dtypeClass(type) == DTypeClass::Complex)
    return splat(shape, fmt::format("({}, 0)", value));
  return splat(shape, std::isnan(value)   ? "nan"
                      : std::isinf(value) ? (value < 0 ? "-inf" : "inf")
                                          : fmt::format("{}", value));
}

OpId Builder::compare(OpId a, Comparison comparison, OpId b) {
  OpAttributes attrs;
  attrs.comparison = comparison;
  return add(Opcode::Compare, Shape::tensor(DType::Pred, shapeOf(a).dims), {a, b},
             std::move(attrs));
}

OpId Builder::reshape(OpId a, Dims dims) {
  if (shapeOf(a).dims == dims)
    return a;
  return add(Opcode::Reshape, Shape::tensor(shapeOf(a).dtype, std::move(dims)), {a});
}

OpId Builder::transpose(OpId a, const Dims &permutation) {
  if (std::is_sorted(permutation.begin(), permutation.end()))
    return a;
  Shape shape = Shape::tensor(shapeOf(a).dtype, {});
  for (int64_t d : permutation)
    shape.dims.push_back(shapeOf(a).dims[static_cast<size_t>(d)]);
  OpAttributes attrs;
  attrs.dimensions = permutation;
  return add(Opcode::Transpose, std::move(shape), {a}, std::move(attrs));
}

OpId Builder::slice(OpId a, const std::vector<SliceDim> &dims) {
  Shape shape = Shape::tensor(shapeOf(a).dtype, {});
  for (const SliceDim &dim : dims)
    shape.dims.push_back(std::max<int64_t>(0, (dim.limit - dim.start + dim.step - 1) / dim.step));
  if (shape.dims == shapeOf(a).dims)
    return a;
  OpAttributes attrs;
  attrs.slice = dims;
  return add(Opcode::Slice, std::move(shape), {a}, std::move(attrs));
}

OpId Builder::slice(OpId a, size_t dim, int64_t start, int64_t limit, int64_t step) {
  std::vector<SliceDim> dims;
  for (int64_t extent : shapeOf(a).dims)
    dims.push_back({0, extent, 1});
  dims[dim] = {start, limit, step};
  return slice(a, dims);
}

OpId Builder::pad(OpId a, OpId value, const std::vector<PadDim> &dims) {
  Shape shape = Shape::tensor(shapeOf(a).dtype, shapeOf(a).dims);
  for (size_t d = 0; d < dims.size(); ++d)
    shape.dims[d] +=
        dims[d].low + dims[d].high + std::max<int64_t>(0, shape.dims[d] - 1) * dims[d].interior;
  if (shape.dims == shapeOf(a).dims)
    return a;
  OpAttributes attrs;
  attrs.padding = dims;
  return add(Opcode::Pad, std::move(shape), {a, value}, std::move(attrs));
}

OpId Builder::concatenate(const std::vector<OpId> &parts, size_t dim) {
  if (parts.size() == 1)
    return parts[0];
  Shape shape = Shape::tensor(shapeOf(parts[0]).dtype, shapeOf(parts[0]).dims);
  for (size_t i = 1; i < parts.size(); ++i)
    shape.dims[dim] += shapeOf(parts[i]).dims[dim];
  OpAttributes attrs;
  attrs.dimensions = {static_cast<int64_t>(dim)};
  return add(Opcode::Concatenate, std::move(shape), parts, std::move(attrs));
}

OpId Builder::reverse(OpId a, const Dims &dims) {
  OpAttributes attrs;
  attrs.dimensions = dims;
  return dims.empty() ? a : add(Opcode::Reverse, shapeOf(a), {a}, std::move(attrs));
}

OpId Builder::spread(OpId a, Dims dims) {
  const Shape from = shapeOf(a);
  if (from.dims == dims)
    return a;
  Dims dense, places;
  for (size_t d = 0; d < from.rank(); ++d) {
    const size_t place = dims.size() - from.rank() + d;
    if (from.dims[d] == dims[place]) {
      dense.push_back(from.dims[d]);
      places.push_back(static_cast<int64_t>(place));
    }
  }
  return broadcast(reshape(a, dense), Shape::tensor(from.dtype, dims), places);
}

OpId Builder::along(OpId vector, Dims dims, size_t dim) {
  return broadcast(vector, Shape::tensor(shapeOf(vector).dtype, dims), {static_cast<int64_t>(dim)});
}

OpId Builder::spreadOver(OpId reduced, Dims dims, Dims reducedDims) {
  Dims places;
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d)
    if (std::find(reducedDims.begin(), reducedDims.end(), d) == reducedDims.end())
      places.push_back(d);
  return broadcast(reduced, Shape::tensor(shapeOf(reduced).dtype, dims), places);
}

OpId Builder::iota(DType type, const Dims &dims, size_t dim) {
  OpAttributes attrs;
  attrs.dimensions = {static_cast<int64_t>(dim)};
  return add(Opcode::Iota, Shape::tensor(type, dims), {}, std::move(attrs));
}

OpId Builder::dynamicSlice(OpId a, const std::vector<OpId> &starts, const Dims &sizes) {
  std::vector<OpId> operands = {a};
  operands.insert(operands.end(), starts.begin(), starts.end());
  OpAttributes attrs;
  attrs.dynamicSliceSizes = sizes;
  return add(Opcode::DynamicSlice, Shape::tensor(shapeOf(a).dtype, sizes), std::move(operands),
             std::move(attrs));
}

OpId Builder::dynamicUpdate(OpId a, OpId update, const std::vector<OpId> &starts) {
  std::vector<OpId> operands = {a, update};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return add(Opcode::DynamicUpdateSlice, shapeOf(a), std::move(operands));
}

OpId Builder::reduce(OpId a, Opcode opcode, Dims dims) {
  const DType type = shapeOf(a).dtype;
  if (dims.empty())
    return a;
  return reduce(a, computations.reducer(opcode, type), constant(type, identityOf(opcode, type)),
                dims);
}

OpId Builder::reduce(OpId a, GraphId reducer, OpId init, Dims dims) {
  OpAttributes attrs;
  attrs.dimensions = dims;
  const OpId id =
      add(Opcode::Reduce, Shape::tensor(shapeOf(a).dtype, without(shapeOf(a).dims, dims)),
          {a, init}, std::move(attrs));
  scope.graph.op(id).called = {{CallRole::ToApply, reducer}};
  return id;
}

OpId Builder::dot(OpId lhs, OpId rhs, DotDims dims, DType type) {
  Shape shape = Shape::tensor(type, {});
  const Shape &l = shapeOf(lhs), &r = shapeOf(rhs);
  for (int64_t d : dims.lhsBatch)
    shape.dims.push_back(l.dims[static_cast<size_t>(d)]);
  auto addFree = [&](const Shape &from, const Dims &batch, const Dims &contracting) {
    Dims taken = batch;
    taken.insert(taken.end(), contracting.begin(), contracting.end());
    const Dims free = without(from.dims, taken);
    shape.dims.insert(shape.dims.end(), free.begin(), free.end());
  };
  addFree(l, dims.lhsBatch, dims.lhsContracting);
  addFree(r, dims.rhsBatch, dims.rhsContracting);
  OpAttributes attrs;
  attrs.dot = std::move(dims);
  return add(Opcode::Dot, std::move(shape), {lhs, rhs}, std::move(attrs));
}

OpId Builder::gather(OpId a, OpId indices, GatherDims dims, Dims result) {
  OpAttributes attrs;
  attrs.gather = std::move(dims);
  return add(Opcode::Gather, Shape::tensor(shapeOf(a).dtype, std::move(result)), {a, indices},
             std::move(attrs));
}

OpId Builder::integerList(DType type, std::span<const int64_t> values) {
  Op op;
  op.opcode = Opcode::Constant;
  op.shape = Shape::tensor(type, {static_cast<int64_t>(values.size())});
  op.literal = fmt::format("{{{}}}", fmt::join(values, ", "));
  op.loc = loc;
  return scope.add(std::move(op), base + ".constant");
}

OpId Builder::realList(const Shape &shape, std::span<const double> values) {
  Op op;
  op.opcode = Opcode::Constant;
  op.shape = shape;
  op.literal = literalText(Tensor::ofReals(shape, values));
  op.loc = loc;
  return scope.add(std::move(op), base + ".constant");
}

bool Builder::loop(OpId trips, std::vector<OpId> &values, const Step &step,
                   const Condition &condition) {
  Captures captures;
  Scope body(computations.freshName(base + ".body"), &scope, RegionKind::State, &captures,
             scope.totals);
  Scope test(computations.freshName(base + ".condition"), &scope, RegionKind::State, &captures,
             scope.totals);
  const Shape counter = Shape::tensor(DType::S64, {});
  std::vector<OpId> initial = {constant(DType::S64, "0")};
  initial.insert(initial.end(), values.begin(), values.end());
  std::vector<Shape> shapes;
  for (OpId id : initial)
    shapes.push_back(shapeOf(id));
  for (Scope *region : {&body, &test})
    region->startState(shapes, loc);
  const size_t own = initial.size();

  Builder inner(body, computations, base, loc);
  inner.metadata = metadata;
  const OpId count = body.stateField(0, counter, loc);
  std::vector<OpId> next;
  for (size_t i = 1; i < own; ++i)
    next.push_back(body.stateField(i, shapes[i], loc));
  if (!step(inner, count, next) || next.size() + 1 != own)
    return false;
  next.insert(next.begin(), inner.plus(count, inner.constant(DType::S64, "1")));

  Builder asks(test, computations, base, loc);
  asks.metadata = metadata;
  const OpId soFar = test.stateField(0, counter, loc);
  OpId goesOn = asks.compare(soFar, Comparison::Lt, test.capture(trips, loc).op), more;
  if (condition) {
    std::vector<OpId> fields;
    for (size_t i = 1; i < own; ++i)
      fields.push_back(test.stateField(i, shapes[i], loc));
    if (!condition(asks, soFar, fields, more))
      return false;
    if (more.isValid())
      goesOn = asks.binary(Opcode::And, goesOn, more);
  }

  initial.insert(initial.end(), captures.outer.begin(), captures.outer.end());
  const OpId state = tuple(initial, "state");
  const Shape shape = shapeOf(state);
  for (Scope *region : {&body, &test})
    region->graph.op(region->state).shape = shape;
  for (size_t i = own; i < initial.size(); ++i)
    next.push_back(body.stateField(i, shape.elements[i], loc));
  body.graph.setRoot(body.tuple(next, "next", loc));
  test.graph.setRoot(goesOn);
  const GraphId testId = computations.module.add(std::move(test.graph));
  const GraphId bodyId = computations.module.add(std::move(body.graph));
  const OpId whole = add(Opcode::While, shape, {state});
  scope.graph.op(whole).called = {{CallRole::Condition, testId}, {CallRole::Body, bodyId}};
  for (size_t i = 1; i < own; ++i)
    values[i - 1] = scope.element(whole, i, loc);
  return true;
}

} // namespace tilewright::onnx_format
