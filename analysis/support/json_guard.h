// Checks on JSON text before a parser sees it.
//
// Recursive parsers, and the destructors of the trees they build, run out of stack on deep nesting;
// and of a key that stands twice a parser keeps one value without a word. Both are found in one
// pass over the text, without recursion.
#pragma once

#include "llvm/Support/Error.h"

#include <string>
#include <string_view>

namespace tilewright {

/// Success when no bracket of `text` stands deeper than `maxDepth` (the outermost one has depth 1)
/// and no object has a key twice; else BadInput at the first place where that is not so, located in
/// `file`. Brackets inside strings don't count; keys are compared as they read without escapes.
/// Does not check that the text is valid JSON.
llvm::Error checkJson(std::string_view text, unsigned maxDepth, const std::string &file);

} // namespace tilewright
