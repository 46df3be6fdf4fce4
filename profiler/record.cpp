#include "profiler/record.h"

#include "analysis/support/csv.h"

#include <algorithm>

namespace tilewright::profile {

const std::vector<std::string> &Record::header() {
  static const std::vector<std::string> names = {
#define TILEWRIGHT_COLUMN(enumerator, name) #name,
#include "profiler/columns.def"
  };
  return names;
}

std::optional<Record> Record::fromCells(const std::vector<std::string> &cells) {
  Record record;
  if (cells.size() != record.cells.size())
    return std::nullopt;
  std::copy(cells.begin(), cells.end(), record.cells.begin());
  return record;
}

std::string csvLine(const std::vector<std::string> &cells) {
  std::vector<std::string> oneLine = cells;
  for (std::string &cell : oneLine)
    for (char &c : cell)
      if (c == '\n' || c == '\r' || c == '\0')
        c = ' ';
  std::string row = csvRow(oneLine);
  row.pop_back(); // its line end
  return row;
}

std::optional<std::vector<std::string>> parseCsvLine(std::string_view line) {
  std::vector<std::string> cells(1);
  for (size_t i = 0; i < line.size(); ++i) {
    std::string &cell = cells.back();
    if (line[i] == ',') {
      cells.emplace_back();
    } else if (line[i] != '"') {
      cell += line[i];
    } else {
      if (!cell.empty())
        return std::nullopt;
      for (++i;; ++i) {
        if (i >= line.size())
          return std::nullopt;
        if (line[i] != '"')
          cell += line[i];
        else if (i + 1 < line.size() && line[i + 1] == '"')
          cell += line[i++];
        else
          break;
      }
      if (i + 1 < line.size() && line[i + 1] != ',')
        return std::nullopt;
    }
  }
  return cells;
}

} // namespace tilewright::profile
