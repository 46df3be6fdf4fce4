#include "analysis/support/output_folder.h"

#include "analysis/support/diag.h"
#include "analysis/support/digest.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace tilewright {

namespace fs = std::filesystem;

namespace {

std::string hashOfFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return "";
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return hexDigits(fnv1a(bytes));
}

/// Files that are `part` of a folder, or below it; the names are relative to the folder.
std::vector<std::string> filesOf(const std::string &folder, const std::string &part) {
  std::vector<std::string> result;
  fs::path path = fs::path(folder) / part;
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(path, error))) {
    if (fs::exists(fs::symlink_status(path, error)))
      result.push_back(part);
    return result;
  }
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end;
       at.increment(error))
    if (!fs::is_directory(at->symlink_status(error)))
      result.push_back(fs::path(at->path()).lexically_relative(folder).string());
  return result;
}

} // namespace

OutputFolder::OutputFolder(std::string folder, std::string list)
    : folder(std::move(folder)), list(std::move(list)) {}

OutputFolder::OutputFolder(OutputFolder &&other) noexcept
    : folder(std::move(other.folder)), list(std::move(other.list)),
      descriptor(std::exchange(other.descriptor, -1)), isNew(other.isNew),
      files(std::move(other.files)) {}

OutputFolder::~OutputFolder() {
  if (descriptor < 0)
    return;
  std::error_code ignored;
  if (fs::is_empty(list, ignored))
    fs::remove(list, ignored);
  if (isNew)
    fs::remove(folder, ignored); // fails where there is something in it
  close(descriptor);
}

llvm::Expected<OutputFolder> OutputFolder::open(const std::string &folder,
                                                const std::string &writer,
                                                const std::vector<std::string> &parts) {
  auto refuse = [&](const std::string &why) {
    return makeError(DiagClass::BadInput, "{}: {}", folder, why);
  };
  std::error_code error;
  bool isNew = fs::create_directories(folder, error);
  if (error)
    return refuse("cannot make the folder: " + error.message());
  OutputFolder result(folder, folder + "/.tilewright-" + writer);
  result.isNew = isNew;
  result.descriptor = ::open(result.list.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (result.descriptor < 0)
    return refuse(std::string("cannot write: ") + std::strerror(errno));
  if (flock(result.descriptor, LOCK_EX | LOCK_NB) != 0)
    return refuse("another run is writing it; wait for that one or name another folder");
  if (auto error = result.dropTornLine())
    return error;
  result.load();
  for (const std::string &part : parts)
    for (const std::string &file : filesOf(folder, part))
      if (!result.files.contains(file))
        return refuse(
            fmt::format("holds {}, which no run of {} wrote; move it away or name another "
                        "folder",
                        file, writer));
  return result;
}

llvm::Error OutputFolder::dropTornLine() const {
  auto text = readFile(list);
  if (!text)
    return text.takeError();
  size_t whole = text->rfind('\n') + 1; // 0 where there is no line
  if (whole < text->size() && ftruncate(descriptor, static_cast<off_t>(whole)) != 0)
    return makeError(DiagClass::BadInput, "{}: cannot write: {}", list, std::strerror(errno));
  return llvm::Error::success();
}

void OutputFolder::load() const {
  files.clear();
  std::ifstream file(list);
  for (std::string line; std::getline(file, line);)
    if (line.size() > 17 && line[16] == ' ')
      files[line.substr(17)] = line.substr(0, 16);
}

bool OutputFolder::isWhole(const std::string &name) const {
  auto at = files.find(name);
  return at != files.end() && hashOfFile(*this / name) == at->second;
}

void OutputFolder::remove(const std::string &name) const {
  std::error_code ignored;
  fs::remove(*this / name, ignored);
  // Folders that are empty now; removing one that is not fails.
  for (fs::path at = fs::path(name).parent_path(); !at.empty(); at = at.parent_path())
    if (!fs::remove(fs::path(folder) / at, ignored))
      break;
}

void OutputFolder::removeAllBut(const std::set<std::string> &kept) {
  load();
  bool keepsOne = false;
  for (const auto &[name, hash] : files) {
    bool isKept = kept.contains(name);
    keepsOne |= isKept;
    if (!isKept)
      remove(name);
  }
  if (!keepsOne && ftruncate(descriptor, 0) == 0) // after the files, so that none is forgotten
    files.clear();
}

void OutputFolder::removeBelow(const std::string &name) {
  load();
  for (const auto &[file, hash] : files)
    if (file.starts_with(name + "/"))
      remove(file);
}

llvm::Error OutputFolder::write(const std::string &name, std::string_view bytes) {
  std::string path = *this / name;
  std::error_code error;
  if (!files.contains(name) && fs::exists(fs::symlink_status(path, error)))
    return makeError(DiagClass::BadInput,
                     "{}: is there and no run wrote it; move it away or name another folder", path);
  std::string hash = hexDigits(fnv1a(bytes)), line = hash + " " + name + "\n";
  if (::write(descriptor, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    return makeError(DiagClass::BadInput, "{}: cannot write: {}", list, std::strerror(errno));
  files[name] = hash;
  fs::create_directories(fs::path(path).parent_path(), error);
  return writeFileAtomically(path, bytes);
}

llvm::Error OutputFolder::finish() {
  load();
  std::string lines;
  std::error_code error;
  for (const auto &[name, hash] : files)
    if (fs::exists(fs::symlink_status(*this / name, error)))
      lines += hash + " " + name + "\n";
  return writeFileAtomically(list, lines);
}

} // namespace tilewright
