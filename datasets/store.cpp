#include "datasets/store.h"

#include "analysis/support/digest.h"
#include "costmodel/measured_plans.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <sys/stat.h>

namespace tilewright {

namespace {

namespace fs = std::filesystem;

constexpr const char *indexName = ".tilewright-index.sqlite";
/// Version of the tables below; an index of another version is rebuilt.
constexpr int indexVersion = 2;

/// Text columns that are copied unchanged from a file.
constexpr std::array textColumns = {"plan_hash", "problem", "kernel",      "kind",
                                    "plan",      "regime",  "device",      "board",
                                    "driver",    "target",  "tool_version"};

const char *const schema = R"(
create table files(path text primary key, stamp text not null, digest text not null);
create table rows(file text not null, line integer not null, counts integer not null,
  plan_hash text, problem text, kernel text, kind text, plan text, regime text, device text,
  board text, driver text, target text, tool_version text, key text, sm_clock_mhz real, time_ns real,
  error text, primary key(file, line)) without rowid;
)";

/// Detects that a file was written to. The inode's change time can't be set by hand.
std::string stampOf(const std::string &path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0)
    return "";
  return fmt::format("{} {} {}.{:09} {}.{:09}", info.st_ino, info.st_size, info.st_mtim.tv_sec,
                     info.st_mtim.tv_nsec, info.st_ctim.tv_sec, info.st_ctim.tv_nsec);
}

bool isTable(const fs::path &path) {
  std::string name = path.filename().string();
  // A run's counters have no times; their file is beside the run's.
  return (name.ends_with(".csv") || name.ends_with(".csv.gz")) &&
         name.find(".counters.csv") == std::string::npos;
}

std::string hashOfKey(std::string_view key) {
  Digest digest;
  digest.add(key);
  return digest.str();
}

/// An index and the files that it should cover.
class Indexer {
public:
  explicit Indexer(Database &database) : database(database) {}

  /// True if the database is a readable index of this version.
  llvm::Expected<bool> isCurrent() {
    auto version = database.prepare("pragma user_version");
    if (!version)
      return version.takeError();
    auto row = version->step();
    if (!row)
      return row.takeError();
    if (version->integer(0) != indexVersion)
      return false;
    // Checks everything, not only what the current query reads.
    auto check = database.prepare("pragma quick_check(1)");
    if (!check)
      return check.takeError();
    auto found = check->step();
    if (!found)
      return found.takeError();
    if (!*found || check->text(0) != "ok")
      return false;
    auto files = database.prepare("select path, digest from files");
    if (!files)
      return files.takeError();
    for (;;) {
      auto more = files->step();
      if (!more)
        return more.takeError();
      if (!*more)
        return true;
      auto digest = digestOf(files->text(0));
      if (!digest)
        return digest.takeError();
      if (*digest != files->text(1))
        return false;
    }
  }

  llvm::Error create() {
    return database.run(std::string(schema) +
                        fmt::format("pragma user_version = {};", indexVersion));
  }

  /// Updates the index from the files. `base` is the prefix of the names in the index.
  llvm::Error update(const std::vector<std::string> &paths, std::vector<std::string> &read) {
    std::vector<std::pair<std::string, std::string>> changed; // with their stamps
    std::vector<std::string> gone;
    auto known = database.prepare("select path, stamp from files order by path");
    if (!known)
      return known.takeError();
    std::map<std::string, std::string> stamps;
    for (;;) {
      auto more = known->step();
      if (!more)
        return more.takeError();
      if (!*more)
        break;
      stamps[known->text(0)] = known->text(1);
    }
    for (const auto &[path, stamp] : stamps)
      if (std::find(paths.begin(), paths.end(), path) == paths.end())
        gone.push_back(path);
    for (const std::string &path : paths) {
      std::string stamp = stampOf(path);
      if (auto old = stamps.find(path); old == stamps.end() || old->second != stamp)
        changed.emplace_back(path, stamp);
    }
    if (changed.empty() && gone.empty())
      return llvm::Error::success();
    if (auto error = database.run("begin immediate"))
      return error;
    auto all = [&]() -> llvm::Error {
      for (const std::string &path : gone)
        if (auto error = forget(path))
          return error;
      for (const auto &[path, stamp] : changed) {
        if (auto error = forget(path))
          return error;
        if (auto error = add(path, stamp))
          return error;
        read.push_back(path);
      }
      return database.run("commit");
    };
    if (auto error = all()) {
      llvm::consumeError(database.run("rollback"));
      return error;
    }
    return llvm::Error::success();
  }

private:
  llvm::Error forget(const std::string &path) {
    for (const char *sql :
         {"delete from rows where file = ?", "delete from files where path = ?"}) {
      auto statement = database.prepare(sql);
      if (!statement)
        return statement.takeError();
      auto done = statement->bind(0, path).step();
      if (!done)
        return done.takeError();
    }
    return llvm::Error::success();
  }

