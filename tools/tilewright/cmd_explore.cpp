// tilewright explore: models into kernels, each with its best plans by predicted time.
#include "analysis/explore/explore.h"
#include "analysis/import/import_file.h"
#include "analysis/support/digest.h"
#include "analysis/support/json_guard.h"
#ifdef TILEWRIGHT_HAS_CODEGEN
#include "codegen/lower.h"
#include "codegen/pack_manifest.h"
#include "codegen/target.h"
#endif
#include "tools/tilewright/command.h"
#include "tools/tilewright/resource_parts.h"

#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <thread>

namespace tilewright::cli {

namespace {

namespace fs = std::filesystem;

struct ExploreArguments {
  std::vector<std::string> models;
  std::string device = "h100-sxm", calibration, out, target;
  size_t top = 5, samples = 0, budget = PlanSearchOptions().maxPriced;
  unsigned jobs = 1;
  bool resume = false, json = false;
  std::string cache = "warm", instruction = "auto";
};

/// A hash that only has to notice changes.
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
  if (!kernel.computation.empty())
    entry["computation"] = kernel.computation;
  entry["plan"] = planJson(best.plan);
  entry["time_ns"] = estimate.timeNs;
  entry["sigma_ln"] = estimate.sigmaLn;
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
  entry["no_kernel"] = list(model.noKernel);
  entry["split_groups"] = Json::array();
  for (const SplitGroup &split : model.split)
    entry["split_groups"].push_back(
        {{"root", split.root}, {"ops", split.ops}, {"reason", split.reason}});
  entry["chains"] = Json::array();
  for (const ExploredChain &chain : model.chains) {
    bool isPriced = std::isfinite(chain.apartNs);
    Json row = {{"first", chain.first},
                {"second", chain.second},
                {"kernels", chain.kernels},
                {"is_taken", chain.isTaken},
                {"apart_time_ns", isPriced ? Json(chain.apartNs) : Json()},
                {"joined_time_ns", chain.reason.empty() ? Json(chain.joinedNs) : Json()}};
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
  std::string apart =
      chain["apart_time_ns"].is_null() ? "not possible" : timeText(chain["apart_time_ns"]);
  fmt::print("  {}: the {} kernels from %{} to %{}: apart {}, as one: {}\n",
             chain["is_taken"].get<bool>() ? "joined" : "not joined",
             chain["kernels"].get<size_t>(), chain["first"].get<std::string>(),
             chain["second"].get<std::string>(), apart,
             chain["joined_time_ns"].is_null() ? chain["reason"].get<std::string>()
                                               : timeText(chain["joined_time_ns"]));
}

void printModel(const Json &model, double total) {
  fmt::print("{}: {} kernels, {}{}\n", model["model"].get<std::string>(), model["kernels"].size(),
             timeText(model["total_time_ns"].get<double>()),
             model["total_is_complete"].get<bool>()
                 ? ""
                 : fmt::format(" without {} unsupported ops", model["unsupported"].size()));
  fmt::print("  {:<32} {:>9} {:>6}  {:<14} {}\n", "kernel", "time", "share", "limit", "plan");
  for (const Json &kernel : model["kernels"]) {
    int64_t runs = kernel["trip_count"].get<int64_t>();
    double time = kernel["time_ns"].get<double>() * static_cast<double>(runs);
    std::string name = kernel["name"].get<std::string>();
    if (name.size() > 32)
      name = name.substr(0, 31) + "~";
    fmt::print("  {:<32} {:>9} {:>5.1f}%  {:<14} {} | {}{}\n", name, timeText(time),
               total > 0 ? 100 * time / total : 0.0, kernel["limiter"].get<std::string>(),
               sizesText(kernel["plan"]["tile"]), sizesText(kernel["plan"]["schedule"]),
               runs == 1 ? "" : fmt::format(" | {} runs", runs));
    if (kernel.contains("notes"))
      for (const Json &note : kernel["notes"])
        fmt::print("    {}\n", note.get<std::string>());
  }
  for (const Json &split : model["split_groups"])
    fmt::print("  taken apart: the {} ops of %{}: {}\n", split["ops"].get<size_t>(),
               split["root"].get<std::string>(), split["reason"].get<std::string>());
  for (const Json &chain : model["chains"])
    printChain(chain);
  for (const Json &op : model["unsupported"])
    fmt::print("  not modelled: %{}: {}\n", op["op"].get<std::string>(),
               op["reason"].get<std::string>());
}

#ifdef TILEWRIGHT_HAS_CODEGEN
/// A kernel's name as the name of a file. Its number in front keeps it unique.
std::string fileName(std::string name) {
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_' && c != '-')
      c = '_';
  return name.substr(0, 100);
}

/// Is there code for a target that does just what the plan says, with no other instruction?
bool hasCode(const KernelPlan &plan, const std::string &target) {
  llvm::Expected<KernelModule> code = lowerPlan(plan, CodeMode::Device);
  if (!code) {
    llvm::consumeError(code.takeError());
    return false;
  }
  return code->notes.empty() && (code->target.empty() || code->target == target);
}

/// Writes each kernel's best plan, and its samples, as files that `emit` takes, and names them in
/// the kernel's entry. A plan that can't stand on its own (an input that is a tuple) has no file.
llvm::Error writePlans(const std::string &out, size_t index, const ExploredModel &model,
                       Json &entry) {
  std::string folder = fmt::format("plans/{:03}", index);
  std::error_code ignored;
  // A failure shows when a file is written.
  fs::create_directories(out + "/" + folder, ignored);
  fs::create_directories(fmt::format("{}/samples/{:03}", out, index), ignored);
  for (size_t k = 0; k < model.kernels.size(); ++k) {
    llvm::Expected<KernelSpec> spec = specOf(model.kernels[k].plans.front().plan);
    if (!spec) {
      entry["kernels"][k]["plan_file"] = nullptr;
      entry["kernels"][k]["plan_file_reason"] = takeDiag(spec.takeError()).message;
      continue;
    }
    std::string name = entry["kernels"][k]["name"];
    spec->name = name;
    std::string file = folder + "/" + fileName(name) + ".json";
    if (llvm::Error error = writeFileAtomically(out + "/" + file, printPlan(*spec)))
      return error;
    entry["kernels"][k]["plan_file"] = file;
    const std::vector<KernelPlan> &samples = model.kernels[k].samples;
    for (size_t i = 0; i < samples.size(); ++i) {
      llvm::Expected<KernelSpec> sample = specOf(samples[i]);
      if (!sample)
        return sample.takeError(); // the kernel's best plan could stand on its own
      sample->name = fmt::format("{}_p{:03}", name, i);
      file = fmt::format("samples/{:03}/{}_p{:03}.json", index, fileName(name), i);
      if (llvm::Error error = writeFileAtomically(out + "/" + file, printPlan(*sample)))
        return error;
      entry["kernels"][k]["sample_files"].push_back(file);
    }
  }
  return llvm::Error::success();
}
#endif

/// One model's result, kept beside the report so that an interrupted run can go on.
class ModelStore {
public:
  ModelStore(const std::string &out, bool resume) : out(out), resume(resume) {}

