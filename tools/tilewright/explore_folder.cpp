#include "tools/tilewright/explore_folder.h"

#include "analysis/support/json_text.h"
#include "tools/explore/twins.h"
#ifdef TILEWRIGHT_HAS_CODEGEN
#include "analysis/program/pass/of_plan.h"
#include "codegen/pack_manifest.h"
#endif

#include <fmt/format.h>

namespace tilewright::cli {

namespace {

std::string nameOf(const char *kind, size_t index) { return fmt::format("{}/{:03}", kind, index); }
std::string resultName(size_t index) { return nameOf("models", index) + ".json"; }

/// The files that an entry names; nothing where it is no such entry.
std::optional<std::vector<std::string>> filesOf(const Json &entry) {
  std::vector<std::string> files;
  auto add = [&](const Json &name) {
    if (name.is_string())
      files.push_back(name.get<std::string>());
    return name.is_string() || name.is_null();
  };
  if (!entry.is_object() || !entry.contains("kernels") || !entry["kernels"].is_array())
    return std::nullopt;
  for (const Json &kernel : entry["kernels"]) {
    if (!kernel.is_object() || (kernel.contains("plan_file") && !add(kernel["plan_file"])))
      return std::nullopt;
    if (kernel.contains("sample_files"))
      for (const Json &sample : kernel["sample_files"])
        if (!add(sample))
          return std::nullopt;
  }
  return files;
}

#ifdef TILEWRIGHT_HAS_CODEGEN
/// A kernel's name as the name of a file. Its number in front keeps it unique.
std::string fileName(std::string name) {
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_' && c != '-')
      c = '_';
  return name.substr(0, 100);
}

/// Records what fits the program of the kernel by itself; else `saving` says why not.
template <typename List> void record(KernelSpec &spec, List &into, List from, Json &saving) {
  into = std::move(from);
  if (llvm::Expected<program::PlanProgram> program = programOf(spec); !program) {
    into.clear();
    saving["is_recorded"] = false;
    saving["not_recorded_because"] = takeDiag(program.takeError()).message;
  }
}

/// The settings and layouts that are the best plan's.
void addRecorded(const ExploredKernel &kernel, KernelSpec &spec, Json &entry) {
  if (kernel.savings.empty())
    return;
  const PlanSaving &best = kernel.savings.front();
  if (best.pipeline && best.pipeline->areTaken())
    record(spec, spec.loops, best.pipeline->settings, entry["pipeline"]);
  if (best.layouts && best.layouts->areTaken())
    record(spec, spec.layouts, best.layouts->layouts, entry["layouts"]);
}
#endif

} // namespace

ExploreFolder::ExploreFolder(OutputFolder folder, const std::vector<BatchModel> &models)
    : folder(std::move(folder)), models(models), kept(models.size()) {}

llvm::Expected<ExploreFolder> ExploreFolder::open(const std::string &out, bool resume,
                                                  const std::vector<BatchModel> &models) {
  auto opened = OutputFolder::open(out, "explore",
                                   {"explore.json", "shard.json", "models", "plans", "samples"});
  if (!opened)
    return opened.takeError();
  ExploreFolder result(std::move(*opened), models);
  for (size_t i = 0; resume && i < models.size(); ++i)
    if (!models[i].key.empty())
      result.keep(i);
  return result;
}

/// Keeps a model's result where it is there, whole and of the same key.
void ExploreFolder::keep(size_t index) {
  if (!folder.isWhole(resultName(index)))
    return;
  std::string path = folder / resultName(index);
  auto text = readFile(path);
  if (!text)
    return llvm::consumeError(text.takeError());
  auto stored = parseJson<Json>(path, *text, 64);
  if (!stored)
    return llvm::consumeError(stored.takeError());
  if (!stored->is_object() || stored->value("key", Json()) != models[index].key)
    return;
  Json entry = stored->value("model", Json());
  auto files = filesOf(entry);
  if (!files)
    return;
  files->push_back(resultName(index));
  for (const std::string &file : *files)
    if (!folder.isWhole(file))
      return;
  keptFiles.insert(files->begin(), files->end());
  kept[index] = std::move(entry);
}

std::optional<Json> ExploreFolder::find(size_t index) const { return kept[index]; }

/// Old results stay until there is a new one.
void ExploreFolder::start() {
  if (!std::exchange(started, true))
    folder.removeAllBut(keptFiles);
}

llvm::Error ExploreFolder::write(size_t index, const ExploredModel &model, Json &entry) {
  start();
  if (auto error = writePlans(index, model, entry))
    return error;
  Json stored = {{"key", models[index].key}, {"model", entry}};
  return folder.write(resultName(index), dump(stored));
}

#ifdef TILEWRIGHT_HAS_CODEGEN
namespace {

llvm::Expected<KernelSpec> ownSpec(const ExploredKernel &kernel, const KernelPlan &shared) {
  llvm::Expected<KernelPlan> plan = ownPlan(kernel, shared);
  return plan ? specOf(*plan) : llvm::Expected<KernelSpec>(plan.takeError());
}

} // namespace

llvm::Error ExploreFolder::writePlans(size_t index, const ExploredModel &model, Json &entry) {
  for (size_t k = 0; k < model.kernels.size(); ++k) {
    Json &kernel = entry["kernels"][k];
    const ExploredKernel &explored = model.kernels[k];
    llvm::Expected<KernelSpec> spec = ownSpec(explored, explored.plans.front().plan);
    if (!spec) {
      kernel["plan_file"] = nullptr;
      kernel["plan_file_reason"] = takeDiag(spec.takeError()).message;
      continue;
    }
    std::string name = kernel["name"];
    spec->name = name;
    std::string file = fmt::format("{}/{}.json", nameOf("plans", index), fileName(name));
    addRecorded(model.kernels[k], *spec, kernel);
    if (llvm::Error error = folder.write(file, printPlan(*spec)))
      return error;
    kernel["plan_file"] = file;
    for (size_t i = 0; i < explored.samples.size(); ++i) {
      llvm::Expected<KernelSpec> sample = ownSpec(explored, explored.samples[i]);
      if (!sample)
        return sample.takeError(); // the kernel's best plan could stand on its own
      sample->name = fmt::format("{}_p{:03}", name, i);
      file = fmt::format("{}/{}_p{:03}.json", nameOf("samples", index), fileName(name), i);
      if (llvm::Error error = folder.write(file, printPlan(*sample)))
        return error;
      kernel["sample_files"].push_back(file);
    }
  }
  return llvm::Error::success();
}
#else
llvm::Error ExploreFolder::writePlans(size_t, const ExploredModel &, Json &) {
  return llvm::Error::success();
}
#endif

void ExploreFolder::forget(size_t index) {
  if (!started)
    return; // nothing was written, or the next result removes it
  folder.removeBelow(nameOf("plans", index));
  folder.removeBelow(nameOf("samples", index));
}

llvm::Expected<Json> ExploreFolder::take(size_t index, const ExploreFolder &from) {
  const std::optional<Json> entry = from.find(index);
  std::optional<std::vector<std::string>> files = entry ? filesOf(*entry) : std::nullopt;
  if (!files)
    return makeError(DiagClass::BadInput,
                     "{}: the result of {} is damaged or gone; explore the shard again with "
                     "--resume",
                     from.folder.path(), models[index].name());
  start();
  files->push_back(resultName(index));
  for (const std::string &file : *files) {
    llvm::Expected<std::string> text = readFile(from.folder / file);
    if (!text)
      return text.takeError();
    if (auto error = folder.write(file, *text))
      return error;
  }
  return *entry;
}

llvm::Error ExploreFolder::finish(const std::string &name, const std::string &document) {
  start();
  if (auto error = folder.write(name, document))
    return error;
  return folder.finish();
}

} // namespace tilewright::cli
