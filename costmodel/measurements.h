// Measurements: CSV files with a header; one row is a kernel with one launch configuration.
#pragma once

#include "analysis/support/diag.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// A table as read from its file. Cells are views into text that the table owns.
class Table {
public:
  /// RFC 4180: commas, quoted fields with "" for a quote, CR LF or LF. Every row must have as many
  /// fields as the header. A byte order mark in front is skipped. Errors (BadInput) are located: an
  /// unterminated quote, a row of another width, two columns of one name, bytes that are not text,
  /// more than `maxRows` rows.
  /// Of a table that ends in a column `row_check`, as tilewright-profile writes it, a last line
  /// without its line end is not whole and is left out.
  static llvm::Expected<Table> parse(std::string name, std::string text,
                                     size_t maxRows = 10'000'000);
  /// Reads a file; gzip is unpacked.
  static llvm::Expected<Table> read(const std::string &path);

  const std::string &name() const { return buffer->name(); }
  size_t rowCount() const { return lines.size(); }
  const std::vector<std::string> &columns() const { return columnNames; }
  std::optional<size_t> column(std::string_view name) const;

  std::string_view cell(size_t row, size_t column) const {
    return cells[row * columnNames.size() + column];
  }
  unsigned line(size_t row) const { return lines[row]; } ///< 1-based, where the row starts
  /// The row as it stands in the file, without its line end.
  std::string_view rowText(size_t row) const;
  unsigned tornLine() const { return torn; } ///< the line that is not whole; 0: there is none

  /// An error at that row.
  llvm::Error errorAt(size_t row, std::string message, DiagClass cls = DiagClass::BadInput) const;

private:
  std::shared_ptr<const SourceBuffer> buffer;
  std::shared_ptr<const std::vector<std::string>> unquoted; ///< fields that had quotes
  std::vector<std::string> columnNames;
  std::vector<std::string_view> cells;
  std::vector<unsigned> lines;
  std::vector<uint32_t> starts, ends; ///< of each row in the text
  unsigned torn = 0;
};

/// One row with its columns by name.
class TableRow {
public:
  TableRow(const Table &table, size_t row) : owner(&table), index(row) {}

  const Table &table() const { return *owner; }
  size_t row() const { return index; }
  unsigned line() const { return owner->line(index); }

  /// Empty when there is no such column or the cell is empty.
  std::string_view text(std::string_view column) const;
  /// A finite decimal number; nothing for an empty cell or a missing column.
  /// An error for text that is not a number.
  llvm::Expected<std::optional<double>> number(std::string_view column) const;
  /// The same for a whole number ("128" or "128.0").
  llvm::Expected<std::optional<int64_t>> integer(std::string_view column) const;

  /// Does the row end with the check that its text has? True for tables without such a column.
  bool hasFittingCheck() const;

  llvm::Error error(std::string message, DiagClass cls = DiagClass::BadInput) const {
    return owner->errorAt(index, std::move(message), cls);
  }

private:
  const Table *owner;
  size_t index;
};

} // namespace tilewright
