// The arithmetic that an HLO dot asks for by `algorithm=`.
#pragma once

#include "analysis/ir/op.h"

#include <optional>

namespace tilewright {

struct DotAlgorithm {
  /// Type of the operands as they are multiplied; f32 on tensor cores is TF32.
  DType product = DType::F32;
  bool tensorCores = true; ///< false: products of whole f32
  /// Products of parts of the operands that are added up for one: 3, 6 or 9 where each operand is
  /// taken apart into two or three of the smaller type.
  int products = 1;
};

/// Nothing where the op names none, or one that leaves the choice to the operands' types.
std::optional<DotAlgorithm> dotAlgorithm(const Op &op);

/// Its name: "dot_bf16_bf16_f32_x3"; empty where there is none.
std::string_view dotAlgorithmName(const Op &op);

} // namespace tilewright
