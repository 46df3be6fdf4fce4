// Ops that move elements.
#include "analysis/import/onnx/node.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

namespace tilewright::onnx_format {

namespace {

int64_t product(const Dims &dims) {
  int64_t all = 1;
  for (int64_t extent : dims)
    all *= extent;
  return all;
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
        return n.fail(
            fmt::format("dim {} of the shape is 0, but the input has {}", d, from.size()));
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
      return n.fail(
          fmt::format("{} elements don't divide by shape [{}]", count, fmt::join(wanted, ",")));
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
    return n.fail(
        fmt::format("[{}] is no order of {} dims", fmt::join(permutation, ","), reversed.size()));
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
  if (dims.size() < 2 || (batch != 0 && batch != 1) || time != 1 - batch || n.rank(1) != 1 ||
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
  const OpId isKept =
      n.compare(n.minus(column, row), isUpper ? Comparison::Ge : Comparison::Le, diagonal);
  return n.finish(n.select(isKept, x, n.numberLike(x, 0)));
}

} // namespace tilewright::onnx_format
