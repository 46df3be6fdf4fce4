#include "analysis/tiling/matrix_product.h"

#include "analysis/ir/dot_algorithm.h"

#include <fmt/format.h>

namespace tilewright {

namespace {

/// Types of one class go together in an instruction.
enum class Operands : uint8_t { F16, BF16, F8, F32, Bytes, Others };

Operands classOf(DType type) {
  switch (type) {
  case DType::F16:
    return Operands::F16;
  case DType::BF16:
    return Operands::BF16;
  case DType::F8E4M3FN:
  case DType::F8E5M2:
    return Operands::F8;
  case DType::F32:
    return Operands::F32;
  case DType::S8:
  case DType::U8:
    return Operands::Bytes;
  default:
    return Operands::Others;
  }
}

} // namespace

int tf32Products(const Graph &graph, const Op &op) {
  const std::optional<DotAlgorithm> asked = dotAlgorithm(graph, op);
  if (!asked)
    return 1;
  return asked->tensorCores && asked->products <= 3 ? asked->products : 0;
}

std::string whyNoMatrixProduct(const Graph &graph, const Op &op, Instruction instruction) {
  const DType left = graph[op.operands[0]].shape.dtype, right = graph[op.operands[1]].shape.dtype;
  const DType result = op.shape.dtype;
  const Operands operands = classOf(left);
  const bool sums =
      operands == Operands::Bytes ? result == DType::S32 : isFloat(result) && result != DType::F64;
  if (operands == Operands::Others || classOf(right) != operands || !sums)
    return fmt::format(
        "takes two operands of f16, bf16 or f32, or of f8e4m3fn and f8e5m2, and sums "
        "in f32, or of s8 and u8, and sums in s32; not {} and {} in {}",
        toString(left), toString(right), toString(result));
  if (operands != Operands::F32)
    return "";
  const int products = tf32Products(graph, op);
  if (products == 0 || (products > 1 && instruction == Instruction::Wgmma))
    return fmt::format("has no code for {}, {} has", askedFor(op),
                       products == 0 ? "fma" : "mma.sync");
  return "";
}

} // namespace tilewright
