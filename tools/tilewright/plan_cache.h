// The cache of plan searches: one SQLite file that runs and users share.
//
// An entry's key is a hash of the kernel and of all that its search depends on (stored_search.h),
// so an entry is never wrong, only unused. Each carries a digest: one that is damaged is dropped,
// and a file that is no database is replaced by an empty one. Several processes read and write at
// once (write-ahead log). Whatever goes wrong costs time, never a result.
#pragma once

#include "datasets/database.h"
#include "tools/explore/stored_search.h"

#include <mutex>

namespace tilewright::cli {

struct PlanCacheOptions {
  std::string file;
  uint64_t mostBytes = 1ull << 30; ///< the entries that were not used for longest go first
};

/// From $TILEWRIGHT_CACHE: a folder, or "off"; else $XDG_CACHE_HOME/tilewright, else
/// ~/.cache/tilewright. $TILEWRIGHT_CACHE_BYTES bounds it. Nothing where there is no cache.
std::optional<PlanCacheOptions> planCacheOptions();

struct PlanCacheState {
  uint64_t entries = 0;
  uint64_t bytes = 0; ///< of its files
};

class PlanCache : public PlanStore {
public:
  /// Makes the file where there is none. BadInput where it can't be made or opened.
  static llvm::Expected<std::unique_ptr<PlanCache>> open(const PlanCacheOptions &options);
  ~PlanCache() override;

  std::optional<std::string> find(const std::string &key) override;
  void keep(const std::string &key, const std::string &text) override;

  size_t found() const { return hits; }
  size_t missed() const { return misses; }

  llvm::Expected<PlanCacheState> state();
  /// Removes entries, those that were not used for longest first, until the rest takes at most so
  /// many bytes. Returns how many went.
  llvm::Expected<uint64_t> prune(uint64_t mostBytes);
  /// Removes all entries.
  llvm::Error clear();

private:
  PlanCache(Database database, PlanCacheOptions options)
      : database(std::move(database)), options(std::move(options)) {}
  static llvm::Expected<Database> openDatabase(const std::string &file);
  llvm::Error keepNow(const std::string &key, const std::string &text);
  llvm::Expected<std::optional<std::string>> findNow(const std::string &key);
  llvm::Expected<uint64_t> number(const std::string &query);

  std::mutex mutex;
  Database database;
  PlanCacheOptions options;
  size_t hits = 0, misses = 0, kept = 0;
};

/// What the results of this program depend on beside their inputs: its version and its build.
std::string programIdentity();

} // namespace tilewright::cli