  /// A checksum of the index's content for a file: flipped bits must not become a measurement.
  llvm::Expected<std::string> digestOf(const std::string &path) {
    auto rows = database.prepare("select * from rows where file = ? order by line");
    if (!rows)
      return rows.takeError();
    rows->bind(0, path);
    Digest digest;
    for (;;) {
      auto more = rows->step();
      if (!more)
        return more.takeError();
      if (!*more)
        return digest.str();
      for (int c = 0; c < rows->columns(); ++c)
        digest.add(rows->text(c));
    }
  }

  llvm::Error add(const std::string &path, const std::string &stamp) {
    auto table = Table::read(path);
    if (!table)
      return table.takeError();
    std::set<size_t> counting;
    bool knowsAttempts = MeasuredPlans::describes(*table);
    if (knowsAttempts)
      counting = rowsThatCount(*table);
    auto insert = database.prepare(
        "insert into rows(file, line, counts, key, sm_clock_mhz, time_ns, error, "
        "plan_hash, problem, kernel, kind, plan, regime, device, board, driver, target, "
        "tool_version) values(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
    if (!insert)
      return insert.takeError();
    for (size_t i = 0; i < table->rowCount(); ++i) {
      TableRow row(*table, i);
      auto time = row.number("time_ns"), clock = row.number("sm_clock_mhz");
      if (!time || !clock) {
        llvm::Error error = llvm::joinErrors(time.takeError(), clock.takeError());
        return makeError(takeDiag(std::move(error)));
      }
      std::string key = measurementKey(row);
      insert->bind(0, path)
          .bind(1, static_cast<int64_t>(row.line()))
          .bind(2, static_cast<int64_t>(!knowsAttempts || counting.contains(i)))
          .bind(3, key)
          .bind(4, *clock)
          .bind(5, row.text("error").empty() ? *time : std::nullopt)
          .bind(6, row.text("error"));
      for (size_t c = 0; c < textColumns.size(); ++c)
        insert->bind(static_cast<int>(7 + c), row.text(textColumns[c]));
      if (row.text("plan_hash").empty())
        insert->bind(7, hashOfKey(key));
      auto done = insert->step();
      if (!done)
        return done.takeError();
    }
    auto file = database.prepare("insert into files values(?, ?, ?)");
    if (!file)
      return file.takeError();
    auto digest = digestOf(path);
    if (!digest)
      return digest.takeError();
    auto done = file->bind(0, path).bind(1, stamp).bind(2, *digest).step();
    return done ? llvm::Error::success() : done.takeError();
  }

  Database &database;
};

std::string conditionsOf(const StoreFilter &filter) {
  std::string sql = filter.all ? "1" : "counts";
  for (const StoreFilter::Condition &condition : filter.where)
    sql += condition.column == "sm_clock_mhz"
               ? " and case when sm_clock_mhz is null then '' else printf('%g', sm_clock_mhz) end "
                 "glob ?"
               : fmt::format(" and ifnull({}, '') glob ?", condition.column);
  return sql;
}

/// One object for each row of the statement.
template <class T, class Make>
llvm::Expected<std::vector<T>> collect(Statement &query, const Make &make) {
  std::vector<T> result;
  for (;;) {
    auto more = query.step();
    if (!more)
      return more.takeError();
    if (!*more)
      return result;
    result.push_back(make());
  }
}

} // namespace

