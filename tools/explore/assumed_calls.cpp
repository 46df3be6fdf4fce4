// Calls of libraries that are neither products nor convolutions: attention and norms of cuDNN,
// sorts of CUB, XLA's own selection.
#include "analysis/indexing/indexing_internal.h"
#include "analysis/indexing/library_call.h"
#include "analysis/support/checked.h"
#include "tools/explore/assumed.h"

#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilewright {

namespace {

/// Share of the tensor peak that the products of a fused attention reach in their loop: that of
/// cuBLAS's (costmodel/sequence/library_product.cpp).
constexpr double attentionShare = 0.78;
/// Bits that a pass of CUB's radix sort takes (assumed_lines.cpp says where from).
constexpr int64_t radixBitsOfCub = 8;

/// All operands read once, all results but a workspace written once.
std::optional<AssumedWork> passOfCall(const Graph &graph, const Op &op) {
  std::optional<AssumedWork> work = onePass(graph, op);
  if (!work || op.operands.empty())
    return std::nullopt;
  for (size_t i = resultsOfCall(op); op.shape.isTuple && i < op.shape.elements.size(); ++i)
    work->writtenBytes -= double(op.shape.elements[i].byteSize().value_or(0));
  return work;
}

std::optional<AssumedWork> normCallWork(const Graph &graph, const Op &op) {
  std::optional<AssumedWork> work = passOfCall(graph, op);
  if (work)
    work->text = "taken as one pass over its operands and one over its results";
  return work;
}

std::optional<AssumedWork> sortCallWork(const Graph &graph, const Op &op) {
  std::optional<AssumedWork> work = passOfCall(graph, op);
  const Shape *key = op.operands.empty() ? nullptr : &graph.op(op.operands[0]).shape;
  if (!work || key->isTuple || !key->byteSize())
    return std::nullopt;
  const auto passes = double(ceilDiv(int64_t(bitWidth(key->dtype)), radixBitsOfCub));
  work->readBytes = work->readBytes * passes + double(*key->byteSize()); // the histograms
  work->writtenBytes *= passes;
  work->kernels = passes + 1;
  work->sigmaLn = 0.7; // the sizes of its passes are its own
  work->text = fmt::format("sorted by radix (CUB): {} passes for keys of {} bits", passes,
                           bitWidth(key->dtype));
  return work;
}

std::optional<double> productOfSizes(const nlohmann::json &sizes) {
  if (!sizes.is_array() || sizes.empty())
    return std::nullopt;
  double product = 1;
  for (const auto &each : sizes) {
    int64_t size = 0;
    if (each.is_string()) {
      const auto &text = each.get_ref<const std::string &>();
      const auto end = text.data() + text.size();
      if (std::from_chars(text.data(), end, size).ptr != end)
        return std::nullopt;
    } else if (each.is_number_integer()) {
      size = each.get<int64_t>();
    }
    if (size < 1)
      return std::nullopt;
    product *= double(size);
  }
  return product;
}

/// The scores stand in the call's configuration: [batch, heads, queries, keys].
std::optional<AssumedWork> attentionCallWork(const Graph &graph, const Op &op,
                                             const Device &device) {
  std::optional<AssumedWork> work = passOfCall(graph, op);
  const auto all =
      nlohmann::json::parse(indexing::rawAttribute(op, "backend_config"), nullptr, false);
  if (!work || !all.is_object() || !all.contains("cudnn_fmha_backend_config"))
    return std::nullopt;
  const auto &config = all["cudnn_fmha_backend_config"];
  if (!config.is_object() || !config.contains("intermediate_tensor_shape") ||
      !config["intermediate_tensor_shape"].is_object() ||
      !config["intermediate_tensor_shape"].contains("dimensions"))
    return std::nullopt;
  const auto &sizes = config["intermediate_tensor_shape"]["dimensions"];
  const std::optional<double> scores = productOfSizes(sizes);
  const Shape &query = graph.op(op.operands[0]).shape;
  if (!scores || query.isTuple || sizes.size() != 4)
    return std::nullopt;
  const double lines = *productOfSizes({sizes[0], sizes[1], sizes[2]});
  const double head = double(query.elementCount().value_or(0)) / lines;
  if (head < 1)
    return std::nullopt;
  const bool isBackward = op.attrs.customCallTarget.find("Backward") != std::string::npos;
  const bool isCausal = config.value("mask_type", nlohmann::json()) == "CAUSAL";
  const double computed = isCausal ? *scores / 2 : *scores;
  work->flops = (isBackward ? 5 : 2) * 2 * computed * head;
  // Exponentials run beside the products of another tile, not all of their time.
  const double products = work->flops / (attentionShare * device.peakFlops(query.dtype, true)),
               powers = computed / (device.smCount * device.sfuPerClock * device.smClock);
  work->leastNs = std::hypot(products, powers);
  work->sigmaLn = 0.4; // none is among the measurements
  work->text = fmt::format(
      "a fused attention, {} products over {} scores{} at {:.0f} % of the peak", isBackward ? 5 : 2,
      *scores, isCausal ? ", half of them masked," : "", 100 * attentionShare);
  return work;
}

} // namespace

std::optional<AssumedWork> namedCallWork(const Graph &graph, const Op &op, const Device &device) {
  const std::string &target = op.attrs.customCallTarget;
  if (target.starts_with("__cudnn$fmha"))
    return attentionCallWork(graph, op, device);
  if (target == "__cudnn$norm")
    return normCallWork(graph, op);
  if (target.starts_with("__cub$DeviceRadixSort"))
    return sortCallWork(graph, op);
  return target == "__gpu$TopK" || target == "TopK" ? topKWork(graph, op, device) : std::nullopt;
}

} // namespace tilewright
