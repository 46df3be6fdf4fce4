#include "costmodel/sequence/library_product.h"

#include "analysis/indexing/indexing_internal.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilewright {

namespace {

/// Share of the tensor peak in the loop, what a tile costs beside it, what a kernel costs once, and
/// the bandwidth at which both operands of every tile come from L2, of the H100's 9780 B/ns.
constexpr double peakShare = 0.78, tileNs = 200, fixedNs = 1900, l2Share = 9000.0 / 9780;
/// Of L2's bandwidth what vectors of threads reach: the calibrated `l2_stream` of an H100.
constexpr double vectorShare = 6750.0 / 9780;
/// Sums of a split: a kernel of its own, and its traffic.
constexpr double splitNs = 2500, splitBandwidthShare = 3000.0 / 3352;
/// Tiles below this take operands from shared memory more often than the tensor cores stand.
constexpr double fullTile = 128 * 128;

std::optional<std::vector<int64_t>> dimsAt(const nlohmann::json &numbers, const char *key) {
  std::vector<int64_t> dims;
  if (!numbers.contains(key) || !numbers[key].is_array())
    return std::nullopt;
  for (const auto &each : numbers[key]) {
    if (each.is_number_integer())
      dims.push_back(each.get<int64_t>());
    else if (each.is_string() && !each.get_ref<const std::string &>().empty() &&
             each.get_ref<const std::string &>().find_first_not_of("0123456789") ==
                 std::string::npos &&
             each.get_ref<const std::string &>().size() < 3)
      dims.push_back(std::stoi(each.get_ref<const std::string &>()));
    else
      return std::nullopt;
  }
  return dims;
}

std::vector<int64_t> dimsOr(const nlohmann::json &numbers, const char *key) {
  return dimsAt(numbers, key).value_or(std::vector<int64_t>());
}

std::optional<double> sizeOf(const Shape &shape, const std::optional<std::vector<int64_t>> &dims) {
  double size = 1;
  if (!dims || shape.isTuple)
    return std::nullopt;
  for (int64_t dim : *dims) {
    if (dim < 0 || dim >= int64_t(shape.rank()))
      return std::nullopt;
    size *= double(shape.dims[size_t(dim)]);
  }
  return size;
}

const Shape &resultOf(const Op &op) {
  return op.shape.isTuple && !op.shape.elements.empty() ? op.shape.elements[0] : op.shape;
}

std::optional<LibraryWork> productWork(const Graph &graph, const Op &op) {
  const auto config =
      nlohmann::json::parse(indexing::rawAttribute(op, "backend_config"), nullptr, false);
  if (!config.is_object() || op.operands.size() < 2)
    return std::nullopt;
  const auto &gemm =
      config.contains("gemm_backend_config") ? config["gemm_backend_config"] : config;
  if (!gemm.is_object() || !gemm.contains("dot_dimension_numbers"))
    return std::nullopt;
  const auto &numbers = gemm["dot_dimension_numbers"];
  const Shape &lhs = graph[op.operands[0]].shape, &rhs = graph[op.operands[1]].shape;
  const auto batch = sizeOf(lhs, dimsOr(numbers, "lhs_batch_dimensions")),
             depth = sizeOf(lhs, dimsAt(numbers, "lhs_contracting_dimensions"));
  if (!batch || !depth || rhs.isTuple || *batch < 1 || *depth < 1)
    return std::nullopt;
  LibraryWork work;
  work.product = {*batch, elementsOf(lhs) / *batch / *depth, elementsOf(rhs) / *batch / *depth,
                  *depth, lhs.dtype};
  work.resultElements = elementsOf(resultOf(op));
  work.dims = {dimsOr(numbers, "lhs_batch_dimensions"), dimsOr(numbers, "rhs_batch_dimensions"),
               *dimsAt(numbers, "lhs_contracting_dimensions"),
               dimsOr(numbers, "rhs_contracting_dimensions")};
  if (!sizeOf(rhs, work.dims.rhsBatch) || !sizeOf(rhs, work.dims.rhsContracting))
    return std::nullopt;
  return work;
}

/// Which of a call's tensors is the image, which the kernel and which the result of the forward
/// convolution.
struct ConvolutionTensors {
  const Shape *image, *kernel, *output;
};
std::optional<ConvolutionTensors> tensorsOf(const Graph &graph, const Op &op) {
  if (op.operands.size() < 2)
    return std::nullopt;
  const Shape &a = graph[op.operands[0]].shape, &b = graph[op.operands[1]].shape,
              &out = resultOf(op);
  ConvolutionTensors tensors{&a, &b, &out};
  if (op.attrs.customCallTarget == "__cudnn$convBackwardInput")
    tensors = {&out, &b, &a};
  if (op.attrs.customCallTarget == "__cudnn$convBackwardFilter")
    tensors = {&a, &out, &b};
  const size_t rank = op.attrs.window.size() + 2;
  for (const Shape *shape : {tensors.image, tensors.kernel, tensors.output})
    if (shape->isTuple || shape->rank() != rank || elementsOf(*shape) < 1)
      return std::nullopt;
  return tensors;
}

/// What L2 sends for each byte that a position has in memory: sectors, which it shares with its
/// neighbours unless a stride leads past them.
double sectorTraffic(const Op &op, double positionBytes) {
  constexpr double sector = 32;
  const double stride = op.attrs.window.empty() ? 1 : double(op.attrs.window.back().stride);
  const double sectors = std::ceil(positionBytes / sector) * sector;
  return std::max(1.0, std::min(sectors, stride * positionBytes) / positionBytes);
}

/// Channels are filled up to eights; fewer take a kernel that pads, and one that is far from peak:
/// one of the generation before, whose threads copy a vector for each tap.
std::optional<LibraryWork> convolutionWork(const Graph &graph, const Op &op) {
  constexpr double channelUnit = 8;
  const auto tensors = tensorsOf(graph, op);
  if (!tensors)
    return std::nullopt;
  const ConvDims &dims = op.attrs.conv;
  double taps = 1;
  for (int64_t dim : dims.kernelSpatial)
    taps *= double(tensors->kernel->dims[size_t(dim)]);
  const auto channels = double(tensors->kernel->dims[size_t(dims.kernelInput)]),
             features = double(tensors->kernel->dims[size_t(dims.kernelOutput)]);
  LibraryWork work;
  work.resultElements = elementsOf(resultOf(op));
  if (op.attrs.featureGroupCount > 1) {
    work.isDepthwise = work.isLowerBound = true;
    work.taps = taps * channels;
    work.text = fmt::format("depthwise, {} taps", taps);
    return work;
  }
  const double filled = std::ceil(channels / channelUnit) * channelUnit;
  const double positions = elementsOf(*tensors->output) / features;
  work.product = {1, positions, features, taps * filled, tensors->image->dtype};
  if (op.attrs.customCallTarget == "__cudnn$convBackwardInput")
    work.product = {1, elementsOf(*tensors->image) / channels, filled, taps * features,
                    tensors->image->dtype};
  if (op.attrs.customCallTarget == "__cudnn$convBackwardFilter")
    work.product = {1, features, taps * filled, positions, tensors->image->dtype};
  if (filled != channels) {
    work.isLowerBound = true;
    work.product.isByVectors = true;
    if (op.attrs.customCallTarget == "__cudnn$convForward")
      work.product.rowTraffic = sectorTraffic(op, filled * bitWidth(tensors->image->dtype) / 8.0);
    work.paddedBytes = bytesOf(*tensors->image) / channels * (channels + filled);
  }
  return work;
}

struct TileTime {
  double ns = 0, rows = 0, columns = 0, splits = 1;
};

double timeOfTiles(const ProductShape &p, const Device &device, double rows, double columns,
                   double splits) {
  const double bytes = bitWidth(p.type) / 8.0;
  const double rate = device.peakFlops(p.type, device.tensorFlopsPerClock(p.type) > 0) /
                      device.smCount; // FLOP per ns of an SM
  const double depth = p.depth / splits;
  const double tiles = std::ceil(p.rows / rows) * std::ceil(p.columns / columns) * p.batch * splits;
  const double waves = std::ceil(tiles / device.smCount);
  double products = 2 * rows * columns * depth / (rate * peakShare);
  if (rows * columns < fullTile)
    products *= 1 + 0.25 * (1 - rows * columns / fullTile);
  const double loads = (rows * p.rowTraffic + columns) * depth * bytes *
                       std::min(tiles, device.smCount) /
                       ((p.isByVectors ? vectorShare : l2Share) * device.l2Bandwidth);
  double ns = waves * (std::max(products, loads) + tileNs);
  if (splits > 1)
    ns += splitNs +
          splits * p.rows * p.columns * p.batch * 4 / (splitBandwidthShare * device.dramBandwidth);
  return ns;
}

TileTime bestTiles(const ProductShape &p, const Device &device) {
  constexpr double mostElements = 256 * 192, leastDepth = 512;
  static constexpr double rowSizes[] = {64, 128, 192, 256, 320};
  static constexpr double columnSizes[] = {16,  24,  32,  40,  48,  64,  80,  96,  112,
                                           128, 144, 160, 176, 192, 208, 224, 240, 256};
  TileTime best;
  auto offer = [&](double rows, double columns, double splits) {
    const double ns = timeOfTiles(p, device, rows, columns, splits);
    if (best.ns == 0 || ns < best.ns)
      best = {ns, rows, columns, splits};
  };
  for (double rows : rowSizes)
    for (double columns : columnSizes)
      for (double splits : {1.0, 2.0, 4.0}) {
        if (rows * columns > mostElements || (splits > 1 && p.depth / splits < leastDepth))
          continue;
        offer(rows, columns, splits);
        if (columns >= 32)
          offer(columns, rows, splits);
      }
  return best;
}

} // namespace

