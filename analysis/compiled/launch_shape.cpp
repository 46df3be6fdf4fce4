#include "analysis/compiled/launch_shape.h"

#include "analysis/indexing/indexing_internal.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace tilewright {

std::string_view toString(LaunchKind kind) {
  switch (kind) {
  case LaunchKind::Loop:
    return "loop";
  case LaunchKind::Concatenate:
    return "concatenate";
  case LaunchKind::Transpose:
    return "transpose";
  case LaunchKind::ColumnReduce:
    return "column reduce";
  case LaunchKind::RowReduce:
    return "row reduce";
  case LaunchKind::Scatter:
    return "scatter";
  case LaunchKind::Tile:
    return "Triton";
  case LaunchKind::TileDot:
    return "Triton dot";
  case LaunchKind::Product:
    return "cuBLAS";
  case LaunchKind::Convolution:
    return "cuDNN convolution";
  case LaunchKind::Copy:
    return "copy";
  case LaunchKind::Other:
    return "other";
  }
  return "other";
}

namespace {

using nlohmann::json;

/// Numbers stand in the file as themselves or as text.
std::optional<int64_t> numberIn(const json &value) {
  if (value.is_number_integer())
    return value.get<int64_t>();
  if (!value.is_string())
    return std::nullopt;
  const auto &text = value.get_ref<const std::string &>();
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return number;
}

std::optional<int64_t> numberAt(const json &object, const char *key) {
  return object.contains(key) ? numberIn(object[key]) : std::nullopt;
}

/// Positive ones; nothing where one isn't.
std::optional<std::vector<int64_t>> sizesIn(const json &object) {
  std::vector<int64_t> sizes;
  if (!object.is_object() || !object.contains("sizes") || !object["sizes"].is_array())
    return std::nullopt;
  for (const json &each : object["sizes"]) {
    const auto size = numberIn(each);
    if (!size || *size < 1)
      return std::nullopt;
    sizes.push_back(*size);
  }
  return sizes;
}

json configOf(const Op &op) {
  json config = json::parse(indexing::rawAttribute(op, "backend_config"), nullptr, false);
  return config.is_object() ? config : json::object();
}

/// Dots of a body and of the fusions in it, in order.
void collectDots(const Module &module, const Graph &body, std::vector<const Op *> &dots) {
  for (const Op &op : body.all()) {
    if (op.opcode == Opcode::Dot)
      dots.push_back(&op);
    if (op.opcode == Opcode::Fusion && !op.called.empty())
      collectDots(module, module.graph(op.called.front().graph), dots);
  }
}

std::optional<TileConfig> blockLevelConfig(const json &block) {
  TileConfig config;
  const auto warps = numberAt(block, "num_warps"), stages = numberAt(block, "num_stages");
  if (!warps || *warps < 1 || *warps > 32 || !block.contains("output_tiles") ||
      !block["output_tiles"].is_array())
    return std::nullopt;
  for (const json &tile : block["output_tiles"]) {
    auto sizes = sizesIn(
        tile.is_object() && !tile.contains("sizes") ? json{{"sizes", json::array()}} : tile);
    if (!sizes)
      return std::nullopt;
    config.outputTiles.push_back(std::move(*sizes));
  }
  config.warps = *warps;
  config.stages = std::max<int64_t>(1, stages.value_or(1));
  return config.outputTiles.empty() ? std::nullopt : std::optional(config);
}

/// `block_m` and the like, of older compilers: of the last two dims, batches one by one.
std::optional<TileConfig> gemmConfig(const Module &module, const Op &op, const json &gemm) {
  const auto m = numberAt(gemm, "block_m"), n = numberAt(gemm, "block_n"),
             k = numberAt(gemm, "block_k"), warps = numberAt(gemm, "num_warps");
  const size_t rank = op.shape.isTuple ? 0 : op.shape.rank();
  if (!m || !n || !k || !warps || *m < 1 || *n < 1 || *k < 1 || *warps < 1 || *warps > 32 ||
      rank < 2)
    return std::nullopt;
  TileConfig config;
  config.outputTiles.push_back(std::vector<int64_t>(rank, 1));
  config.outputTiles[0][rank - 2] = *m;
  config.outputTiles[0][rank - 1] = *n;
  config.contracted = {*k};
  config.warps = *warps;
  config.stages = std::max<int64_t>(1, numberAt(gemm, "num_stages").value_or(1));
  config.splitK = std::max<int64_t>(1, numberAt(gemm, "split_k").value_or(1));
  return config;
}

bool isReduction(const Graph &body, const Op &op, double least) {
  return op.opcode == Opcode::Reduce && !op.operands.empty() &&
         elementsOf(body[op.operands[0]].shape) >= least;
}

/// A reduction of values at least as many as the results.
const Op *mainReduction(const Graph &body) {
  double results = 0;
  for (OpId result : bodyResults(body))
    results = std::max(results, elementsOf(body[result].shape));
  for (const Op &op : body.all())
    if (isReduction(body, op, results))
      return &op;
  return nullptr;
}

LaunchKind inputFusionKind(const Graph &body) {
  if (const Op *reduction = mainReduction(body)) {
    const Shape &operand = body[reduction->operands[0]].shape;
    const auto order = operand.minorToMajorOrDefault();
    const auto &dims = reduction->attrs.dimensions;
    const bool isAlongRows =
        !order.empty() && std::find(dims.begin(), dims.end(), order.front()) != dims.end();
    return isAlongRows ? LaunchKind::RowReduce : LaunchKind::ColumnReduce;
  }
  for (OpId result : bodyResults(body))
    switch (body[behindConversions(body, result)].opcode) {
    case Opcode::Transpose:
      return LaunchKind::Transpose;
    case Opcode::Concatenate:
      return LaunchKind::Concatenate;
    case Opcode::Scatter:
      return LaunchKind::Scatter;
    default:
      break;
    }
  return LaunchKind::Loop;
}

double ceilDiv(double a, double b) { return std::ceil(a / std::max(1.0, b)); }

/// Columns are what lies behind the reduced dims, all of them reduced by one CTA: 32 rows of 32
/// lanes that take 4 columns each.
LaunchDims columnShape(const Graph &body, const Op &reduction) {
  constexpr double threads = 1024, columnsOfCta = 128;
  const Shape &operand = body[reduction.operands[0]].shape;
  const auto &dims = reduction.attrs.dimensions;
  double columns = 1, reduced = 1;
  for (int64_t dim : dims)
    reduced *= double(operand.dims[size_t(dim)]);
  for (int64_t dim : operand.minorToMajorOrDefault()) {
    if (std::find(dims.begin(), dims.end(), dim) != dims.end())
      break;
    columns *= double(operand.dims[size_t(dim)]);
  }
  const double outer = elementsOf(operand) / std::max(1.0, columns * reduced);
  return {LaunchKind::ColumnReduce, outer * ceilDiv(columns, columnsOfCta), threads};
}

/// Several rows a CTA of 256 threads, a warp or more each.
LaunchDims rowShape(const Graph &body, const Op &reduction) {
  constexpr double threads = 256, elementsOfThread = 16;
  const Shape &operand = body[reduction.operands[0]].shape;
  double reduced = 1;
  for (int64_t dim : reduction.attrs.dimensions)
    reduced *= double(operand.dims[size_t(dim)]);
  const double row = double(operand.dims[size_t(operand.minorToMajorOrDefault().front())]);
  double lanes = 32;
  while (lanes < 1024 && lanes * elementsOfThread < row)
    lanes *= 2;
  const double rows = elementsOf(operand) / std::max(1.0, reduced);
  return {LaunchKind::RowReduce, std::max(1.0, ceilDiv(rows, std::max(1.0, threads / lanes))),
          std::max(threads, lanes)};
}

const Op *mainTranspose(const Graph &body) {
  for (OpId result : bodyResults(body))
    if (const Op &op = body[behindConversions(body, result)]; op.opcode == Opcode::Transpose)
      return &op;
  return nullptr;
}

/// Of [rows, columns] that are turned: tiles of 64 x 64 of 16 bit or less where both have as many,
/// and an even number, else of 32 x 32. Rows and columns are runs of dims that stay together,
/// fastest before and fastest behind the transpose.
LaunchDims transposeDims(const Graph &body, const Op &transpose) {
  constexpr double threads = 128, largeTile = 64, smallTile = 32;
  const Shape &operand = body[transpose.operands[0]].shape;
  const auto &from = transpose.attrs.dimensions;
  double columns = 1, rows = 1;
  for (size_t i = from.size(); i-- > 0;) { // what becomes fastest
    rows *= double(operand.dims[size_t(from[i])]);
    if (i == 0 || from[i - 1] + 1 != from[i])
      break;
  }
  const auto last = std::find(from.begin(), from.end(), int64_t(from.size()) - 1);
  for (auto at = last; at != from.end(); --at) { // what was fastest
    columns *= double(operand.dims[size_t(*at)]);
    if (at == from.begin() || *(at - 1) + 1 != *at)
      break;
  }
  const bool isLarge = bitWidth(operand.dtype) <= 16 && rows >= largeTile && columns >= largeTile &&
                       std::fmod(rows, 2) == 0 && std::fmod(columns, 2) == 0;
  const double tile = isLarge ? largeTile : smallTile;
  const double others = elementsOf(operand) / std::max(1.0, rows * columns);
  return {LaunchKind::Transpose,
          std::max(1.0, others * std::ceil(rows / tile) * std::ceil(columns / tile)), threads};
}

bool hasGather(const Graph &body) {
  return std::any_of(body.all().begin(), body.all().end(),
                     [](const Op &op) { return op.opcode == Opcode::Gather; });
}

} // namespace

