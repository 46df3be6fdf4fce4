// Tensor: the values that the reference evaluator works on.
//
// Elements stand in logical row-major order, whatever the shape's layout says; layouts matter only
// where bytes are made of them. One 64-bit word holds an element, a complex one takes two:
//   float types   a double
//   integers      an int64, sign- or zero-extended; u64 as its bit pattern
//   pred          0 or 1
//   complex       real part, then imaginary part, each a double
// token and opaque tensors hold no words.
#pragma once

#include "analysis/ir/fill.h"
#include "analysis/ir/shape.h"
#include "analysis/support/diag.h"

#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tilewright {

class Tensor {
public:
  Tensor() = default;

  /// All elements zero. Precondition: not a tuple, and elementCount() fits in memory.
  explicit Tensor(Shape shape);

  /// From values that the element type can hold; they are rounded or wrapped to it.
  static Tensor ofReals(Shape shape, std::span<const double> values);
  static Tensor ofIntegers(Shape shape, std::span<const int64_t> values);

  const Shape &shape() const { return tensorShape; }
  DType dtype() const { return tensorShape.dtype; }
  int64_t size() const { return count; }

  /// Words an element takes: 1, for complex 2.
  unsigned wordsPerElement() const { return width; }
  std::span<const uint64_t> words() const { return storage; }
  std::span<uint64_t> words() { return storage; }

  double real(int64_t i) const { return std::bit_cast<double>(storage[i]); }
  void setReal(int64_t i, double value) { storage[i] = std::bit_cast<uint64_t>(value); }
  int64_t integer(int64_t i) const { return static_cast<int64_t>(storage[i]); }
  void setInteger(int64_t i, int64_t value) { storage[i] = static_cast<uint64_t>(value); }
  std::complex<double> complex(int64_t i) const {
    return {std::bit_cast<double>(storage[2 * i]), std::bit_cast<double>(storage[2 * i + 1])};
  }
  void setComplex(int64_t i, std::complex<double> value) {
    storage[2 * i] = std::bit_cast<uint64_t>(value.real());
    storage[2 * i + 1] = std::bit_cast<uint64_t>(value.imag());
  }

  /// Element as a double, of any non-complex type.
  double asDouble(int64_t i) const;

  /// Row-major offset of an index. Precondition: the index is in bounds.
  int64_t offset(std::span<const int64_t> index) const;

  /// The same elements under another shape with as many elements and the same dtype.
  Tensor withShape(Shape shape) const;

private:
  Shape tensorShape;
  int64_t count = 0;
  unsigned width = 1;
  std::vector<uint64_t> storage;
};

/// Words an element of that type takes in a Tensor: 0 for token and opaque, 2 for complex.
unsigned wordsPerElement(DType type);

/// For each physical position (fastest-varying dim first by the layout), the logical row-major
/// position of the element there. Identity when no layout is given or it is row-major.
std::vector<int64_t> physicalOrder(const Shape &shape);

/// The tensor's memory: elements in physical order, little-endian, types under a byte packed from
/// the low bits up (the first s4 of a byte is its low nibble). Values are rounded to the type.
std::vector<std::byte> packTensor(const Tensor &tensor);

/// The inverse. Refuses a byte count other than the shape's.
llvm::Expected<Tensor> unpackTensor(const Shape &shape, std::span<const std::byte> bytes);

/// Deterministic values: element i (row-major) is WordFiller's word i, for complex types words 2i
/// and 2i + 1. Precondition: a tensor shape whose elementCount() fits in memory.
Tensor fillTensor(const Shape &shape, uint64_t seed, FillRange range = {});

} // namespace tilewright
