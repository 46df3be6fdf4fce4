#include "datasets/anonymous.h"

#include "analysis/support/csv.h"
#include "analysis/support/digest.h"

#include <algorithm>

namespace tilewright {

llvm::Expected<std::string> withoutUuids(const Table &table) {
  const std::optional<size_t> column = table.column("uuid");
  std::vector<std::string> header = table.columns();
  if (column)
    header[*column] = "board";
  const bool hasChecks = header.back() == "row_check";
  std::string text = csvRow(header);
  for (size_t i = 0; i < table.rowCount(); ++i) {
    const TableRow row(table, i);
    if (!row.hasFittingCheck())
      return row.error("its row_check does not fit: it was changed after it was measured");
    std::string line(table.rowText(i));
    const std::string_view uuid = row.text("uuid");
    if (column && !uuid.empty()) {
      line.replace(line.find(uuid), uuid.size(), boardOf(uuid));
      if (line.find(uuid) != std::string::npos)
        return row.error("the card's UUID stands in more than its column");
      if (hasChecks) {
        const std::string cells = line.substr(0, line.rfind(','));
        line = cells + "," + rowCheck(cells);
      }
    }
    text += line + "\n";
  }
  return text;
}

} // namespace tilewright
