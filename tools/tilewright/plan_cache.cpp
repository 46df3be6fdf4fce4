#include "tools/tilewright/plan_cache.h"

#include "analysis/support/diag.h"
#include "analysis/support/digest.h"
#include "tools/tilewright/terminal.h"

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <elf.h>
#include <fcntl.h>
#include <filesystem>
#include <link.h>
#include <sys/file.h>
#include <thread>
#include <unistd.h>

namespace tilewright::cli {

namespace {

namespace fs = std::filesystem;

/// Of the tables; a file of another version is replaced.
constexpr uint64_t cacheVersion = 1;

const char *const cacheSchema = R"(
create table if not exists plans(key text primary key, text text not null, digest text not null,
  day integer not null) without rowid;
create index if not exists plans_by_day on plans(day);
)";

int64_t today() {
  using namespace std::chrono;
  return duration_cast<hours>(system_clock::now().time_since_epoch()).count() / 24;
}

std::string digestOf(std::string_view key, std::string_view text) {
  Digest digest;
  digest.add(key);
  digest.add(text);
  return digest.str();
}

/// The file, its log and its index of the log.
constexpr const char *fileParts[] = {"", "-wal", "-shm"};

void warn(llvm::Error error) {
  if (error)
    detail("cache: {}", takeDiag(std::move(error)).message);
}

} // namespace

std::optional<PlanCacheOptions> planCacheOptions() {
  PlanCacheOptions options;
  auto variable = [](const char *name) {
    const char *value = std::getenv(name);
    return std::string(value ? value : "");
  };
  std::string folder = variable("TILEWRIGHT_CACHE");
  if (folder == "off")
    return std::nullopt;
  if (folder.empty()) {
    const std::string base = variable("XDG_CACHE_HOME"), home = variable("HOME");
    if (base.empty() && home.empty())
      return std::nullopt;
    folder = (base.empty() ? home + "/.cache" : base) + "/tilewright";
  }
  options.file = folder + "/plans.sqlite";
  const std::string most = variable("TILEWRIGHT_CACHE_BYTES");
  uint64_t bytes = 0;
  if (!most.empty() && std::from_chars(most.data(), most.data() + most.size(), bytes).ptr ==
                           most.data() + most.size())
    options.mostBytes = bytes;
  return options;
}

llvm::Expected<Database> PlanCache::openDatabase(const std::string &file) {
  llvm::Expected<Database> database = Database::open(file);
  if (!database)
    return database.takeError();
  // Normal: a power cut may cost the last entries, never the file.
  if (llvm::Error error = database->run("pragma journal_mode=wal; pragma synchronous=normal;"))
    return error;
  llvm::Expected<Statement> version = database->prepare("pragma user_version");
  if (!version)
    return version.takeError();
  llvm::Expected<bool> row = version->step();
  if (!row)
    return row.takeError();
  const uint64_t found = static_cast<uint64_t>(version->integer(0));
  if (found != 0 && found != cacheVersion)
    return makeError(DiagClass::BadInput, "{}: is of another version", file);
  if (llvm::Error error =
          database->run(fmt::format("{} pragma user_version = {};", cacheSchema, cacheVersion)))
    return error;
  // Reads a page of each table: a file that is torn or something else shows here or later.
  llvm::Expected<Statement> probe = database->prepare("select count(*) from (select * from plans "
                                                      "limit 1)");
  if (!probe)
    return probe.takeError();
  llvm::Expected<bool> probed = probe->step();
  if (!probed)
    return probed.takeError();
  return database;
}

