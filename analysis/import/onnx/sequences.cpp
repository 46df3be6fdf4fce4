// Sequences of tensors whose length is known: they are gone once they are lowered.
#include "analysis/import/onnx/reader.h"

#include <fmt/format.h>

namespace tilewright::onnx_format {

namespace {

Value listValue(std::vector<Value> elements) {
  Value value;
  value.list = std::make_shared<const std::vector<Value>>(std::move(elements));
  return value;
}

bool isList(Node &n, size_t i) {
  return (n.hasInput(i) && n.inputs[i]->list) || n.fail(fmt::format("input {} is no sequence", i));
}

/// A place in a list, the last one where none is given; `most` is the largest.
bool placeOf(Node &n, size_t i, int64_t length, int64_t most, size_t &out) {
  int64_t place = most;
  if (n.hasInput(i)) {
    if (!n.integerOf(i, place))
      return false;
    place += place < 0 ? length : 0;
  }
  if (place < 0 || place > most)
    return n.fail(fmt::format("element {} of a sequence of {}", place, length));
  out = static_cast<size_t>(place);
  return true;
}

} // namespace

bool lowerSequenceConstruct(Node &n) {
  std::vector<Value> elements;
  for (size_t i = 0; i < n.inputCount(); ++i) {
    if (!n.isTensor(i))
      return false;
    n.input(i);
    elements.push_back(*n.inputs[i]);
  }
  return n.finish(std::vector<Value>{listValue(std::move(elements))});
}

bool lowerSequenceAt(Node &n) {
  size_t place = 0;
  if (!isList(n, 0))
    return false;
  const std::vector<Value> &list = *n.inputs[0]->list;
  const auto length = static_cast<int64_t>(list.size());
  return placeOf(n, 1, length, length - 1, place) && n.finish(std::vector<Value>{list[place]});
}

bool lowerSequenceInsert(Node &n) {
  size_t place = 0;
  if (!isList(n, 0) || !n.isTensor(1))
    return false;
  std::vector<Value> list = *n.inputs[0]->list;
  const auto length = static_cast<int64_t>(list.size());
  if (!placeOf(n, 2, length, length, place))
    return false;
  n.input(1);
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(place), *n.inputs[1]);
  return n.finish(std::vector<Value>{listValue(std::move(list))});
}

bool lowerSequenceErase(Node &n) {
  size_t place = 0;
  if (!isList(n, 0))
    return false;
  std::vector<Value> list = *n.inputs[0]->list;
  const auto length = static_cast<int64_t>(list.size());
  if (!placeOf(n, 1, length, length - 1, place))
    return false;
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(place));
  return n.finish(std::vector<Value>{listValue(std::move(list))});
}

bool lowerSequenceLength(Node &n) {
  if (!isList(n, 0))
    return false;
  const auto length = static_cast<int64_t>(n.inputs[0]->list->size());
  return n.finishKnown(Tensor::ofIntegers(Shape::tensor(DType::S64, {}), {{length}}));
}

bool lowerSplitToSequence(Node &n) {
  size_t axis = 0;
  Dims sizes;
  if (!n.isTensor(0) || !n.axisOf(n.integer("axis", 0), n.rank(0), axis))
    return false;
  const int64_t extent = n.dims(0)[axis];
  const bool isEach = !n.hasInput(1);
  int64_t each = 1;
  if (!isEach) {
    if (!n.integersOf(1, sizes))
      return false;
    if (n.rank(1) == 0)
      each = sizes[0];
  }
  if (isEach || n.rank(1) == 0) {
    if (each < 1 || extent / each > (1 << 16))
      return n.fail(fmt::format("{} elements in parts of {}", extent, each));
    sizes.clear();
    for (int64_t at = 0; at < extent; at += each)
      sizes.push_back(std::min(each, extent - at));
  }
  const OpId x = n.input(0);
  const bool dropsDim = isEach && n.integer("keepdims", 1) == 0;
  std::vector<Value> parts;
  int64_t at = 0;
  for (int64_t size : sizes) {
    if (size < 0 || size > extent - at)
      return n.fail(fmt::format("parts end behind {} elements", extent));
    OpId part = n.slice(x, axis, at, at + size);
    at += size;
    if (dropsDim)
      part = n.reshape(part, without(n.shapeOf(part).dims, {static_cast<int64_t>(axis)}));
    parts.push_back(n.valueOf(part));
  }
  if (at != extent)
    return n.fail(fmt::format("parts have {} elements of {}", at, extent));
  return n.finish(std::vector<Value>{listValue(std::move(parts))});
}

bool lowerConcatFromSequence(Node &n) {
  if (!isList(n, 0))
    return false;
  std::vector<Value> list = *n.inputs[0]->list;
  const bool isNew = n.integer("new_axis", 0) != 0;
  size_t axis = 0;
  if (list.empty() || !n.has("axis"))
    return n.fail("the sequence is empty, or the axis is missing");
  if (!n.axisOf(n.integer("axis", 0), list[0].shape.rank() + isNew, axis))
    return false;
  std::vector<OpId> parts;
  for (Value &value : list) {
    Dims dims = list[0].shape.dims;
    if (!isNew && value.shape.rank() == dims.size())
      dims[axis] = value.shape.dims[axis];
    if (value.shape.dims != dims || value.shape.dtype != list[0].shape.dtype)
      return n.fail("its elements can't be joined");
    OpId part = n.reader.materialise(n.env, value, "element");
    if (isNew)
      dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    parts.push_back(n.reshape(part, dims));
  }
  return n.finish(n.concatenate(parts, axis));
}

} // namespace tilewright::onnx_format