std::optional<TileConfig> tileConfigOf(const Module &module, const Op &op) {
  if (op.opcode != Opcode::Fusion || op.called.empty())
    return std::nullopt;
  const json config = configOf(op);
  if (!config.contains("fusion_backend_config") || !config["fusion_backend_config"].is_object())
    return std::nullopt;
  const json &fusion = config["fusion_backend_config"];
  if (fusion.contains("triton_gemm_config") && fusion["triton_gemm_config"].is_object())
    return gemmConfig(module, op, fusion["triton_gemm_config"]);
  if (!fusion.contains("block_level_fusion_config") ||
      !fusion["block_level_fusion_config"].is_object())
    return std::nullopt;
  auto tiles = blockLevelConfig(fusion["block_level_fusion_config"]);
  if (!tiles)
    return std::nullopt;
  std::vector<const Op *> dots;
  collectDots(module, module.graph(op.called.front().graph), dots);
  for (const Op *dot : dots)
    if (auto sizes = sizesIn(configOf(*dot)))
      tiles->contracted.insert(tiles->contracted.end(), sizes->begin(), sizes->end());
  return tiles;
}

HeldTile heldTile(const Module &module, const Op &op, const TileConfig &config) {
  const Graph &body = module.graph(op.called.front().graph);
  const std::vector<int64_t> &tile = config.outputTiles.front();
  HeldTile held;
  auto add = [&](int64_t size, int64_t extent) {
    held.elements *= double(std::min(size, extent));
    double padded = 1;
    while (padded < double(size))
      padded *= 2;
    held.padded *= padded;
  };
  const Shape &result = body[bodyResults(body).front()].shape;
  bool hasSeveral = false, hasGap = false;
  for (size_t d = 0; d < tile.size() && d < result.dims.size(); ++d) {
    add(tile[d], result.dims[d]);
    if (tile[d] > 1) {
      held.isSplit = held.isSplit || hasGap;
      hasSeveral = true;
    }
    hasGap = hasGap || (hasSeveral && tile[d] == 1 && result.dims[d] > 1);
  }
  if (const Op *reduction = mainReduction(body))
    if (const Shape &operand = body[reduction->operands[0]].shape; operand.rank() > tile.size())
      for (int64_t dim : reduction->attrs.dimensions)
        add(operand.dims[size_t(dim)], operand.dims[size_t(dim)]);
  return held;
}

