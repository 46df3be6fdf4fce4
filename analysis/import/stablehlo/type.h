// MLIR's types as shapes.
#pragma once

#include "analysis/import/stablehlo/lexer.h"
#include "analysis/ir/shape.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tilewright::stablehlo {

/// `!quant.uniform<i8:f32:1, {0.1:2, 0.2:-3}>`: a value v is stored as the integer
/// round(v / scale) + zero point, within [least, most].
struct Quantization {
  DType storage = DType::S8, expressed = DType::F32;
  int64_t least = 0, most = 0;
  int64_t axis = -1; ///< the dim whose elements each have their own scale, or -1
  std::vector<double> scales;
  std::vector<int64_t> zeroPoints;
  bool operator==(const Quantization &) const = default;
};

struct Type {
  Shape shape; ///< of a quantised tensor that of its expressed values
  std::shared_ptr<const Quantization> quantization;
};

/// Names of types that the file defines: `!name = tensor<4xf32>`.
using TypeAliases = std::map<std::string, Type, std::less<>>;

/// `tensor<2x?xf32, #stablehlo.bounds<?, 4>>`, `tuple<…>`, `!stablehlo.token`, `f32`, an alias.
/// `nodes` counts tensors and tuples against hlo_limits::shapeNodes. Unsupported for types that the
/// op table has no counterpart of.
bool parseType(MlirLexer &lexer, const TypeAliases &aliases, size_t &nodes, Type &out);

} // namespace tilewright::stablehlo
