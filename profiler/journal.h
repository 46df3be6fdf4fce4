// An append-only CSV file that survives a kill at any moment.
//
// Every line ends with a check of itself, is written with one write() and reaches the disk before
// append() returns. Opening finds what the last writer left: a last line that is not whole (no
// line end, or a check that does not fit) is cut off, damage anywhere else is an error. One writer
// at a time: the file is locked.
#pragma once

#include "profiler/result.h"

#include <string>
#include <vector>

namespace tilewright::profile {

class Journal {
public:
  /// Opens or creates a file with these columns and a last one, `row_check`. BadInput when it
  /// can't be opened, is in use, has other columns or is damaged before its end; then it is left
  /// as it is.
  static Result<Journal> open(const std::string &path, std::vector<std::string> columns);
  Journal(Journal &&other) noexcept;
  Journal &operator=(Journal &&) = delete;
  ~Journal(); ///< removes a file without any row

  const std::string &path() const { return file; }
  /// Rows that are there, without their checks.
  const std::vector<std::vector<std::string>> &rows() const { return contents; }
  size_t droppedBytes() const { return dropped; } ///< of a line that was not whole

  /// Precondition: as many cells as columns.
  Status append(std::vector<std::string> cells);

  /// Reads again what another process has appended through the same open file.
  Status refresh();

private:
  Journal(std::string path, int descriptor, std::vector<std::string> columns)
      : file(std::move(path)), descriptor(descriptor), columns(std::move(columns)) {}
  Status load();
  Status write(const std::string &line);

  std::string file;
  int descriptor = -1;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> contents;
  bool hasHeader = false;
  size_t dropped = 0;
};

/// A line with its check: FNV-1a of everything before the last comma, folded to 8 digits.
std::string checkedLine(const std::vector<std::string> &cells);

} // namespace tilewright::profile
