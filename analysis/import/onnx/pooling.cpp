#include "analysis/import/onnx/window.h"
#include "analysis/ir/infer_shape.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace tilewright::onnx_format {

namespace {

/// Dims that windows result in; empty after an error.
Dims pooledDims(Node &n, const Dims &dims, const std::vector<WindowDim> &window) {
  Dims out = {dims[0], dims[1]};
  for (size_t d = 2; d < dims.size(); ++d) {
    const std::optional<int64_t> places = windowPositions(window[d], dims[d]);
    if (!places) {
      n.fail("the window is too large");
      return {};
    }
    out.push_back(*places);
  }
  return out;
}

OpId reduceWindows(Node &n, OpId x, const std::vector<WindowDim> &window, Opcode opcode,
                   const Dims &dims) {
  const DType type = n.shapeOf(x).dtype;
  OpAttributes attrs;
  attrs.window = window;
  const OpId init = n.constant(type, identityOf(opcode, type));
  const OpId id = n.add(Opcode::ReduceWindow, Shape::tensor(type, dims), {x, init}, attrs);
  n.scope.graph.op(id).called = {{CallRole::ToApply, n.computations.reducer(opcode, type)}};
  return id;
}

constexpr int64_t mostPlaces = 1 << 16; ///< along a dim, whose windows are counted one by one

/// How many elements each window has along one dim: of the input, with `includesPads` also of its
/// padding, never of what lies behind that.
Dims countsAlong(const WindowDim &dim, int64_t extent, int64_t beyond, int64_t places,
                 bool includesPads) {
  Dims counts;
  const int64_t first = includesPads ? -dim.padLow : 0;
  const int64_t last = includesPads ? extent + dim.padHigh - beyond : extent;
  auto stepsTo = [&](int64_t place) { // elements of the window in front of it
    const int64_t steps = (place + dim.windowDilation - 1) / dim.windowDilation;
    return std::clamp<int64_t>(place <= 0 ? 0 : steps, 0, dim.size);
  };
  for (int64_t o = 0; o < places; ++o) {
    const int64_t begin = o * dim.stride - dim.padLow;
    counts.push_back(std::max<int64_t>(0, stepsTo(last - begin) - stepsTo(first - begin)));
  }
  return counts;
}

/// Sums over the numbers of elements in the windows.
OpId averaged(Node &n, OpId sums, const Dims &extents, const std::vector<WindowDim> &window,
              const Dims &beyond) {
  const Shape shape = n.shapeOf(sums);
  const bool includesPads = n.integer("count_include_pad", 0) != 0;
  OpId divisor;
  double common = 1;
  for (size_t d = 2; d < shape.rank(); ++d) {
    const bool isWhole = window[d].padLow == 0 && window[d].padHigh == 0;
    if (!isWhole && shape.dims[d] > mostPlaces) {
      n.refuse(fmt::format("{} windows along a dim with padding are not lowered", shape.dims[d]));
      return sums;
    }
    if (isWhole) {
      common *= static_cast<double>(window[d].size);
      continue;
    }
    const Dims counts =
        countsAlong(window[d], extents[d], beyond[d - 2], shape.dims[d], includesPads);
    if (counts.empty() || std::count(counts.begin(), counts.end(), counts[0]) == shape.dims[d]) {
      common *= counts.empty() ? 1 : static_cast<double>(counts[0]);
      continue;
    }
    const OpId along = n.along(n.integerList(shape.dtype, counts), shape.dims, d);
    divisor = divisor.isValid() ? n.times(divisor, along) : along;
  }
  if (!divisor.isValid())
    return n.binary(Opcode::Divide, sums, common);
  return n.over(sums, common == 1 ? divisor : n.binary(Opcode::Multiply, divisor, common));
}

/// The largest elements, and where they are in the flat input.
bool maxWithPlaces(Node &n, OpId x, const std::vector<WindowDim> &window, const Dims &dims) {
  const Shape shape = n.shapeOf(x);
  Dims order(shape.rank());
  std::iota(order.begin(), order.end(), 0);
  if (n.integer("storage_order", 0) != 0) // spatial dims from the first on vary fastest
    std::reverse(order.begin() + 2, order.end());
  int64_t stride = 1;
  OpId places;
  for (size_t i = order.size(); i-- > 0; stride *= shape.dims[static_cast<size_t>(order[i])]) {
    const OpId along =
        n.binary(Opcode::Multiply, n.iota(DType::S64, shape.dims, static_cast<size_t>(order[i])),
                 static_cast<double>(stride));
    places = places.isValid() ? n.plus(places, along) : along;
  }
  OpAttributes attrs;
  attrs.window = window;
  const OpId worst = n.constant(shape.dtype, lowestText(shape.dtype));
  const OpId none = n.constant(DType::S64, largestText(DType::S64));
  const OpId both =
      n.add(Opcode::ReduceWindow,
            Shape::tuple({Shape::tensor(shape.dtype, dims), Shape::tensor(DType::S64, dims)}),
            {x, places, worst, none}, attrs);
  n.scope.graph.op(both).called = {
      {CallRole::ToApply, n.computations.extreme(true, false, shape.dtype, DType::S64)}};
  return n.finish({n.scope.element(both, 0, SourceLoc{}), n.scope.element(both, 1, SourceLoc{})});
}

/// (Σ |x|^p)^(1/p)
OpId powersOf(Node &n, OpId x, double p) {
  const OpId magnitude = n.unary(Opcode::Abs, x);
  return p == 1 ? magnitude : n.binary(Opcode::Power, magnitude, p);
}

OpId rootOf(Node &n, OpId sum, double p) {
  return p == 1 ? sum : n.binary(Opcode::Power, sum, 1 / p);
}

bool isImage(Node &n) {
  if (!n.isTensor(0))
    return false;
  return n.rank(0) >= 3 || n.fail(fmt::format("{} has no dims to pool", n.shape(0).str(false)));
}

} // namespace

