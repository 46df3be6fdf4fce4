#include "analysis/support/json_guard.h"

#include "analysis/support/diag.h"

namespace tilewright {

llvm::Error checkJsonDepth(std::string_view text, unsigned maxDepth, const std::string &file) {
  uint64_t depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      if (c == '\\')
        ++i; // the escaped byte can't end the string
      else if (c == '"')
        inString = false;
      continue;
    }
    if (c == '"') {
      inString = true;
    } else if (c == '[' || c == '{') {
      if (++depth <= maxDepth)
        continue;
      SourceLoc where;
      if (i < SourceLoc::none)
        where.offset = static_cast<uint32_t>(i);
      // Only the text up to the bracket and a little of what follows is needed for the caret.
      SourceBuffer buffer(file, std::string(text.substr(0, i + 80)));
      return makeError(
          diagAt(buffer, where,
                 fmt::format("brackets nest {} deep, allowed are {}; flatten the document", depth,
                             maxDepth)));
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth; // one bracket too many is left to the parser to report
    }
  }
  return llvm::Error::success();
}

} // namespace tilewright
