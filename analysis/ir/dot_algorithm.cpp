#include "analysis/ir/dot_algorithm.h"

namespace tilewright {

std::string_view dotAlgorithmName(const Op &op) {
  for (const RawAttribute &attribute : op.rawAttrs)
    if (attribute.name == "algorithm")
      return attribute.text;
  return {};
}

std::optional<DotAlgorithm> dotAlgorithm(const Op &op) {
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
  const std::string_view name = dotAlgorithmName(op);
  for (const auto &each : known)
    if (each.name == name)
      return each.algorithm;
  return std::nullopt;
}

} // namespace tilewright
