// The families of examples.cpp.
#pragma once

#include "analysis/prove/examples.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilewright::prove {

using Dims = std::vector<int64_t>;

/// "f32[3,4]".
inline std::string typeText(const Dims &dims, std::string_view dtype = "f32") {
  return fmt::format("{}[{}]", dtype, fmt::join(dims, ","));
}
/// "x = f32[3,4] parameter(0)\n".
inline std::string parameterText(std::string_view name, const Dims &dims, int number,
                                 std::string_view dtype = "f32") {
  return fmt::format("{} = {} parameter({})\n", name, typeText(dims, dtype), number);
}

std::vector<Example> movementExamples(Opcode opcode, Grid grid);
std::vector<Example> contractionExamples(Opcode opcode, Grid grid);
std::vector<Example> indexedExamples(Opcode opcode, Grid grid);
std::vector<Example> collectiveExamples(Opcode opcode, Grid grid);

} // namespace tilewright::prove
