// Integers that stand for real numbers: scale · (integer - zero point).
#include "analysis/import/onnx/node.h"
#include "analysis/import/onnx/proto.h"
#include "analysis/ir/numeric.h"

#include <fmt/format.h>

namespace tilewright::onnx_format {

namespace {

/// A scale or zero point over the tensor: one number, or one for each element along the axis.
bool spreadAlong(Node &n, size_t i, Dims dims, int64_t axisValue, DType type, OpId &out) {
  if (!n.isTensor(i))
    return false;
  const OpId given = n.convert(n.input(i), type);
  const Shape shape = n.shape(i);
  if (shape.elementCount() == 1) {
    out = n.broadcast(n.reshape(given, {}), Shape::tensor(type, dims));
    return true;
  }
  size_t axis = 0;
  if (shape.rank() != 1)
    return n.refuse(
        fmt::format("a scale or zero point {} for blocks is not lowered", shape.str(false)));
  if (!n.axisOf(axisValue, dims.size(), axis))
    return false;
  if (shape.dims[0] != dims[axis])
    return n.fail(fmt::format("input {} has {} elements for {} along axis {}", i, shape.dims[0],
                              dims[axis], axis));
  out = n.along(given, dims, axis);
  return true;
}

double mostOf(DType type) {
  if (isFloat(type))
    return -lowestFinite(type);
  const unsigned bits = bitWidth(type) - (dtypeClass(type) == DTypeClass::Signed);
  return static_cast<double>((int64_t(1) << bits) - 1);
}

double leastOf(DType type) {
  if (isFloat(type))
    return lowestFinite(type);
  return dtypeClass(type) == DTypeClass::Signed
             ? -static_cast<double>(int64_t(1) << (bitWidth(type) - 1))
             : 0;
}

/// x / scale, rounded, the zero point added, clamped and stored.
OpId quantised(Node &n, OpId x, OpId scale, OpId zero, DType type) {
  OpId y = n.over(x, scale);
  if (!isFloat(type))
    y = n.unary(Opcode::RoundNearestEven, y);
  if (zero.isValid())
    y = n.plus(y, zero);
  const Shape shape = n.shapeOf(y);
  y = n.clamp(n.number(shape, leastOf(type)), y, n.number(shape, mostOf(type)));
  return n.convert(y, type);
}

/// Integers as s32 with their zero point taken off, which is one number or one for each row.
bool centred(Node &n, size_t i, size_t zeroInput, int64_t axis, OpId &out) {
  if (!n.isTensor(i) || !isInteger(n.dtype(i)))
    return n.fail(fmt::format("input {} holds no integers", i));
  out = n.convert(n.input(i), DType::S32);
  if (!n.hasInput(zeroInput))
    return true;
  OpId zero;
  if (!spreadAlong(n, zeroInput, n.dims(i), axis, DType::S32, zero))
    return false;
  out = n.minus(out, zero);
  return true;
}

} // namespace

bool lowerQuantize(Node &n) {
  if (!n.isTensor(0) || !n.isTensor(1))
    return false;
  std::optional<DType> type = DType::U8;
  if (n.hasInput(2))
    type = n.dtype(2);
  else if (n.integer("output_dtype", 0) != 0)
    type = elementType(static_cast<int>(n.integer("output_dtype", 0)));
  if (!type || bitWidth(*type) > 16)
    return n.fail("it quantises to a type that is none");
  if (n.integer("block_size", 0) != 0)
    return n.refuse("scales for blocks are not lowered");
  const DType inner = isFloat(n.dtype(0)) ? n.dtype(0) : DType::F32;
  const Dims dims = n.dims(0);
  const int64_t axis = n.integer("axis", 1);
  OpId scale, zero;
  const OpId x = n.convert(n.input(0), inner);
  if (!spreadAlong(n, 1, dims, axis, inner, scale) ||
      (n.hasInput(2) && !spreadAlong(n, 2, dims, axis, inner, zero)))
    return false;
  return n.finish(quantised(n, x, scale, zero, *type));
}

bool lowerDequantize(Node &n) {
  if (!n.isTensor(0) || !n.isTensor(1))
    return false;
  if (n.integer("block_size", 0) != 0)
    return n.refuse("scales for blocks are not lowered");
  const DType type = n.dtype(1);
  if (!isFloat(type))
    return n.fail(fmt::format("the scale is {}", n.shape(1).str(false)));
  const Dims dims = n.dims(0);
  const int64_t axis = n.integer("axis", 1);
  OpId scale, x;
  if (!spreadAlong(n, 1, dims, axis, type, scale))
    return false;
  if (n.hasInput(2) && isInteger(n.dtype(0))) {
    if (!centred(n, 0, 2, axis, x))
      return false;
    x = n.convert(x, type);
  } else {
    x = n.convert(n.input(0), type);
  }
  return n.finish(n.times(x, scale));
}

bool lowerMatMulInteger(Node &n) {
  OpId a, b;
  if (!n.isTensor(0) || !n.isTensor(1) ||
      !centred(n, 0, 2, std::max<int64_t>(0, static_cast<int64_t>(n.rank(0)) - 2), a) ||
      !centred(n, 1, 3, -1, b))
    return false;
  const OpId product = matMul(n, a, b, DType::S32);
  return product.isValid() && n.finish(product);
}

bool lowerConvInteger(Node &n) {
  OpId x, w;
  if (!centred(n, 0, 2, 1, x) || !centred(n, 1, 3, 0, w))
    return false;
  const OpId y = convolve(n, x, w, DType::S32);
  return y.isValid() && n.finish(y);
}

namespace {

/// s32 sums of products as integers of the result's scale. Inputs: the scales of both factors and
/// of the result, and its zero point; the second factor's may vary along an axis of the result.
bool rescaled(Node &n, OpId sums, size_t lhs, size_t rhs, size_t scale, size_t zero, int64_t axis) {
  const Dims dims = n.shapeOf(sums).dims;
  OpId a, b, y, z;
  if (!n.isTensor(zero))
    return false;
  if (!spreadAlong(n, lhs, dims, -2, DType::F32, a) ||
      !spreadAlong(n, rhs, dims, axis, DType::F32, b) ||
      !spreadAlong(n, scale, dims, axis, DType::F32, y) ||
      !spreadAlong(n, zero, dims, axis, DType::F32, z))
    return false;
  const OpId real = n.times(n.convert(sums, DType::F32), n.times(a, b));
  return n.finish(quantised(n, real, y, z, n.dtype(zero)));
}

} // namespace

/// a, its scale and zero point, b, its scale and zero point, the result's scale and zero point.
bool lowerQLinearMatMul(Node &n) {
  OpId a, b;
  if (!n.isTensor(0) || !n.isTensor(3) ||
      !centred(n, 0, 2, std::max<int64_t>(0, static_cast<int64_t>(n.rank(0)) - 2), a) ||
      !centred(n, 3, 5, -1, b))
    return false;
  const OpId product = matMul(n, a, b, DType::S32);
  return product.isValid() && rescaled(n, product, 1, 4, 6, 7, -1);
}

/// The same of a convolution, and a bias of s32.
bool lowerQLinearConv(Node &n) {
  OpId x, w, bias;
  if (!centred(n, 0, 2, 1, x) || !centred(n, 3, 5, 0, w))
    return false;
  OpId sums = convolve(n, x, w, DType::S32);
  if (!sums.isValid())
    return false;
  if (n.hasInput(8)) {
    if (!spreadAlong(n, 8, n.shapeOf(sums).dims, 1, DType::S32, bias))
      return false;
    sums = n.plus(sums, bias);
  }
  return rescaled(n, sums, 1, 4, 6, 7, 1);
}

} // namespace tilewright::onnx_format
