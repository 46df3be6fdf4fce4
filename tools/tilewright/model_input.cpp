#include "tools/tilewright/model_input.h"

#include "analysis/import/dump_folder.h"
#include "analysis/import/onnx/onnx_import.h"
#include "analysis/support/printable.h"
#include "tools/tilewright/command.h"

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace tilewright::cli {

void addModuleChoice(CLI::App &command, ModuleChoice &choice, const std::string &without) {
  command.add_option("--module", choice.module,
                     "Of a file or a dump that holds several modules this one" +
                         (without.empty() ? "" : " (default: " + without + ")"));
  command
      .add_option("--stage", choice.stage,
                  "Of a dump folder the modules before or after optimisation: before, after, or "
                  "auto (default: after, unless that is for a CPU)")
      ->check(CLI::IsMember({"auto", "before", "after"}));
  command
      .add_option("--dim", choice.dims,
                  "NAME=NUMBER: the size of a dim that ONNX's inputs leave open; may be repeated")
      ->allow_extra_args(false);
}

namespace {

/// Which file was taken of a dump; of several modules how many in which form.
void tellChoice(const std::string &folder, const std::vector<DumpedModule> &modules) {
  if (modules.size() == 1) {
    note("{} is taken, the module {}", modules.front().path, modules.front().note);
    return;
  }
  std::map<std::string, size_t> counts;
  for (const DumpedModule &module : modules)
    ++counts[module.note];
  for (const auto &[which, count] : counts)
    note("{}: {} of {} modules are taken {}", folder, count, modules.size(), which);
}

} // namespace

llvm::Expected<std::vector<ModelFile>> modelFiles(const std::string &path,
                                                  const ModuleChoice &choice, bool takesSeveral) {
  llvm::Expected<DimSizes> sizes = namedNumbers("--dim", choice.dims);
  if (!sizes)
    return sizes.takeError();
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    if (choice.stage != "auto" && path != "-")
      return makeError(DiagClass::BadInput,
                       "{}: --stage is for dump folders, and this is none; leave it out", path);
    return std::vector<ModelFile>{{path, choice.module, std::move(*sizes)}};
  }
  const DumpStage stage = choice.stage == "before"  ? DumpStage::Before
                          : choice.stage == "after" ? DumpStage::After
                                                    : DumpStage::Auto;
  llvm::Expected<std::vector<DumpedModule>> modules = modulesOfDump(path, stage, choice.module);
  if (!modules)
    return modules.takeError();
  if (!takesSeveral && modules->size() > 1)
    return makeError(DiagClass::BadInput,
                     "{}: the dump holds {} modules; choose one with --module: {}", path,
                     modules->size(), namesOf(*modules));
  tellChoice(path, *modules);
  std::vector<ModelFile> files;
  for (const DumpedModule &module : *modules)
    files.push_back({module.path, "", *sizes});
  return files;
}

llvm::Expected<std::string> readModelText(const std::string &path) {
  if (path != "-")
    return readFile(path);
  // A batch asks twice: for the modules of a file, and for one of them.
  static std::optional<std::string> kept;
  if (!kept) {
    llvm::Expected<std::string> text = readFile("/dev/stdin");
    if (!text)
      return text.takeError();
    kept = std::move(*text);
  }
  return *kept;
}

llvm::Expected<Module> readModel(const std::string &path, const ModuleChoice &choice) {
  llvm::Expected<std::vector<ModelFile>> files = modelFiles(path, choice, false);
  if (!files)
    return files.takeError();
  const ModelFile &file = files->front();
  llvm::Expected<std::string> text = readModelText(file.path);
  if (!text)
    return text.takeError();
  return importBuffer(std::make_shared<const SourceBuffer>(modelName(file.path), std::move(*text)),
                      file.module, file.sizes);
}

llvm::Expected<std::vector<Tensor>> readWeights(const std::string &path,
                                                const ModuleChoice &choice) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return std::vector<Tensor>();
  llvm::Expected<std::string> text = readModelText(path);
  if (!text)
    return text.takeError();
  const ModelFormat format = detectFormat(*text);
  if (format != ModelFormat::Onnx && format != ModelFormat::OnnxText)
    return std::vector<Tensor>();
  llvm::Expected<DimSizes> sizes = namedNumbers("--dim", choice.dims);
  if (!sizes)
    return sizes.takeError();
  return onnxWeights(std::make_shared<const SourceBuffer>(modelName(path), std::move(*text)), {},
                     *sizes);
}

std::string modelName(const std::string &path) { return path == "-" ? "stdin" : path; }

std::vector<std::string> listedNames(const std::string &list) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    names.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

} // namespace tilewright::cli
