// A cursor over MLIR text: what HloLexer reads, and MLIR's identifiers, values, symbols, strings
// and brackets, which may be angles.
#pragma once

#include "analysis/import/hlo_lexer.h"

#include <string>
#include <string_view>

namespace tilewright::stablehlo {

/// A part of the text.
struct Span {
  uint32_t begin = 0, end = 0;
  bool isEmpty() const { return begin == end; }
};

class MlirLexer : public HloLexer {
public:
  using HloLexer::HloLexer;
  explicit MlirLexer(const HloLexer &lexer) : HloLexer(lexer) {}

  MlirLexer part(Span span) const { return MlirLexer(HloLexer::part(span.begin, span.end)); }
  std::string_view slice(Span span) const { return HloLexer::slice(span.begin, span.end); }
  using HloLexer::slice;

  /// Letters, digits, `_ $ .`, not beginning with a digit; empty if there is none.
  std::string_view identifier();
  std::string_view peekIdentifier();
  /// Consumes that identifier if it is the next one.
  bool consumeIdentifier(std::string_view expected);

  /// `%name`, without the '%'.
  bool valueName(std::string_view &out);
  /// `@name` or `@"any text"`, without the '@'; what follows in `@outer::@inner` is appended.
  bool symbol(std::string &out);
  /// `"text"`, with `\n`, `\t`, `\"`, `\\` and two hex digits behind a backslash resolved.
  bool string(std::string &out);

  /// At an opening bracket, angles included: moves behind its partner. "->" is no bracket.
  bool skipGroup();
  /// An attribute's value in a dictionary: up to a comma or a closing bracket. Brackets balance.
  bool skipValueInDictionary();
  /// An attribute's value in an op's short form: a word, a string, a symbol or one group, which may
  /// continue `[…] x […]` and `[…]x[…]->[…]`.
  bool skipShortValue();
};

} // namespace tilewright::stablehlo
