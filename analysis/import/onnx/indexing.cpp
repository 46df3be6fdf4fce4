// Reading and writing at indices.
#include "analysis/import/onnx/node.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace tilewright::onnx_format {

namespace {

bool areIndices(Node &n, size_t i) {
  if (!n.isTensor(i))
    return false;
  return isInteger(n.dtype(i)) ||
         n.fail(fmt::format("indices are {}, integers are needed", n.shape(i).str(false)));
}

/// Known indices must be in bounds; they become what is never below 0.
bool wrapKnown(Node &n, size_t i, int64_t extent, Dims &out) {
  if (!n.integersOf(i, out))
    return false;
  for (int64_t &value : out) {
    if (value < -extent || value >= extent)
      return n.fail(fmt::format("index {} is not one of {} elements", value, extent));
    value += value < 0 ? extent : 0;
  }
  return true;
}

Dims range(size_t first, size_t last) {
  Dims all;
  for (size_t d = first; d < last; ++d)
    all.push_back(static_cast<int64_t>(d));
  return all;
}

} // namespace

OpId wrapped(Node &n, OpId indices, int64_t extent) {
  const OpId wide = n.convert(indices, DType::S64);
  const OpId fromEnd = n.binary(Opcode::Add, wide, static_cast<double>(extent));
  return n.select(n.compare(wide, Comparison::Lt, 0.0), fromEnd, wide);
}

/// Known indices that follow each other are a slice.
bool lowerGather(Node &n) {
  size_t axis = 0;
  if (!n.isTensor(0) || !areIndices(n, 1) || !n.axisOf(n.integer("axis", 0), n.rank(0), axis))
    return false;
  const Dims dims = n.dims(0), of = n.dims(1);
  const int64_t extent = dims[axis], count = n.shape(1).elementCount().value_or(0);
  Dims result(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(axis));
  result.insert(result.end(), of.begin(), of.end());
  result.insert(result.end(), dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, dims.end());
  const OpId x = n.input(0);
  OpId indices;
  if (n.isKnown(1)) {
    Dims values;
    if (!wrapKnown(n, 1, extent, values))
      return false;
    bool isRun = !values.empty() && !of.empty();
    for (size_t i = 1; i < values.size(); ++i)
      isRun &= values[i] == values[0] + static_cast<int64_t>(i);
    if (isRun)
      return n.finish(n.reshape(n.slice(x, axis, values[0], values[0] + count), result));
    indices = of.empty() ? n.constant(DType::S64, std::to_string(values[0]))
                         : n.reshape(n.integerList(DType::S64, values), of);
  } else {
    indices = wrapped(n, n.input(1), extent);
  }
  if (extent == 0 && count > 0)
    return n.fail("there are no elements to read");
  if (extent == 0)
    return n.finish(n.number(Shape::tensor(n.dtype(0), result), 0));
  GatherDims gather;
  gather.indexVectorDim = static_cast<int64_t>(of.size());
  gather.startIndexMap = gather.collapsedSliceDims = {static_cast<int64_t>(axis)};
  gather.sliceSizes = dims;
  gather.sliceSizes[axis] = 1;
  gather.offsetDims = range(0, axis);
  const Dims behind = range(axis + of.size(), result.size());
  gather.offsetDims.insert(gather.offsetDims.end(), behind.begin(), behind.end());
  return n.finish(n.gather(x, indices, std::move(gather), result));
}

/// At each place of the indices the element there, of the line along the axis.
bool lowerGatherElements(Node &n) {
  size_t axis = 0;
  if (!n.isTensor(0) || !areIndices(n, 1) || !n.axisOf(n.integer("axis", 0), n.rank(0), axis))
    return false;
  const Dims dims = n.dims(0), of = n.dims(1);
  if (of.size() != dims.size())
    return n.fail(fmt::format("indices have {} dims, the input {}", of.size(), dims.size()));
  std::vector<SliceDim> part;
  GatherDims gather;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (d != axis && of[d] > dims[d])
      return n.fail(fmt::format("dim {} has {} indices for {} elements", d, of[d], dims[d]));
    part.push_back({0, d == axis ? dims[d] : of[d], 1});
    if (d != axis)
      gather.operandBatchingDims.push_back(static_cast<int64_t>(d));
  }
  if (dims[axis] == 0 && n.shape(1).elementCount() != 0)
    return n.fail("there are no elements to read");
  Dims known;
  if (n.isKnown(1) && !wrapKnown(n, 1, dims[axis], known))
    return false;
  gather.startIndicesBatchingDims = gather.operandBatchingDims;
  gather.startIndexMap = gather.collapsedSliceDims = {static_cast<int64_t>(axis)};
  gather.indexVectorDim = static_cast<int64_t>(of.size());
  gather.sliceSizes.assign(dims.size(), 1);
  const OpId x = n.slice(n.input(0), part);
  return n.finish(n.gather(x, wrapped(n, n.input(1), dims[axis]), std::move(gather), of));
}

