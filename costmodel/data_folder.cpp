#include "costmodel/data_folder.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <vector>

namespace tilewright {

namespace {

namespace fs = std::filesystem;

/// The folder of the shared library or program that this function is in; empty if not known.
fs::path folderOfThisCode() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void *>(&folderOfThisCode), &info) == 0 || !info.dli_fname)
    return {};
  std::error_code error;
  const fs::path file = fs::canonical(info.dli_fname, error); // of a program perhaps only its name
  return error ? fs::path() : file.parent_path();
}

/// What an installation, a wheel or a build has around bin, lib or lib/x86_64-linux-gnu.
void addAround(const fs::path &folder, std::vector<fs::path> &roots) {
  if (folder.empty())
    return;
  roots.push_back(folder / "../../../datasets");
  roots.push_back(folder / "../share/tilewright");
  roots.push_back(folder / "../../share/tilewright");
}

} // namespace

std::string dataFolder(std::string_view part, std::string_view installed) {
  std::error_code ignored;
  std::vector<fs::path> roots;
  if (const char *variable = std::getenv("TILEWRIGHT_DATA"))
    roots.emplace_back(variable);
  roots.emplace_back("datasets");
  addAround(fs::read_symlink("/proc/self/exe", ignored).parent_path(), roots);
  addAround(folderOfThisCode(), roots);
  if (!installed.empty())
    roots.emplace_back(installed);
  for (const fs::path &root : roots)
    if (fs::is_directory(root / part, ignored))
      return (root / part).lexically_normal().string();
  return "datasets/" + std::string(part);
}

} // namespace tilewright
