// tilewright explore: partitions models into kernels and finds the best plans of each by predicted
// time.
#include "analysis/import/import_file.h"
#include "analysis/support/digest.h"
#include "costmodel/link.h"
#include "tools/explore/explore.h"
#ifdef TILEWRIGHT_HAS_CODEGEN
#include "codegen/lower.h"
#include "codegen/target.h"
#endif
#include "tools/tilewright/batch.h"
#include "tools/tilewright/device_output.h"
#include "tools/tilewright/explore_folder.h"
#include "tools/tilewright/explore_output.h"
#include "tools/tilewright/isolated.h"
#include "tools/tilewright/model_input.h"
#include "tools/tilewright/plan_options.h"

#include <fmt/format.h>
#include <new>

namespace tilewright::cli {

namespace {

struct ExploreArguments {
  std::vector<std::string> models, fuse, split;
  ModuleChoice choice;
  std::string device = "h100-sxm", out, target;
  PlanChoices plans;
  size_t top = 5, samples = 0, budget = PlanSearchOptions().maxPriced;
  unsigned jobs = 1;
  unsigned modelLimit = 3600;
  bool resume = false, json = false;
};

/// A hash for detecting changes.
std::string fingerprint(std::initializer_list<std::string_view> parts) {
  Digest digest;
  for (std::string_view part : parts)
    digest.add(part);
  return digest.str();
}

/// "a,b" as names.
std::vector<std::string> namesOf(const std::string &list) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    names.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

#ifdef TILEWRIGHT_HAS_CODEGEN
/// True if a target has code for exactly this plan, with its instruction.
bool hasCode(const KernelPlan &plan, const std::string &target) {
  llvm::Expected<KernelModule> code = lowerPlan(plan, CodeMode::Device);
  if (!code) {
    llvm::consumeError(code.takeError());
    return false;
  }
  return code->notes.empty() && (code->target.empty() || code->target == target);
}

#endif

/// The modules of a file that are to be explored, by name; of one that holds a single module, or
/// can't be read, an empty name.
std::vector<std::string> modulesOf(const std::string &path, const std::string &text,
                                   const std::string &wanted) {
  if (!wanted.empty())
    return {wanted};
  size_t headers = 0;
  for (std::string_view header : {"HloModule", "module", "\"builtin.module\""})
    for (size_t at = text.find(header); at != std::string::npos; at = text.find(header, at + 1))
      headers += at == 0 || text[at - 1] == '\n';
  if (headers > 1) {
    llvm::Expected<std::vector<Module>> modules =
        importModules(std::make_shared<SourceBuffer>(path, text));
    if (modules && modules->size() > 1)
      return moduleNames(*modules);
    llvm::consumeError(modules.takeError()); // exploring it says what is wrong
  }
  return {""};
}

/// What a file of a batch holds. Texts are not kept: a batch needs the memory of one at a time.
struct FileOfBatch {
  std::string hash; ///< of its text
  std::vector<std::string> modules;
};

llvm::Expected<FileOfBatch> lookInto(const std::string &path, const std::string &wanted) {
  try {
    llvm::Expected<std::string> text = readModelText(path);
    if (!text)
      return text.takeError();
    return FileOfBatch{fingerprint({*text}), modulesOf(path, *text, wanted)};
  } catch (const std::bad_alloc &) {
    return makeError(DiagClass::BudgetSpent, "{}: out of memory while it was read", path);
  }
}

/// The modules of a batch in order; those that could not be read have no key, and the batch is
/// told. `keyed`: all that a result depends on but the model.
std::vector<BatchModel> batchModels(const ExploreArguments &options, const std::string &keyed,
                                    Batch &batch) {
  std::vector<BatchModel> models;
  auto failed = [&](const std::string &path, llvm::Error error) {
    batch.fail(path, std::move(error));
    models.push_back({path, {}, {}, {}});
  };
  for (const std::string &given : options.models) {
    llvm::Expected<std::vector<ModelFile>> files = modelFiles(given, options.choice);
    if (!files) {
      failed(given, files.takeError());
      continue;
    }
    for (const auto &[path, wanted] : *files) {
      llvm::Expected<FileOfBatch> file = lookInto(path, wanted);
      if (!file) {
        failed(path, file.takeError());
        continue;
      }
      for (std::string &module : file->modules) {
        BatchModel model{path, std::move(module), file->hash, {}};
        model.key = fingerprint({model.name(), model.hash, keyed});
        models.push_back(std::move(model));
      }
    }
  }
  return models;
}

/// Reads and explores a model; the text is its entry of the document, and its files are written.
llvm::Expected<std::string> exploreFile(const BatchModel &model, size_t index, const Device &device,
                                        const Calibration &calibration, ExploreOptions exploring,
                                        std::optional<ExploreFolder> &folder) {
  llvm::Expected<std::string> text = readModelText(model.path);
  if (!text)
    return text.takeError();
  if (fingerprint({*text}) != model.hash)
    return makeError(DiagClass::BadInput, "{}: was changed while the batch ran", model.path);
  llvm::Expected<Module> module = importBuffer(
      std::make_shared<SourceBuffer>(modelName(model.path), std::move(*text)), model.module);
  if (!module)
    return module.takeError();
  Progress progress("explored kernels");
  exploring.progress = [&](size_t done, size_t total) { progress.update(done, total); };
  llvm::Expected<ExploredModel> explored = exploreModel(*module, device, calibration, exploring);
  if (!explored)
    return explored.takeError();
  Json entry = modelJson(model.name(), *explored);
  if (folder)
    if (llvm::Error error = folder->write(index, *explored, entry))
      return error;
  return dump(entry);
}

int runExplore(const ExploreArguments &options) {
  llvm::Expected<Device> device = loadDevice(options.device, dataFolder("devices"));
  if (!device)
    return failInput(device.takeError());
  llvm::Expected<Calibration> calibration = options.plans.calibrationOf(*device);
  if (!calibration)
    return failInput(calibration.takeError());
  ExploreOptions exploring;
  exploring.search.top = options.top;
  exploring.search.maxPriced = options.budget;
  exploring.jobs = options.jobs;
  exploring.tileMaps = !options.out.empty();
#ifdef TILEWRIGHT_HAS_CODEGEN
  if (options.samples > 0)
    exploring.samples.emplace().count = options.samples;
  if (options.samples > 0 && !options.target.empty()) {
    llvm::Expected<Target> target = findTarget(options.target);
    if (!target)
      return failInput(target.takeError());
    exploring.samples->accepts = [name = target->name](const KernelPlan &plan) {
      return hasCode(plan, name);
    };
  }
#endif
  exploring.plans = options.plans.options();
  for (const std::string &list : options.fuse)
    exploring.fused.push_back(namesOf(list));
  for (const std::string &list : options.split)
    for (std::string &name : namesOf(list))
      exploring.split.push_back(std::move(name));

  Json document = newDocument("explore");
  const std::vector<DeviceNote> notes = notesOn(*device, *calibration);
  document["device"] = deviceJson(*device);
  document["calibration"] = calibration->isFitted() ? Json(calibration->device) : Json();
  document["cache"] = options.plans.cache;
  document["instruction"] = options.plans.instruction;
  document["notes"] = notesJson(notes);
  document["models"] = Json::array();
  const DeviceLink link = linkOf(*device).value_or(DeviceLink{}); // no part of the digest
  std::string settings =
      fmt::format("{} {} {} {} {} {} {} {} {}", TILEWRIGHT_VERSION, options.top, options.budget,
                  options.plans.cache, options.plans.instruction, options.samples, options.target,
                  link.bandwidth, link.latencyNs);
  for (const std::vector<std::string> *lists : {&options.fuse, &options.split})
    for (const std::string &list : *lists)
      settings += " " + list + (lists == &options.fuse ? " fused" : " split");
  Batch batch("models");
  const std::vector<BatchModel> models = batchModels(
      options, fingerprint({settings, device->name, device->digest, toJson(*calibration)}), batch);
  std::optional<ExploreFolder> folder;
  if (!options.out.empty()) {
    llvm::Expected<ExploreFolder> opened = ExploreFolder::open(options.out, options.resume, models);
    if (!opened)
      return failInput(opened.takeError());
    folder.emplace(std::move(*opened));
  }
  for (size_t i = 0; i < models.size(); ++i) {
    if (models[i].key.empty())
      continue; // it could not be read
    std::optional<Json> entry = folder ? folder->find(i) : std::nullopt;
    if (!entry) {
      // One model must not cost the others, whatever it does.
      llvm::Expected<std::string> text = runIsolated(
          [&] { return exploreFile(models[i], i, *device, *calibration, exploring, folder); },
          options.modelLimit);
      if (!text) {
        batch.fail(models[i].name(), text.takeError());
        if (folder)
          folder->forget(i);
        continue;
      }
      entry = Json::parse(*text);
      if (folder)
        folder->isStarted();
    }
    document["models"].push_back(std::move(*entry));
  }
  document["failures"] = batch.json();
  if (batch.failures() == models.size()) // there is no result
    return !exploring.fused.empty() && batch.isUnsupported() ? AnswerIsNo
                                                             : batch.finish(models.size());
  if (folder)
    if (llvm::Error error = folder->finish(dump(document)))
      return fail(std::move(error));
  if (options.json) {
    print(document);
  } else {
    say("device {}, calibration {}, {} caches{}\n", device->name,
        transferred(*calibration, *device).label(), options.plans.cache,
        options.plans.instruction == "auto"
            ? ""
            : fmt::format(", dots by {}", options.plans.instruction));
    printNotes(notes);
    for (const Json &model : document["models"])
      printModel(model, model["total_time_ns"].get<double>());
    if (!options.out.empty())
      say("written to {}/explore.json\n", options.out);
  }
  return batch.finish(models.size());
}

} // namespace

void addExplore(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<ExploreArguments>();
  CLI::App *command =
      app.add_subcommand("explore", "Kernels of whole models with their best plans");
  command->footer(
      "Example:\n"
      "  tilewright explore datasets/models/*.hlo.txt --device h100-sxm --out out\n"
      "A model that fails costs the batch that model: it is listed at the end (exit code 2, or 70\n"
      "for a bug of ours), and under `failures` in JSON.");
  command->add_option("MODEL", options->models, modelHelp)->required();
  addModuleChoice(*command, options->choice, "all, those of a file as FILE#MODULE");
  command->add_option("--device", options->device, "Device name or JSON file")
      ->capture_default_str();
  addPlanChoices(*command, options->plans);
  command->add_option("--top", options->top, "Plans to keep for each kernel")
      ->capture_default_str()
      ->check(CLI::Range(size_t(1), size_t(1000)));
  command->add_option("--budget", options->budget, "Plans to price in each pass of the search")
      ->capture_default_str()
      ->check(CLI::Range(size_t(1), size_t(1) << 30));
  command
      ->add_option("--fuse", options->fuse,
                   "Names of ops, a,b,…, that are to be one kernel, whatever it costs; for "
                   "several kernels several times")
      ->type_name("OP,…");
  command
      ->add_option("--split", options->split,
                   "Names of ops after which a kernel ends: no reader is fused with them")
      ->type_name("OP,…");
  command->add_option("--jobs", options->jobs, "Threads; the result does not depend on it")
      ->capture_default_str()
      ->check(CLI::Range(1u, 256u));
  command
      ->add_option("--model-limit", options->modelLimit,
                   "Seconds after which a model is given up, and the next one explored; 0: none")
      ->capture_default_str();
  auto *out = command->add_option(
      "--out", options->out,
      "Folder for explore.json and its parts; what an earlier run left in it is removed");
#ifdef TILEWRIGHT_HAS_CODEGEN
  CLI::Option *samples =
      command
          ->add_option("--samples", options->samples,
                       "With --out: also write so many plans of each kernel that are unlike each "
                       "other, to measure and calibrate with")
          ->needs(out)
          ->check(CLI::Range(size_t(1), size_t(10000)));
  command
      ->add_option("--target", options->target,
                   "With --samples: only plans that there is code for, as sm_90a")
      ->needs(samples);
#endif
  command
      ->add_flag("--resume", options->resume,
                 "With --out: keep the models that are there and unchanged")
      ->needs(out);
  command->add_flag("--json", options->json, "Print JSON");
  command->callback(
      [options, &selection] { selection.run = [options] { return runExplore(*options); }; });
}

} // namespace tilewright::cli