LaunchKind launchKindOf(const Module &module, const Op &op) {
  const std::string &target = op.attrs.customCallTarget;
  auto startsWith = [&](std::string_view text) {
    return target.compare(0, text.size(), text) == 0;
  };
  switch (op.opcode) {
  case Opcode::Copy:
  case Opcode::CopyStart:
    return LaunchKind::Copy;
  case Opcode::CustomCall:
    return startsWith("__cublas$")      ? LaunchKind::Product
           : startsWith("__cudnn$conv") ? LaunchKind::Convolution
                                        : LaunchKind::Other;
  case Opcode::Fusion:
    break;
  default:
    return LaunchKind::Other;
  }
  if (op.called.empty())
    return LaunchKind::Other;
  const Graph &body = module.graph(op.called.front().graph);
  if (tileConfigOf(module, op)) {
    std::vector<const Op *> dots;
    collectDots(module, body, dots);
    return dots.empty() ? LaunchKind::Tile : LaunchKind::TileDot;
  }
  if (op.attrs.fusionKind == "kLoop")
    return LaunchKind::Loop;
  return op.attrs.fusionKind == "kInput" ? inputFusionKind(body) : LaunchKind::Other;
}

LaunchDims launchDimsOf(const Module &module, const Op &op, LaunchKind kind, const FusionWork &work,
                        double smCount) {
  const Graph &body = module.graph(op.called.front().graph);
  const std::vector<OpId> results = bodyResults(body);
  double elements = work.results.empty() ? 0 : work.results.front().elements;
  switch (kind) {
  case LaunchKind::Tile:
  case LaunchKind::TileDot: {
    const auto config = tileConfigOf(module, op);
    LaunchDims shape{kind, 1, 32.0 * double(config->warps)};
    const Shape &result = body[results.front()].shape;
    for (size_t d = 0; d < result.dims.size() && d < config->outputTiles[0].size(); ++d)
      shape.ctas *= ceilDiv(double(result.dims[d]), double(config->outputTiles[0][d]));
    shape.ctas = std::max(1.0, shape.ctas * double(config->splitK));
    return shape;
  }
  case LaunchKind::ColumnReduce:
    return columnShape(body, *mainReduction(body));
  case LaunchKind::RowReduce:
    return rowShape(body, *mainReduction(body));
  case LaunchKind::Transpose:
    return transposeDims(body, *mainTranspose(body));
  case LaunchKind::Concatenate:
    for (OpId operand : body[behindConversions(body, results.front())].operands)
      elements = operand == body[behindConversions(body, results.front())].operands.front()
                     ? elementsOf(body[operand].shape)
                     : std::max(elements, elementsOf(body[operand].shape));
    break;
  default:
    break;
  }
  constexpr double blockThreads = 128, wideElements = 4, threadsOfSm = 2048;
  const bool isWide =
      elements >= threadsOfSm * smCount && !(kind == LaunchKind::Concatenate && hasGather(body));
  const double threads = ceilDiv(elements, isWide ? wideElements : 1);
  const double block = threads > blockThreads / 2 ? blockThreads : blockThreads / 2;
  return {kind, std::max(1.0, ceilDiv(threads, block)), block};
}

} // namespace tilewright