std::optional<LibraryWork> libraryWork(const Graph &graph, OpId id) {
  const Op &op = graph[id];
  const std::string &target = op.attrs.customCallTarget;
  std::optional<LibraryWork> work;
  if (target.rfind("__cublas$", 0) == 0)
    work = productWork(graph, op);
  else if (target.rfind("__cudnn$conv", 0) == 0)
    work = convolutionWork(graph, op);
  if (work && !work->isDepthwise)
    work->text = fmt::format("{} x {} x {} x {}", work->product.batch, work->product.rows,
                             work->product.columns, work->product.depth);
  return work;
}

LibraryTime libraryTime(const LibraryWork &work, const Device &device) {
  constexpr double depthwiseFixedNs = 1800, instructionsOfTap = 4, paddingNs = 2000;
  if (work.isDepthwise)
    return {depthwiseFixedNs + work.resultElements * work.taps * instructionsOfTap /
                                   (device.smCount * device.fmaPerClock * device.smClock),
            work.text};
  const TileTime best = bestTiles(work.product, device);
  double ns = fixedNs + best.ns;
  if (work.paddedBytes > 0)
    ns += paddingNs + work.paddedBytes / (device.dramEfficiency * device.dramBandwidth);
  std::string text = fmt::format("{}, tiles of {} x {}", work.text, best.rows, best.columns);
  if (best.splits > 1)
    text += fmt::format(", {} splits", best.splits);
  return {ns, text};
}

} // namespace tilewright
