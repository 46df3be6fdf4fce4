// Ops that move elements: broadcast, transpose, reshape, slices, pad, concatenate.
#include "analysis/ir/verifier_internal.h"
#include "analysis/support/checked.h"

namespace tilewright {

bool OpCheck::shapeOps(bool &handled) {
  switch (op.opcode) {
  case Opcode::Broadcast:
    return broadcast();
  case Opcode::Transpose:
    return transpose();
  case Opcode::Reshape:
  case Opcode::DynamicReshape:
    return reshape();
  case Opcode::Bitcast:
    return bitcast();
  case Opcode::Reverse:
    return operandCount(1) && areTensors(0, 1) &&
           dimsInRange("dimensions", op.attrs.dimensions, operand(0).rank()) &&
           resultIs(operand(0));
  case Opcode::Iota:
    return iota();
  case Opcode::Concatenate:
    return concatenate();
  case Opcode::Slice:
    return slice();
  case Opcode::DynamicSlice:
    return dynamicSlice(false);
  case Opcode::DynamicUpdateSlice:
    return dynamicSlice(true);
  case Opcode::Pad:
    return pad();
  case Opcode::GetDimensionSize:
  case Opcode::SetDimensionSize:
    return dimensionSize();
  default:
    handled = false;
    return true;
  }
}

bool OpCheck::broadcast() {
  if (!operandCount(1) || !areTensors(0, 1))
    return false;
  const Shape &from = operand(0);
  const std::vector<int64_t> &dims = op.attrs.dimensions;
  if (dims.size() != from.rank())
    return failIn("dimensions", "needs one dimension for each of the {} dims of {}, {} given",
                  from.rank(), name(0), dims.size());
  if (op.shape.isTuple)
    return fail("the result {} is a tuple", briefText(op.shape));
  if (!dimsInRange("dimensions", dims, op.shape.rank()))
    return false;
  // A dim of 1 may be stretched: XLA writes a reshape before the broadcast, other writers don't.
  for (size_t i = 0; i < dims.size(); ++i)
    if (int64_t to = op.shape.dims[static_cast<size_t>(dims[i])];
        from.dims[i] != to && from.dims[i] != 1)
      return failIn("dimensions", "dim {} of {} goes to dim {} of {}, which has {}", i, name(0),
                    dims[i], briefText(op.shape), to);
  return resultTypeLike(0);
}

bool OpCheck::transpose() {
  if (!operandCount(1) || !areTensors(0, 1))
    return false;
  const Shape &from = operand(0);
  const std::vector<int64_t> &dims = op.attrs.dimensions;
  if (dims.size() != from.rank())
    return failIn("dimensions", "needs one dimension for each of the {} dims of {}, {} given",
                  from.rank(), name(0), dims.size());
  if (!dimsInRange("dimensions", dims, from.rank()))
    return false;
  std::vector<int64_t> expected;
  for (int64_t dim : dims)
    expected.push_back(from.dims[static_cast<size_t>(dim)]);
  return resultDims(expected) && resultTypeLike(0);
}

bool OpCheck::reshape() {
  bool isDynamic = op.opcode == Opcode::DynamicReshape;
  if (!(isDynamic ? operandCountAtLeast(1) : operandCount(1)) || !areTensors(0, 1))
    return false;
  if (op.shape.isTuple)
    return fail("the result {} is a tuple", briefText(op.shape));
  int64_t elements = *op.shape.elementCount(), given = *operand(0).elementCount();
  if (elements != given)
    return fail("{} has {} elements, {} has {}", briefText(op.shape), elements, name(0), given);
  if (isDynamic && operands() != 1 + op.shape.rank())
    return fail("needs an operand for each of the {} dims of {}, {} given", op.shape.rank(),
                briefText(op.shape), operands() - 1);
  for (size_t i = 1; i < operands(); ++i)
    if (!isIntegerScalar(i))
      return false;
  return resultTypeLike(0);
}

bool OpCheck::bitcast() {
  if (!operandCount(1))
    return false;
  // Bits, not bytes: s4[8] may become s8[4].
  auto bits = [](const Shape &shape) -> std::optional<int64_t> {
    if (shape.isTuple)
      return std::nullopt;
    std::optional<int64_t> elements = shape.elementCount();
    return elements ? checkedMul(*elements, bitWidth(shape.dtype)) : std::nullopt;
  };
  if (op.shape.isTuple || operand(0).isTuple)
    return resultIs(operand(0));
  std::optional<int64_t> to = bits(op.shape), from = bits(operand(0));
  if (!to || !from)
    return fail("{} takes more bits than 64 bits can count", briefText(op.shape));
  if (*to == *from)
    return true;
  if (op.shape.dtype == operand(0).dtype)
    return fail("{} has {} elements, {} has {}", briefText(op.shape), *op.shape.elementCount(),
                name(0), *operand(0).elementCount());
  return fail("{} has {} bytes, {} has {}", briefText(op.shape), *op.shape.byteSize(), name(0),
              *operand(0).byteSize());
}

bool OpCheck::iota() {
  if (!operandCount(0))
    return false;
  if (op.shape.isTuple)
    return fail("the result {} is a tuple", briefText(op.shape));
  DTypeClass cls = dtypeClass(op.shape.dtype);
  if (cls == DTypeClass::NonNumeric || cls == DTypeClass::Pred)
    return fail("the result {} does not hold numbers", briefText(op.shape));
  return exactlyOneDimension(op.shape.rank());
}

bool OpCheck::concatenate() {
  if (!operandCountAtLeast(1) || !areTensors(0, operands()) ||
      !exactlyOneDimension(operand(0).rank()))
    return false;
  size_t along = static_cast<size_t>(op.attrs.dimensions[0]);
  std::vector<int64_t> expected = operand(0).dims;
  for (size_t i = 1; i < operands(); ++i) {
    const Shape &shape = operand(i);
    if (!typesAgree(shape.dtype, operand(0).dtype))
      return fail("{} and {} differ in element type", name(0), name(i));
    if (shape.rank() != expected.size())
      return fail("{} and {} differ in rank", name(0), name(i));
    for (size_t dim = 0; dim < expected.size(); ++dim)
      if (dim != along && shape.dims[dim] != expected[dim])
        return fail("{} and {} differ in dim {}, only dim {} may", name(0), name(i), dim, along);
    std::optional<int64_t> sum = checkedAdd(expected[along], shape.dims[along]);
    if (!sum)
      return fail("the extents along dim {} do not fit in 64 bits", along);
    expected[along] = *sum;
  }
  return resultDims(expected) && resultTypeLike(0);
}

bool OpCheck::slice() {
  if (!operandCount(1) || !areTensors(0, 1))
    return false;
  const Shape &from = operand(0);
  if (op.attrs.slice.size() != from.rank())
    return failIn("slice", "needs a range for each of the {} dims of {}, {} given", from.rank(),
                  name(0), op.attrs.slice.size());
  std::vector<int64_t> expected;
  for (size_t i = 0; i < from.rank(); ++i) {
    const SliceDim &range = op.attrs.slice[i];
    if (range.start < 0 || range.limit < range.start || range.limit > from.dims[i])
      return failIn("slice", "[{}:{}] is out of range, dim {} of {} has {}", range.start,
                    range.limit, i, name(0), from.dims[i]);
    if (range.step < 1)
      return failIn("slice", "step {} of dim {} must be at least 1", range.step, i);
    expected.push_back(ceilDiv(range.limit - range.start, range.step));
  }
  return resultDims(expected) && resultTypeLike(0);
}

bool OpCheck::dynamicSlice(bool isUpdate) {
  size_t firstStart = isUpdate ? 2 : 1;
  if (!operandCountAtLeast(firstStart) || !areTensors(0, operands()))
    return false;
  const Shape &from = operand(0);
  // Old dumps give all starts as one vector.
  bool isVector = operands() == firstStart + 1 && operand(firstStart).rank() == 1 &&
                  operand(firstStart).dims[0] == from.rank();
  if (!isVector) {
    if (operands() - firstStart != from.rank())
      return fail("needs a start for each of the {} dims of {}, {} given", from.rank(), name(0),
                  operands() - firstStart);
    for (size_t i = firstStart; i < operands(); ++i)
      if (!isIntegerScalar(i))
        return false;
  }
  const std::vector<int64_t> &sizes = isUpdate ? operand(1).dims : op.attrs.dynamicSliceSizes;
  std::string_view attribute = isUpdate ? "" : "dynamic_slice_sizes";
  if (sizes.size() != from.rank())
    return failIn(attribute, "needs a size for each of the {} dims of {}, {} given", from.rank(),
                  name(0), sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] < 0 || sizes[i] > from.dims[i])
      return failIn(attribute, "size {} is out of range, dim {} of {} has {}", sizes[i], i, name(0),
                    from.dims[i]);
  if (isUpdate && !typesAgree(operand(1).dtype, from.dtype))
    return fail("{} and {} differ in element type", name(0), name(1));
  return resultDims(isUpdate ? from.dims : sizes) && resultTypeLike(0);
}