bool lowerPool(Node &n) {
  if (!isImage(n))
    return false;
  const Dims dims = n.dims(0), sizes = n.integers("kernel_shape");
  std::vector<WindowDim> window;
  Dims beyond;
  if (sizes.size() + 2 != dims.size())
    return n.fail(
        fmt::format("kernel_shape has {} numbers for {} dims", sizes.size(), dims.size() - 2));
  if (!windowOf(n, Dims(dims.begin() + 2, dims.end()), sizes, window, &beyond))
    return false;
  for (size_t d = 0; d < window.size(); ++d)
    window[d].padHigh += beyond[d];
  window = behindChannels(std::move(window));
  const Dims pooled = pooledDims(n, dims, window);
  if (pooled.empty())
    return false;
  OpId x = n.input(0);
  if (n.type() == "MaxPool")
    return n.wants(1) ? maxWithPlaces(n, x, window, pooled)
                      : n.finish(reduceWindows(n, x, window, Opcode::Maximum, pooled));
  if (!isFloat(n.dtype(0)))
    return n.fail(fmt::format("the input is {}", n.shape(0).str(false)));
  if (n.type() == "AveragePool")
    return n.finish(
        averaged(n, reduceWindows(n, x, window, Opcode::Add, pooled), dims, window, beyond));
  const auto p = static_cast<double>(n.integer("p", 2));
  return n.finish(rootOf(n, reduceWindows(n, powersOf(n, x, p), window, Opcode::Add, pooled), p));
}

bool lowerGlobalPool(Node &n) {
  if (!isImage(n))
    return false;
  const Dims dims = n.dims(0);
  Dims axes, kept = {dims[0], dims[1]};
  double count = 1;
  for (size_t d = 2; d < dims.size(); ++d) {
    axes.push_back(static_cast<int64_t>(d));
    kept.push_back(1);
    count *= static_cast<double>(dims[d]);
  }
  const OpId x = n.input(0);
  OpId y;
  if (n.type() == "GlobalMaxPool") {
    y = n.reduce(x, Opcode::Maximum, axes);
  } else if (n.type() == "GlobalAveragePool") {
    y = n.binary(Opcode::Divide, n.reduce(x, Opcode::Add, axes), count);
  } else {
    const auto p = static_cast<double>(n.integer("p", 2));
    y = rootOf(n, n.reduce(powersOf(n, x, p), Opcode::Add, axes), p);
  }
  return n.finish(n.reshape(y, kept));
}

} // namespace tilewright::onnx_format
