// Ops that move elements.
#include "analysis/import/onnx/node.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

namespace tilewright::onnx_format {

namespace {

constexpr int64_t mostPadding = int64_t(1) << 40;

int64_t product(const Dims &dims) {
  int64_t all = 1;
  for (int64_t extent : dims)
    all *= extent;
  return all;
}

std::vector<SliceDim> wholeSlices(const Dims &dims) {
  std::vector<SliceDim> slices;
  for (int64_t extent : dims)
    slices.push_back({0, extent, 1});
  return slices;
}

} // namespace

/// A 0 keeps the input's extent (unless `allowzero`), one -1 is what remains.
bool lowerReshape(Node &n) {
  Dims wanted;
  bool isGiven = false;
  if (!n.isTensor(0) || !n.integersOfEither("shape", 1, isGiven, wanted))
    return false;
  if (!isGiven)
    return n.fail("no shape is given");
  const Dims from = n.dims(0);
  const int64_t count = product(from);
  int64_t rest = -1, known = 1;
  for (size_t d = 0; d < wanted.size(); ++d) {
    if (wanted[d] == 0 && !n.integer("allowzero", 0)) {
      if (d >= from.size())
        return n.fail(fmt::format("dim {} of the shape is 0, but the input has {}", d, from.size()));
      wanted[d] = from[d];
    }
    if (wanted[d] == -1 && rest < 0)
      rest = static_cast<int64_t>(d);
    else if (wanted[d] < 0)
      return n.fail(fmt::format("shape [{}] is none", fmt::join(wanted, ",")));
    else if (__builtin_mul_overflow(known, wanted[d], &known))
      return n.fail("the shape has too many elements");
  }
  if (rest >= 0) {
    if (known == 0 || count % known != 0)
      return n.fail(fmt::format("{} elements don't divide by shape [{}]", count,
                                fmt::join(wanted, ",")));
    wanted[static_cast<size_t>(rest)] = count / known;
  } else if (known != count) {
    return n.fail(fmt::format("shape [{}] has {} elements, the input {}", fmt::join(wanted, ","),
                              known, count));
  }
  return n.finish(n.reshape(n.input(0), wanted));
}

bool lowerFlatten(Node &n) {
  size_t axis = 0;
  if (!n.isTensor(0))
    return false;
  const Dims dims = n.dims(0);
  const int64_t value = n.integer("axis", 1);
  if (value == static_cast<int64_t>(dims.size()))
    axis = dims.size();
  else if (!n.axisOf(value, dims.size(), axis))
    return false;
  const auto split = dims.begin() + static_cast<std::ptrdiff_t>(axis);
  return n.finish(n.reshape(
      n.input(0), {product(Dims(dims.begin(), split)), product(Dims(split, dims.end()))}));
}

bool lowerSqueeze(Node &n) {
  Dims values, axes;
  bool isGiven = false;
  if (!n.isTensor(0) || !n.integersOfEither("axes", 1, isGiven, values) ||
      !n.axesOf(values, n.rank(0), axes))
    return false;
  const Dims dims = n.dims(0);
  for (size_t d = 0; !isGiven && d < dims.size(); ++d)
    if (dims[d] == 1)
      axes.push_back(static_cast<int64_t>(d));
  for (int64_t axis : axes)
    if (dims[static_cast<size_t>(axis)] != 1)
      return n.fail(fmt::format("dim {} of {} is not 1", axis, n.shape(0).str(false)));
  return n.finish(n.reshape(n.input(0), without(dims, axes)));
}

bool lowerUnsqueeze(Node &n) {
  Dims values, axes;
  bool isGiven = false;
  if (!n.isTensor(0) || !n.integersOfEither("axes", 1, isGiven, values) ||
      !n.axesOf(values, n.rank(0) + values.size(), axes))
    return false;
  Dims dims = n.dims(0);
  for (int64_t axis : axes)
    dims.insert(dims.begin() + axis, 1);
  return n.finish(n.reshape(n.input(0), dims));
}

bool lowerTranspose(Node &n) {
  if (!n.isTensor(0))
    return false;
  Dims reversed(n.rank(0)), sorted;
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const Dims permutation = n.integers("perm", reversed);
  if (permutation.size() != reversed.size() || !n.axesOf(permutation, n.rank(0), sorted) ||
      std::any_of(permutation.begin(), permutation.end(), [](int64_t d) { return d < 0; }))
    return n.fail(fmt::format("[{}] is no order of {} dims", fmt::join(permutation, ","),
                              reversed.size()));
  return n.finish(n.transpose(n.input(0), permutation));
}

bool lowerConcat(Node &n) {
  size_t axis = 0;
  std::vector<OpId> parts;
  if (!n.isTensor(0) || (n.opset >= 4 && !n.has("axis") && !n.fail("the axis is missing")) ||
      !n.axisOf(n.integer("axis", 1), n.rank(0), axis))
    return false;
  for (size_t i = 0; i < n.inputCount(); ++i) {
    if (!n.isTensor(i))
      return false;
    Dims expected = n.dims(0);
    if (n.rank(i) == expected.size())
      expected[axis] = n.dims(i)[axis];
    if (n.dims(i) != expected || n.dtype(i) != n.dtype(0))
      return n.fail(fmt::format("inputs {} and {} can't be joined", n.shape(0).str(false),
                                n.shape(i).str(false)));
    parts.push_back(n.input(i));
  }
  return n.finish(n.concatenate(parts, axis));
}

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
      !n.integersOfEither("axes", 3, hasAxes, given) ||
      (n.hasInput(4) && !n.integersOf(4, steps)))
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
    parts.push_back(
        mode == "edge"   ? edge(extent - 1, high)
        : mode == "wrap" ? n.slice(x, dim, 0, high)
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
    if (std::max(std::abs(low), std::abs(high)) > mostPadding || dims[d] + low + high < 0)
      return n.fail(fmt::format("dim {} of {} elements is padded by {} and {}", d, dims[d], low,
                                high));
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
      if (std::min(dense[d].low, dense[d].high) < 0 || std::max(dense[d].low, dense[d].high) > std::max<int64_t>(0, most))
        return n.refuse(fmt::format("dim {} of {} elements is padded by {} and {}, mode {}", d,
                                    dims[d], dense[d].low, dense[d].high, mode));
      x = paddedBy(n, x, d, dense[d].low, dense[d].high, mode);
    }
    return n.finish(x);
  }
  OpId value;
  if (n.hasInput(2)) {
    if (!n.isTensor(2) || product(n.dims(2)) != 1 || n.dtype(2) != n.dtype(0))
      return n.fail("the padding's value is not one number of the input's type");
    value = n.reshape(n.input(2), {});
  } else {
    value = n.number(Shape::tensor(n.dtype(0), {}), n.real("value", 0));
  }
  return n.finish(n.pad(x, value, dense));
}

