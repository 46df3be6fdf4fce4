// The store of measurements: append-only CSV files, which are the source of truth, and a SQLite
// index over them, which is a cache.
//
// A folder with CSV files is a store; its index is the file .tilewright-index.sqlite in it. Opening
// compares size and time stamps of every file with those in the index, and reads changed files
// again. A damaged index, one of another version, or one that can't be written is replaced: all
// files are read again, into memory if the folder can't be written. The index never contains data
// beyond the files.
//
// Identity of a row, in the index's columns: `plan_hash` (of the ops and the plan; of the row's key
// where the tool gave none), `problem`, `kernel`, `kind`, `plan`, `regime`, `device`, `board`,
// `driver`, `sm_clock_mhz`, `target`, `tool_version`, and `key`, all that tells the row from others
// as one text.
#pragma once

#include "costmodel/measurements.h"
#include "datasets/database.h"

#include <span>

namespace tilewright {

struct StoredRow {
  std::string file;
  unsigned line = 0; ///< of the file, 1 the header
  std::string planHash, problem, kernel, regime, device, driver, toolVersion, key;
  std::optional<double> clockMhz, timeNs;
  std::string error;  ///< why the row has no time
  bool counts = true; ///< false: an incumbent, or measured again later
};

/// Rows measured under the same conditions.
struct StoredSeries {
  std::string device, driver, toolVersion, regime;
  std::optional<double> clockMhz; ///< empty if it was not recorded
  int64_t plans = 0, times = 0;
  std::optional<double> leastNs, maxNs;
};

struct StoredFile {
  std::string path;
  int64_t rows = 0, timed = 0, failed = 0; ///< timed and failed: among the rows that count
  std::optional<double> leastNs, maxNs;
};

/// Selects rows: every condition must hold.
struct StoreFilter {
  struct Condition {
    std::string column;
    std::string pattern; ///< `*` and `?` match any text and any character
  };
  std::vector<Condition> where;
  bool all = false; ///< includes rows that do not count

  /// "column=pattern". BadInput for an unknown column, listing the known ones.
  llvm::Error add(std::string_view text);
};

class MeasurementStore {
public:
  /// Opens folders and single files (which are indexed in memory). Errors (BadInput): no such file,
  /// a folder without CSV files, a file that is not a table, located.
  static llvm::Expected<MeasurementStore> open(std::span<const std::string> paths);

  llvm::Expected<std::vector<StoredFile>> files();
  llvm::Expected<std::vector<std::string>> distinct(const std::string &file,
                                                    const std::string &column, size_t most);
  llvm::Expected<std::vector<StoredSeries>> series(const StoreFilter &filter = {});
  /// In order of files, then lines.
  llvm::Expected<std::vector<StoredRow>> rows(const StoreFilter &filter = {});

  /// Files that were read because the index was out of date.
  const std::vector<std::string> &filesRead() const { return read; }
  /// Why an index was discarded; empty if none was.
  const std::string &note() const { return remark; }

private:
  explicit MeasurementStore(Database database) : database(std::move(database)) {}
  Database database;
  std::vector<std::string> read;
  std::string remark;
};

/// The key of a measurement, independent of file and device: every column that is not a result,
/// "d0=1 kernel=g warps=8".
std::string measurementKey(const TableRow &row);

} // namespace tilewright
