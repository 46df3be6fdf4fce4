// tilewright explore: partitions models into kernels and finds the best plans of each by predicted
// time.
#include "analysis/import/import_file.h"
#include "costmodel/link.h"
#include "tools/explore/explore.h"
#ifdef TILEWRIGHT_HAS_CODEGEN
#include "codegen/lower.h"
#include "codegen/target.h"
#endif
#include "tools/tilewright/batch.h"
#include "tools/tilewright/explore_output.h"
#include "tools/tilewright/explore_shard.h"
#include "tools/tilewright/interrupt.h"
#include "tools/tilewright/isolated.h"
#include "tools/tilewright/plan_cache.h"
#include "tools/tilewright/plan_saving.h"

#include <fmt/format.h>
#include <map>

namespace tilewright::cli {

namespace {

struct ExploreArguments {
  std::vector<std::string> models, fuse, split;
  ModuleChoice choice;
  DeviceChoices devices;
  std::string out, target, shard;
  PlanChoices plans;
  RefineOptions refine;
  size_t top = 5, samples = 0, budget = PlanSearchOptions().maxPriced;
  unsigned jobs = 1;
  unsigned modelLimit = 3600;
  bool isGreedy = false, resume = false, json = false, isFresh = false;
};

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

ExploreOptions exploreOptions(const ExploreArguments &options) {
  ExploreOptions exploring;
  exploring.search.top = options.top;
  exploring.search.maxPriced = options.budget;
  exploring.refine = options.refine;
  exploring.jobs = options.jobs;
  exploring.tileMaps = !options.out.empty();
  exploring.plans = options.plans.options();
  exploring.isStopped = isInterrupted;
  if (options.samples > 0)
    exploring.samples.emplace().count = options.samples;
  exploring.isGreedy = options.isGreedy;
  for (const std::string &list : options.fuse)
    exploring.fused.push_back(listedNames(list));
  for (const std::string &list : options.split)
    for (std::string &name : listedNames(list))
      exploring.split.push_back(std::move(name));
  return exploring;
}

/// All that a result depends on but the model.
std::string settingsOf(const ExploreArguments &options, const AskedDevice &asked) {
  const DeviceLink link = linkOf(asked.device).value_or(DeviceLink{}); // no part of the digest
  std::string settings =
      fmt::format("{} {} {} {} {} {} {} {} {}", programIdentity(), options.top, options.budget,
                  options.plans.cache, options.plans.instruction, options.samples, options.target,
                  link.bandwidth, link.latencyNs);
  settings += options.isGreedy ? " greedy" : "";
  if (options.refine.isAsked())
    settings +=
        fmt::format(" layouts {} pipelines {}", options.refine.layouts, options.refine.pipelines);
  for (const std::vector<std::string> *lists : {&options.fuse, &options.split})
    for (const std::string &list : *lists)
      settings += " " + list + (lists == &options.fuse ? " fused" : " split");
  return fingerprint({settings, asked.device.name, asked.device.digest, toJson(asked.calibration)});
}

/// A run of `explore`: what is asked, what is done.
class Exploration {
public:
  explicit Exploration(const ExploreArguments &options) : options(options) {}

  llvm::Error prepare() {
    if (!options.shard.empty()) {
      llvm::Expected<Shard> parsed = parseShard(options.shard);
      if (!parsed)
        return parsed.takeError();
      shard = *parsed;
    }
    llvm::Expected<std::vector<AskedDevice>> asked = askedDevices(options.devices, options.plans);
    if (!asked)
      return asked.takeError();
    devices = std::move(*asked);
    exploring = exploreOptions(options);
    if (llvm::Error error = addTarget())
      return error;
    std::vector<std::string> keyed;
    for (const AskedDevice &each : devices) {
      keyed.push_back(settingsOf(options, each));
      batch.heads.push_back(exploreHead(each, options.plans.cache, options.plans.instruction));
    }
    listPairs(keyed);
    if (options.out.empty())
      return llvm::Error::success();
    llvm::Expected<ExploreFolder> opened = ExploreFolder::open(options.out, options.resume, models);
    if (!opened)
      return opened.takeError();
    folder.emplace(std::move(*opened));
    return llvm::Error::success();
  }