bool lowerTile(Node &n) {
  Dims repeats;
  if (!n.isTensor(0) || (n.opset < 6 && !n.refuse("as it was before opset 6 it is not lowered")) ||
      !n.integersOf(1, repeats))
    return false;
  const Dims dims = n.dims(0);
  if (repeats.size() != dims.size())
    return n.fail(fmt::format("{} repeats for {} dims", repeats.size(), dims.size()));
  Dims wide, flat, places;
  for (size_t d = 0; d < dims.size(); ++d) {
    int64_t extent = 0;
    if (repeats[d] < 0 || __builtin_mul_overflow(repeats[d], dims[d], &extent))
      return n.fail(fmt::format("dim {} is repeated {} times", d, repeats[d]));
    wide.push_back(repeats[d]);
    places.push_back(static_cast<int64_t>(wide.size()));
    wide.push_back(dims[d]);
    flat.push_back(extent);
  }
  if (flat == dims)
    return n.finish(n.input(0));
  return n.finish(
      n.reshape(n.broadcast(n.input(0), Shape::tensor(n.dtype(0), wide), places), flat));
}

bool lowerExpand(Node &n) {
  Dims wanted, dims;
  if (!n.isTensor(0) || !n.integersOf(1, wanted))
    return false;
  for (int64_t extent : wanted)
    if (extent < 0)
      return n.fail(fmt::format("an extent is {}", extent));
  if (!n.commonDims({n.dims(0), wanted}, dims))
    return false;
  return n.finish(n.spread(n.input(0), dims));
}

namespace {

bool blockOf(Node &n, int64_t &block) {
  block = n.integer("blocksize", 0);
  if (!n.isTensor(0))
    return false;
  if (n.rank(0) != 4 || block < 1 || block > (1 << 20))
    return n.fail(fmt::format("blocks of {} in {}", block, n.shape(0).str(false)));
  return true;
}

} // namespace

