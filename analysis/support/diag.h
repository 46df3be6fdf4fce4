// How Tilewright refuses: one located diagnostic, carried by llvm::Error / llvm::Expected.
//
// Text rules: lower case, no full stop, actual against allowed numbers, one next step. Libraries
// never print and never abort on user input; the tools print diagnostics and choose the exit code
// from the class.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// What kind of refusal it is; decides the exit code and where it is listed.
enum class DiagClass {
  BadInput,    ///< the user's file or flags are wrong: exit 2
  Unsupported, ///< a valid input that this version can't take: a row in the result
  BudgetSpent, ///< a search or proof ran out of its allowance: a row in the result
  Internal,    ///< our bug: exit 70
};

/// A text buffer that diagnostics point into. Owns a copy of the text, so that a caret can be
/// printed after the parser is gone.
class SourceBuffer {
public:
  SourceBuffer(std::string name, std::string text)
      : bufferName(std::move(name)), bufferText(std::move(text)) {}

  const std::string &name() const { return bufferName; }
  std::string_view text() const { return bufferText; }

private:
  std::string bufferName, bufferText;
};

/// A place in a buffer: byte offset from its start. Default-constructed: no place known.
struct SourceLoc {
  static constexpr uint32_t none = UINT32_MAX;
  uint32_t offset = none;
  bool isKnown() const { return offset != none; }
};

/// 1-based line and column (in bytes) of a place.
struct LineColumn {
  unsigned line = 0, column = 0;
};
LineColumn lineColumn(std::string_view text, uint32_t offset);

/// One diagnostic. `file`, `line` and `column` are filled when the place is known; `line == 0`
/// means that only the file (or nothing) is.
struct Diag {
  DiagClass cls = DiagClass::BadInput;
  std::string message;
  std::string file;
  unsigned line = 0, column = 0;
  std::string sourceLine; ///< the text of that line, shortened, for the caret
  std::vector<std::string> notes;

  /// "file:line:column: error: message", the source line with a caret, then the notes. What comes
  /// from files is made printable and shortened (see printable.h).
  std::string str() const;
};

/// A diagnostic that points at `offset` of `buffer`.
Diag diagAt(const SourceBuffer &buffer, SourceLoc where, std::string message,
            DiagClass cls = DiagClass::BadInput);

/// Carries a Diag through llvm::Error.
class DiagError : public llvm::ErrorInfo<DiagError> {
public:
  static char ID;
  explicit DiagError(Diag diag) : diagnostic(std::move(diag)) {}

  const Diag &diag() const { return diagnostic; }
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

private:
  Diag diagnostic;
};

llvm::Error makeError(Diag diag);

/// An error without a place: makeError(DiagClass::BadInput, "tile {} is out of range", 3).
template <typename... Args>
llvm::Error makeError(DiagClass cls, fmt::format_string<Args...> format, Args &&...args) {
  Diag diag;
  diag.cls = cls;
  diag.message = fmt::format(format, std::forward<Args>(args)...);
  return makeError(std::move(diag));
}

/// Takes the Diag out of an error; other kinds of llvm::Error become Internal ones.
Diag takeDiag(llvm::Error error);

/// Reads a whole file, refusing one over `maxBytes`. gzip is unpacked (by content, not by name).
llvm::Expected<std::string> readFile(const std::string &path, uint64_t maxBytes = 1ull << 30);

/// replaceFile() with an error that names the file.
llvm::Error writeFileAtomically(const std::string &path, std::string_view bytes);

} // namespace tilewright
