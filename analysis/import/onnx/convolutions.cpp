#include "analysis/import/onnx/window.h"
#include "analysis/ir/infer_shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

namespace tilewright::onnx_format {

namespace {

constexpr int64_t mostWindow = int64_t(1) << 31;

} // namespace

bool perDim(Node &n, std::string_view name, size_t count, int64_t least, Dims &out) {
  out = n.integers(name, Dims(count, 1));
  if (out.empty())
    out.assign(count, 1);
  if (out.size() != count)
    return n.fail(fmt::format("{} has {} numbers for {} dims", name, out.size(), count));
  for (int64_t value : out)
    if (value < least || value > mostWindow)
      return n.fail(fmt::format("{} is [{}]", name, fmt::join(out, ",")));
  return !n.hasFailed();
}

bool windowOf(Node &n, const Dims &extents, const Dims &sizes, std::vector<WindowDim> &out,
              Dims *beyond) {
  const size_t count = extents.size();
  Dims strides, dilations;
  if (!perDim(n, "strides", count, 1, strides) || !perDim(n, "dilations", count, 1, dilations))
    return false;
  const Dims pads = n.integers("pads", Dims(2 * count, 0));
  const std::string automatic = n.text("auto_pad", "NOTSET");
  const bool isSame = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (pads.size() != 2 * count)
    return n.fail(fmt::format("{} paddings for {} dims", pads.size(), count));
  if (!isSame && automatic != "NOTSET" && automatic != "VALID" && !automatic.empty())
    return n.fail(fmt::format("auto_pad is '{}'", automatic));
  for (size_t d = 0; d < count; ++d) {
    WindowDim dim;
    dim.size = sizes[d];
    dim.stride = strides[d];
    dim.windowDilation = dilations[d];
    if (sizes[d] < 1 || sizes[d] > mostWindow || !isWithin(pads[d], mostWindow) ||
        !isWithin(pads[d + count], mostWindow) || sizes[d] * dilations[d] > mostWindow)
      return n.fail(
          fmt::format("the window is {} with paddings [{}]", sizes[d], fmt::join(pads, ",")));
    const int64_t reach = (sizes[d] - 1) * dilations[d] + 1;
    if (isSame) {
      const int64_t places = (extents[d] + strides[d] - 1) / strides[d];
      const int64_t total = std::max<int64_t>(0, (places - 1) * strides[d] + reach - extents[d]);
      dim.padLow = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      dim.padHigh = total - dim.padLow;
    } else if (automatic != "VALID") {
      dim.padLow = pads[d];
      dim.padHigh = pads[d + count];
    }
    const int64_t padded = extents[d] + dim.padLow + dim.padHigh;
    if (padded < reach)
      return n.fail(fmt::format("the window of {} is larger than dim {} of {}", reach, d, padded));
    if (beyond) {
      const int64_t rest = (padded - reach) % strides[d];
      const bool isCeil = n.integer("ceil_mode", 0) != 0;
      beyond->push_back(isCeil && rest != 0 ? strides[d] - rest : 0);
      // A window that would begin behind the input is left out.
      if (beyond->back() != 0 && (padded - reach + beyond->back()) >= extents[d] + dim.padLow)
        beyond->back() = 0;
    }
    out.push_back(dim);
  }
  return true;
}

std::vector<WindowDim> behindChannels(std::vector<WindowDim> spatial) {
  spatial.insert(spatial.begin(), 2, WindowDim());
  return spatial;
}

namespace {

ConvDims channelsFirst(size_t spatial) {
  ConvDims dims;
  dims.inputBatch = dims.outputBatch = 0;
  dims.inputFeature = dims.outputFeature = 1;
  dims.kernelOutput = 0;
  dims.kernelInput = 1;
  for (size_t d = 0; d < spatial; ++d)
    dims.inputSpatial.push_back(static_cast<int64_t>(d) + 2);
  dims.kernelSpatial = dims.outputSpatial = dims.inputSpatial;
  return dims;
}

OpId convolution(Node &n, OpId x, OpId w, std::vector<WindowDim> window, int64_t groups,
                 DType type) {
  const Dims in = n.shapeOf(x).dims, kernel = n.shapeOf(w).dims;
  Shape shape = Shape::tensor(type, {in[0], kernel[0]});
  for (size_t d = 0; d < window.size(); ++d) {
    const std::optional<int64_t> places = windowPositions(window[d], in[d + 2]);
    if (!places) {
      n.fail("the window is too large");
      return {};
    }
    shape.dims.push_back(*places);
  }
  OpAttributes attrs;
  attrs.conv = channelsFirst(window.size());
  attrs.window = std::move(window);
  attrs.featureGroupCount = groups;
  return n.add(Opcode::Convolution, std::move(shape), {x, w}, std::move(attrs));
}

/// Batch, channels and at least one dim more, of both.
bool areImages(Node &n, const Shape &x, const Shape &w, int64_t groups) {
  if (x.rank() < 3 || x.rank() != w.rank())
    return n.fail(fmt::format("input {} and kernel {} don't fit", x.str(false), w.str(false)));
  if (groups < 1 || x.dims[1] % groups != 0)
    return n.fail(fmt::format("{} channels in {} groups", x.dims[1], groups));
  return true;
}

bool checkKernelShape(Node &n, const Dims &sizes) {
  const Dims given = n.integers("kernel_shape", sizes);
  return given == sizes || n.fail(fmt::format("kernel_shape is [{}], the kernel's is [{}]",
                                              fmt::join(given, ","), fmt::join(sizes, ",")));
}

/// A number for each channel is added.
bool addBias(Node &n, OpId y, size_t i) {
  if (!n.hasInput(i))
    return n.finish(y);
  const Shape shape = n.shapeOf(y);
  if (!n.isTensor(i) || n.dims(i) != Dims{shape.dims[1]} || n.dtype(i) != shape.dtype)
    return n.fail(fmt::format("the bias doesn't fit the result {}", shape.str(false)));
  return n.finish(n.plus(y, n.along(n.input(i), shape.dims, 1)));
}

} // namespace

OpId convolve(Node &n, OpId x, OpId w, DType type) {
  const Shape in = n.shapeOf(x), kernel = n.shapeOf(w);
  const int64_t groups = n.integer("group", 1);
  if (!areImages(n, in, kernel, groups))
    return {};
  const Dims sizes(kernel.dims.begin() + 2, kernel.dims.end());
  std::vector<WindowDim> window;
  if (kernel.dims[1] * groups != in.dims[1] || kernel.dims[0] % groups != 0) {
    n.fail(fmt::format("kernel {} doesn't fit {} channels in {} groups", kernel.str(false),
                       in.dims[1], groups));
    return {};
  }
  if (!checkKernelShape(n, sizes) ||
      !windowOf(n, Dims(in.dims.begin() + 2, in.dims.end()), sizes, window))
    return {};
  return convolution(n, x, w, std::move(window), groups, type);
}

bool lowerConv(Node &n) {
  if (!n.isTensor(0) || !n.isTensor(1))
    return false;
  if (n.dtype(0) != n.dtype(1))
    return n.fail("input and kernel are of different types");
  const OpId y = convolve(n, n.input(0), n.input(1), n.dtype(0));
  return y.isValid() && addBias(n, y, 2);
}

namespace {

/// The kernel [in, out / groups, …] as convolutions have it: [out, in / groups, …].
OpId transposedKernel(Node &n, OpId w, int64_t groups) {
  const Dims dims = n.shapeOf(w).dims;
  Dims split = {groups, dims[0] / groups, dims[1]}, flat = {groups * dims[1], dims[0] / groups};
  Dims order = {0, 2, 1};
  for (size_t d = 2; d < dims.size(); ++d) {
    split.push_back(dims[d]);
    flat.push_back(dims[d]);
    order.push_back(static_cast<int64_t>(d) + 1);
  }
  return n.reshape(n.transpose(n.reshape(w, split), order), flat);
}

/// The window whose places are the elements of the result: the input is dilated by the stride.
bool transposedWindow(Node &n, const Dims &extents, const Dims &sizes,
                      std::vector<WindowDim> &out) {
  const size_t count = extents.size();
  Dims strides, dilations, extra = n.integers("output_padding", Dims(count, 0)),
                           wanted = n.integers("output_shape"),
                           pads = n.integers("pads", Dims(2 * count, 0));
  const std::string automatic = n.text("auto_pad", "NOTSET");
  const bool isSame = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (!perDim(n, "strides", count, 1, strides) || !perDim(n, "dilations", count, 1, dilations))
    return false;
  if (wanted.size() == count + 2)
    wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (extra.size() != count || pads.size() != 2 * count ||
      (!wanted.empty() && wanted.size() != count))
    return n.fail(fmt::format("paddings or the result's shape don't fit {} dims", count));
  for (size_t d = 0; d < count; ++d) {
    const int64_t reach = sizes[d] > mostWindow ? sizes[d] : (sizes[d] - 1) * dilations[d];
    if (sizes[d] < 1 || reach > mostWindow || !isWithin(extra[d], mostWindow) ||
        !isWithin(pads[d], mostWindow) || !isWithin(pads[d + count], mostWindow) ||
        extents[d] > (int64_t(1) << 40) / strides[d])
      return n.fail("the window is too large");
    int64_t low = pads[d], high = pads[d + count];
    if (!wanted.empty() || isSame) {
      const int64_t result = wanted.empty() ? extents[d] * strides[d] : wanted[d];
      if (result < 0 || result > (int64_t(1) << 40))
        return n.fail(fmt::format("the result's shape is {}", result));
      const int64_t total = strides[d] * (extents[d] - 1) + extra[d] + reach + 1 - result;
      low = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      if (total < 0) // what is more than there can be is at the end
        low = 0;
      high = total - low;
    }
    WindowDim dim;
    dim.size = sizes[d];
    dim.windowDilation = dilations[d];
    dim.baseDilation = strides[d];
    dim.padLow = reach - low;
    dim.padHigh = reach - high + extra[d];
    dim.reversed = true;
    out.push_back(dim);
  }
  return true;
}

} // namespace

bool lowerConvTranspose(Node &n) {
  if (!n.isTensor(0) || !n.isTensor(1))
    return false;
  const Shape in = n.shape(0), kernel = n.shape(1);
  const int64_t groups = n.integer("group", 1);
  if (!areImages(n, in, kernel, groups))
    return false;
  if (kernel.dims[0] != in.dims[1] || in.dtype != kernel.dtype)
    return n.fail(fmt::format("kernel {} doesn't fit input {}", kernel.str(false), in.str(false)));
  const Dims sizes(kernel.dims.begin() + 2, kernel.dims.end());
  std::vector<WindowDim> window;
  if (!checkKernelShape(n, sizes) ||
      !transposedWindow(n, Dims(in.dims.begin() + 2, in.dims.end()), sizes, window))
    return false;
  const OpId w = transposedKernel(n, n.input(1), groups);
  const OpId y = convolution(n, n.input(0), w, std::move(window), groups, in.dtype);
  return y.isValid() && addBias(n, y, 2);
}

} // namespace tilewright::onnx_format
