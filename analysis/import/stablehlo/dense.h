// The values of constants: `dense<[[1, 2], [3, 4]]>`, `dense<"0x0000803F…">`, splats.
#pragma once

#include "analysis/import/stablehlo/lexer.h"
#include "analysis/ir/shape.h"

#include <string>
#include <vector>

namespace tilewright::stablehlo {

struct Dense {
  bool isSplat = false;  ///< one value for all elements; also for tensors without elements
  bool isElided = false; ///< `dense_resource<…>`: the values are not here
  std::string literal;   ///< HLO's text of all elements, of a splat of one
};

/// Reads the value up to, not including, its `: type`, which the caller has read already. Checks
/// counts, nesting and ranges against `shape`.
bool parseDense(MlirLexer &lexer, const Shape &shape, Dense &out);

/// HLO's text of zero.
std::string zeroLiteral(DType type);

/// The elements of a dense value of integers or truth values, row-major; an error at `offset` if it
/// has others. Precondition: shape.elementCount() is known and small.
bool integersOf(MlirLexer &lexer, uint32_t offset, const Shape &shape, const Dense &dense,
                std::vector<int64_t> &out);

} // namespace tilewright::stablehlo
