#include "analysis/support/replace_file.h"

#include "analysis/support/digest.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tilewright {

namespace {

namespace fs = std::filesystem;

/// An open file that is closed in the end.
class Descriptor {
public:
  Descriptor(const std::string &path, int flags)
      : number(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;

  bool isOpen() const { return number >= 0; }
  int get() const { return number; }
  bool write(std::string_view bytes) const {
    while (!bytes.empty()) {
      ssize_t written = ::write(number, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR)
        continue;
      if (written <= 0)
        return false;
      bytes.remove_prefix(static_cast<size_t>(written));
    }
    return true;
  }
  bool close() {
    int old = std::exchange(number, -1);
    return old < 0 || ::close(old) == 0;
  }

private:
  int number;
};

std::string because() { return std::string("cannot write: ") + std::strerror(errno); }

/// Places that lead to open files: what they name is not replaced, since somebody holds it.
bool leadsToOpenFile(const std::string &path) {
  return path.starts_with("/proc/") || path.starts_with("/dev/");
}

std::string writeThrough(const std::string &path, std::string_view bytes) {
  Descriptor file(path, O_WRONLY | O_APPEND | O_NOCTTY);
  if (!file.isOpen() || !file.write(bytes) || !file.close())
    return because();
  return "";
}

} // namespace

std::string withoutLinks(const std::string &path) {
  fs::path at = path;
  std::error_code error;
  for (unsigned links = 0; links < 40 && fs::is_symlink(at, error); ++links) {
    fs::path next = fs::read_symlink(at, error);
    if (error)
      break;
    at = next.is_absolute() ? next : at.parent_path() / next;
    if (leadsToOpenFile(at.string()))
      break; // links of /proc have no path of their own: "pipe:[7]"
  }
  return at.string();
}

std::string temporaryBeside(const std::string &path) {
  static std::atomic<uint64_t> count{std::random_device{}()};
  uint64_t parts[] = {uint64_t(getpid()), count++, std::random_device{}()};
  std::string_view bytes(reinterpret_cast<const char *>(parts), sizeof parts);
  fs::path place = path;
  // A name of its own length: the longest names would not take a suffix.
  return (place.parent_path() / (".tilewright-" + hexDigits(fnv1a(bytes)) + ".tmp")).string();
}

std::string replaceFile(const std::string &path, std::string_view bytes) {
  struct stat old {};
  bool isThere = ::stat(path.c_str(), &old) == 0;
  if (!isThere && errno == ELOOP)
    return because();
  if (isThere && S_ISDIR(old.st_mode))
    return "cannot write: it is a folder";
  if (isThere && S_ISBLK(old.st_mode))
    return "cannot write: it is a disk; name a file";
  std::string place = withoutLinks(path);
  if (isThere && (!S_ISREG(old.st_mode) || leadsToOpenFile(place)))
    return writeThrough(path, bytes);
  std::string temporary = temporaryBeside(place);
  Descriptor file(temporary, O_WRONLY | O_CREAT | O_EXCL);
  if (!file.isOpen())
    return because();
  bool isWritten =
      file.write(bytes) && (!isThere || ::fchmod(file.get(), old.st_mode & 07777) == 0);
  isWritten = file.close() && isWritten;
  if (isWritten && std::rename(temporary.c_str(), place.c_str()) == 0)
    return "";
  std::string reason = because();
  std::remove(temporary.c_str());
  return reason;
}

} // namespace tilewright
