// Shapes and constants of HLO's protocol buffers as HLO text. Internal to the folder.
#pragma once

#include "analysis/import/proto/wire.h"
#include "analysis/ir/dtype.h"

#include <optional>

namespace tilewright {

/// Constants' elements that may still be written; those that are more become `{...}`.
struct LiteralBudget {
  size_t elements = 1 << 22;
};

/// Appends `bf16[8,<=128]{1,0:T(8,128)}` or `(a, b)`, without the layout where `withLayout` is not
/// set. False after an error.
bool appendShape(const WireMessage &shape, std::string &out, WireError &error,
                 bool withLayout = true);

/// Appends the text between the parentheses of a constant.
bool appendLiteral(const WireMessage &literal, LiteralBudget &budget, std::string &out,
                   WireError &error);

/// `{0,1}`
std::string bracedList(const std::vector<int64_t> &values);

} // namespace tilewright