bool OpCheck::pad() {
  if (!operandCount(2) || !areTensors(0, 2) || !isScalar(1))
    return false;
  const Shape &from = operand(0);
  if (op.attrs.padding.size() != from.rank())
    return failIn("padding", "needs the padding of each of the {} dims of {}, {} given",
                  from.rank(), name(0), op.attrs.padding.size());
  std::vector<int64_t> expected;
  for (size_t i = 0; i < from.rank(); ++i) {
    const PadDim &dim = op.attrs.padding[i];
    if (dim.interior < 0)
      return failIn("padding", "interior padding {} of dim {} is negative", dim.interior, i);
    // dim + low + high + (dim - 1) · interior
    std::optional<int64_t> extent =
        checkedMul(from.dims[i] > 0 ? from.dims[i] - 1 : 0, dim.interior);
    for (int64_t part : {from.dims[i], dim.low, dim.high})
      extent = extent ? checkedAdd(*extent, part) : std::nullopt;
    if (!extent || *extent < 0)
      return failIn("padding", "dim {} of {} with padding {}_{}_{} has no extent", i, name(0),
                    dim.low, dim.high, dim.interior);
    expected.push_back(*extent);
  }
  if (!typesAgree(operand(1).dtype, from.dtype))
    return fail("{} and {} differ in element type", name(0), name(1));
  return resultDims(expected) && resultTypeLike(0);
}

bool OpCheck::dimensionSize() {
  bool sets = op.opcode == Opcode::SetDimensionSize;
  if (!operandCount(sets ? 2 : 1) || !areTensors(0, operands()) ||
      !exactlyOneDimension(operand(0).rank()))
    return false;
  if (!sets)
    return resultIs(Shape::tensor(DType::S32, {}));
  return isIntegerScalar(1) && resultIs(operand(0));
}

} // namespace tilewright
