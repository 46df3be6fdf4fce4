// Typed reading of the attributes that analyses need, from their HLO text.
#pragma once

#include "analysis/import/hlo_lexer.h"
#include "analysis/ir/op.h"

#include <vector>

namespace tilewright {

/// A computation's name in an attribute, to be resolved once all computations are known.
struct HloCallReference {
  CallRole role;
  std::string_view name;
  uint32_t offset;
};

/// Fills `op.attrs` from one attribute; `value` reads exactly its text. Names of called
/// computations go to `calls`. Other attributes are ignored.
bool readTypedAttribute(std::string_view name, HloLexer value, Op &op,
                        std::vector<HloCallReference> &calls);

/// Names of all attributes that it reads to fields; see also checkedAttributeNames().
std::vector<std::string_view> typedAttributeNames();

} // namespace tilewright
