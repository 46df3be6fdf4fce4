#include "costmodel/measurements.h"

#include "analysis/support/digest.h"
#include "analysis/support/printable.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>

namespace tilewright {

namespace {

/// Splits CSV text into fields, one row at a time.
class CsvScanner {
public:
  CsvScanner(const SourceBuffer &buffer, std::vector<std::string> &unquoted)
      : source(buffer), text(buffer.text()), unquotedFields(unquoted) {}

  bool atEnd() const { return pos >= text.size(); }
  unsigned line() const { return lineNumber; }
  size_t offset() const { return pos; }

  /// Reads one row. A field is a view into the text and -1, or, if it had quotes, an empty view and
  /// its number among the unquoted fields.
  llvm::Error readRow(std::vector<std::pair<std::string_view, int>> &fields) {
    fields.clear();
    while (true) {
      if (auto error = readField(fields))
        return error;
      if (pos >= text.size())
        return llvm::Error::success();
      if (text[pos] == ',') {
        ++pos;
        continue;
      }
      if (text[pos] == '\r')
        ++pos;
      if (pos < text.size() && text[pos] == '\n') {
        ++pos;
        ++lineNumber;
        return llvm::Error::success();
      }
      if (pos >= text.size())
        return llvm::Error::success();
      return fail("expected a comma or the end of the line after a field");
    }
  }

  llvm::Error fail(std::string message) const {
    return makeError(diagAt(source, SourceLoc{static_cast<uint32_t>(pos)}, std::move(message)));
  }

private:
  llvm::Error readField(std::vector<std::pair<std::string_view, int>> &fields) {
    if (pos < text.size() && text[pos] == '"')
      return readQuoted(fields);
    size_t start = pos;
    while (pos < text.size() && text[pos] != ',' && text[pos] != '\n' && text[pos] != '\r') {
      if (text[pos] == '\0')
        return fail("a zero byte: this is not a text file");
      if (text[pos] == '"')
        return fail("a quote inside an unquoted field");
      ++pos;
    }
    fields.emplace_back(text.substr(start, pos - start), -1);
    return llvm::Error::success();
  }

  llvm::Error readQuoted(std::vector<std::pair<std::string_view, int>> &fields) {
    size_t start = pos++;
    std::string value;
    while (true) {
      if (pos >= text.size()) {
        pos = start;
        return fail("a quote that is never closed");
      }
      char c = text[pos++];
      if (c == '"') {
        if (pos < text.size() && text[pos] == '"')
          ++pos;
        else
          break;
      }
      if (c == '\n')
        ++lineNumber;
      value.push_back(c);
    }
    fields.emplace_back(std::string_view(), static_cast<int>(unquotedFields.size()));
    unquotedFields.push_back(std::move(value));
    return llvm::Error::success();
  }

