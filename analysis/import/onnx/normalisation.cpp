#include "analysis/import/onnx/node.h"
#include "analysis/import/onnx/proto.h"

#include <fmt/format.h>
#include <numeric>

namespace tilewright::onnx_format {

namespace {

struct Moments {
  OpId mean, variance; ///< over the reduced dims
};

double countOf(const Dims &dims, const Dims &axes) {
  double count = 1;
  for (int64_t axis : axes)
    count *= static_cast<double>(dims[static_cast<size_t>(axis)]);
  return count;
}

Moments momentsOf(Builder &b, OpId x, const Dims &axes) {
  const Dims dims = b.shapeOf(x).dims;
  const double count = countOf(dims, axes);
  const OpId mean = b.binary(Opcode::Divide, b.reduce(x, Opcode::Add, axes), count);
  const OpId away = b.minus(x, b.spreadOver(mean, dims, axes));
  const OpId squares = b.reduce(b.times(away, away), Opcode::Add, axes);
  return {mean, b.binary(Opcode::Divide, squares, count)};
}

/// (x - mean) / √(variance + ε)
OpId standardised(Builder &b, OpId x, const Moments &moments, const Dims &axes, double epsilon) {
  const Dims dims = b.shapeOf(x).dims;
  const OpId scale = b.unary(Opcode::Rsqrt, b.binary(Opcode::Add, moments.variance, epsilon));
  return b.times(b.minus(x, b.spreadOver(moments.mean, dims, axes)),
                 b.spreadOver(scale, dims, axes));
}

Dims axesFrom(size_t first, size_t rank) {
  Dims axes(rank > first ? rank - first : 0);
  std::iota(axes.begin(), axes.end(), static_cast<int64_t>(first));
  return axes;
}

/// Inputs that hold one number for each channel.
bool hasChannelInputs(Node &n, size_t first, size_t last) {
  if (!n.isTensor(0))
    return false;
  if (n.rank(0) < 2 || !isFloat(n.dtype(0)))
    return n.fail(fmt::format("{} has no channels", n.shape(0).str(false)));
  for (size_t i = first; i <= last; ++i)
    if (!n.isTensor(i) || n.dims(i) != Dims{n.dims(0)[1]} || !isFloat(n.dtype(i)))
      return n.fail(
          fmt::format("input {} is not one number for each of {} channels", i, n.dims(0)[1]));
  return true;
}

} // namespace

bool lowerBatchNormalization(Node &n) {
  if (!hasChannelInputs(n, 1, 4))
    return false;
  if (n.opset < 9 && n.integer("spatial", 1) == 0)
    return n.refuse("one number for each element is not lowered");
  const DType type = n.dtype(0);
  const Dims dims = n.dims(0);
  const OpId x = n.input(0);
  const bool isTraining =
      n.integer("training_mode", 0) != 0 || (n.opset < 7 && n.integer("is_test", 0) == 0);
  if (!isTraining && n.wants(1))
    return n.refuse("statistics of a batch are results in training only");
  auto channel = [&](size_t i) { return n.convert(n.input(i), type); };
  Dims axes = {0};
  for (int64_t axis : axesFrom(2, dims.size()))
    axes.push_back(axis);
  const Moments moments = isTraining ? momentsOf(n, x, axes) : Moments{channel(3), channel(4)};
  const double epsilon = n.real("epsilon", 1e-5f);
  const OpId y =
      n.plus(n.times(standardised(n, x, moments, axes, epsilon), n.along(channel(1), dims, 1)),
             n.along(channel(2), dims, 1));
  std::vector<OpId> results = {y};
  const double momentum = n.real("momentum", 0.9f);
  for (size_t i : {1, 2})
    if (isTraining && n.opset >= 14) {
      const OpId now = i == 1 ? moments.mean : moments.variance;
      const OpId before = n.binary(Opcode::Multiply, channel(i + 2), momentum);
      const OpId sum = n.plus(before, n.binary(Opcode::Multiply, now, 1 - momentum));
      results.push_back(n.convert(sum, n.dtype(i + 2)));
    }
  return n.finish(std::move(results));
}

bool lowerInstanceNormalization(Node &n) {
  if (!hasChannelInputs(n, 1, 2))
    return false;
  const OpId x = n.input(0);
  const Dims dims = n.dims(0), axes = axesFrom(2, dims.size());
  const OpId y = standardised(n, x, momentsOf(n, x, axes), axes, n.real("epsilon", 1e-5f));
  return n.finish(n.plus(n.times(y, n.along(n.input(1), dims, 1)), n.along(n.input(2), dims, 1)));
}

/// Channels in groups. Scale and bias are given for each group before opset 21, then for each
/// channel.
bool lowerGroupNormalization(Node &n) {
  if (!n.isTensor(0) || !n.isTensor(1) || !n.isTensor(2))
    return false;
  const Dims dims = n.dims(0);
  const int64_t groups = n.integer("num_groups", 0);
  if (dims.size() < 2 || groups < 1 || dims[1] % groups != 0 || n.rank(1) != 1 ||
      n.dims(1) != n.dims(2) || (n.dims(1)[0] != groups && n.dims(1)[0] != dims[1]))
    return n.fail(fmt::format("{} in {} groups", n.shape(0).str(false), groups));
  Dims split = {dims[0], groups, dims[1] / groups};
  split.insert(split.end(), dims.begin() + 2, dims.end());
  const Dims axes = axesFrom(2, split.size());
  const OpId x = n.reshape(n.input(0), split);
  const OpId y = standardised(n, x, momentsOf(n, x, axes), axes, n.real("epsilon", 1e-5f));
  auto scale = [&](size_t i) {
    const OpId given = n.convert(n.input(i), n.dtype(0));
    if (n.dims(1)[0] == dims[1])
      return n.along(given, dims, 1);
    return n.reshape(n.along(given, split, 1), dims);
  };
  return n.finish(n.plus(n.times(n.reshape(y, dims), scale(1)), scale(2)));
}

bool lowerRmsNormalization(Node &n) {
  size_t axis = 0;
  if (!n.isTensor(0) || !n.isTensor(1) || !n.axisOf(n.integer("axis", -1), n.rank(0), axis))
    return false;
  const Dims dims = n.dims(0), axes = axesFrom(axis, dims.size());
  const DType type = n.dtype(0);
  const std::optional<DType> inner = elementType(static_cast<int>(n.integer("stash_type", 1)));
  if (!inner || !n.spreads(n.dims(1), dims))
    return n.fail("the inner type is none, or the scale doesn't fit");
  const OpId x = n.convert(n.input(0), *inner);
  const OpId mean =
      n.binary(Opcode::Divide, n.reduce(n.times(x, x), Opcode::Add, axes), countOf(dims, axes));
  const OpId root = n.unary(Opcode::Rsqrt, n.binary(Opcode::Add, mean, n.real("epsilon", 1e-5f)));
  const OpId y = n.convert(n.times(x, n.spreadOver(root, dims, axes)), type);
  return n.finish(n.times(y, n.spread(n.convert(n.input(1), type), dims)));
}

/// x / (bias + alpha / size · Σ x²)^beta, the sum over neighbouring channels.
bool lowerLrn(Node &n) {
  if (!n.isTensor(0))
    return false;
  const Shape shape = n.shape(0);
  const int64_t size = n.integer("size", 0);
  if (shape.rank() < 2 || size < 1 || size > (1 << 20))
    return n.fail(fmt::format("{} channels of {}", size, shape.str(false)));
  const OpId x = n.input(0);
  OpAttributes attrs;
  attrs.window.resize(shape.rank());
  attrs.window[1].size = size;
  attrs.window[1].padLow = (size - 1) / 2;
  attrs.window[1].padHigh = size - 1 - (size - 1) / 2;
  const OpId zero = n.constant(shape.dtype, "0");
  const OpId sums = n.add(Opcode::ReduceWindow, Shape::tensor(shape.dtype, shape.dims),
                          {n.times(x, x), zero}, attrs);
  n.scope.graph.op(sums).called = {
      {CallRole::ToApply, n.computations.reducer(Opcode::Add, shape.dtype)}};
  const double alpha = n.real("alpha", 0.0001f), bias = n.real("bias", 1),
               beta = n.real("beta", 0.75f);
  const OpId inner = n.binary(
      Opcode::Add, n.binary(Opcode::Multiply, sums, alpha / static_cast<double>(size)), bias);
  return n.finish(n.over(x, n.binary(Opcode::Power, inner, beta)));
}

} // namespace tilewright::onnx_format
