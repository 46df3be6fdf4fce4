#include "analysis/ir/shape.h"

#include "analysis/support/checked.h"
#include "analysis/support/printable.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilewright {

Shape Shape::tensor(DType dtype, std::vector<int64_t> dims) {
  Shape shape;
  shape.dtype = dtype;
  shape.dims = std::move(dims);
  return shape;
}

Shape Shape::tuple(std::vector<Shape> elements) {
  Shape shape;
  shape.isTuple = true;
  shape.elements = std::move(elements);
  return shape;
}

bool Shape::isDynamic() const {
  return std::find(dynamic.begin(), dynamic.end(), true) != dynamic.end() ||
         std::any_of(elements.begin(), elements.end(),
                     [](const Shape &element) { return element.isDynamic(); });
}

bool Shape::isUnbounded() const {
  for (size_t i = 0; i < dims.size() && i < dynamic.size(); ++i)
    if (dynamic[i] && dims[i] == unbounded)
      return true;
  return std::any_of(elements.begin(), elements.end(),
                     [](const Shape &element) { return element.isUnbounded(); });
}

std::optional<int64_t> Shape::elementCount() const {
  if (isTuple || isUnbounded())
    return std::nullopt;
  // A zero extent makes the tensor empty even when the product of the others overflows.
  if (std::find(dims.begin(), dims.end(), 0) != dims.end())
    return 0;
  std::optional<int64_t> count = 1;
  for (int64_t dim : dims) {
    count = checkedMul(*count, dim);
    if (!count)
      return std::nullopt;
  }
  return count;
}

std::optional<int64_t> Shape::byteSize() const {
  if (!isTuple) {
    std::optional<int64_t> count = elementCount();
    return count ? packedBytes(dtype, *count) : std::nullopt;
  }
  int64_t total = 0;
  for (const Shape &element : elements) {
    std::optional<int64_t> bytes = element.byteSize();
    std::optional<int64_t> sum = bytes ? checkedAdd(total, *bytes) : std::nullopt;
    if (!sum)
      return std::nullopt;
    total = *sum;
  }
  return total;
}

std::vector<int64_t> Shape::minorToMajorOrDefault() const {
  if (layout && layout->minorToMajor.size() == dims.size())
    return layout->minorToMajor;
  std::vector<int64_t> order(dims.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<int64_t>(order.size() - 1 - i);
  return order;
}

bool Shape::sameDimsAndType(const Shape &other) const {
  if (isTuple != other.isTuple || isBuffer != other.isBuffer ||
      elements.size() != other.elements.size())
    return false;
  if (!isTuple)
    return dtype == other.dtype && dims == other.dims;
  for (size_t i = 0; i < elements.size(); ++i)
    if (!elements[i].sameDimsAndType(other.elements[i]))
      return false;
  return true;
}

std::string Shape::str(bool withLayout) const {
  if (isTuple) {
    std::string out = "(";
    for (size_t i = 0; i < elements.size(); ++i)
      out += (i ? ", " : "") + elements[i].str(withLayout);
    return out + ")";
  }
  std::string out = isBuffer ? "b(" : "";
  out += toString(dtype);
  out += '[';
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool isDynamic = i < dynamic.size() && dynamic[i];
    out += i ? "," : "";
    out +=
        isDynamic && dims[i] == unbounded ? "?" : (isDynamic ? "<=" : "") + std::to_string(dims[i]);
  }
  out += ']';
  if (withLayout && layout && (!layout->minorToMajor.empty() || !layout->annotations.empty())) {
    out += fmt::format("{{{}", fmt::join(layout->minorToMajor, ","));
    if (!layout->annotations.empty())
      out += ":" + layout->annotations;
    out += "}";
  }
  return isBuffer ? out + ")" : out;
}

std::string briefText(const Shape &shape) {
  constexpr size_t longest = 160;
  return excerpt(shape.str(false), longest);
}

std::optional<std::vector<int64_t>> rowMajorStrides(const std::vector<int64_t> &dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    std::optional<int64_t> next = checkedMul(stride, dims[i]);
    if (!next)
      return std::nullopt;
    stride = *next;
  }
  return strides;
}

bool isRowMajor(const Shape &shape) {
  if (!shape.layout)
    return true;
  int64_t last = INT64_MAX;
  for (int64_t dim : shape.layout->minorToMajor) {
    if (dim < 0 || dim >= static_cast<int64_t>(shape.dims.size()))
      return false;
    if (shape.dims[static_cast<size_t>(dim)] == 1)
      continue;
    if (dim > last)
      return false;
    last = dim;
  }
  return true;
}

} // namespace tilewright
