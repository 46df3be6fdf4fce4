// tilewright explore: partitions models into kernels and finds the best plans of each by predicted
// time.
#include "analysis/explore/explore.h"
#include "analysis/import/import_file.h"
#include "analysis/support/digest.h"
#include "analysis/support/printable.h"
#ifdef TILEWRIGHT_HAS_CODEGEN
#include "codegen/lower.h"
#include "codegen/target.h"
#endif
#include "tools/tilewright/batch.h"
#include "tools/tilewright/device_output.h"
#include "tools/tilewright/explore_folder.h"
#include "tools/tilewright/isolated.h"
#include "tools/tilewright/plan_options.h"
#include "tools/tilewright/resource_parts.h"

#include <cmath>
#include <fmt/format.h>
#include <new>

namespace tilewright::cli {

namespace {

struct ExploreArguments {
  std::vector<std::string> models;
  std::string module;
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

Json planJson(const KernelPlan &plan) {
  Json tile = Json::object(), schedule = Json::object();
  int64_t grid = 1;
  const TileSpace &space = plan.tiled->space;
  for (size_t i = 0; i < space.parameters.size(); ++i) {
    const TileParameter &parameter = space.parameters[i];
    bool isSchedule = parameter.role == TileParameter::Role::Schedule;
    (isSchedule ? schedule : tile)[parameter.name] = plan.values[i];
    if (parameter.role == TileParameter::Role::Parallel)
      grid *= (parameter.largest() + plan.values[i] - 1) / plan.values[i];
  }
  schedule["instruction"] = toString(plan.instruction);
  return {{"tile", tile}, {"schedule", schedule}, {"grid", grid * plan.value("split_k")}};
}

/// Cells row by row; those without a time are explained in `refusals`.
Json tileMapJson(const TileMap &map) {
  auto axis = [](const TileMap::Axis &axis) {
    return Json{{"parameter", axis.parameter}, {"sizes", axis.sizes}};
  };
  Json times = Json::array(), refusals = Json::array();
  for (size_t i = 0; i < map.cells.size(); ++i) {
    const TileMap::Cell &cell = map.cells[i];
    times.push_back(cell.rule.empty() ? Json(cell.timeNs) : Json());
    if (!cell.rule.empty())
      refusals.push_back({{"cell", i}, {"rule", cell.rule}, {"reason", cell.reason}});
  }
  return {{"rows", axis(map.rows)},
          {"columns", axis(map.columns)},
          {"times_ns", times},
          {"refusals", refusals}};
}

Json kernelJson(const ExploredKernel &kernel, size_t index) {
  const RankedPlan &best = kernel.plans.front();
  const Estimate &estimate = best.estimate;
  Json entry;
  entry["name"] = fmt::format("k{:02}_{}", index, kernel.name);
  entry["ops"] = kernel.ops;
  if (!kernel.recomputed.empty())
    entry["recomputed"] = kernel.recomputed;
  entry["root_shape"] = kernel.rootShape;
  entry["kind"] = toString(kernel.kind);
  entry["trip_count"] = kernel.tripCount;
  entry["trip_count_is_known"] = kernel.isTripCountKnown;
  if (!kernel.partOf.empty())
    entry["part_of"] = kernel.partOf;
  if (!kernel.computation.empty())
    entry["computation"] = kernel.computation;
  entry["plan"] = planJson(best.plan);
  entry["time_ns"] = estimate.timeNs;
  entry["sigma_ln"] = estimate.sigmaLn;
  entry["lower_bound_ns"] = kernel.lowerBoundNs;
  entry["limiter"] = estimate.limiter;
  entry["terms"] = Json::object();
  for (const EstimateTerm &term : estimate.terms)
    entry["terms"][term.name] = term.ns;
  if (!kernel.notes.empty())
    entry["notes"] = kernel.notes;
  entry["flops"] = kernel.flops;
  entry["transcendentals"] = kernel.transcendentals;
  entry["issued_flops"] = estimate.issuedFlops;
  if (!kernel.uncounted.empty())
    entry["uncounted"] = kernel.uncounted;
  entry["bytes"] = std::llround(estimate.compulsoryBytes);
  entry["dram_bytes"] = estimate.dramReadBytes + estimate.dramWriteBytes;
  entry["l2_bytes"] = estimate.l2Bytes;
  entry["resources"] = {{"registers", estimate.resources.registers},
                        {"shared_bytes", estimate.resources.sharedBytes},
                        {"threads", estimate.resources.warps * 32},
                        {"blocks_per_sm", estimate.resources.ctasPerSm},
                        {"occupancy", estimate.resources.occupancy},
                        {"occupancy_limiter", estimate.resources.occupancyLimiter},
                        {"register_items", partsJson(estimate.resources.registerParts)},
                        {"shared_items", partsJson(estimate.resources.sharedParts)}};
  entry["candidates"] = {{"raw", kernel.raw},
                         {"feasible", kernel.feasible},
                         {"priced", kernel.priced},
                         {"is_exhaustive", kernel.isExhaustive}};
  entry["alternatives"] = Json::array();
  for (const RankedPlan &plan : kernel.plans)
    entry["alternatives"].push_back({{"plan", planJson(plan.plan)},
                                     {"time_ns", plan.estimate.timeNs},
                                     {"limiter", plan.estimate.limiter}});
  if (!kernel.tileMap.cells.empty())
    entry["tile_map"] = tileMapJson(kernel.tileMap);
  return entry;
}

Json modelJson(const std::string &path, const ExploredModel &model) {
  Json entry;
  entry["model"] = path;
  entry["ops"] = model.ops;
  entry["computations"] = model.computations;
  entry["kernels"] = Json::array();
  for (const ExploredKernel &kernel : model.kernels)
    entry["kernels"].push_back(kernelJson(kernel, entry["kernels"].size()));
  for (size_t k = 0; k < model.kernels.size(); ++k) {
    Json reads = Json::array();
    for (size_t from : model.kernels[k].reads)
      reads.push_back(entry["kernels"][from]["name"]);
    entry["kernels"][k]["reads"] = std::move(reads);
  }
  auto list = [](const std::vector<UnsupportedOp> &ops) {
    Json result = Json::array();
    for (const UnsupportedOp &op : ops) {
      Json row = {{"op", op.op}, {"reason", op.reason}};
      if (!op.computation.empty())
        row["computation"] = op.computation;
      if (op.flops)
        row["flops"] = *op.flops;
      if (op.bytes)
        row["bytes"] = *op.bytes;
      if (op.linkBytes)
        row["link_bytes"] = *op.linkBytes;
      result.push_back(std::move(row));
    }
    return result;
  };
  entry["unsupported"] = list(model.unsupported);
  entry["assumed"] = Json::array();
  for (const AssumedOp &op : model.assumed) {
    Json row = {{"op", op.op},
                {"reason", op.reason},
                {"read_bytes", std::llround(op.readBytes)},
                {"written_bytes", std::llround(op.writtenBytes)},
                {"time_ns", op.timeNs},
                {"sigma_ln", op.sigmaLn},
                {"trip_count", op.tripCount},
                {"trip_count_is_known", op.isTripCountKnown}};
    if (!op.computation.empty())
      row["computation"] = op.computation;
    entry["assumed"].push_back(std::move(row));
  }
  entry["notes"] = list(model.notes);
  entry["no_kernel"] = list(model.noKernel);
  entry["split_groups"] = Json::array();
  for (const SplitGroup &split : model.split)
    entry["split_groups"].push_back(
        {{"root", split.root}, {"ops", split.ops}, {"reason", split.reason}});
  entry["chains"] = Json::array();
  for (const ExploredChain &chain : model.chains) {
    bool isPriced = std::isfinite(chain.unfusedNs);
    Json row = {{"first", chain.first},
                {"second", chain.second},
                {"kernels", chain.kernels},
                {"is_taken", chain.isTaken},
                {"apart_time_ns", isPriced ? Json(chain.unfusedNs) : Json()},
                {"joined_time_ns", chain.reason.empty() ? Json(chain.fusedNs) : Json()}};
    if (!chain.reason.empty())
      row["reason"] = chain.reason;
    if (!chain.computation.empty())
      row["computation"] = chain.computation;
    entry["chains"].push_back(std::move(row));
  }
  entry["total_time_ns"] = model.totalTimeNs;
  entry["total_is_complete"] = model.isComplete();
  entry["simple_grouping_time_ns"] = model.simpleGroupingNs;
  entry["lower_bound_ns"] = model.lowerBoundNs;
  return entry;
}

Json deviceJson(const Device &device) {
  Json peaks = Json::object();
  for (DType type : {DType::F8E4M3FN, DType::BF16, DType::F16})
    if (double peak = device.peakFlops(type, true))
      peaks[std::string(toString(type))] = peak * 1e9; // FLOP/ns
  if (double peak = device.peakFlops(DType::F32, true))
    peaks["tf32"] = peak * 1e9;
  peaks["f32"] = device.peakFlops(DType::F32, false) * 1e9;
  return {{"name", device.name},
          {"display_name", device.name},
          {"sm_count", device.smCount},
          {"clock_ghz", device.smClock},
          {"dram_bytes_per_s", device.dramBandwidth * 1e9},
          {"l2_bytes", device.l2Bytes},
          {"peak_flops_per_s", peaks}};
}

std::string sizesText(const Json &sizes) {
  std::string out;
  for (const auto &[name, value] : sizes.items())
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", name,
                       value.is_string() ? value.get<std::string>() : value.dump());
  return out;
}

void printChain(const Json &chain) {
  std::string unfused =
      chain["apart_time_ns"].is_null() ? "not possible" : timeText(chain["apart_time_ns"]);
  say("  {}: the {} kernels from %{} to %{}: unfused {}, fused: {}\n",
      chain["is_taken"].get<bool>() ? "fused" : "not fused", chain["kernels"].get<size_t>(),
      chain["first"].get<std::string>(), chain["second"].get<std::string>(), unfused,
      chain["joined_time_ns"].is_null() ? chain["reason"].get<std::string>()
                                        : timeText(chain["joined_time_ns"]));
}

void printModel(const Json &model, double total) {
  say("{}: {} kernels, {}{}\n", model["model"].get<std::string>(), model["kernels"].size(),
      timeText(model["total_time_ns"].get<double>()),
      model["total_is_complete"].get<bool>()
          ? ""
          : fmt::format(" without {} unsupported ops", model["unsupported"].size()));
  say("  {:<32} {:>9} {:>6}  {:<14} {}\n", "kernel", "time", "share", "limit", "plan");
  for (const Json &kernel : model["kernels"]) {
    int64_t runs = kernel["trip_count"].get<int64_t>();
    double time = kernel["time_ns"].get<double>() * static_cast<double>(runs);
    std::string name = clipped(kernel["name"].get<std::string>(), 32);
    say("  {:<32} {:>9} {:>5.1f}%  {:<14} {} | {}{}\n", name, timeText(time),
        total > 0 ? 100 * time / total : 0.0, kernel["limiter"].get<std::string>(),
        sizesText(kernel["plan"]["tile"]), sizesText(kernel["plan"]["schedule"]),
        !kernel["trip_count_is_known"].get<bool>() ? " | a trip of a loop of unknown length"
        : runs == 1                                ? ""
                                                   : fmt::format(" | {} runs", runs));
    if (kernel.contains("notes"))
      for (const Json &note : kernel["notes"])
        say("    {}\n", note.get<std::string>());
  }
  for (const Json &op : model["assumed"])
    say("  assumed: %{}: {} (a factor of {:.1f} either way){}: {}\n", op["op"].get<std::string>(),
        timeText(op["time_ns"].get<double>()), std::exp(op["sigma_ln"].get<double>()),
        op["trip_count"] == 1 ? "" : fmt::format(", {} runs", op["trip_count"].get<int64_t>()),
        op["reason"].get<std::string>());
  for (const Json &note : model["notes"])
    say("  note: %{}: {}\n", note["op"].get<std::string>(), note["reason"].get<std::string>());
  for (const Json &split : model["split_groups"])
    say("  split: the {} ops of %{}: {}\n", split["ops"].get<size_t>(),
        split["root"].get<std::string>(), split["reason"].get<std::string>());
  for (const Json &chain : model["chains"])
    printChain(chain);
  for (const Json &op : model["unsupported"])
    say("  not modelled: %{}: {}\n", op["op"].get<std::string>(), op["reason"].get<std::string>());
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
  for (size_t at = text.find("HloModule"); at != std::string::npos;
       at = text.find("HloModule", at + 1))
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
    llvm::Expected<std::string> text = readFile(path);
    if (!text)
      return text.takeError();
    return FileOfBatch{fingerprint({*text}), modulesOf(path, *text, wanted)};
  } catch (const std::bad_alloc &) {
    return makeError(DiagClass::BudgetSpent, "{}: out of memory while it was read", path);
  }
}

/// Reads and explores a model; the text is its entry of the document, and its files are written.
llvm::Expected<std::string> exploreFile(const BatchModel &model, size_t index, const Device &device,
                                        const Calibration &calibration, ExploreOptions exploring,
                                        std::optional<ExploreFolder> &folder) {
  llvm::Expected<std::string> text = readFile(model.path);
  if (!text)
    return text.takeError();
  if (fingerprint({*text}) != model.hash)
    return makeError(DiagClass::BadInput, "{}: was changed while the batch ran", model.path);
  llvm::Expected<Module> module =
      importBuffer(std::make_shared<SourceBuffer>(model.path, std::move(*text)), model.module);
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

  Json document = newDocument("explore");
  const std::vector<DeviceNote> notes = notesOn(*device, *calibration);
  document["device"] = deviceJson(*device);
  document["calibration"] = calibration->isFitted() ? Json(calibration->device) : Json();
  document["cache"] = options.plans.cache;
  document["instruction"] = options.plans.instruction;
  document["notes"] = notesJson(notes);
  document["models"] = Json::array();
  std::string settings =
      fmt::format("{} {} {} {} {} {} {}", TILEWRIGHT_VERSION, options.top, options.budget,
                  options.plans.cache, options.plans.instruction, options.samples, options.target);
  std::string calibrationText = toJson(*calibration);
  std::vector<BatchModel> models;
  Batch batch("models");
  for (const std::string &path : options.models) {
    llvm::Expected<FileOfBatch> file = lookInto(path, options.module);
    if (!file) {
      batch.fail(path, file.takeError());
      models.push_back({path, {}, {}, {}});
      continue;
    }
    for (std::string &module : file->modules) {
      BatchModel model{path, std::move(module), file->hash, {}};
      model.key = fingerprint(
          {model.name(), model.hash, settings, device->name, device->digest, calibrationText});
      models.push_back(std::move(model));
    }
  }
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
  if (batch.failures() == models.size())
    return batch.finish(models.size()); // there is no result
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
  command->add_option("MODEL", options->models, "HLO text files, plain or gzip")->required();
  command->add_option("--module", options->module,
                      "Of files that hold several modules this one (default: all, as FILE#MODULE)");
  command->add_option("--device", options->device, "Device name or JSON file")
      ->capture_default_str();
  addPlanChoices(*command, options->plans);
  command->add_option("--top", options->top, "Plans to keep for each kernel")
      ->capture_default_str()
      ->check(CLI::Range(size_t(1), size_t(1000)));
  command->add_option("--budget", options->budget, "Plans to price in each pass of the search")
      ->capture_default_str()
      ->check(CLI::Range(size_t(1), size_t(1) << 30));
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
