// Resize and Upsample: each dim by itself, from elements and weights that are known on import.
#include "analysis/import/onnx/node.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tilewright::onnx_format {

namespace {

/// How one dim is resized.
struct ResizeDim {
  int64_t from = 0, to = 0;
  double scale = 1;          ///< to / from, as given
  double begin = 0, end = 1; ///< of tf_crop_and_resize
};

struct ResizeMode {
  std::string mode, coordinates, nearest;
  bool excludesOutside = false;
  double cubic = -0.75, outside = 0;
};

/// Elements and weights that a result's element is a sum of; out of bounds: `isOutside`.
struct Taps {
  Dims elements;
  std::vector<double> weights;
  bool isOutside = false;
};

double sourcePlace(const ResizeDim &dim, const ResizeMode &mode, int64_t at) {
  const auto x = static_cast<double>(at), from = static_cast<double>(dim.from),
             to = static_cast<double>(dim.from) * dim.scale; // a fraction, as the scale is given
  const std::string &way = mode.coordinates;
  if (way == "asymmetric")
    return x / dim.scale;
  if (way == "align_corners")
    return dim.to == 1 ? 0 : x * (from - 1) / (to - 1);
  if (way == "pytorch_half_pixel")
    return dim.to > 1 ? (x + 0.5) / dim.scale - 0.5 : 0;
  if (way == "tf_half_pixel_for_nn")
    return (x + 0.5) / dim.scale;
  if (way == "tf_crop_and_resize")
    return dim.to > 1 ? dim.begin * (from - 1) + x * (dim.end - dim.begin) * (from - 1) / (to - 1)
                      : 0.5 * (dim.begin + dim.end) * (from - 1);
  if (way == "half_pixel_symmetric")
    return from / 2 * (1 - static_cast<double>(dim.to) / to) + (x + 0.5) / dim.scale - 0.5;
  return (x + 0.5) / dim.scale - 0.5;
}

double rounded(double place, const std::string &way) {
  if (way == "floor")
    return std::floor(place);
  if (way == "ceil")
    return std::ceil(place);
  return way == "round_prefer_ceil" ? std::floor(place + 0.5) : std::ceil(place - 0.5);
}

/// Keys' cubic convolution kernel.
double cubicWeight(double distance, double a) {
  const double d = std::abs(distance);
  if (d <= 1)
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

Taps tapsOf(const ResizeDim &dim, const ResizeMode &mode, int64_t at) {
  const double place = sourcePlace(dim, mode, at);
  Taps taps;
  taps.isOutside = mode.coordinates == "tf_crop_and_resize" &&
                   (place < 0 || place > static_cast<double>(dim.from - 1));
  auto clamped = [&](double index) {
    return static_cast<int64_t>(std::clamp(index, 0.0, static_cast<double>(dim.from - 1)));
  };
  if (mode.mode == "nearest") {
    taps.elements = {clamped(rounded(place, mode.nearest))};
    taps.weights = {1};
    return taps;
  }
  const double base = std::floor(place);
  const bool isCubic = mode.mode == "cubic";
  double sum = 0;
  for (int k = isCubic ? -1 : 0; k <= (isCubic ? 2 : 1); ++k) {
    const double element = base + k;
    double weight = isCubic ? cubicWeight(place - element, mode.cubic)
                            : std::max(0.0, 1 - std::abs(place - element));
    if (mode.excludesOutside && (element < 0 || element >= static_cast<double>(dim.from)))
      weight = 0;
    taps.elements.push_back(clamped(element));
    taps.weights.push_back(weight);
    sum += weight;
  }
  if (mode.excludesOutside && sum != 0)
    for (double &weight : taps.weights)
      weight /= sum;
  return taps;
}

/// Elements at those places along the dim.
OpId elementsAt(Node &n, OpId x, size_t dim, const Dims &places) {
  const Dims dims = n.shapeOf(x).dims;
  Dims result = dims;
  result[dim] = static_cast<int64_t>(places.size());
  // The same number of times each: without a gather.
  const int64_t times = dims[dim] > 0 ? result[dim] / dims[dim] : 0;
  bool isRepeated = times > 0 && times * dims[dim] == result[dim];
  for (size_t i = 0; isRepeated && i < places.size(); ++i)
    isRepeated = places[i] == static_cast<int64_t>(i) / times;
  if (isRepeated) {
    Dims wide = dims, kept;
    wide.insert(wide.begin() + static_cast<std::ptrdiff_t>(dim) + 1, times);
    for (size_t d = 0; d < wide.size(); ++d)
      if (d != dim + 1)
        kept.push_back(static_cast<int64_t>(d));
    return n.reshape(n.broadcast(x, Shape::tensor(n.shapeOf(x).dtype, wide), kept), result);
  }
  GatherDims gather;
  gather.indexVectorDim = 1;
  gather.startIndexMap = gather.collapsedSliceDims = {static_cast<int64_t>(dim)};
  gather.sliceSizes = dims;
  gather.sliceSizes[dim] = 1;
  for (size_t d = 0; d < dims.size(); ++d)
    if (d != dim)
      gather.offsetDims.push_back(static_cast<int64_t>(d));
  return n.gather(x, n.integerList(DType::S64, places), std::move(gather), result);
}

/// Numbers that vary along one dim.
OpId numbersAlong(Node &n, Shape shape, size_t dim, const std::vector<double> &values) {
  if (std::count(values.begin(), values.end(), values[0]) == static_cast<int64_t>(values.size()))
    return n.number(shape, values[0]);
  const Shape line = Shape::tensor(shape.dtype, {static_cast<int64_t>(values.size())});
  return n.along(n.realList(line, values), shape.dims, dim);
}

OpId resizedDim(Node &n, OpId x, size_t d, const ResizeDim &dim, const ResizeMode &mode) {
  std::vector<Taps> taps;
  for (int64_t at = 0; at < dim.to; ++at)
    taps.push_back(tapsOf(dim, mode, at));
  OpId sum;
  for (size_t k = 0; k < taps[0].elements.size(); ++k) {
    Dims places;
    std::vector<double> weights;
    for (const Taps &one : taps) {
      places.push_back(one.elements[k]);
      weights.push_back(one.weights[k]);
    }
    OpId part = elementsAt(n, x, d, places);
    if (mode.mode != "nearest")
      part = n.times(part, numbersAlong(n, n.shapeOf(part), d, weights));
    sum = sum.isValid() ? n.plus(sum, part) : part;
  }
  std::vector<double> isOutside;
  for (const Taps &one : taps)
    isOutside.push_back(one.isOutside);
  if (std::count(isOutside.begin(), isOutside.end(), 1.0) == 0)
    return sum;
  const OpId mask = n.compare(numbersAlong(n, n.shapeOf(sum), d, isOutside), Comparison::Gt, 0.0);
  return n.select(mask, n.numberLike(sum, mode.outside), sum);
}

/// Which input holds what, by version.
struct ResizeInputs {
  size_t roi = 1, scales = 2, sizes = 3;
};

bool readDims(Node &n, const ResizeInputs &at, std::vector<ResizeDim> &out) {
  const Dims dims = n.dims(0);
  std::vector<double> scales = n.reals("scales"), roi;
  Dims sizes, axes;
  if (n.hasInput(at.scales) && !n.realsOf(at.scales, scales))
    return false;
  if (n.hasInput(at.sizes) && !n.integersOf(at.sizes, sizes))
    return false;
  if (n.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize" &&
      !n.realsOf(at.roi, roi))
    return false;
  const Dims given = n.integers("axes");
  for (size_t i = 0; i < (given.empty() ? dims.size() : given.size()); ++i) {
    size_t axis = i;
    if (!given.empty() && !n.axisOf(given[i], dims.size(), axis))
      return false;
    axes.push_back(static_cast<int64_t>(axis));
  }
  if ((sizes.empty() ? scales.size() : sizes.size()) != axes.size() ||
      (!roi.empty() && roi.size() != 2 * axes.size()))
    return n.fail(fmt::format("scales or sizes are given for {} of {} dims",
                              sizes.empty() ? scales.size() : sizes.size(), axes.size()));
  for (int64_t extent : dims)
    out.push_back({extent, extent});
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeDim &dim = out[static_cast<size_t>(axes[i])];
    const auto from = static_cast<double>(dim.from);
    dim.scale = sizes.empty() ? scales[i] : static_cast<double>(sizes[i]) / from;
    const double to = sizes.empty() ? std::floor(from * dim.scale) : static_cast<double>(sizes[i]);
    if (!(to >= 0 && to <= 65536 && dim.scale > 0))
      return n.refuse(fmt::format("dim {} becomes {} elements", axes[i], to));
    dim.to = static_cast<int64_t>(to);
    if (!roi.empty())
      dim.begin = roi[i], dim.end = roi[i + axes.size()];
  }
  return true;
}

} // namespace

