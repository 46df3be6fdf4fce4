// Matrix products as HLO text, for tests.
#pragma once

#include "codegen/testing/lowering.h"

#include <fmt/format.h>

namespace tilewright {

/// f(a, b) for operands laid out as given: "mk" or "km", "kn" or "nk". The right operand has the
/// left one's type unless another is given.
inline std::string matmul(int64_t m, int64_t n, int64_t k, bool isLhsKMinor, bool isRhsKMinor,
                          const std::string &type = "bf16", const std::string &result = "f32",
                          const std::string &rightType = "") {
  const std::string right = rightType.empty() ? type : rightType;
  auto shape = [&](const std::string &t, int64_t x, int64_t y) {
    return fmt::format("{}[{},{}]", t, x, y);
  };
  return "HloModule m\nENTRY main {\n a = " +
         (isLhsKMinor ? shape(type, m, k) : shape(type, k, m)) +
         " parameter(0)\n b = " + (isRhsKMinor ? shape(right, n, k) : shape(right, k, n)) +
         " parameter(1)\n ROOT d = " + shape(result, m, n) + " dot(a, b), lhs_contracting_dims={" +
         (isLhsKMinor ? "1" : "0") + "}, rhs_contracting_dims={" + (isRhsKMinor ? "1" : "0") +
         "}\n}\n";
}

/// A spec for such a module, whose dot is d with one contracted dim.
inline KernelSpec dotSpec(const std::string &hlo, std::vector<int64_t> tile, int64_t k,
                          int64_t warps, int64_t stages,
                          Instruction instruction = Instruction::MmaSync, int64_t groupM = 1) {
  KernelSpec spec = specFromHlo(hlo, std::move(tile), warps);
  spec.sequential = {{"d", 0, k}};
  spec.schedule.stages = stages;
  spec.schedule.instruction = instruction;
  spec.schedule.groupM = groupM;
  return spec;
}

} // namespace tilewright