  int run() {
    std::vector<size_t> toDo;
    for (size_t i = 0; i < models.size(); ++i) {
      if (models[i].key.empty() || !shard.holds(i))
        continue;
      if (std::optional<Json> kept = folder ? folder->find(i) : std::nullopt)
        batch.pairs[i].entry = std::move(*kept);
      else
        toDo.push_back(i);
    }
    const double startedAt = secondsNow();
    const double all = static_cast<double>(toDo.size());
    for (size_t done = 0; done < toDo.size() && !isInterrupted(); ++done) {
      const ProgressShare share{static_cast<double>(done) / all,
                                static_cast<double>(done + 1) / all, startedAt};
      explore(toDo[done], toDo.size() > 1 ? fmt::format("[{}/{}] ", done + 1, toDo.size()) : "",
              share);
    }
    return finish();
  }

private:
  llvm::Error addTarget() {
#ifdef TILEWRIGHT_HAS_CODEGEN
    if (options.samples > 0 && !options.target.empty()) {
      llvm::Expected<Target> target = findTarget(options.target);
      if (!target)
        return target.takeError();
      exploring.samples->accepts = [name = target->name](const KernelPlan &plan) {
        return hasCode(plan, name);
      };
    }
#endif
    return llvm::Error::success();
  }

  void listPairs(const std::vector<std::string> &keyed) {
    std::map<std::string, Json> unreadable;
    models = batchModels(options.models, options.choice, keyed,
                         [&](const std::string &path, llvm::Error error) {
                           unreadable[path] = failures.fail(path, std::move(error));
                         });
    for (const BatchModel &model : models) {
      batch.pairs.push_back({model.name(), model.device, model.key, Json(), Json()});
      if (model.key.empty())
        batch.pairs.back().failure = unreadable[model.path];
    }
  }

  std::string onDevice(size_t pair) const {
    return devices.size() > 1 ? " on " + devices[models[pair].device].device.name : "";
  }

  /// One model must not cost the others, whatever it does.
  void explore(size_t pair, const std::string &number, const ProgressShare &share) {
    const BatchModel &model = models[pair];
    const std::string name = model.name() + onDevice(pair);
    llvm::Expected<std::string> text = runIsolated(
        [&] { return exploreIsolated(pair, number + name, share); }, options.modelLimit);
    if (text) {
      batch.pairs[pair].entry = Json::parse(*text);
      if (folder)
        folder->isStarted();
      return;
    }
    if (folder)
      folder->forget(pair);
    if (isInterrupted())
      return llvm::consumeError(text.takeError());
    batch.pairs[pair].failure = failures.fail(model.name(), text.takeError(), onDevice(pair));
  }

  /// Reads and explores a model; the text is its entry of the document, and its files are written.
  llvm::Expected<std::string> exploreIsolated(size_t pair, const std::string &what,
                                              const ProgressShare &share) {
    const double startedAt = secondsNow();
    const BatchModel &model = models[pair];
    const AskedDevice &asked = devices[model.device];
    llvm::Expected<std::string> text = readModelText(model.path);
    if (!text)
      return text.takeError();
    if (fingerprint({*text}) != model.hash)
      return makeError(DiagClass::BadInput, "{}: was changed while the batch ran", model.path);
    llvm::Expected<Module> module =
        importBuffer(std::make_shared<SourceBuffer>(modelName(model.path), std::move(*text)),
                     model.module, model.sizes);
    if (!module)
      return module.takeError();
    constexpr double greedyShare = 0.25; // of the time, where kernels are chosen behind the greedy
    ProgressShare greedy = share;
    if (!exploring.isGreedy)
      greedy.to = share.from + greedyShare * (share.to - share.from);
    Progress progress(what + ": kernels", greedy), choosing(what + ": priced candidates");
    exploring.progress = [&](size_t done, size_t total) {
      (total > 0 ? progress : choosing).update(done, total);
    };
    std::unique_ptr<PlanCache> cache = openCache(asked);
    exploring.store = cache.get();
    llvm::Expected<ExploredModel> explored =
        exploreModel(*module, asked.device, asked.calibration, exploring);
    detail("{}{}: {:.2f} s{}", model.name(), onDevice(pair), secondsNow() - startedAt,
           cache ? fmt::format(", {} of {} searches were in the cache", cache->found(),
                               cache->found() + cache->missed())
                 : "");
    if (!explored)
      return explored.takeError();
    Json entry = modelJson(model.name(), *explored);
    if (folder)
      if (llvm::Error error = folder->write(pair, *explored, entry))
        return error;
    return dump(entry);
  }

  /// Nothing where there is none, or none that can be used.
  std::unique_ptr<PlanCache> openCache(const AskedDevice &asked) {
    const std::optional<PlanCacheOptions> where = planCacheOptions();
    if (options.isFresh || !where)
      return nullptr;
    llvm::Expected<std::unique_ptr<PlanCache>> cache = PlanCache::open(*where);
    if (!cache) {
      detail("cache: {}", takeDiag(cache.takeError()).message);
      return nullptr;
    }
    exploring.storeContext =
        programIdentity() + " " + asked.device.digest + " " + toJson(asked.calibration);
    return std::move(*cache);
  }