llvm::Error StoreFilter::add(std::string_view text) {
  size_t equals = text.find('=');
  std::string column(text.substr(0, equals));
  std::vector<std::string> known(textColumns.begin(), textColumns.end());
  known.insert(known.end(), {"file", "line", "key", "sm_clock_mhz", "error"});
  std::sort(known.begin(), known.end());
  if (equals == std::string_view::npos ||
      std::find(known.begin(), known.end(), column) == known.end())
    return makeError(DiagClass::BadInput, "'{}' is not of the form COLUMN=PATTERN with one of: {}",
                     text, fmt::join(known, ", "));
  std::string pattern(text.substr(equals + 1));
  for (size_t at = 0; (at = pattern.find('[', at)) != std::string::npos; at += 3)
    pattern.replace(at, 1, "[[]"); // a bracket is a literal
  where.push_back({std::move(column), std::move(pattern)});
  return llvm::Error::success();
}

llvm::Expected<MeasurementStore> MeasurementStore::open(std::span<const std::string> paths) {
  std::vector<std::string> files;
  std::string folder;
  std::error_code error;
  for (const std::string &path : paths) {
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    folder = path;
    while (folder.size() > 1 && folder.ends_with('/'))
      folder.pop_back();
    size_t before = files.size();
    for (const fs::directory_entry &entry : fs::directory_iterator(path, error))
      if (entry.is_regular_file(error) && isTable(entry.path()))
        files.push_back(folder + "/" + entry.path().filename().string());
    if (error)
      return makeError(DiagClass::BadInput, "{}: {}", path, error.message());
    if (files.size() == before)
      return makeError(DiagClass::BadInput, "{}: no .csv or .csv.gz files in the folder", path);
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());

  auto inMemory = [&](std::string why) -> llvm::Expected<MeasurementStore> {
    auto database = Database::open(":memory:");
    if (!database)
      return database.takeError();
    MeasurementStore store(std::move(*database));
    store.remark = std::move(why);
    Indexer indexer(store.database);
    if (auto failed = indexer.create())
      return failed;
    if (auto failed = indexer.update(files, store.read))
      return failed;
    return store;
  };
  if (paths.size() != 1 || folder.empty())
    return inMemory("");

  std::string path = folder + "/" + indexName, why;
  // Tries twice: the second time without the old index.
  for (int attempt = 0; attempt < 2; ++attempt) {
    bool wasThere = fs::exists(path, error);
    auto database = Database::open(path);
    if (!database)
      return inMemory(takeDiag(database.takeError()).message + "; the index is not kept");
    MeasurementStore store(std::move(*database));
    // A cache need not survive a power cut; damage is detected.
    llvm::consumeError(store.database.run("pragma synchronous = off"));
    Indexer indexer(store.database);
    llvm::Error failed = llvm::Error::success();
    bool isCurrent = wasThere;
    if (wasThere) {
      auto current = indexer.isCurrent();
      isCurrent = current && *current;
      if (!current)
        why = takeDiag(current.takeError()).message;
      else if (!isCurrent)
        why = "of another version, or damaged";
    } else {
      failed = indexer.create();
      isCurrent = true;
    }
    if (failed) { // a folder that can't be written
      std::string message = takeDiag(std::move(failed)).message;
      return inMemory(message + "; the index is not kept");
    }
    if (isCurrent) {
      llvm::Error broken = indexer.update(files, store.read);
      if (!broken) {
        store.remark = why.empty() ? "" : path + " was made anew: " + why;
        return store;
      }
      Diag diag = takeDiag(std::move(broken));
      if (!diag.message.starts_with("sqlite: "))
        return makeError(std::move(diag)); // the files themselves
      why = diag.message;
      if (attempt == 1)
        return inMemory(why + "; the index is not kept");
    }
    // The index contains nothing beyond the files.
    fs::remove(path, error);
    fs::remove(path + "-journal", error);
    if (error)
      return inMemory(why + "; the index is not kept");
  }
  return inMemory(why);
}