  std::optional<Json> find(size_t index, const std::string &key) const {
    if (out.empty() || !resume || !fs::exists(path(index)))
      return std::nullopt;
    llvm::Expected<std::string> text = readFile(path(index));
    if (!text) {
      llvm::consumeError(text.takeError());
      return std::nullopt;
    }
    if (llvm::Error tooDeep = checkJsonDepth(*text, 64, path(index))) {
      llvm::consumeError(std::move(tooDeep));
      return std::nullopt;
    }
    Json stored = Json::parse(*text, nullptr, false);
    if (!stored.is_object() || !stored.contains("model") || stored.value("key", Json()) != key ||
        stored.value("checksum", Json()) != fingerprint({dump(stored["model"])}))
      return std::nullopt;
    return stored["model"];
  }

  llvm::Error store(size_t index, const std::string &key, const Json &model) const {
    if (out.empty())
      return llvm::Error::success();
    Json stored = {{"key", key}, {"checksum", fingerprint({dump(model)})}, {"model", model}};
    return writeFileAtomically(path(index), dump(stored));
  }

private:
  std::string path(size_t index) const { return fmt::format("{}/models/{:03}.json", out, index); }
  std::string out;
  bool resume;
};

int runExplore(const ExploreArguments &options) {
  llvm::Expected<Device> device = loadDevice(options.device, dataFolder("devices"));
  if (!device)
    return failInput(device.takeError());
  llvm::Expected<Calibration> calibration =
      options.calibration.empty()
          ? defaultCalibration(*device, dataFolder("calibrations"))
          : loadCalibration(options.calibration, dataFolder("calibrations"));
  if (!calibration)
    return failInput(calibration.takeError());
  // Every model is read before the first is explored: a bad file must not cost an hour's work.
  std::vector<Module> modules;
  std::vector<std::string> texts;
  for (const std::string &path : options.models) {
    llvm::Expected<std::string> text = readFile(path);
    if (!text)
      return failInput(text.takeError());
    llvm::Expected<Module> module = importBuffer(std::make_shared<SourceBuffer>(path, *text));
    if (!module)
      return failInput(module.takeError());
    modules.push_back(std::move(*module));
    texts.push_back(std::move(*text));
  }
  if (!options.out.empty()) {
    std::error_code error;
    fs::create_directories(options.out + "/models", error);
    if (error)
      return fail(makeError(DiagClass::BadInput, "{}: cannot make the folder: {}", options.out,
                            error.message()));
  }

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
  if (options.cache == "flushed")
    exploring.estimate.cache = CacheState::Flushed;
  else if (options.cache == "clean")
    exploring.estimate.cache = CacheState::Clean;

  for (Instruction each : {Instruction::Fma, Instruction::MmaSync, Instruction::Wgmma})
    if (options.instruction == toString(each))
      exploring.instruction = each;

  Json document = newDocument("explore");
  document["device"] = deviceJson(*device);
  document["calibration"] = calibration->files.empty() ? Json() : Json(calibration->device);
  document["models"] = Json::array();
  std::string settings =
      fmt::format("{} {} {} {} {} {} {}", TILEWRIGHT_VERSION, options.top, options.budget,
                  options.cache, options.instruction, options.samples, options.target);
  std::string calibrationText = toJson(*calibration);
  llvm::Expected<std::string> deviceText = readFile(
      options.device.ends_with(".json") ? options.device
                                        : dataFolder("devices") + "/" + options.device + ".json");
  if (!deviceText)
    return failInput(deviceText.takeError());
  ModelStore store(options.out, options.resume);
  Progress progress("explored kernels");
  for (size_t i = 0; i < modules.size(); ++i) {
    std::string key =
        fingerprint({options.models[i], texts[i], settings, *deviceText, calibrationText});
    std::optional<Json> entry = store.find(i, key);
    if (!entry) {
      exploring.progress = [&](size_t done, size_t total) { progress.update(done, total); };
      llvm::Expected<ExploredModel> explored =
          exploreModel(modules[i], *device, *calibration, exploring);
      if (!explored)
        return fail(explored.takeError());
      entry = modelJson(options.models[i], *explored);
#ifdef TILEWRIGHT_HAS_CODEGEN
      if (!options.out.empty())
        if (llvm::Error error = writePlans(options.out, i, *explored, *entry))
          return fail(std::move(error));
#endif
      if (llvm::Error error = store.store(i, key, *entry))
        return fail(std::move(error));
    }
    document["models"].push_back(std::move(*entry));
  }

  if (!options.out.empty())
    if (llvm::Error error = writeFileAtomically(options.out + "/explore.json", dump(document)))
      return fail(std::move(error));
  if (options.json) {
    print(document);
  } else {
    fmt::print("device {}, calibration {}, {} caches\n", device->name,
               calibration->files.empty() ? "none (priors)" : calibration->device, options.cache);
    for (const Json &model : document["models"])
      printModel(model, model["total_time_ns"].get<double>());
    if (!options.out.empty())
      fmt::print("written to {}/explore.json\n", options.out);
  }
  return Fine;
}

} // namespace

void addExplore(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<ExploreArguments>();
  CLI::App *command =
      app.add_subcommand("explore", "Kernels of whole models with their best plans");
  command->footer("Example:\n"
                  "  tilewright explore datasets/models/*.hlo.txt --device h100-sxm --out out");
  command->add_option("MODEL", options->models, "HLO text files, plain or gzip")->required();
  command->add_option("--device", options->device, "Device name or JSON file")
      ->capture_default_str();
  command->add_option("--calibration", options->calibration,
                      "Calibration name or JSON file (default: the device's, else priors)");
  command->add_option("--top", options->top, "Plans to keep for each kernel")
      ->capture_default_str()
      ->check(CLI::Range(size_t(1), size_t(1000)));
  command->add_option("--budget", options->budget, "Plans to price in each pass of the search")
      ->capture_default_str()
      ->check(CLI::Range(size_t(1), size_t(1) << 30));
  command->add_option("--cache", options->cache, "What L2 holds at the start of a kernel")
      ->capture_default_str()
      ->check(CLI::IsMember({"warm", "clean", "flushed"}));
  command->add_option("--instruction", options->instruction, "Matrix instruction of all dots")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "fma", "mma.sync", "wgmma"}));
  command->add_option("--jobs", options->jobs, "Threads; the result does not depend on it")
      ->capture_default_str()
      ->check(CLI::Range(1u, 256u));
  auto *out = command->add_option("--out", options->out, "Folder for explore.json and its parts");
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
