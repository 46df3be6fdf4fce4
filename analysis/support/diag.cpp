#include "analysis/support/diag.h"

#include "analysis/support/printable.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>

namespace tilewright {

char DiagError::ID = 0;

namespace {
constexpr size_t maxShownLine = 160;  // bytes of a source line that a diagnostic repeats
constexpr size_t maxShownFile = 1000; // bytes of a file's name

bool isContinuationByte(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }
} // namespace

LineColumn lineColumn(std::string_view text, uint32_t offset) {
  size_t end = std::min<size_t>(offset, text.size());
  std::string_view before = text.substr(0, end);
  size_t newline = before.rfind('\n');
  size_t lineStart = newline == std::string_view::npos ? 0 : newline + 1;
  LineColumn result;
  result.line = 1 + static_cast<unsigned>(std::count(before.begin(), before.end(), '\n'));
  result.column = 1 + static_cast<unsigned>(end - lineStart);
  return result;
}

Diag diagAt(const SourceBuffer &buffer, SourceLoc where, std::string message, DiagClass cls) {
  Diag diag;
  diag.cls = cls;
  diag.message = std::move(message);
  diag.file = buffer.name();
  if (!where.isKnown())
    return diag;
  std::string_view text = buffer.text();
  LineColumn place = lineColumn(text, where.offset);
  diag.line = place.line;
  diag.column = place.column;
  size_t start = std::min<size_t>(where.offset, text.size()) - (place.column - 1);
  size_t end = text.find('\n', start);
  diag.sourceLine = text.substr(start, end == std::string_view::npos ? end : end - start);
  return diag;
}

std::string Diag::str() const {
  std::string out = printable(shortened(file, maxShownFile));
  if (line)
    out += fmt::format(":{}:{}", line, column);
  if (!out.empty())
    out += ": ";
  out += "error: " + printableMessage(message) + "\n";
  if (line && !sourceLine.empty()) {
    // A long line is cut to a window around the column, between characters.
    size_t at = std::min<size_t>(column - 1, sourceLine.size());
    size_t from = at > maxShownLine / 2 ? at - maxShownLine / 2 : 0;
    size_t end = std::min(from + maxShownLine, sourceLine.size());
    while (from > 0 && isContinuationByte(sourceLine[from]))
      --from;
    while (end < sourceLine.size() && isContinuationByte(sourceLine[end]))
      ++end;
    std::string_view shown = std::string_view(sourceLine).substr(from, end - from);
    std::string before = printableLine(shown.substr(0, at - from));
    auto columns =
        std::count_if(before.begin(), before.end(), [](char c) { return !isContinuationByte(c); });
    out += "  " + printableLine(shown) + "\n  " + std::string(static_cast<size_t>(columns), ' ') +
           "^\n";
  }
  for (const std::string &note : notes)
    out += "  note: " + printableMessage(note) + "\n";
  return out;
}

void DiagError::log(llvm::raw_ostream &os) const { os << diagnostic.str(); }

std::error_code DiagError::convertToErrorCode() const { return llvm::inconvertibleErrorCode(); }

llvm::Error makeError(Diag diag) { return llvm::make_error<DiagError>(std::move(diag)); }

Diag takeDiag(llvm::Error error) {
  Diag result;
  result.cls = DiagClass::Internal;
  llvm::handleAllErrors(
      std::move(error), [&](const DiagError &e) { result = e.diag(); },
      [&](const llvm::ErrorInfoBase &e) { result.message = e.message(); });
  return result;
}

} // namespace tilewright
