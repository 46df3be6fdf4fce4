// Tokens of a tile program's text. Indentation makes blocks: a line that stands further in than the
// one before it opens one.
#pragma once

#include "analysis/support/diag.h"

#include "llvm/Support/Error.h"

#include <string_view>
#include <vector>

namespace tilewright::program {

/// Limits on texts. They are far above programs that anyone reads and keep memory bounded.
namespace limits {
constexpr size_t bytes = 1 << 20;
constexpr size_t tokens = 1 << 17;
constexpr unsigned blockDepth = 24;      ///< of nested blocks
constexpr unsigned expressionDepth = 64; ///< of nested parentheses and calls
constexpr size_t rank = 16;              ///< dims of a tensor or a tile
constexpr size_t items = 4096;           ///< values, tensors, buffers …, of each
constexpr size_t nodes = 1 << 12;        ///< of one scalar expression
} // namespace limits

enum class TokenKind : uint8_t { Name, Number, Sign, Newline, Indent, Dedent, End };

struct Token {
  TokenKind kind = TokenKind::End;
  uint32_t offset = 0;
  std::string_view text; ///< into the buffer; a name may have dots: "mma.sync"
};

/// `--` starts a comment; `;` is a Newline. The last token is End. BadInput with the place: a tab
/// in an indentation, a character that means nothing, a block that ends where none began.
llvm::Expected<std::vector<Token>> tokenize(const SourceBuffer &text);

} // namespace tilewright::program
