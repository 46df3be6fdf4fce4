// Tensor and tuple shapes with their layouts.
#pragma once

#include "analysis/ir/dtype.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// Logical to physical order of a tensor's dims.
struct Layout {
  /// Dims from the fastest-varying one outwards: {1,0} is row-major for rank 2.
  std::vector<int64_t> minorToMajor;
  /// The rest of the layout braces, verbatim without the colon: "T(8,128)S(5)E(4)".
  std::string annotations;

  bool operator==(const Layout &) const = default;
};

/// A tensor shape, or a tuple of shapes.
struct Shape {
  DType dtype = DType::F32;
  /// Extents, each ≥ 0: for a bounded dynamic dim its bound, for one without a bound `unbounded`.
  std::vector<int64_t> dims;
  std::vector<bool> dynamic; ///< empty, or one flag a dim: true for `<=N` and `?`
  std::optional<Layout> layout;
  bool isTuple = false;
  bool isBuffer = false;       ///< `b(f32[4])`: a tensor that stays in one place in memory
  std::vector<Shape> elements; ///< of a tuple

  /// Extent of a dim that is written `?`.
  static constexpr int64_t unbounded = INT64_MAX;

  static Shape tensor(DType dtype, std::vector<int64_t> dims);
  static Shape tuple(std::vector<Shape> elements);

  unsigned rank() const { return static_cast<unsigned>(dims.size()); }
  bool isScalar() const { return !isTuple && dims.empty(); }

  /// Whether an extent is known at run time only, in a tuple that of any element.
  bool isDynamic() const;
  /// … and nothing bounds it.
  bool isUnbounded() const;

  /// Number of elements of a tensor (1 for a scalar), of a dynamic one as many as there can be.
  /// Nothing for a tuple, without a bound, or on overflow.
  std::optional<int64_t> elementCount() const;

  /// Bytes of a tensor when packed, of a tuple the sum of its leaves. Nothing on overflow.
  std::optional<int64_t> byteSize() const;

  /// The layout's order, or row-major where none is given.
  std::vector<int64_t> minorToMajorOrDefault() const;

  /// Same dtype and dims (recursively); layouts and which dims are dynamic are not looked at.
  bool sameDimsAndType(const Shape &other) const;

  bool operator==(const Shape &) const = default;

  /// HLO text: "bf16[1,2048]{1,0}", "(f32[], s32[4])".
  std::string str(bool withLayout = true) const;
};

/// str(false) for messages: cut short where it is long, as a loop's tuple of thousands can be.
std::string briefText(const Shape &shape);

/// True if a tensor lies in memory in row-major order; dims of extent 1 may have any place.
bool isRowMajor(const Shape &shape);

/// Row-major strides in elements: {20,5,1} for dims {3,4,5}. Nothing on overflow.
std::optional<std::vector<int64_t>> rowMajorStrides(const std::vector<int64_t> &dims);

} // namespace tilewright