  const SourceBuffer &source;
  std::string_view text;
  std::vector<std::string> &unquotedFields;
  size_t pos = 0;
  unsigned lineNumber = 1;
};

} // namespace

namespace {

constexpr std::string_view checkColumn = "row_check";

/// Cuts a last line without a line end off a table with checks; returns its number, or 0.
unsigned cutTornLine(std::string &text) {
  const size_t headerEnd = text.find('\n');
  if (headerEnd == std::string::npos || text.ends_with('\n'))
    return 0;
  std::string_view header(text.data(), headerEnd);
  if (header.ends_with('\r'))
    header.remove_suffix(1);
  if (!header.ends_with("," + std::string(checkColumn)))
    return 0;
  text.resize(text.rfind('\n') + 1);
  return static_cast<unsigned>(std::count(text.begin(), text.end(), '\n')) + 1;
}

} // namespace

llvm::Expected<Table> Table::parse(std::string name, std::string text, size_t maxRows) {
  if (text.size() >= UINT32_MAX)
    return makeError(DiagClass::BadInput, "{}: {} bytes of CSV, at most {} allowed", name,
                     text.size(), UINT32_MAX - 1);
  constexpr std::string_view mark = "\xef\xbb\xbf";
  if (text.starts_with(mark))
    text.erase(0, mark.size());
  Table table;
  table.torn = cutTornLine(text);
  table.buffer = std::make_shared<SourceBuffer>(std::move(name), std::move(text));
  auto unquoted = std::make_shared<std::vector<std::string>>();
  CsvScanner scanner(*table.buffer, *unquoted);
  if (scanner.atEnd())
    return scanner.fail("an empty file: expected a header with column names");

  std::vector<std::pair<std::string_view, int>> fields;
  if (auto error = scanner.readRow(fields))
    return error;
  for (auto [view, quoted] : fields) {
    std::string column = quoted < 0 ? std::string(view) : (*unquoted)[quoted];
    if (std::find(table.columnNames.begin(), table.columnNames.end(), column) !=
        table.columnNames.end())
      return makeError(
          diagAt(*table.buffer, SourceLoc{0}, fmt::format("two columns are called '{}'", column)));
    table.columnNames.push_back(std::move(column));
  }

  // Strings move when their vector grows, so views of quoted fields are created at the end.
  std::vector<std::pair<size_t, int>> pending;
  while (!scanner.atEnd()) {
    unsigned line = scanner.line();
    const size_t start = scanner.offset();
    if (auto error = scanner.readRow(fields))
      return error;
    if (fields.size() == 1 && fields[0].first.empty() && fields[0].second < 0)
      continue; // a blank line
    if (table.lines.size() == maxRows)
      return scanner.fail(fmt::format("more than {} rows", maxRows));
    table.lines.push_back(line);
    table.starts.push_back(static_cast<uint32_t>(start));
    table.ends.push_back(static_cast<uint32_t>(scanner.offset()));
    if (fields.size() != table.columnNames.size())
      return table.errorAt(
          table.lines.size() - 1,
          fmt::format("{} fields, but the header has {}", fields.size(), table.columnNames.size()));
    for (auto [view, quoted] : fields) {
      if (quoted >= 0)
        pending.emplace_back(table.cells.size(), quoted);
      table.cells.push_back(view);
    }
  }
  for (auto [cell, quoted] : pending)
    table.cells[cell] = (*unquoted)[quoted];
  table.unquoted = std::move(unquoted);
  return table;
}

std::string_view Table::rowText(size_t row) const {
  std::string_view text = buffer->text().substr(starts[row], ends[row] - starts[row]);
  while (text.ends_with('\n') || text.ends_with('\r'))
    text.remove_suffix(1);
  return text;
}

llvm::Expected<Table> Table::read(const std::string &path) {
  auto text = readFile(path);
  if (!text)
    return text.takeError();
  return parse(path, std::move(*text));
}

std::optional<size_t> Table::column(std::string_view name) const {
  auto it = std::find(columnNames.begin(), columnNames.end(), name);
  if (it == columnNames.end())
    return std::nullopt;
  return it - columnNames.begin();
}

llvm::Error Table::errorAt(size_t row, std::string message, DiagClass cls) const {
  Diag diag;
  diag.cls = cls;
  diag.message = std::move(message);
  diag.file = buffer->name();
  diag.line = lines[row];
  diag.column = 1;
  return makeError(std::move(diag));
}

std::string_view TableRow::text(std::string_view column) const {
  auto position = owner->column(column);
  return position ? owner->cell(index, *position) : std::string_view();
}

llvm::Expected<std::optional<double>> TableRow::number(std::string_view column) const {
  std::string_view cell = text(column);
  if (cell.empty())
    return std::nullopt;
  double value = 0;
  auto [end, code] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (code != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value))
    return error(fmt::format("column '{}' is '{}', expected a number", column, excerpt(cell)));
  return value;
}

llvm::Expected<std::optional<int64_t>> TableRow::integer(std::string_view column) const {
  auto value = number(column);
  if (!value)
    return value.takeError();
  if (!*value)
    return std::nullopt;
  if (std::floor(**value) != **value || std::abs(**value) > 9e15)
    return error(fmt::format("column '{}' is {}, expected a whole number", column, **value));
  return static_cast<int64_t>(**value);
}

bool TableRow::hasFittingCheck() const {
  if (owner->columns().back() != checkColumn)
    return true;
  const std::string_view text = owner->rowText(index);
  const size_t comma = text.rfind(',');
  return comma != std::string_view::npos &&
         text.substr(comma + 1) == rowCheck(text.substr(0, comma));
}

} // namespace tilewright
