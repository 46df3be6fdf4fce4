#include "analysis/import/dump_folder.h"

#include "analysis/support/diag.h"
#include "analysis/support/printable.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace tilewright {

namespace {

/// Endings of files with a module, the best one first.
constexpr std::array<std::string_view, 6> dumpEndings = {".txt",    ".hlo",    ".txt.gz",
                                                         ".hlo.gz", ".hlo.pb", ".hlo.pb.gz"};

/// A file of a dump by its name.
struct DumpFile {
  std::string module, target; ///< target: "cpu", "sm_9.0_gpu"; empty before optimisation
  bool isOptimized = false;
  size_t ending = 0; ///< in dumpEndings
};

/// "module_0008.jit_layer.sm_9.0_gpu" is module_0008.jit_layer for sm_9.0_gpu; a version's dot is
/// no end of the target's name.
size_t targetBegin(std::string_view stem) {
  size_t dot = stem.rfind('.');
  while (dot != std::string_view::npos && dot > 0 && dot + 1 < stem.size() &&
         std::isdigit(static_cast<unsigned char>(stem[dot + 1])))
    dot = stem.rfind('.', dot - 1);
  return dot;
}

std::optional<DumpFile> dumpFile(std::string_view name) {
  DumpFile file;
  auto ending = std::find_if(dumpEndings.begin(), dumpEndings.end(),
                             [&](std::string_view end) { return name.ends_with(end); });
  if (ending == dumpEndings.end())
    return std::nullopt;
  file.ending = static_cast<size_t>(ending - dumpEndings.begin());
  name.remove_suffix(ending->size());
  constexpr std::string_view before = ".before_optimizations", after = "after_optimizations";
  if (name.ends_with(before)) {
    file.module = name.substr(0, name.size() - before.size());
    return file;
  }
  if (!name.ends_with(after))
    return std::nullopt;
  file.isOptimized = true;
  name.remove_suffix(after.size());
  if (name.ends_with('_')) {
    name.remove_suffix(1);
    const size_t dot = targetBegin(name);
    if (dot == std::string_view::npos)
      return std::nullopt;
    file.target = name.substr(dot + 1);
    name = name.substr(0, dot);
  } else if (name.ends_with('.')) {
    name.remove_suffix(1);
  } else {
    return std::nullopt;
  }
  file.module = name;
  return file;
}

/// The best file of each kind of one module.
struct FilesOfModule {
  std::optional<DumpFile> before, after;
  std::string beforePath, afterPath;

  void add(DumpFile file, std::string path) {
    std::optional<DumpFile> &slot = file.isOptimized ? after : before;
    std::string &slotPath = file.isOptimized ? afterPath : beforePath;
    if (slot && std::pair(slot->ending, slotPath) <= std::pair(file.ending, path))
      return;
    slot = std::move(file);
    slotPath = std::move(path);
  }
};

std::optional<DumpedModule> choose(const std::string &name, const FilesOfModule &files,
                                   DumpStage stage) {
  const bool isForCpu = files.after && files.after->target == "cpu";
  const bool takesAfter = stage == DumpStage::After ||
                          (stage == DumpStage::Auto && files.after && !(isForCpu && files.before));
  if (takesAfter ? !files.after : !files.before)
    return std::nullopt;
  if (takesAfter)
    return DumpedModule{name, files.afterPath, true,
                        files.after->target.empty()
                            ? "after optimisation"
                            : fmt::format("after optimisation for {}", files.after->target)};
  return DumpedModule{name, files.beforePath, false,
                      stage == DumpStage::Auto && isForCpu
                          ? "before optimisation, as it was optimised for a CPU"
                          : "before optimisation"};
}

/// True of "jit_layer" and of the whole name "module_0008.jit_layer".
bool isCalled(std::string_view dumped, std::string_view name) {
  if (dumped == name)
    return true;
  const size_t number = dumped.find("module_");
  const size_t dot = number == std::string_view::npos ? number : dumped.find('.', number);
  return dot != std::string_view::npos && dumped.substr(dot + 1) == name;
}

llvm::Expected<std::map<std::string, FilesOfModule>> filesOfDump(const std::string &folder) {
  namespace fs = std::filesystem;
  std::map<std::string, FilesOfModule> modules;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (std::optional<DumpFile> file = dumpFile(entry->path().filename().string())) {
      std::string module = file->module;
      modules[module].add(std::move(*file), entry->path().string());
    }
  if (error)
    return makeError(DiagClass::BadInput, "{}: cannot read the folder: {}", folder,
                     error.message());
  return modules;
}

} // namespace

std::string namesOf(const std::vector<DumpedModule> &modules) {
  constexpr size_t most = 8;
  std::string out;
  for (size_t i = 0; i < std::min(most, modules.size()); ++i)
    out += (i ? ", " : "") + modules[i].name;
  return modules.size() > most ? fmt::format("{} and {} more", out, modules.size() - most) : out;
}

llvm::Expected<std::vector<DumpedModule>> modulesOfDump(const std::string &folder, DumpStage stage,
                                                        std::string_view name) {
  llvm::Expected<std::map<std::string, FilesOfModule>> files = filesOfDump(folder);
  if (!files)
    return files.takeError();
  if (files->empty())
    return makeError(DiagClass::BadInput,
                     "{}: the folder holds no module of --xla_dump_to, no file "
                     "NAME.before_optimizations.txt or NAME.…after_optimizations.txt (or .hlo.pb); "
                     "give a model's file, or such a folder",
                     folder);
  std::vector<DumpedModule> modules;
  for (const auto &[module, ofModule] : *files)
    if (std::optional<DumpedModule> chosen = choose(module, ofModule, stage))
      modules.push_back(std::move(*chosen));
  if (modules.empty())
    return makeError(DiagClass::BadInput,
                     "{}: none of its {} modules is there {} optimisation; leave out --stage",
                     folder, files->size(), stage == DumpStage::After ? "after" : "before");
  if (name.empty())
    return modules;
  std::vector<DumpedModule> called;
  for (const DumpedModule &module : modules)
    if (module.name == name)
      return std::vector{module};
    else if (isCalled(module.name, name))
      called.push_back(module);
  if (called.size() == 1)
    return called;
  if (called.empty())
    return makeError(DiagClass::BadInput, "{}: there is no module '{}', there is {}", folder,
                     excerpt(name, 80), namesOf(modules));
  return makeError(DiagClass::BadInput, "{}: {} modules are called '{}': {}", folder, called.size(),
                   excerpt(name, 80), namesOf(called));
}

} // namespace tilewright
