// Constants, and what depends on shapes alone.
#include "analysis/import/onnx/node.h"
#include "analysis/import/onnx/proto.h"
#include "analysis/import/onnx/reader.h"
#include "analysis/ir/literal.h"

#include <cmath>
#include <fmt/format.h>
#include <numbers>
#include <onnx/onnx_pb.h>

namespace tilewright::onnx_format {

bool lowerShape(Node &n) {
  if (!n.isTensor(0))
    return false;
  const Dims dims = n.dims(0);
  const auto extent = static_cast<int64_t>(dims.size());
  auto place = [&](int64_t value) {
    return std::clamp<int64_t>(value < 0 ? value + extent : value, 0, extent);
  };
  const int64_t start = place(n.integer("start", 0)), end = place(n.integer("end", extent));
  const Dims part = start < end ? Dims(dims.begin() + start, dims.begin() + end) : Dims();
  return n.finishKnown(
      Tensor::ofIntegers(Shape::tensor(DType::S64, {static_cast<int64_t>(part.size())}), part));
}

bool lowerSize(Node &n) {
  if (!n.isTensor(0))
    return false;
  const int64_t count = n.shape(0).elementCount().value_or(0);
  return n.finishKnown(Tensor::ofIntegers(Shape::tensor(DType::S64, {}), {{count}}));
}

namespace {

/// The attribute that gives the value as a list.
bool constantList(Node &n) {
  if (n.has("value_int"))
    return n.finishKnown(
        Tensor::ofIntegers(Shape::tensor(DType::S64, {}), {{n.integer("value_int", 0)}}));
  if (n.has("value_float"))
    return n.finishKnown(
        Tensor::ofReals(Shape::tensor(DType::F32, {}), {{n.real("value_float", 0)}}));
  if (n.has("value_ints")) {
    const Dims values = n.integers("value_ints");
    return n.finishKnown(Tensor::ofIntegers(
        Shape::tensor(DType::S64, {static_cast<int64_t>(values.size())}), values));
  }
  if (n.has("value_floats")) {
    const std::vector<double> values = n.reals("value_floats");
    return n.finishKnown(
        Tensor::ofReals(Shape::tensor(DType::F32, {static_cast<int64_t>(values.size())}), values));
  }
  if (n.has("value_string") || n.has("value_strings"))
    return n.refuse("text has no values here");
  if (n.has("sparse_value"))
    return n.refuse("sparse tensors are not read");
  return n.fail("it has no value");
}

} // namespace

/// A large one is a weight.
bool lowerConstant(Node &n) {
  const ::onnx::TensorProto *tensor = n.tensor("value");
  if (!tensor)
    return !n.hasFailed() && constantList(n);
  Value value;
  llvm::Expected<Shape> shape = shapeOfTensor(*tensor);
  if (!shape)
    return n.reader.fail(shape.takeError());
  if (llvm::Error missing = checkExternal(*tensor, n.reader.folder))
    return n.reader.fail(std::move(missing));
  value.shape = *shape;
  value.weight = tensor;
  value.isConstant = n.reader.knownOf(value) != nullptr;
  return n.finish(std::vector<Value>{value});
}

bool lowerConstantOfShape(Node &n) {
  Dims dims;
  if (!n.integersOf(0, dims))
    return false;
  for (int64_t extent : dims)
    if (extent < 0)
      return n.fail(fmt::format("an extent is {}", extent));
  Tensor value(Shape::tensor(DType::F32, {}));
  if (const ::onnx::TensorProto *tensor = n.tensor("value")) {
    llvm::Expected<Tensor> read = readTensor(*tensor, n.reader.folder);
    if (!read)
      return n.reader.fail(read.takeError());
    value = std::move(*read);
  }
  if (value.size() != 1)
    return n.fail(fmt::format("the value has {} elements", value.size()));
  return n.finish(n.splat(Shape::tensor(value.dtype(), dims), elementText(value, 0)));
}

bool lowerEyeLike(Node &n) {
  if (!n.isTensor(0))
    return false;
  std::optional<DType> type = n.dtype(0);
  if (n.has("dtype"))
    type = elementType(static_cast<int>(n.integer("dtype", 0)));
  if (!type || n.rank(0) != 2)
    return n.fail("the input is no matrix, or the type is none");
  const int64_t k = n.integer("k", 0);
  if (!isWithin(k, int64_t(1) << 40))
    return n.fail(fmt::format("k is {}", k));
  const Dims dims = n.dims(0);
  const OpId away = n.minus(n.iota(DType::S64, dims, 1), n.iota(DType::S64, dims, 0));
  return n.finish(n.convert(n.compare(away, Comparison::Eq, static_cast<double>(k)), *type));
}

/// start + i · delta, for ⌈(limit - start) / delta⌉ elements.
bool lowerRange(Node &n) {
  std::vector<double> ends[3];
  for (size_t i : {0, 1, 2}) {
    if (!n.realsOf(i, ends[i]))
      return false;
    if (ends[i].size() != 1 || n.dtype(i) != n.dtype(0))
      return n.fail("start, limit and delta are not one number each, of one type");
  }
  const double start = ends[0][0], delta = ends[2][0];
  const double count = std::ceil((ends[1][0] - start) / delta);
  if (!(delta != 0) || !(count < 0x1p40))
    return n.fail(fmt::format("it has {} elements", count));
  const DType type = n.dtype(0);
  const Dims dims = {static_cast<int64_t>(std::max(0.0, count))};
  const OpId steps = n.iota(type, dims, 0);
  return n.finish(n.binary(Opcode::Add, n.binary(Opcode::Multiply, steps, delta), start));
}

} // namespace tilewright::onnx_format
