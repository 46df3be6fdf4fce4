// Checks on JSON text before a parser sees it.
//
// Recursive parsers, and the destructors of the trees they build, run out of stack on deep nesting.
// The depth of the text is counted first, in one pass and without recursion.
#pragma once

#include "llvm/Support/Error.h"

#include <string>
#include <string_view>

namespace tilewright {

/// Success when no bracket of `text` stands deeper than `maxDepth` (the outermost one has depth 1);
/// else BadInput at the first bracket that does, located in `file`. Brackets inside strings don't
/// count. Says nothing about whether the text is valid JSON.
llvm::Error checkJsonDepth(std::string_view text, unsigned maxDepth, const std::string &file);

} // namespace tilewright