namespace {

/// Only one process at a time makes or replaces the file.
class OpeningLock {
public:
  explicit OpeningLock(const std::string &file)
      : descriptor(::open((file + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (descriptor >= 0)
      flock(descriptor, LOCK_EX);
  }
  ~OpeningLock() {
    if (descriptor >= 0)
      close(descriptor);
  }
  OpeningLock(const OpeningLock &) = delete;
  OpeningLock &operator=(const OpeningLock &) = delete;

private:
  int descriptor;
};

} // namespace

llvm::Expected<std::unique_ptr<PlanCache>> PlanCache::open(const PlanCacheOptions &options) {
  std::error_code error;
  fs::create_directories(fs::path(options.file).parent_path(), error);
  if (error)
    return makeError(DiagClass::BadInput, "{}: cannot make the folder: {}",
                     fs::path(options.file).parent_path().string(), error.message());
  const OpeningLock lock(options.file);
  // SQLite doesn't wait by itself for who has just made the file, or is the last to close it.
  using Clock = std::chrono::steady_clock;
  constexpr auto pause = std::chrono::milliseconds(10), patience = std::chrono::milliseconds(2000);
  const Clock::time_point end = Clock::now() + patience;
  llvm::Expected<Database> database = openDatabase(options.file);
  while (!database) {
    Diag diag = takeDiag(database.takeError());
    // What can't be read is worth nothing; what another process holds for long is left alone.
    const bool isLocked = diag.message.find("locked") != std::string::npos;
    if (isLocked && Clock::now() < end) {
      std::this_thread::sleep_for(pause);
      database = openDatabase(options.file);
      continue;
    }
    if (isLocked || !fs::is_regular_file(options.file, error))
      return makeError(std::move(diag));
    detail("cache: {}: {}; it is made anew", options.file, diag.message);
    for (const char *part : fileParts)
      fs::remove(options.file + part, error);
    database = openDatabase(options.file);
    if (!database)
      return database.takeError();
  }
  return std::unique_ptr<PlanCache>(new PlanCache(std::move(*database), options));
}

PlanCache::~PlanCache() {
  if (kept == 0)
    return;
  llvm::Expected<PlanCacheState> now = state();
  if (!now) {
    warn(now.takeError());
    return;
  }
  constexpr double filled = 0.8; // room for the next runs
  if (now->bytes > options.mostBytes)
    warn(prune(static_cast<uint64_t>(filled * static_cast<double>(options.mostBytes))).takeError());
}

llvm::Expected<std::optional<std::string>> PlanCache::findNow(const std::string &key) {
  llvm::Expected<Statement> query =
      database.prepare("select text, digest, day from plans where key = ?");
  if (!query)
    return query.takeError();
  query->bind(0, key);
  llvm::Expected<bool> row = query->step();
  if (!row)
    return row.takeError();
  if (!*row)
    return std::nullopt;
  std::string text = query->text(0);
  const std::string digest = query->text(1);
  const int64_t day = query->integer(2);
  if (digest != digestOf(key, text)) {
    detail("cache: the entry {} is damaged; it is dropped", key);
    llvm::Expected<Statement> drop = database.prepare("delete from plans where key = ?");
    if (!drop)
      return drop.takeError();
    drop->bind(0, key);
    if (llvm::Expected<bool> dropped = drop->step(); !dropped)
      return dropped.takeError();
    return std::nullopt;
  }
  // Once a day: reading must not cost a write.
  if (day != today()) {
    llvm::Expected<Statement> touch = database.prepare("update plans set day = ? where key = ?");
    if (!touch)
      return touch.takeError();
    touch->bind(0, today()).bind(1, key);
    if (llvm::Expected<bool> touched = touch->step(); !touched)
      return touched.takeError();
  }
  return text;
}

std::optional<std::string> PlanCache::find(const std::string &key) {
  std::lock_guard lock(mutex);
  llvm::Expected<std::optional<std::string>> text = findNow(key);
  if (!text) {
    warn(text.takeError());
    ++misses;
    return std::nullopt;
  }
  ++(*text ? hits : misses);
  return std::move(*text);
}

llvm::Error PlanCache::keepNow(const std::string &key, const std::string &text) {
  llvm::Expected<Statement> insert =
      database.prepare("insert or replace into plans values (?, ?, ?, ?)");
  if (!insert)
    return insert.takeError();
  insert->bind(0, key).bind(1, text).bind(2, digestOf(key, text)).bind(3, today());
  return insert->step().takeError();
}

void PlanCache::keep(const std::string &key, const std::string &text) {
  std::lock_guard lock(mutex);
  ++kept;
  warn(keepNow(key, text));
}

llvm::Expected<uint64_t> PlanCache::number(const std::string &sql) {
  llvm::Expected<Statement> query = database.prepare(sql);
  if (!query)
    return query.takeError();
  llvm::Expected<bool> row = query->step();
  if (!row)
    return row.takeError();
  return static_cast<uint64_t>(query->integer(0));
}

llvm::Expected<PlanCacheState> PlanCache::state() {
  llvm::Expected<uint64_t> entries = number("select count(*) from plans");
  if (!entries)
    return entries.takeError();
  PlanCacheState result{*entries, 0};
  for (const char *part : fileParts) {
    std::error_code error;
    if (const auto size = fs::file_size(options.file + part, error); !error)
      result.bytes += size;
  }
  return result;
}

llvm::Expected<uint64_t> PlanCache::prune(uint64_t mostBytes) {
  llvm::Expected<uint64_t> before = number("select count(*) from plans");
  if (!before)
    return before.takeError();
  // By what entries take of the file's pages; oldest days first.
  constexpr const char *sizes = "length(key) * 2 + length(text) + 48";
  llvm::Expected<uint64_t> total =
      number(fmt::format("select coalesce(sum({}), 0) from plans", sizes));
  if (!total)
    return total.takeError();
  if (*total > mostBytes)
    if (llvm::Error error = database.run(fmt::format(
            "delete from plans where key in (select key from (select key, sum({}) over (order by "
            "day desc, key) as above from plans) where above > {});",
            sizes, mostBytes)))
      return error;
  if (llvm::Error error = database.run("vacuum; pragma wal_checkpoint(truncate);"))
    return error;
  llvm::Expected<uint64_t> after = number("select count(*) from plans");
  if (!after)
    return after.takeError();
  return *before - std::min(*before, *after);
}

llvm::Error PlanCache::clear() {
  return database.run("delete from plans; vacuum; pragma wal_checkpoint(truncate);");
}

namespace {

/// The build id in the notes of a loaded object.
std::string buildIdOf(const dl_phdr_info &object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr) &header = object.dlpi_phdr[i];
    if (header.p_type != PT_NOTE)
      continue;
    const char *at = reinterpret_cast<const char *>(object.dlpi_addr + header.p_vaddr);
    const char *end = at + header.p_memsz;
    constexpr size_t align = 4;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const auto *note = reinterpret_cast<const ElfW(Nhdr) *>(at);
      const char *name = at + sizeof(ElfW(Nhdr));
      const char *id = name + (note->n_namesz + align - 1) / align * align;
      if (note->n_type == NT_GNU_BUILD_ID && id + note->n_descsz <= end)
        return hexDigits(fnv1a(std::string_view(id, note->n_descsz)));
      at = id + (note->n_descsz + align - 1) / align * align;
    }
  }
  return "";
}

} // namespace

std::string programIdentity() {
  std::string id;
  dl_iterate_phdr(
      [](dl_phdr_info *object, size_t, void *result) {
        *static_cast<std::string *>(result) = buildIdOf(*object); // the program comes first
        return 1;
      },
      &id);
  if (id.empty()) { // linked without one
    llvm::Expected<std::string> program = readFile("/proc/self/exe");
    if (program)
      id = hexDigits(fnv1a(*program));
    else
      llvm::consumeError(program.takeError());
  }
  return fmt::format("{} {}", TILEWRIGHT_VERSION, id);
}

} // namespace tilewright::cli