llvm::Expected<std::vector<StoredFile>> MeasurementStore::files() {
  auto query = database.prepare(
      "select path, count(file), sum(counts and time_ns is not null), "
      "sum(counts and time_ns is null), min(case when counts then time_ns end), "
      "max(case when counts then time_ns end) from files left join rows on path = file "
      "group by path order by path");
  if (!query)
    return query.takeError();
  return collect<StoredFile>(*query, [&] {
    return StoredFile{query->text(0),    query->integer(1), query->integer(2),
                      query->integer(3), query->number(4),  query->number(5)};
  });
}

llvm::Expected<std::vector<std::string>>
MeasurementStore::distinct(const std::string &file, const std::string &column, size_t most) {
  StoreFilter filter;
  if (auto error = filter.add(column + "=*"))
    return error;
  auto query =
      database.prepare(fmt::format("select {0} from rows where file = ? and ifnull({0}, '') != '' "
                                   "group by {0} order by min(line) limit {1}",
                                   column, most));
  if (!query)
    return query.takeError();
  query->bind(0, file);
  return collect<std::string>(*query, [&] {
    return column == "sm_clock_mhz" ? fmt::format("{:g}", *query->number(0)) : query->text(0);
  });
}

llvm::Expected<std::vector<StoredSeries>> MeasurementStore::series(const StoreFilter &filter) {
  auto query = database.prepare(
      "select device, driver, sm_clock_mhz, tool_version, regime, count(distinct plan_hash), "
      "count(time_ns), min(time_ns), max(time_ns) from rows where " +
      conditionsOf(filter) + " group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5");
  if (!query)
    return query.takeError();
  for (size_t i = 0; i < filter.where.size(); ++i)
    query->bind(static_cast<int>(i), filter.where[i].pattern);
  return collect<StoredSeries>(*query, [&] {
    return StoredSeries{query->text(0),    query->text(1),   query->text(3),
                        query->text(4),    query->number(2), query->integer(5),
                        query->integer(6), query->number(7), query->number(8)};
  });
}

llvm::Expected<std::vector<StoredRow>> MeasurementStore::rows(const StoreFilter &filter) {
  auto query = database.prepare(
      "select file, line, plan_hash, problem, kernel, regime, device, driver, tool_version, key, "
      "sm_clock_mhz, time_ns, error, counts from rows where " +
      conditionsOf(filter) + " order by file, line");
  if (!query)
    return query.takeError();
  for (size_t i = 0; i < filter.where.size(); ++i)
    query->bind(static_cast<int>(i), filter.where[i].pattern);
  return collect<StoredRow>(*query, [&] {
    return StoredRow{query->text(0),    static_cast<unsigned>(query->integer(1)),
                     query->text(2),    query->text(3),
                     query->text(4),    query->text(5),
                     query->text(6),    query->text(7),
                     query->text(8),    query->text(9),
                     query->number(10), query->number(11),
                     query->text(12),   query->integer(13) != 0};
  });
}

std::string measurementKey(const TableRow &row) {
  // Sorted, independent of the order of columns in the file.
  static constexpr std::array ours = {"kernel", "plan", "problem", "regime"};
  static constexpr std::array others = {
      "K",      "M",       "N",      "batch",   "block",    "causal", "d0",
      "d1",     "d2",      "dtype",  "group_m", "head_dim", "kernel", "order",
      "regime", "split_k", "stages", "tile_k",  "tile_m",   "tile_n", "warps"};
  // A row with its plan as text needs no further columns; its `block` is a block of measurements.
  bool isOurs = !row.text("plan").empty() && !row.text("problem").empty();
  std::string key;
  auto add = [&](const char *column) {
    if (std::string_view cell = row.text(column); !cell.empty())
      key += fmt::format("{}{}={}", key.empty() ? "" : " ", column, cell);
  };
  if (isOurs)
    std::for_each(ours.begin(), ours.end(), add);
  else
    std::for_each(others.begin(), others.end(), add);
  return key;
}

} // namespace tilewright
