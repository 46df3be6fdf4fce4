// Programs that say their results: StableHLO's test programs compare theirs by custom calls
// @check.expect_eq(actual, expected) and the like.
#pragma once

#include "analysis/ir/graph.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// One comparison: results 2·i and 2·i + 1 of the entry are its values.
struct CheckCall {
  std::string name;     ///< of the op
  bool isExact = false; ///< equal bit by bit, but for NaNs
};

/// Makes the operands of the entry's checks its result, a tuple, and removes the checks. The module
/// is left as it is where there are none.
std::vector<CheckCall> takeChecks(Module &module);

} // namespace tilewright
