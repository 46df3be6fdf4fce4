// The arithmetic that an HLO dot or convolution asks for, by `algorithm=` or `operand_precision=`.
#pragma once

#include "analysis/ir/graph.h"

#include <optional>
#include <string>

namespace tilewright {

struct DotAlgorithm {
  /// Type of the operands as they are multiplied; f32 on tensor cores is TF32.
  DType product = DType::F32;
  bool tensorCores = true; ///< false: products of whole f32
  /// Products of operand parts that add up to one product: 3, 6 or 9 if each operand is split into
  /// two or three values of the smaller type.
  int products = 1;
};

/// What the op names, or of two f32 operands what the higher of its precisions stands for: `high`
/// for dot_bf16_bf16_f32_x3, `highest` for dot_f32_f32_f32. Products of narrower operands are exact
/// anyway. Nothing where the choice is left to the operands' types.
std::optional<DotAlgorithm> dotAlgorithm(const Graph &graph, const Op &op);

/// The attribute that says so: "algorithm=dot_bf16_bf16_f32_x3", "operand_precision={high,high}";
/// empty where there is none.
std::string askedFor(const Op &op);

} // namespace tilewright