namespace {

/// The last dim of the indices is a place in dims `first`, `first` + 1, … of the operand.
OpId wrappedPlaces(Node &n, OpId indices, const Dims &dims, size_t first) {
  const Dims of = n.shapeOf(indices).dims;
  const auto from = dims.begin() + static_cast<std::ptrdiff_t>(first);
  const Dims extents(from, from + of.back());
  const OpId wide = n.convert(indices, DType::S64);
  if (extents.empty())
    return wide;
  const OpId fromEnd = n.plus(wide, n.along(n.integerList(DType::S64, extents), of, of.size() - 1));
  return n.select(n.compare(wide, Comparison::Lt, 0.0), fromEnd, wide);
}

bool arePlaces(Node &n, size_t i, size_t batch) {
  if (!areIndices(n, i))
    return false;
  if (n.rank(i) == 0 ||
      n.dims(i).back() + static_cast<int64_t>(batch) > static_cast<int64_t>(n.rank(0)))
    return n.fail(
        fmt::format("indices {} don't fit {}", n.shape(i).str(false), n.shape(0).str(false)));
  return true;
}

} // namespace

bool lowerGatherNd(Node &n) {
  const int64_t batch = n.integer("batch_dims", 0);
  if (!n.isTensor(0) || batch < 0 || batch > 32 || !arePlaces(n, 1, static_cast<size_t>(batch)))
    return n.fail("batch_dims don't fit");
  const Dims dims = n.dims(0), of = n.dims(1);
  const auto b = static_cast<size_t>(batch), k = static_cast<size_t>(of.back());
  if (b >= of.size() || !std::equal(of.begin(), of.begin() + batch, dims.begin()))
    return n.fail("batch dims differ");
  Dims result(of.begin(), of.end() - 1);
  result.insert(result.end(), dims.begin() + static_cast<std::ptrdiff_t>(b + k), dims.end());
  GatherDims gather;
  gather.operandBatchingDims = gather.startIndicesBatchingDims = range(0, b);
  gather.startIndexMap = gather.collapsedSliceDims = range(b, b + k);
  gather.indexVectorDim = static_cast<int64_t>(of.size()) - 1;
  gather.sliceSizes = dims;
  for (size_t d = 0; d < b + k; ++d) {
    if (dims[d] == 0)
      return n.fail("there are no elements to read");
    gather.sliceSizes[d] = 1;
  }
  gather.offsetDims = range(of.size() - 1, result.size());
  const OpId places = wrappedPlaces(n, n.input(1), dims, b);
  return n.finish(n.gather(n.input(0), places, std::move(gather), result));
}

namespace {

/// What a scatter does with an element that is there and one that comes.
bool scatterReducer(Node &n, DType type, GraphId &out) {
  const std::string kind = n.text("reduction", "none");
  const std::map<std::string, Opcode> opcodes = {{"add", Opcode::Add},
                                                 {"mul", Opcode::Multiply},
                                                 {"max", Opcode::Maximum},
                                                 {"min", Opcode::Minimum}};
  if (auto it = opcodes.find(kind); it != opcodes.end()) {
    out = n.computations.reducer(it->second, type);
    return true;
  }
  if (kind != "none")
    return n.fail(fmt::format("the reduction is '{}'", kind));
  out = n.computations.named(fmt::format("replace.{}", toString(type)), [&](std::string name) {
    Graph graph(std::move(name));
    for (int64_t i : {0, 1}) {
      Op op;
      op.opcode = Opcode::Parameter;
      op.name = i == 0 ? "old" : "new";
      op.shape = Shape::tensor(type, {});
      op.attrs.parameterNumber = i;
      graph.setRoot(graph.add(std::move(op)));
    }
    return graph;
  });
  return true;
}

bool finishScatter(Node &n, OpId places, OpId updates, ScatterDims dims) {
  GraphId reducer;
  if (n.dtype(0) != n.shapeOf(updates).dtype)
    return n.fail("updates are of another type than the input");
  if (!scatterReducer(n, n.dtype(0), reducer))
    return false;
  OpAttributes attrs;
  attrs.scatter = std::move(dims);
  const OpId id = n.add(Opcode::Scatter, n.shape(0), {n.input(0), places, updates}, attrs);
  n.scope.graph.op(id).called = {{CallRole::ToApply, reducer}};
  return n.finish(id);
}

} // namespace

