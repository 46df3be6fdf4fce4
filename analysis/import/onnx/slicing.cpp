// Ops that take parts of a tensor, and that put something around it.
#include "analysis/import/onnx/node.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

namespace tilewright::onnx_format {

namespace {

constexpr int64_t mostPadding = int64_t(1) << 40;

std::vector<SliceDim> wholeSlices(const Dims &dims) {
  std::vector<SliceDim> slices;
  for (int64_t extent : dims)
    slices.push_back({0, extent, 1});
  return slices;
}

} // namespace

bool lowerSplit(Node &n) {
  size_t axis = 0;
  Dims sizes;
  bool isGiven = false;
  if (!n.isTensor(0) || !n.axisOf(n.integer("axis", 0), n.rank(0), axis) ||
      !n.integersOfEither("split", 1, isGiven, sizes))
    return false;
  const int64_t extent = n.dims(0)[axis], parts = static_cast<int64_t>(n.outputCount());
  if (!isGiven) { // of equal size, the last one smaller
    if (parts == 0)
      return n.fail("there are no outputs");
    const int64_t each = (extent + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i)
      sizes.push_back(std::clamp<int64_t>(extent - i * each, 0, each));
  }
  int64_t sum = 0;
  for (int64_t size : sizes) {
    if (size < 0 || size > extent)
      return n.fail(fmt::format("a part of {} elements", size));
    sum += size;
  }
  if (sum != extent || sizes.size() != n.outputCount())
    return n.fail(fmt::format("parts [{}] don't make up {} elements in {} outputs",
                              fmt::join(sizes, ","), extent, parts));
  const OpId x = n.input(0);
  std::vector<OpId> results;
  int64_t at = 0;
  for (int64_t size : sizes) {
    results.push_back(n.slice(x, axis, at, at + size));
    at += size;
  }
  return n.finish(std::move(results));
}

namespace {

/// Starts and ends count from the end where they are negative, and are clamped.
SliceDim clampedSlice(int64_t start, int64_t end, int64_t step, int64_t extent, bool &isReversed) {
  auto place = [&](int64_t value, int64_t least, int64_t most) {
    if (value < 0)
      value = value < -extent ? -1 - (step > 0) : value + extent;
    return std::clamp(value, least, most);
  };
  isReversed = step < 0;
  if (step > 0) {
    const int64_t from = place(start, 0, extent), to = place(end, 0, extent);
    return {from, std::max(from, to), std::min(step, std::max<int64_t>(1, extent))};
  }
  const int64_t from = place(start, -1, extent - 1), to = place(end, -1, extent - 1);
  // Elements from, from + step, … above `to`: the same of the reversed dim.
  const int64_t first = extent - 1 - from, last = extent - 1 - to;
  const int64_t stride = step < -extent ? std::max<int64_t>(1, extent) : -step;
  return {first, std::max(first, last), stride};
}

} // namespace

bool lowerSlice(Node &n) {
  Dims starts, ends, given, steps;
  bool hasStarts = false, hasEnds = false, hasAxes = false;
  if (!n.isTensor(0) || !n.integersOfEither("starts", 1, hasStarts, starts) ||
      !n.integersOfEither("ends", 2, hasEnds, ends) ||
      !n.integersOfEither("axes", 3, hasAxes, given) || (n.hasInput(4) && !n.integersOf(4, steps)))
    return false;
  if (!hasAxes) {
    given.resize(starts.size());
    std::iota(given.begin(), given.end(), 0);
  }
  if (steps.empty())
    steps.assign(starts.size(), 1);
  if (starts.size() != ends.size() || starts.size() != given.size() ||
      starts.size() != steps.size())
    return n.fail(fmt::format("{} starts, {} ends, {} axes and {} steps", starts.size(),
                              ends.size(), given.size(), steps.size()));
  const Dims dims = n.dims(0);
  std::vector<SliceDim> slices = wholeSlices(dims);
  Dims reversed, seen;
  if (!n.axesOf(given, dims.size(), seen))
    return false;
  for (size_t i = 0; i < given.size(); ++i) {
    size_t axis = 0;
    bool isReversed = false;
    if (!n.axisOf(given[i], dims.size(), axis))
      return false;
    if (steps[i] == 0)
      return n.fail("a step is 0");
    slices[axis] = clampedSlice(starts[i], ends[i], steps[i], dims[axis], isReversed);
    if (isReversed)
      reversed.push_back(static_cast<int64_t>(axis));
  }
  std::sort(reversed.begin(), reversed.end());
  return n.finish(n.slice(n.reverse(n.input(0), reversed), slices));
}

namespace {

/// Padding of one dim by elements of the tensor: the edge's, or those behind it as in a mirror, or
/// from the other end.
OpId paddedBy(Node &n, OpId x, size_t dim, int64_t low, int64_t high, const std::string &mode) {
  const Dims dims = n.shapeOf(x).dims;
  const int64_t extent = dims[dim];
  auto edge = [&](int64_t at, int64_t count) {
    Dims wide = dims;
    wide[dim] = count;
    return n.spread(n.slice(x, dim, at, at + 1), wide);
  };
  std::vector<OpId> parts;
  const Dims reversed = {static_cast<int64_t>(dim)};
  if (low > 0)
    parts.push_back(mode == "edge"   ? edge(0, low)
                    : mode == "wrap" ? n.slice(x, dim, extent - low, extent)
                                     : n.reverse(n.slice(x, dim, 1, low + 1), reversed));
  parts.push_back(x);
  if (high > 0)
    parts.push_back(mode == "edge" ? edge(extent - 1, high)
                    : mode == "wrap"
                        ? n.slice(x, dim, 0, high)
                        : n.reverse(n.slice(x, dim, extent - 1 - high, extent - 1), reversed));
  return n.concatenate(parts, dim);
}

} // namespace

bool lowerPad(Node &n) {
  Dims pads, axes;
  bool isGiven = false;
  const char *name = n.has("paddings") ? "paddings" : "pads";
  if (!n.isTensor(0) || !n.integersOfEither(name, 1, isGiven, pads))
    return false;
  const Dims dims = n.dims(0);
  Dims places(dims.size());
  std::iota(places.begin(), places.end(), 0);
  if (n.hasInput(3)) {
    Dims given;
    if (!n.integersOf(3, given) || !n.axesOf(given, dims.size(), axes))
      return false;
    places.clear();
    for (int64_t axis : given)
      places.push_back(axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis);
  }
  if (!isGiven || pads.size() != 2 * places.size())
    return n.fail(fmt::format("{} paddings for {} dims", pads.size(), places.size()));
  const std::string mode = n.text("mode", "constant");
  std::vector<PadDim> dense(dims.size());
  for (size_t i = 0; i < places.size(); ++i) {
    const int64_t low = pads[i], high = pads[i + places.size()];
    const auto d = static_cast<size_t>(places[i]);
    if (!isWithin(low, mostPadding) || !isWithin(high, mostPadding) || dims[d] + low + high < 0)
      return n.fail(
          fmt::format("dim {} of {} elements is padded by {} and {}", d, dims[d], low, high));
    dense[d] = {low, high, 0};
  }
  OpId x = n.input(0);
  if (mode != "constant") {
    if (mode != "edge" && mode != "reflect" && mode != "wrap")
      return n.fail(fmt::format("the mode is '{}'", mode));
    for (size_t d = 0; d < dims.size(); ++d) {
      const int64_t most = mode == "edge"   ? (dims[d] ? mostPadding : 0)
                           : mode == "wrap" ? dims[d]
                                            : dims[d] - 1;
      if (std::min(dense[d].low, dense[d].high) < 0 ||
          std::max(dense[d].low, dense[d].high) > std::max<int64_t>(0, most))
        return n.refuse(fmt::format("dim {} of {} elements is padded by {} and {}, mode {}", d,
                                    dims[d], dense[d].low, dense[d].high, mode));
      x = paddedBy(n, x, d, dense[d].low, dense[d].high, mode);
    }
    return n.finish(x);
  }
  OpId value;
  if (n.hasInput(2)) {
    if (!n.isTensor(2) || n.shape(2).elementCount() != 1 || n.dtype(2) != n.dtype(0))
      return n.fail("the padding's value is not one number of the input's type");
    value = n.reshape(n.input(2), {});
  } else {
    value = n.number(Shape::tensor(n.dtype(0), {}), n.real("value", 0));
  }
  return n.finish(n.pad(x, value, dense));
}

} // namespace tilewright::onnx_format