bool lowerDepthToSpace(Node &n) {
  int64_t b = 0;
  if (!blockOf(n, b))
    return false;
  const Dims d = n.dims(0);
  if (d[1] % (b * b) != 0)
    return n.fail(fmt::format("{} channels don't divide by {}", d[1], b * b));
  const int64_t c = d[1] / (b * b);
  const OpId x = n.input(0);
  const OpId moved =
      n.text("mode", "DCR") == "CRD"
          ? n.transpose(n.reshape(x, {d[0], c, b, b, d[2], d[3]}), {0, 1, 4, 2, 5, 3})
          : n.transpose(n.reshape(x, {d[0], b, b, c, d[2], d[3]}), {0, 3, 4, 1, 5, 2});
  return n.finish(n.reshape(moved, {d[0], c, d[2] * b, d[3] * b}));
}

bool lowerSpaceToDepth(Node &n) {
  int64_t b = 0;
  if (!blockOf(n, b))
    return false;
  const Dims d = n.dims(0);
  if (d[2] % b != 0 || d[3] % b != 0)
    return n.fail(fmt::format("{} by {} elements don't divide by {}", d[2], d[3], b));
  const OpId split = n.reshape(n.input(0), {d[0], d[1], d[2] / b, b, d[3] / b, b});
  return n.finish(
      n.reshape(n.transpose(split, {0, 3, 5, 1, 2, 4}), {d[0], d[1] * b * b, d[2] / b, d[3] / b}));
}

/// Element t of a sequence of length L comes from L - 1 - t, behind its end from t itself.
bool lowerReverseSequence(Node &n) {
  if (!n.isTensor(0) || !n.isTensor(1))
    return false;
  const Dims dims = n.dims(0);
  const int64_t batch = n.integer("batch_axis", 1), time = n.integer("time_axis", 0);
  if (dims.size() < 2 || batch + time != 1 || (batch != 0 && batch != 1) || n.rank(1) != 1 ||
      n.dims(1)[0] != dims[static_cast<size_t>(batch)] || !isInteger(n.dtype(1)))
    return n.fail("the axes are not 0 and 1, or there is not one length for each sequence");
  OpId x = n.input(0);
  Dims order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[0], order[1]);
  if (batch == 1)
    x = n.transpose(x, order); // [batch, time, …]
  const Dims now = n.shapeOf(x).dims;
  const Dims grid = {now[0], now[1]};
  const OpId length = n.along(n.convert(n.input(1), DType::S64), grid, 0);
  const OpId t = n.iota(DType::S64, grid, 1);
  const OpId mirrored = n.binary(Opcode::Subtract, n.minus(length, t), 1.0);
  const OpId from = n.select(n.compare(t, Comparison::Lt, length), mirrored, t);
  const OpId indices = n.reshape(from, {now[0], now[1], 1});
  GatherDims gather;
  gather.operandBatchingDims = {0};
  gather.startIndicesBatchingDims = {0};
  gather.startIndexMap = {1};
  gather.collapsedSliceDims = {1};
  gather.indexVectorDim = 2;
  gather.sliceSizes = now;
  gather.sliceSizes[0] = gather.sliceSizes[1] = 1;
  for (size_t d = 2; d < now.size(); ++d)
    gather.offsetDims.push_back(static_cast<int64_t>(d));
  OpId y = n.gather(x, indices, std::move(gather), now);
  if (batch == 1)
    y = n.transpose(y, order);
  return n.finish(y);
}

/// Keeps what is above (or below) the k-th diagonal.
bool lowerTrilu(Node &n) {
  if (!n.isTensor(0))
    return false;
  const Dims dims = n.dims(0);
  if (dims.size() < 2)
    return n.fail(fmt::format("{} is no matrix", n.shape(0).str(false)));
  const OpId x = n.input(0);
  const OpId row = n.iota(DType::S64, dims, dims.size() - 2),
             column = n.iota(DType::S64, dims, dims.size() - 1);
  OpId diagonal = n.numberLike(row, 0);
  if (n.hasInput(1)) {
    if (!n.isTensor(1) || product(n.dims(1)) != 1 || n.dtype(1) != DType::S64)
      return n.fail("k is not one integer");
    diagonal = n.broadcast(n.reshape(n.input(1), {}), n.shapeOf(row));
  }
  const bool isUpper = n.integer("upper", 1) != 0;
  const OpId isKept = n.compare(n.minus(column, row), isUpper ? Comparison::Ge : Comparison::Le,
                                diagonal);
  return n.finish(n.select(isKept, x, n.numberLike(x, 0)));
}

} // namespace tilewright::onnx_format
