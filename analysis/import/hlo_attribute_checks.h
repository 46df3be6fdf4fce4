// Attributes that no analysis reads but that can be wrong all the same, and those that an op must
// have. What XLA's own reader refuses is refused here as well.
#pragma once

#include "analysis/import/hlo_lexer.h"
#include "analysis/ir/op.h"

namespace tilewright {

/// Reads the value of an attribute of `op` that has no typed reader. Errors: no word of those that
/// it may be, no number, a pair that is none. An unknown attribute is left alone.
bool checkAttributeValue(std::string_view name, HloLexer value, const Op &op);

/// Names of all attributes that it looks at.
std::vector<std::string_view> checkedAttributeNames();

/// Has the op, whose attributes are all read, those that its opcode needs? The error stands at the
/// op.
bool hasNeededAttributes(HloLexer &lexer, const Op &op);

} // namespace tilewright
