#include "analysis/support/new_folder.h"

#include "analysis/support/diag.h"
#include "analysis/support/replace_file.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace tilewright {

namespace fs = std::filesystem;

namespace {

/// Is `folder` the current one, or does it hold it?
bool holdsCurrentFolder(const fs::path &folder) {
  std::error_code error;
  fs::path inner = fs::current_path(error), outer = fs::weakly_canonical(folder, error);
  return !error &&
         std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

} // namespace

llvm::Expected<NewFolder> NewFolder::at(const std::string &target) {
  NewFolder result;
  std::string place = target;
  while (place.size() > 1 && place.back() == '/')
    place.pop_back();
  result.target = withoutLinks(place);
  if (holdsCurrentFolder(result.target))
    return makeError(DiagClass::BadInput,
                     "{}: is the current folder or around it; name a folder inside", target);
  std::error_code error;
  fs::path parent = fs::path(result.target).parent_path();
  if (!parent.empty())
    fs::create_directories(parent, error);
  std::string temporary = temporaryBeside(result.target);
  if (error || !fs::create_directory(temporary, error))
    return makeError(DiagClass::BadInput, "can't create {}: {}", target,
                     error ? error.message() : "a temporary folder is in the way");
  result.path = temporary;
  return result;
}

NewFolder::NewFolder(NewFolder &&other) noexcept
    : path(std::exchange(other.path, "")), target(std::move(other.target)) {}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!path.empty())
    fs::remove_all(path, ignored);
}

llvm::Error NewFolder::write(const std::string &name, std::string_view bytes) const {
  return writeFileAtomically((fs::path(path) / name).string(), bytes);
}

llvm::Error NewFolder::moveIntoPlace() {
  std::error_code error, ignored;
  std::string old;
  if (fs::exists(target, ignored)) {
    old = temporaryBeside(target);
    fs::rename(target, old, error);
    if (error)
      return makeError(DiagClass::BadInput, "can't replace {}: {}", target, error.message());
  }
  fs::rename(path, target, error);
  if (error) {
    if (!old.empty())
      fs::rename(old, target, ignored);
    return makeError(DiagClass::BadInput, "can't create {}: {}", target, error.message());
  }
  path.clear();
  if (!old.empty())
    fs::remove_all(old, ignored);
  return llvm::Error::success();
}

} // namespace tilewright
