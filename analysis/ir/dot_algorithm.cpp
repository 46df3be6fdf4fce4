#include "analysis/ir/dot_algorithm.h"

#include "llvm/ADT/StringRef.h"

namespace tilewright {

namespace {

/// In lower case: HLO takes both.
std::string attributeOf(const Op &op, std::string_view name) {
  for (const RawAttribute &attribute : op.rawAttrs)
    if (attribute.name == name)
      return llvm::StringRef(attribute.text).lower();
  return "";
}

std::optional<DotAlgorithm> algorithmOf(std::string_view wanted) {
  // xla/xla_data.proto, PrecisionConfig.Algorithm. Those of f8 take any of its types.
  static constexpr struct {
    std::string_view name;
    DotAlgorithm algorithm;
  } known[] = {
      {"dot_f16_f16_f16", {DType::F16, true, 1}},
      {"dot_f16_f16_f32", {DType::F16, true, 1}},
      {"dot_bf16_bf16_bf16", {DType::BF16, true, 1}},
      {"dot_bf16_bf16_f32", {DType::BF16, true, 1}},
      {"dot_bf16_bf16_f32_x3", {DType::BF16, true, 3}},
      {"dot_bf16_bf16_f32_x6", {DType::BF16, true, 6}},
      {"dot_bf16_bf16_f32_x9", {DType::BF16, true, 9}},
      {"dot_tf32_tf32_f32", {DType::F32, true, 1}},
      {"dot_tf32_tf32_f32_x3", {DType::F32, true, 3}},
      {"dot_f32_f32_f32", {DType::F32, false, 1}},
      {"dot_f64_f64_f64", {DType::F64, true, 1}},
  };
  for (const auto &each : known)
    if (each.name == wanted)
      return each.algorithm;
  return std::nullopt;
}

/// `{high,highest}` names the precision of each operand; the higher one counts.
std::optional<DotAlgorithm> algorithmOfPrecision(std::string_view precisions) {
  if (precisions.find("highest") != std::string_view::npos)
    return algorithmOf("dot_f32_f32_f32");
  if (precisions.find("high") != std::string_view::npos)
    return algorithmOf("dot_bf16_bf16_f32_x3");
  return std::nullopt;
}

} // namespace

std::optional<DotAlgorithm> dotAlgorithm(const Graph &graph, const Op &op) {
  if (std::string name = attributeOf(op, "algorithm"); !name.empty())
    return algorithmOf(name);
  for (OpId operand : op.operands)
    if (graph[operand].shape.isTuple || graph[operand].shape.dtype != DType::F32)
      return std::nullopt;
  return algorithmOfPrecision(attributeOf(op, "operand_precision"));
}

std::string askedFor(const Op &op) {
  for (std::string_view name : {"algorithm", "operand_precision"})
    if (std::string text = attributeOf(op, name); !text.empty())
      return std::string(name) + "=" + text;
  return "";
}

} // namespace tilewright
