#include "analysis/ir/tensor.h"

#include "analysis/ir/numeric.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace tilewright {

unsigned wordsPerElement(DType type) {
  switch (dtypeClass(type)) {
  case DTypeClass::NonNumeric:
    return 0;
  case DTypeClass::Complex:
    return 2;
  default:
    return 1;
  }
}

Tensor::Tensor(Shape shape)
    : tensorShape(std::move(shape)), count(tensorShape.elementCount().value_or(0)),
      width(tilewright::wordsPerElement(tensorShape.dtype)) {
  assert(!tensorShape.isTuple && "a tensor has one element type");
  storage.resize(static_cast<size_t>(count) * width);
}

Tensor Tensor::ofReals(Shape shape, std::span<const double> values) {
  Tensor result(std::move(shape));
  assert(isFloat(result.dtype()) && static_cast<int64_t>(values.size()) == result.count);
  for (int64_t i = 0; i < result.count; ++i)
    result.setReal(i, roundFloat(result.dtype(), values[i]));
  return result;
}

Tensor Tensor::ofIntegers(Shape shape, std::span<const int64_t> values) {
  Tensor result(std::move(shape));
  assert(static_cast<int64_t>(values.size()) == result.count);
  for (int64_t i = 0; i < result.count; ++i)
    result.setInteger(i, wrapInteger(result.dtype(), values[i]));
  return result;
}

double Tensor::asDouble(int64_t i) const {
  return isFloat(dtype()) ? real(i) : doubleFromInteger(dtype(), integer(i));
}

int64_t Tensor::offset(std::span<const int64_t> index) const {
  int64_t result = 0;
  for (size_t d = 0; d < index.size(); ++d)
    result = result * tensorShape.dims[d] + index[d];
  return result;
}

Tensor Tensor::withShape(Shape shape) const {
  Tensor result = *this;
  result.tensorShape = std::move(shape);
  assert(result.tensorShape.elementCount() == count && result.dtype() == dtype());
  return result;
}

std::vector<int64_t> physicalOrder(const Shape &shape) {
  int64_t count = shape.elementCount().value_or(0);
  std::vector<int64_t> result(static_cast<size_t>(count));
  std::iota(result.begin(), result.end(), 0);
  std::vector<int64_t> order = shape.minorToMajorOrDefault();
  if (count == 0 || std::is_sorted(order.rbegin(), order.rend()))
    return result;
  std::vector<int64_t> strides = *rowMajorStrides(shape.dims), index(order.size());
  int64_t logical = 0;
  for (int64_t &slot : result) {
    slot = logical;
    for (int64_t dim : order) {
      logical += strides[dim];
      if (++index[dim] < shape.dims[dim])
        break;
      logical -= strides[dim] * shape.dims[dim];
      index[dim] = 0;
    }
  }
  return result;
}

std::vector<std::byte> packTensor(const Tensor &tensor) {
  std::vector<std::byte> bytes(
      static_cast<size_t>(packedBytes(tensor.dtype(), tensor.size()).value_or(0)));
  unsigned width = tensor.wordsPerElement();
  DType type = partType(tensor.dtype());
  unsigned bits = bitWidth(type);
  uint64_t position = 0; // in bits
  if (width == 0)
    return bytes;
  for (int64_t element : physicalOrder(tensor.shape()))
    for (unsigned part = 0; part < width; ++part, position += bits) {
      uint64_t code = encodeWord(type, tensor.words()[element * width + part]);
      if (bits < 8) {
        unsigned mask = (1u << bits) - 1;
        bytes[position / 8] |= std::byte((code & mask) << (position % 8));
      } else {
        for (unsigned i = 0; i < bits / 8; ++i)
          bytes[position / 8 + i] = std::byte(code >> (8 * i) & 0xff);
      }
    }
  return bytes;
}

llvm::Expected<Tensor> unpackTensor(const Shape &shape, std::span<const std::byte> bytes) {
  std::optional<int64_t> expected = shape.isTuple ? std::nullopt : shape.byteSize();
  if (!expected || static_cast<uint64_t>(*expected) != bytes.size())
    return makeError(DiagClass::BadInput, "{} bytes given for {}, which takes {}", bytes.size(),
                     shape.str(false), expected.value_or(-1));
  Tensor result(shape);
  unsigned width = result.wordsPerElement();
  DType type = partType(shape.dtype);
  unsigned bits = bitWidth(type);
  uint64_t position = 0;
  if (width == 0)
    return result;
  for (int64_t element : physicalOrder(shape))
    for (unsigned part = 0; part < width; ++part, position += bits) {
      uint64_t code = 0;
      if (bits < 8)
        code = std::to_integer<unsigned>(bytes[position / 8]) >> (position % 8);
      else
        for (unsigned i = 0; i < bits / 8; ++i)
          code |= std::to_integer<uint64_t>(bytes[position / 8 + i]) << (8 * i);
      result.words()[element * width + part] = decodeWord(type, code);
    }
  return result;
}

Tensor fillTensor(const Shape &shape, uint64_t seed, FillRange range) {
  Tensor result(shape);
  WordFiller filler(shape.dtype, seed, range);
  for (size_t i = 0; i < result.words().size(); ++i)
    result.words()[i] = filler(i);
  return result;
}

} // namespace tilewright
