// A cursor over HLO text: words, numbers, strings and balanced brackets, with one located error.
//
// There is no token type: HLO's attribute values have many little languages (`0_0x1_1`,
// `b01f_01io->b01f`, `[1,8]<=[8]`), so the reader requests what it expects at each place. All views
// point into the buffer and nothing is allocated until an error is reported.
#pragma once

#include "analysis/support/diag.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright {

/// Limits on model files. They are far above real models and keep memory bounded.
namespace hlo_limits {
constexpr uint64_t bytes = 1ull << 30;  ///< of text
constexpr unsigned depth = 256;         ///< of nested brackets
constexpr size_t rank = 32;             ///< dims of one tensor
constexpr size_t ops = 1u << 20;        ///< of all computations together
constexpr size_t shapeNodes = 1u << 22; ///< tensors and tuples of all shapes together
constexpr size_t attributesOfAnOp = 256;
} // namespace hlo_limits

/// U+FEFF in UTF-8, with which some editors begin a file. No text, wherever it stands.
constexpr std::string_view byteOrderMark = "\xef\xbb\xbf";

/// The first thing that went wrong. Later ones follow from it and are dropped.
struct HloParseError {
  bool isSet = false;
  uint32_t offset = 0;
  std::string message;
  DiagClass cls = DiagClass::BadInput;
};

class HloLexer {
public:
  /// Reads text[begin, end). Offsets, also those of errors, count from the start of `text`.
  HloLexer(std::string_view text, uint32_t begin, uint32_t end, HloParseError &error)
      : text(text.substr(0, end)), pos(begin), error(error) {}

  /// A reader of a part of the same text that reports into the same error.
  HloLexer part(uint32_t begin, uint32_t end) const { return {text, begin, end, error}; }

  uint32_t offset() const { return pos; }
  std::string_view slice(uint32_t begin, uint32_t end) const {
    return text.substr(begin, end - begin);
  }

  /// Records an error unless there is one already. Always false, so that callers can return it.
  bool fail(uint32_t where, std::string message, DiagClass cls = DiagClass::BadInput);
  /// "expected WHAT, found …" at the cursor.
  bool failExpected(std::string_view what);
  bool hasFailed() const { return error.isSet; }

  /// Skips white space, `// …`, `/* … */` and byte-order marks.
  void skipTrivia();
  /// Offset of the next character that is not trivia.
  uint32_t place() {
    skipTrivia();
    return pos;
  }
  bool atEnd() { return place() >= text.size(); }
  /// The next character that is not trivia, or 0 at the end.
  char peek() {
    skipTrivia();
    return pos < text.size() ? text[pos] : '\0';
  }
  /// The character at the cursor without skipping anything, or 0 at the end.
  char peekRaw(uint32_t ahead = 0) const {
    return pos + ahead < text.size() ? text[pos + ahead] : '\0';
  }
  void advance(uint32_t count = 1) { pos += count; }
  /// Goes back to an earlier offset.
  void rewind(uint32_t to) { pos = to; }

  /// Consumes that punctuation (after trivia) if it is there.
  bool consume(char c);
  bool consume(std::string_view punctuation);
  bool expect(char c);

  /// A run of letters, digits and `_ . -`; empty if there is none. Stops before "->".
  std::string_view word();
  std::string_view peekWord();
  /// A name with or without '%', as is written; fails if there is none.
  bool name(std::string_view &out, std::string_view what);

  /// A decimal 64-bit integer with an optional sign; overflow is an error.
  bool integer(int64_t &out, std::string_view what);

  /// At '"': moves behind the closing quote.
  bool skipString();
  /// At '(', '[' or '{': moves behind its partner. Brackets in strings and comments don't count.
  bool skipBalanced();
  /// An attribute's value: text up to white space or a comma outside all brackets and strings. One
  /// that begins `mesh[` goes on to its axes: `mesh['x'=2,'y'=2], device_ids=(…) {'x'}`.
  bool skipValue();

private:
  bool skipMesh();

  std::string_view text;
  uint32_t pos;
  HloParseError &error;
};

} // namespace tilewright
