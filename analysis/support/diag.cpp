#include "analysis/support/diag.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>

namespace tilewright {

char DiagError::ID = 0;

namespace {
constexpr size_t maxShownLine = 160; // bytes of a source line that a diagnostic repeats

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
  std::string out = file;
  if (line)
    out += fmt::format(":{}:{}", line, column);
  if (!out.empty())
    out += ": ";
  out += "error: " + message + "\n";
  if (line && !sourceLine.empty()) {
    // A long line is cut to a window around the column; control bytes are shown as '?'.
    size_t at = column - 1;
    size_t from = at > maxShownLine / 2 ? at - maxShownLine / 2 : 0;
    while (from > 0 && from < sourceLine.size() && isContinuationByte(sourceLine[from]))
      --from;
    std::string shown = sourceLine.substr(std::min(from, sourceLine.size()), maxShownLine);
    for (char &c : shown)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
        c = c == '\t' ? ' ' : '?';
    out += "  " + shown + "\n  " + std::string(at - from, ' ') + "^\n";
  }
  for (const std::string &note : notes)
    out += "  note: " + note + "\n";
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