bool lowerResize(Node &n) {
  ResizeInputs at;
  if (n.type() == "Upsample" || n.opset < 11)
    at = {9, 1, 9};
  if (!n.isTensor(0))
    return false;
  ResizeMode mode;
  const bool isOld = n.opset < 11;
  mode.mode = n.text("mode", "nearest");
  mode.coordinates = n.text("coordinate_transformation_mode", isOld ? "asymmetric" : "half_pixel");
  mode.nearest = n.text("nearest_mode", isOld ? "floor" : "round_prefer_floor");
  mode.excludesOutside = n.integer("exclude_outside", 0) != 0;
  mode.cubic = n.real("cubic_coeff_a", -0.75);
  mode.outside = n.real("extrapolation_value", 0);
  if (mode.mode == "bilinear")
    mode.mode = "linear";
  if (mode.mode != "nearest" && mode.mode != "linear" && mode.mode != "cubic")
    return n.fail(fmt::format("the mode is '{}'", mode.mode));
  if (n.integer("antialias", 0) != 0)
    return n.refuse("antialiasing is not lowered");
  if (n.text("keep_aspect_ratio_policy", "stretch") != "stretch")
    return n.refuse("keep_aspect_ratio_policy is not lowered");
  std::vector<ResizeDim> dims;
  if (!readDims(n, at, dims))
    return false;
  const DType type = n.dtype(0),
              inner = isFloat(type) || mode.mode == "nearest" ? type : DType::F32;
  OpId x = n.convert(n.input(0), inner);
  for (size_t d = 0; d < dims.size(); ++d) {
    const ResizeDim &dim = dims[d];
    if (dim.from == dim.to && dim.scale == 1 && mode.coordinates != "tf_crop_and_resize")
      continue;
    if (dim.from == dim.to && dim.scale == 1 && dim.begin == 0 && dim.end == 1)
      continue;
    if (dim.from == 0 || dim.to == 0)
      return n.refuse("a dim without elements is resized");
    x = resizedDim(n, x, d, dim, mode);
  }
  return n.finish(n.convert(x, type));
}

} // namespace tilewright::onnx_format
