// The store of measurements: CSV files, which are the truth and only ever grow, and an index over
// them in SQLite, which is no more than a cache.
//
// A folder with CSV files is a store; its index is the file
// .tilewright-index.sqlite in it. Opening compares size and
// time stamps of every file with those that the index was made from, and reads again what has
// changed. An index that is damaged, of another version or not ours to write is set aside: the
// files are read anew, into memory where the folder can't be written. Nothing is ever read from an
// index alone that the files do not say.
//
// What a row is about, in the index's columns: `plan_hash` (of the ops and the plan; of the row's
// key where the tool gave none), `problem`, `kernel`, `kind`, `plan`, `regime`, `device`, `board`,
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
  std::string error;  ///< why there is no time
  bool counts = true; ///< false: an incumbent, or measured again later
};

/// Rows measured under the same conditions.
struct StoredSeries {
  std::string device, driver, toolVersion, regime;
  std::optional<double> clockMhz; ///< nothing where it was not recorded
  int64_t plans = 0, times = 0;
  std::optional<double> leastNs, mostNs;
};

struct StoredFile {
  std::string path;
  int64_t rows = 0, timed = 0, failed = 0; ///< timed and failed: of those that count
  std::optional<double> leastNs, mostNs;
};

/// Which rows: every condition must hold.
struct StoreFilter {
  struct Condition {
    std::string column;
    std::string pattern; ///< `*` and `?` stand for any text and any character
  };
  std::vector<Condition> where;
  bool all = false; ///< rows that do not count, too

  /// "column=pattern". BadInput for a column that the index does not have; it names those it has.
  llvm::Error add(std::string_view text);
};

class MeasurementStore {
public:
  /// Opens folders and single files (which are indexed in memory). Errors (BadInput): nothing
  /// there, a folder without CSV files, a file that is no table, located.
  static llvm::Expected<MeasurementStore> open(std::span<const std::string> paths);

  llvm::Expected<std::vector<StoredFile>> files();
  llvm::Expected<std::vector<std::string>> distinct(const std::string &file,
                                                    const std::string &column, size_t most);
  llvm::Expected<std::vector<StoredSeries>> series(const StoreFilter &filter = {});
  /// In order of files, then lines.
  llvm::Expected<std::vector<StoredRow>> rows(const StoreFilter &filter = {});

  /// Files that were read because the index did not know them as they are.
  const std::vector<std::string> &filesRead() const { return read; }
  /// What was wrong with an index, empty if nothing was.
  const std::string &note() const { return remark; }

private:
  explicit MeasurementStore(Database database) : database(std::move(database)) {}
  Database database;
  std::vector<std::string> read;
  std::string remark;
};

/// What two rows must agree in to be the same measurement, whatever file and device they come from:
/// every column that is no result, "d0=1 kernel=g warps=8".
std::string measurementKey(const TableRow &row);

} // namespace tilewright