  int finish() {
    size_t held = 0, open = 0;
    for (size_t i = 0; i < batch.pairs.size(); ++i) {
      const ExploredPair &pair = batch.pairs[i];
      held += shard.holds(i);
      open += shard.holds(i) && pair.entry.is_null() && pair.failure.is_null();
    }
    const bool isWhole = open == 0, isShard = !options.shard.empty();
    if (!batch.hasResult() && !(isShard && isWhole)) {
      if (isWhole && !exploring.fused.empty() && failures.isUnsupported())
        return AnswerIsNo; // the forced kernel has no tiling
      return isWhole ? failures.finish(held) : tellInterrupted(held, open);
    }
    const Json document = batch.document(isWhole);
    const std::string file = isShard ? "shard.json" : "explore.json";
    const std::string text = isShard ? shardText(batch, shard) : dump(document);
    if (folder && (isWhole || !isShard))
      if (llvm::Error error = folder->finish(file, text))
        return fail(std::move(error));
    if (options.json)
      std::fputs(text.c_str(), stdout);
    else if (isShard)
      say("shard {}/{}: {} of {} pairs of model and device, {} failed\n", shard.index, shard.count,
          held, batch.pairs.size(), failures.failures());
    else
      printExplored(document, options.out.empty() ? "" : options.out + "/" + file);
    return isWhole ? failures.finish(held) : tellInterrupted(held, open);
  }

  int tellInterrupted(size_t held, size_t open) const {
    note("interrupted: {} of {} {} are done; {}", held - open, held,
         devices.size() > 1 ? "pairs of model and device" : "models",
         !options.out.empty() ? "the same command with --resume goes on"
         : options.isFresh || !planCacheOptions()
             ? "give --out, and --resume can go on"
             : "the same command finds the kernels that are done in the cache");
    return Interrupted;
  }

  const ExploreArguments &options;
  Shard shard;
  std::vector<AskedDevice> devices;
  ExploreOptions exploring;
  std::vector<BatchModel> models;
  ExploredBatch batch;
  Batch failures{"models"};
  std::optional<ExploreFolder> folder;
};

int runExplore(const ExploreArguments &options) {
  watchInterrupts();
  Exploration exploration(options);
  if (llvm::Error error = exploration.prepare())
    return failInput(std::move(error));
  return exploration.run();
}

} // namespace

void addExplore(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<ExploreArguments>();
  CLI::App *command =
      app.add_subcommand("explore", "Kernels of whole models with their best plans");
  command->footer(
      "Example:\n"
      "  tilewright explore datasets/models/*.hlo.txt --device h100-sxm --out out\n"
      "  tilewright explore model.hlo.txt --device h100,b200 --set as-is --set dram_bandwidth=*2\n"
      "  tilewright explore datasets/models/*.hlo.txt --out part2 --shard 2/8\n"
      "A model that fails costs the batch that model: it is listed at the end (exit code 2, or 70\n"
      "for a bug of ours), and under `failures` in JSON. SIGINT and SIGTERM finish the kernel, "
      "write\n"
      "what is done and say how to go on (exit code 130).");
  command->add_option("MODEL", options->models, modelHelp)->required();
  addModuleChoice(*command, options->choice, "all, those of a file as FILE#MODULE");
  addDeviceChoices(*command, options->devices);
  addPlanChoices(*command, options->plans);
  command->add_option("--top", options->top, "Plans to keep for each kernel")
      ->capture_default_str()
      ->check(CLI::Range(size_t(1), size_t(1000)));
  command->add_option("--budget", options->budget, "Plans to price in each pass of the search")
      ->capture_default_str()
      ->check(CLI::Range(size_t(1), size_t(1) << 30));
  addRefineOptions(*command, options->refine);
  command->add_flag("--greedy", options->isGreedy,
                    "Grow the kernels greedily from the results, in place of choosing them "
                    "together among several times as many: in a fraction of the time");
  command
      ->add_option("--fuse", options->fuse,
                   "Names of ops, a,b,…, that are to be one kernel, whatever it costs; for "
                   "several kernels several times")
      ->type_name("OP,…");
  command
      ->add_option("--split", options->split,
                   "Names of ops after which a kernel ends: no reader is fused with them")
      ->type_name("OP,…");
  command->add_option("-j,--jobs", options->jobs, "Threads; the result does not depend on it")
      ->capture_default_str()
      ->check(CLI::Range(1u, 256u));
  command
      ->add_option("--model-limit", options->modelLimit,
                   "Seconds after which a model is given up, and the next one explored; 0: none")
      ->capture_default_str();
  auto *out = command->add_option(
      "-o,--out", options->out,
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
  command
      ->add_option("--shard", options->shard,
                   "With --out: explore only the Ith of N parts of the pairs of model and device, "
                   "I/N; tilewright merge makes one result of all")
      ->needs(out);
  command->add_flag("--fresh", options->isFresh,
                    "Search anew, without the cache (tilewright cache)");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback(
      [options, &selection] { selection.run = [options] { return runExplore(*options); }; });
}

} // namespace tilewright::cli
