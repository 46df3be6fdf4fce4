// One row of a measurement file.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::profile {

enum class Column : unsigned {
#define TILEWRIGHT_COLUMN(enumerator, name) enumerator,
#include "profiler/columns.def"
  Count
};

class Record {
public:
  std::string &operator[](Column column) { return cells[static_cast<size_t>(column)]; }
  const std::string &operator[](Column column) const { return cells[static_cast<size_t>(column)]; }
  bool operator==(const Record &) const = default;

  const std::array<std::string, static_cast<size_t>(Column::Count)> &all() const { return cells; }

  /// The columns' names, in order.
  static const std::vector<std::string> &header();
  static std::optional<Record> fromCells(const std::vector<std::string> &cells);

private:
  std::array<std::string, static_cast<size_t>(Column::Count)> cells;
};

/// Cells as a CSV line without its end; quotes where they are needed. Line breaks in cells become
/// spaces, so that a row is a line.
std::string csvLine(const std::vector<std::string> &cells);

/// The cells of such a line, or nothing if it is none.
std::optional<std::vector<std::string>> parseCsvLine(std::string_view line);

} // namespace tilewright::profile
