#include "profiler/journal.h"

#include "analysis/support/digest.h"
#include "profiler/record.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tilewright::profile {

namespace {

constexpr size_t maxFileBytes = size_t(1) << 32;

/// The cells of a line whose check fits.
std::optional<std::vector<std::string>> checkedCells(std::string_view line) {
  size_t comma = line.rfind(',');
  if (comma == std::string_view::npos || line.substr(comma + 1) != rowCheck(line.substr(0, comma)))
    return std::nullopt;
  return parseCsvLine(line.substr(0, comma));
}

} // namespace

std::string checkedLine(const std::vector<std::string> &cells) {
  std::string line = csvLine(cells);
  return line + "," + rowCheck(line) + "\n";
}

Journal::Journal(Journal &&other) noexcept
    : file(std::move(other.file)), descriptor(std::exchange(other.descriptor, -1)),
      columns(std::move(other.columns)), contents(std::move(other.contents)),
      hasHeader(other.hasHeader), dropped(other.dropped) {}

Journal::~Journal() {
  if (descriptor < 0)
    return;
  struct stat info {};
  if (fstat(descriptor, &info) == 0 && info.st_size == 0)
    unlink(file.c_str());
  close(descriptor);
}

Result<Journal> Journal::open(const std::string &path, std::vector<std::string> columns) {
  auto refuse = [&](const std::string &why) {
    return Failure{FailureKind::BadInput, path + ": " + why};
  };
  int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND, 0666);
  if (descriptor < 0)
    return refuse(std::string("can't be opened: ") + std::strerror(errno));
  // A run that was killed may take a moment to let go.
  unsigned tries = 0;
  while (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && ++tries < 20)
    usleep(25'000);
  if (tries == 20) {
    close(descriptor);
    return refuse("another run is writing it; wait for that one or give another --out");
  }
  Journal journal(path, descriptor, std::move(columns));
  if (Status failed = journal.load())
    return *failed;
  return journal;
}

Status Journal::refresh() { return load(); }

Status Journal::load() {
  auto refuse = [&](const std::string &why) {
    return Failure{FailureKind::BadInput, file + ": " + why};
  };
  struct stat info {};
  if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode))
    return refuse("is not an ordinary file");
  auto size = static_cast<size_t>(info.st_size);
  if (size > maxFileBytes)
    return refuse("has " + std::to_string(size) + " bytes, at most " +
                  std::to_string(maxFileBytes) + " are allowed");
  std::string text(size, '\0');
  for (size_t at = 0; at < size;) {
    ssize_t got = pread(descriptor, text.data() + at, size - at, static_cast<off_t>(at));
    if (got <= 0)
      return refuse(std::string("can't be read: ") + std::strerror(errno));
    at += static_cast<size_t>(got);
  }
  contents.clear();
  hasHeader = false;
  std::vector<std::string> header = columns;
  header.push_back("row_check");
  std::string expectedHeader = csvLine(header) + "\n";
  size_t at = 0, whole = 0;
  for (unsigned line = 1; at < size; ++line) {
    size_t end = text.find('\n', at);
    bool isLast = end == std::string::npos || end + 1 == size;
    std::string_view here(text.data() + at, (end == std::string::npos ? size : end) - at);
    if (line == 1) {
      bool isTorn = end == std::string::npos && expectedHeader.compare(0, size, text) == 0;
      if (isTorn)
        break;
      if (std::string(here) + "\n" != expectedHeader)
        return refuse("has other columns than this version writes; give another --out");
      hasHeader = true;
    } else {
      auto cells = end == std::string::npos ? std::nullopt : checkedCells(here);
      if (!cells || cells->size() != columns.size()) {
        if (isLast)
          break;
        return refuse("line " + std::to_string(line) +
                      " is damaged: its row_check does not fit; remove that line or give "
                      "another --out");
      }
      contents.push_back(std::move(*cells));
    }
    at = whole = end + 1;
  }
  if (whole < size) {
    dropped += size - whole;
    if (ftruncate(descriptor, static_cast<off_t>(whole)) != 0)
      return refuse(std::string("can't be cut: ") + std::strerror(errno));
  }
  return fine();
}

Status Journal::append(std::vector<std::string> cells) {
  if (!hasHeader) {
    std::vector<std::string> header = columns;
    header.push_back("row_check");
    if (Status failed = write(csvLine(header) + "\n"))
      return failed;
    hasHeader = true;
  }
  if (Status failed = write(checkedLine(cells)))
    return failed;
  // What is remembered is what would be read back.
  contents.push_back(*parseCsvLine(csvLine(cells)));
  return fine();
}

Status Journal::write(const std::string &line) {
  for (size_t at = 0; at < line.size();) {
    ssize_t put = ::write(descriptor, line.data() + at, line.size() - at);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return Failure{FailureKind::BadInput, file + ": can't be written: " + std::strerror(errno) +
                                                "; make room and run the same command again"};
    at += static_cast<size_t>(put);
  }
  int synced;
  do
    synced = fdatasync(descriptor);
  while (synced != 0 && errno == EINTR);
  if (synced != 0 && errno != EINVAL && errno != ENOTSUP)
    return Failure{FailureKind::BadInput,
                   file + ": can't be brought to disk: " + std::strerror(errno)};
  return fine();
}

} // namespace tilewright::profile