bool lowerScatterElements(Node &n) {
  size_t axis = 0;
  if (!n.isTensor(0) || !areIndices(n, 1) || !n.isTensor(2) ||
      !n.axisOf(n.integer("axis", 0), n.rank(0), axis))
    return false;
  const Dims dims = n.dims(0), of = n.dims(1);
  if (of.size() != dims.size() || n.dims(2) != of)
    return n.fail(fmt::format("indices {} and updates {} don't fit {}", n.shape(1).str(false),
                              n.shape(2).str(false), n.shape(0).str(false)));
  Dims known;
  if (n.isKnown(1) && !wrapKnown(n, 1, dims[axis], known))
    return false;
  Dims each = of;
  each.push_back(1);
  std::vector<OpId> parts;
  for (size_t d = 0; d < dims.size(); ++d)
    parts.push_back(n.reshape(
        d == axis ? wrapped(n, n.input(1), dims[axis]) : n.iota(DType::S64, of, d), each));
  ScatterDims scatter;
  scatter.insertedWindowDims = scatter.scatterDimsToOperandDims = range(0, dims.size());
  scatter.indexVectorDim = static_cast<int64_t>(of.size());
  return finishScatter(n, n.concatenate(parts, of.size()), n.input(2), std::move(scatter));
}

bool lowerScatterNd(Node &n) {
  if (!n.isTensor(0) || !arePlaces(n, 1, 0) || !n.isTensor(2))
    return false;
  const Dims dims = n.dims(0), of = n.dims(1);
  const auto k = static_cast<size_t>(of.back());
  Dims updates(of.begin(), of.end() - 1);
  updates.insert(updates.end(), dims.begin() + of.back(), dims.end());
  if (n.dims(2) != updates)
    return n.fail(fmt::format("updates {} don't fit indices {}", n.shape(2).str(false),
                              n.shape(1).str(false)));
  ScatterDims scatter;
  scatter.insertedWindowDims = scatter.scatterDimsToOperandDims = range(0, k);
  scatter.updateWindowDims = range(of.size() - 1, updates.size());
  scatter.indexVectorDim = static_cast<int64_t>(of.size()) - 1;
  return finishScatter(n, wrappedPlaces(n, n.input(1), dims, 0), n.input(2), std::move(scatter));
}

/// A new dim with the second value at the index, the first elsewhere.
bool lowerOneHot(Node &n) {
  if (!n.isTensor(0) || !n.isTensor(2))
    return false;
  std::vector<double> depths;
  size_t axis = 0;
  if (!n.realsOf(1, depths) || !n.axisOf(n.integer("axis", -1), n.rank(0) + 1, axis))
    return false;
  if (depths.size() != 1 || !(depths[0] >= 1 && depths[0] < 0x1p40) || n.dims(2) != Dims{2})
    return n.fail("the depth is no number above 0, or there are not two values");
  const auto depth = static_cast<int64_t>(depths[0]);
  Dims dims = n.dims(0);
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  const OpId at = wrapped(n, n.input(0), depth);
  const OpId isThere = n.compare(n.iota(DType::S64, dims, axis), Comparison::Eq,
                                 n.spreadOver(at, dims, {static_cast<int64_t>(axis)}));
  const OpId values = n.input(2);
  const Shape shape = Shape::tensor(n.dtype(2), dims);
  auto value = [&](int64_t i) {
    return n.broadcast(n.reshape(n.slice(values, 0, i, i + 1), {}), shape);
  };
  const OpId on = value(1);
  return n.finish(n.select(isThere, on, value(0)));
}

