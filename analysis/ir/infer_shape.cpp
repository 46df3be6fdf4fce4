#include "analysis/ir/infer_shape.h"

#include "analysis/support/checked.h"

#include <algorithm>

namespace tilewright {

std::optional<int64_t> windowPositions(const WindowDim &dim, int64_t extent) {
  auto dilated = [](int64_t n, int64_t by) -> std::optional<int64_t> {
    if (n <= 0)
      return 0;
    std::optional<int64_t> product = checkedMul(n - 1, by);
    return product ? checkedAdd(*product, 1) : std::nullopt;
  };
  std::optional<int64_t> window = dilated(dim.size, dim.windowDilation);
  std::optional<int64_t> padded = dilated(extent, dim.baseDilation);
  for (int64_t part : {dim.padLow, dim.padHigh})
    padded = padded ? checkedAdd(*padded, part) : std::nullopt;
  if (!window || !padded)
    return std::nullopt;
  if (*padded < *window)
    return 0;
  return (*padded - *window) / dim.stride + 1; // both ≥ 0
}

namespace {

using Dims = std::optional<std::vector<int64_t>>;

bool lists(const std::vector<int64_t> &list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// One op whose shape is wanted. Each rule gives nothing for what would lead out of bounds.
class Inference {
public:
  Inference(const Op &op, std::span<const Shape *const> operands) : op(op), operands(operands) {}

  std::optional<Shape> run() const;

private:
  bool has(size_t count) const { return operands.size() >= count; }
  const Shape &operand(size_t i) const { return *operands[i]; }
  std::optional<Shape> like(size_t i) const {
    return has(i + 1) ? std::optional(bare(operand(i))) : std::nullopt;
  }
  /// Without layout: the op's own is not known.
  static Shape bare(Shape shape) {
    shape.layout.reset();
    shape.isBuffer = false;
    for (Shape &element : shape.elements)
      element = bare(std::move(element));
    return shape;
  }
  std::optional<Shape> withDims(const Dims &dims) const {
    return dims && has(1) ? std::optional(Shape::tensor(operand(0).dtype, *dims)) : std::nullopt;
  }
  std::optional<Shape> elementwise() const;
  std::optional<Shape> ofResults(const Dims &dims) const;
  Dims transposed() const;
  Dims sliced() const;
  Dims padded() const;
  Dims concatenated() const;
  Dims reduced() const;
  Dims windowed() const;
  Dims multiplied() const;
  Dims convolved() const;

  const Op &op;
  std::span<const Shape *const> operands;
};

Dims Inference::transposed() const {
  std::vector<int64_t> dims;
  for (int64_t dim : op.attrs.dimensions) {
    if (dim < 0 || dim >= int64_t(operand(0).rank()))
      return std::nullopt;
    dims.push_back(operand(0).dims[size_t(dim)]);
  }
  return dims;
}

Dims Inference::sliced() const {
  std::vector<int64_t> dims;
  for (const SliceDim &range : op.attrs.slice) {
    if (range.step < 1 || range.start < 0 || range.limit < range.start)
      return std::nullopt;
    dims.push_back(ceilDiv(range.limit - range.start, range.step));
  }
  return dims;
}

Dims Inference::padded() const {
  std::vector<int64_t> dims;
  for (size_t i = 0; i < operand(0).rank() && i < op.attrs.padding.size(); ++i) {
    const PadDim &pad = op.attrs.padding[i];
    const int64_t gaps = std::max<int64_t>(operand(0).dims[i] - 1, 0);
    std::optional<int64_t> extent = checkedMul(gaps, pad.interior);
    for (int64_t part : {operand(0).dims[i], pad.low, pad.high})
      extent = extent ? checkedAdd(*extent, part) : std::nullopt;
    if (!extent)
      return std::nullopt;
    dims.push_back(*extent);
  }
  return dims;
}

Dims Inference::concatenated() const {
  std::vector<int64_t> dims = operand(0).dims;
  if (op.attrs.dimensions.size() != 1 || op.attrs.dimensions[0] < 0 ||
      op.attrs.dimensions[0] >= int64_t(dims.size()))
    return std::nullopt;
  const size_t along = size_t(op.attrs.dimensions[0]);
  for (const Shape *part : operands.subspan(1)) {
    std::optional<int64_t> sum =
        part->rank() == dims.size() ? checkedAdd(dims[along], part->dims[along]) : std::nullopt;
    if (!sum)
      return std::nullopt;
    dims[along] = *sum;
  }
  return dims;
}

Dims Inference::reduced() const {
  std::vector<int64_t> dims;
  for (size_t i = 0; i < operand(0).rank(); ++i)
    if (!lists(op.attrs.dimensions, int64_t(i)))
      dims.push_back(operand(0).dims[i]);
  return dims;
}

bool hasPositions(const WindowDim &dim) {
  return std::min({dim.size, dim.stride, dim.baseDilation, dim.windowDilation}) >= 1;
}

Dims Inference::windowed() const {
  std::vector<int64_t> dims;
  for (size_t i = 0; i < operand(0).rank() && i < op.attrs.window.size(); ++i) {
    const WindowDim &dim = op.attrs.window[i];
    std::optional<int64_t> positions =
        hasPositions(dim) ? windowPositions(dim, operand(0).dims[i]) : std::nullopt;
    if (!positions)
      return std::nullopt;
    dims.push_back(*positions);
  }
  return dims;
}

Dims Inference::multiplied() const {
  if (!has(2))
    return std::nullopt;
  std::vector<int64_t> dims;
  for (int64_t dim : op.attrs.dot.lhsBatch) {
    if (dim < 0 || dim >= int64_t(operand(0).rank()))
      return std::nullopt;
    dims.push_back(operand(0).dims[size_t(dim)]);
  }
  auto addFree = [&](const Shape &shape, const std::vector<int64_t> &batch,
                     const std::vector<int64_t> &contracting) {
    for (size_t i = 0; i < shape.rank(); ++i)
      if (!lists(batch, int64_t(i)) && !lists(contracting, int64_t(i)))
        dims.push_back(shape.dims[i]);
  };
  addFree(operand(0), op.attrs.dot.lhsBatch, op.attrs.dot.lhsContracting);
  addFree(operand(1), op.attrs.dot.rhsBatch, op.attrs.dot.rhsContracting);
  return dims;
}

Dims Inference::convolved() const {
  const ConvDims &dims = op.attrs.conv;
  const size_t spatial = op.attrs.window.size(), rank = spatial + 2;
  auto isPlace = [&](int64_t dim) { return dim >= 0 && dim < int64_t(rank); };
  bool fits = has(2) && operand(0).rank() == rank && operand(1).rank() == rank &&
              dims.inputSpatial.size() == spatial && dims.outputSpatial.size() == spatial &&
              op.attrs.batchGroupCount >= 1;
  for (int64_t dim : {dims.inputBatch, dims.kernelOutput, dims.outputBatch, dims.outputFeature})
    fits = fits && isPlace(dim);
  if (!fits)
    return std::nullopt;
  std::vector<int64_t> result(rank);
  result[size_t(dims.outputBatch)] =
      operand(0).dims[size_t(dims.inputBatch)] / op.attrs.batchGroupCount;
  result[size_t(dims.outputFeature)] = operand(1).dims[size_t(dims.kernelOutput)];
  for (size_t i = 0; i < spatial; ++i) {
    const WindowDim &window = op.attrs.window[i];
    if (!isPlace(dims.inputSpatial[i]) || !isPlace(dims.outputSpatial[i]) || !hasPositions(window))
      return std::nullopt;
    std::optional<int64_t> positions =
        windowPositions(window, operand(0).dims[size_t(dims.inputSpatial[i])]);
    if (!positions)
      return std::nullopt;
    result[size_t(dims.outputSpatial[i])] = *positions;
  }
  return result;
}

/// One result for each of the first half of the operands, in a tuple if there are several.
std::optional<Shape> Inference::ofResults(const Dims &dims) const {
  const size_t count = operands.size() / 2;
  if (!dims || count == 0)
    return std::nullopt;
  if (count == 1)
    return withDims(dims);
  Shape all = Shape::tuple({});
  for (size_t i = 0; i < count; ++i)
    all.elements.push_back(Shape::tensor(operand(i).dtype, *dims));
  return all;
}

std::optional<Shape> Inference::elementwise() const {
  switch (op.opcode) {
  case Opcode::Convert:
  case Opcode::BitcastConvert:
  case Opcode::StochasticConvert:
  case Opcode::Map:
    return std::nullopt;
  case Opcode::Select:
  case Opcode::Clamp:
    return like(1);
  case Opcode::CopyDone:
    return has(1) && !operand(0).elements.empty() ? std::optional(bare(operand(0).elements[0]))
                                                  : std::nullopt;
  default:
    break;
  }
  std::optional<Shape> shape = like(0);
  if (!shape || shape->isTuple)
    return op.opcode == Opcode::Copy ? shape : std::nullopt;
  const bool isWide = shape->dtype == DType::C128 || shape->dtype == DType::F64;
  switch (op.opcode) {
  case Opcode::Compare:
  case Opcode::IsFinite:
    shape->dtype = DType::Pred;
    break;
  case Opcode::Complex:
    shape->dtype = isWide ? DType::C128 : DType::C64;
    break;
  case Opcode::Abs:
  case Opcode::Real:
  case Opcode::Imag:
    if (dtypeClass(shape->dtype) == DTypeClass::Complex)
      shape->dtype = isWide ? DType::F64 : DType::F32;
    break;
  default:
    break;
  }
  return shape;
}

std::optional<Shape> Inference::run() const {
  if (opClass(op.opcode) == OpClass::Elementwise)
    return elementwise();
  switch (op.opcode) {
  case Opcode::Tuple: {
    Shape all = Shape::tuple({});
    for (const Shape *part : operands)
      all.elements.push_back(bare(*part));
    return all;
  }
  case Opcode::GetTupleElement: {
    const int64_t index = op.attrs.tupleIndex;
    if (!has(1) || index < 0 || index >= int64_t(operand(0).elements.size()))
      return std::nullopt;
    return bare(operand(0).elements[size_t(index)]);
  }
  case Opcode::AfterAll:
    return Shape::tensor(DType::Token, {});
  case Opcode::PartitionId:
  case Opcode::ReplicaId:
    return Shape::tensor(DType::U32, {});
  case Opcode::GetDimensionSize:
    return Shape::tensor(DType::S32, {});
  case Opcode::AddDependency:
  case Opcode::OptimizationBarrier:
  case Opcode::While:
  case Opcode::Reverse:
  case Opcode::DynamicUpdateSlice:
  case Opcode::SelectAndScatter:
  case Opcode::Cholesky:
  case Opcode::BatchNormInference:
    return like(0);
  case Opcode::TriangularSolve:
    return like(1);
  default:
    break;
  }
  // Which extents of a result are dynamic is for the writer to say.
  if (!has(1) || operand(0).isTuple ||
      std::any_of(operands.begin(), operands.end(), [](const Shape *s) { return s->isDynamic(); }))
    return std::nullopt;
  switch (op.opcode) {
  case Opcode::Transpose:
    return withDims(transposed());
  case Opcode::Slice:
    return withDims(sliced());
  case Opcode::DynamicSlice:
    return withDims(op.attrs.dynamicSliceSizes);
  case Opcode::Pad:
    return withDims(padded());
  case Opcode::Concatenate:
    return withDims(concatenated());
  case Opcode::Dot:
    return withDims(multiplied());
  case Opcode::Convolution:
    return withDims(convolved());
  case Opcode::Reduce:
    return ofResults(reduced());
  case Opcode::ReduceWindow:
    return ofResults(windowed());
  default:
    return std::nullopt;
  }
}

} // namespace

std::optional<Shape> inferShape(const Op &op, std::span<const Shape *const> operands) {
  return Inference(op, operands).run();
}

} // namespace tilewright
