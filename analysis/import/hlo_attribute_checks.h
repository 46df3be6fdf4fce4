// Checks attributes that no analysis reads, and attributes that an op must have. Refuses whatever
// XLA's own reader refuses.
#pragma once

#include "analysis/import/hlo_lexer.h"
#include "analysis/ir/op.h"

namespace tilewright {

/// Reads the value of an attribute of `op` that has no typed reader. Errors: an unknown word, an
/// invalid number or pair. Unknown attributes are ignored.
bool checkAttributeValue(std::string_view name, HloLexer value, const Op &op);

/// Names of all attributes that it looks at.
std::vector<std::string_view> checkedAttributeNames();

/// Checks that the op, with all attributes read, has those that its opcode needs. Errors are
/// located at the op.
bool hasNeededAttributes(HloLexer &lexer, const Op &op);

/// In these ops all replicas exchange equal amounts, so all groups have one size.
bool needsEqualGroups(Opcode opcode);
std::string unequalGroups(size_t replicas, size_t before); ///< what is said of two that don't

} // namespace tilewright