/// The elements whose condition holds, which must be known.
bool lowerCompress(Node &n) {
  if (!n.isTensor(0))
    return false;
  const Tensor *condition = n.known(1);
  if (!condition)
    return false;
  Dims places;
  for (int64_t i = 0; i < condition->size(); ++i)
    if (condition->integer(i))
      places.push_back(i);
  OpId x = n.input(0);
  size_t axis = 0;
  if (!n.has("axis"))
    x = n.reshape(x, {n.shape(0).elementCount().value_or(0)});
  else if (!n.axisOf(n.integer("axis", 0), n.rank(0), axis))
    return false;
  const Dims dims = n.shapeOf(x).dims;
  if (!places.empty() && places.back() >= dims[axis])
    return n.fail(
        fmt::format("the condition holds for element {} of {}", places.back(), dims[axis]));
  std::vector<OpId> parts;
  for (int64_t place : places)
    parts.push_back(n.slice(x, axis, place, place + 1));
  return n.finish(parts.empty() ? n.slice(x, axis, 0, 0) : n.concatenate(parts, axis));
}

/// Values at flat places of a tensor of zeros: what MaxPool's indices say.
bool lowerMaxUnpool(Node &n) {
  if (!n.isTensor(0) || !areIndices(n, 1) || n.dims(0) != n.dims(1))
    return n.fail("indices don't fit");
  const Dims dims = n.dims(0);
  Dims result;
  const Dims sizes = n.integers("kernel_shape");
  const size_t count = sizes.size();
  const Dims strides = n.integers("strides", Dims(count, 1)),
             pads = n.integers("pads", Dims(2 * count, 0));
  bool isSane = dims.size() == count + 2 && strides.size() == count && pads.size() == 2 * count;
  for (const Dims *numbers : {&sizes, &strides, &pads})
    for (int64_t number : *numbers)
      isSane &= number >= 0 && number < (1 << 20);
  if (!isSane)
    return n.fail("the window doesn't fit");
  if (n.hasInput(2)) {
    if (!n.integersOf(2, result))
      return false;
  } else {
    result = {dims[0], dims[1]};
    for (size_t d = 0; d < count; ++d)
      result.push_back((dims[d + 2] - 1) * strides[d] + sizes[d] - pads[d] - pads[d + count]);
  }
  int64_t all = 1;
  for (int64_t extent : result)
    if (extent < 0 || __builtin_mul_overflow(all, extent, &all))
      return n.fail("the result's shape is none");
  // Indices count in the pool's input, whose extents the window tells; the result may be larger.
  Dims tight = {dims[0], dims[1]};
  for (size_t d = 0; d < count; ++d)
    tight.push_back((dims[d + 2] - 1) * strides[d] + sizes[d] - pads[d] - pads[d + count]);
  int64_t inside = 1;
  for (int64_t extent : tight)
    inside *= extent;
  if (result.size() != tight.size() || inside < 0 || inside > (int64_t(1) << 40))
    return n.fail("the result's shape is none");
  const int64_t many = n.shape(0).elementCount().value_or(0);
  const Shape flat = Shape::tensor(n.dtype(0), {inside});
  GraphId reducer;
  if (!scatterReducer(n, n.dtype(0), reducer))
    return false;
  OpAttributes attrs;
  attrs.scatter.insertedWindowDims = attrs.scatter.scatterDimsToOperandDims = {0};
  attrs.scatter.indexVectorDim = 1;
  const OpId places = n.reshape(n.convert(n.input(1), DType::S64), {many, 1});
  const OpId zeros = n.number(flat, 0), values = n.reshape(n.input(0), {many});
  const OpId id = n.add(Opcode::Scatter, flat, {zeros, places, values}, attrs);
  n.scope.graph.op(id).called = {{CallRole::ToApply, reducer}};
  std::vector<PadDim> behind;
  for (size_t d = 0; d < result.size(); ++d)
    behind.push_back({0, result[d] - tight[d], 0});
  return n.finish(n.pad(n.reshape(id, tight), n.number(Shape::tensor(n.dtype(0), {}), 0), behind));
}

} // namespace tilewright::onnx_format
