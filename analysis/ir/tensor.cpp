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

namespace {
/// The bits of one word of an element: a part of a complex number is a float of half the width.
DType partType(DType type) {
  if (type == DType::C64)
    return DType::F32;
  return type == DType::C128 ? DType::F64 : type;
}

uint64_t encodeWord(DType type, uint64_t word) {
  if (isFloat(type))
    return encodeFloat(type, std::bit_cast<double>(word));
  return word;
}

uint64_t decodeWord(DType type, uint64_t bits) {
  if (isFloat(type))
    return std::bit_cast<uint64_t>(decodeFloat(type, bits));
  return static_cast<uint64_t>(wrapInteger(type, static_cast<int64_t>(bits)));
}

/// Small values that the type has, so that sums of products stay small.
FillRange defaultIntegerRange(DType type) {
  int64_t bits = type == DType::Pred ? 1 : bitWidth(type);
  if (dtypeClass(type) != DTypeClass::Signed)
    return {true, 0, bits < 4 ? (int64_t(1) << bits) - 1 : 15};
  if (bits > 4)
    return {true, -8, 8};
  return {true, -(int64_t(1) << (bits - 1)), (int64_t(1) << (bits - 1)) - 1};
}
} // namespace

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

uint64_t splitmix64(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

Tensor fillTensor(const Shape &shape, uint64_t seed, FillRange range) {
  Tensor result(shape);
  DType type = partType(shape.dtype);
  if (!range.isGiven && !isFloat(type))
    range = defaultIntegerRange(type);
  uint64_t span = static_cast<uint64_t>(range.high) - static_cast<uint64_t>(range.low) + 1;
  for (size_t i = 0; i < result.words().size(); ++i) {
    uint64_t h = splitmix64(seed, i);
    if (isFloat(type)) {
      double unit = static_cast<double>(h >> 40) / (1 << 24); // 24 bits in [0, 1)
      double value = range.isGiven ? static_cast<double>(range.low) +
                                         static_cast<double>(range.high - range.low) * unit
                                   : 2 * unit - 1;
      if (type == DType::F8E8M0FNU)
        value = std::ldexp(1.0, static_cast<int>(h % 5) - 2);
      result.words()[i] = std::bit_cast<uint64_t>(roundFloat(type, value));
    } else {
      uint64_t value = static_cast<uint64_t>(range.low) + (span == 0 ? h : h % span);
      result.words()[i] = static_cast<uint64_t>(wrapInteger(type, static_cast<int64_t>(value)));
    }
  }
  return result;
}

} // namespace tilewright
