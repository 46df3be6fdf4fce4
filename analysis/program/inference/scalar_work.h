// What scalar expressions of a tile program take, by the axes that their parts have.
#pragma once

#include "analysis/program/program.h"

namespace tilewright::inference {

/// Scalar ops on the elements of some axes.
struct ScalarWork {
  program::AxisSet axes;
  int64_t perElement = 0; ///< ALU instructions of each 32-bit register
  int64_t perWord = 0;    ///< … of each word of `bits` values: conversions to narrow types
  unsigned bits = 32;
};

/// Each op of an expression counts for the axes of its own operands.
std::vector<ScalarWork> scalarWorkOf(const program::Program &program,
                                     const program::ScalarExpr &scalar);

} // namespace tilewright::inference
