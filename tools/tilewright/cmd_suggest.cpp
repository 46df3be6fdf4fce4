// tilewright suggest: the best plans of a bundled family, in one line.
#include "tools/explore/prepared_model.h"
#include "tools/tilewright/device_choices.h"
#include "tools/tilewright/device_output.h"
#include "tools/tilewright/evaluation_output.h"
#include "tools/tilewright/explore_output.h"
#include "tools/tilewright/family_choices.h"
#include "tools/tilewright/plan_saving.h"
#include "tools/tilewright/tilings.h"

#include <cmath>
#include <fmt/format.h>

namespace tilewright::cli {

namespace {

struct SuggestOptions {
  FamilyChoices family;
  DeviceChoices devices;
  PlanChoices plans;
  RefineOptions refine;
  size_t top = 5, budget = PlanSearchOptions().maxPriced;
  bool schedules = false, json = false;
};

/// What is asked, with all that the answer refers to.
struct Suggestion {
  const AskedDevice &asked;
  PreparedModel model = {};
  KernelSource source = {};
  std::optional<KernelPlans> plans = {};
  PlanRanking ranking = {};
  std::vector<PlanSaving> savings = {}; ///< of its plans, where they are asked for

  const TileSpace &space() const { return plans->spaces().front().tiled->space; }
};

llvm::Error suggest(const SuggestOptions &options, Suggestion &result) {
  llvm::Expected<ChosenFamily> family = options.family.load();
  if (!family)
    return family.takeError();
  llvm::Expected<Module> module =
      family->families.moduleOf(options.family.family, family->arguments);
  if (!module)
    return module.takeError();
  llvm::Expected<PreparedModel> prepared = prepareModel(*module);
  if (!prepared)
    return prepared.takeError();
  result.model = std::move(*prepared);
  llvm::Expected<KernelSource> source = findKernel(result.model, "");
  if (!source)
    return source.takeError();
  result.source = std::move(*source);
  llvm::Expected<KernelPlans> plans =
      kernelPlans(result.model.module, result.source, result.asked.device, result.asked.calibration,
                  options.plans.options());
  if (!plans)
    return plans.takeError();
  result.plans.emplace(std::move(*plans));
  PlanSearchOptions searching;
  searching.top =
      options.refine.isAsked() ? std::max(options.top, options.refine.plansToRank()) : options.top;
  searching.maxPriced = options.budget;
  llvm::Expected<PlanRanking> ranking =
      options.schedules ? result.plans->search(searching) : searchTilings(*result.plans, searching);
  if (!ranking)
    return ranking.takeError();
  result.ranking = std::move(*ranking);
  if (options.refine.isAsked())
    result.savings = PlanRefiner(result.asked.device, result.asked.calibration, options.refine)
                         .reorder(result.ranking.best, options.top);
  return llvm::Error::success();
}

Json suggestJson(const SuggestOptions &options, const Suggestion &result) {
  Json document = newDocument("suggest");
  document["family"] = options.family.family;
  document["arguments"] = options.family.arguments;
  const Calibration &calibration = result.asked.calibration;
  document["device"] = result.asked.device.name;
  document["calibration"] = calibration.isFitted() ? Json(calibration.device) : Json();
  document["cache"] = options.plans.cache;
  document["notes"] = notesJson(result.asked.notes());
  document["candidates"] = {{"raw", result.ranking.raw},
                            {"feasible", result.ranking.feasible},
                            {"priced", result.ranking.priced},
                            {"is_exhaustive", result.ranking.isExhaustive}};
  document["lower_bound_ns"] = result.plans->boundNs();
  if (!result.ranking.refusal.empty())
    document["refusal"] = result.ranking.refusal;
  document["plans"] = Json::array();
  for (size_t i = 0; i < result.ranking.best.size(); ++i) {
    const RankedPlan &each = result.ranking.best[i];
    Json plan = planJson(each.plan);
    plan["time_ns"] = each.estimate.timeNs;
    plan["sigma_ln"] = each.estimate.sigmaLn;
    plan["limiter"] = each.estimate.limiter;
    plan["registers"] = each.estimate.resources.registers;
    plan["shared_bytes"] = each.estimate.resources.sharedBytes;
    plan["blocks_per_sm"] = each.estimate.resources.ctasPerSm;
    if (!result.savings.empty())
      addSaving(plan, result.savings[i]);
    document["plans"].push_back(std::move(plan));
  }
  return document;
}

void printSuggestion(const SuggestOptions &options, const Suggestion &result) {
  const PlanRanking &ranking = result.ranking;
  say("device {}, calibration {}, {} caches\n", result.asked.device.name,
      transferred(result.asked.calibration, result.asked.device).label(), options.plans.cache);
  printNotes(result.asked.notes());
  say("{}: {} feasible plans, {} priced; no kernel can take less than {}\n", options.family.text(),
      ranking.feasible, ranking.priced, timeText(result.plans->boundNs()));
  if (!ranking.refusal.empty())
    say("  none: {}\n", ranking.refusal);
  if (ranking.best.empty())
    return;
  TextTable table;
  table.head = {"plan", "time", "±%", "of bound %", "limit"};
  for (const TileParameter &parameter : result.space().parameters)
    table.head.push_back(parameter.name);
  table.head.insert(table.head.end(), {"instruction", "registers", "shared", "CTAs/SM"});
  for (const RankedPlan &each : ranking.best) {
    const Estimate &estimate = each.estimate;
    std::vector<std::string> row = {
        fmt::format("{}", table.rows.size() + 1), timeText(estimate.timeNs),
        fmt::format("{:.0f}", 100 * std::expm1(estimate.sigmaLn)),
        fmt::format("{:.0f}", 100 * result.plans->boundNs() / estimate.timeNs), estimate.limiter};
    for (int64_t value : each.plan.values)
      row.push_back(fmt::format("{}", value));
    row.push_back(std::string(tilewright::toString(each.plan.instruction)));
    row.push_back(fmt::format("{:.0f}", estimate.resources.registers));
    row.push_back(bytesText(estimate.resources.sharedBytes));
    row.push_back(fmt::format("{:.0f}", estimate.resources.ctasPerSm));
    table.rows.push_back(std::move(row));
  }
  say("{}", table.text());
  for (size_t i = 0; i < result.savings.size(); ++i) {
    Json plan = Json::object();
    addSaving(plan, result.savings[i]);
    for (const std::string &line : savingLines(plan))
      say("plan {}: {}\n", i + 1, line);
  }
}

/// The best plan of each device, a row each.
class BestOfDevices {
public:
  void add(const Suggestion &result) {
    if (result.ranking.best.empty()) {
      table.rows.push_back({result.asked.device.name, "-", "-", "-", "no plan"});
      return;
    }
    const RankedPlan &best = result.ranking.best.front();
    std::string plan;
    for (size_t i = 0; i < best.plan.values.size(); ++i)
      plan += fmt::format("{}={} ", result.space().parameters[i].name, best.plan.values[i]);
    if (!firstNs)
      firstNs = best.estimate.timeNs;
    table.rows.push_back({result.asked.device.name, timeText(best.estimate.timeNs),
                          fmt::format("{:.2f}", *firstNs / best.estimate.timeNs),
                          best.estimate.limiter,
                          plan + std::string(tilewright::toString(best.plan.instruction))});
  }

  std::string text() const { return table.text(); }

private:
  TextTable table{{"device", "time", "faster", "limit", "plan"}, {}};
  std::optional<double> firstNs;
};

int runSuggest(const SuggestOptions &options) {
  llvm::Expected<std::vector<AskedDevice>> devices = askedDevices(options.devices, options.plans);
  if (!devices)
    return failInput(devices.takeError());
  DeviceAnswers answers("suggest", options.devices, options.json);
  BestOfDevices best;
  for (const AskedDevice &device : *devices) {
    Suggestion result{.asked = device};
    if (llvm::Error error = suggest(options, result))
      return fail(std::move(error));
    if (!options.json)
      printSuggestion(options, result);
    best.add(result);
    answers.add(device, suggestJson(options, result),
                result.ranking.best.empty() ? AnswerIsNo : Fine);
  }
  if (!options.json && options.devices.areSeveral())
    say("\n{}", best.text());
  return answers.finish();
}

} // namespace

void addSuggest(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<SuggestOptions>();
  CLI::App *command =
      app.add_subcommand("suggest", "The best plans of a bundled family, without a model file");
  command->footer(
      "Examples:\n"
      "  tilewright suggest gemm m=4096 n=4096 k=4096 dtype=bf16 --device h100\n"
      "  tilewright suggest attn heads=32 seq=2048 dim=128 dtype=bf16 --device a100 --top 3\n"
      "  tilewright suggest gemm m=4096 n=4096 k=4096 dtype=bf16 --device h100,b200 --top 1\n"
      "  tilewright suggest copy1d n=16777216 dtype=f32 --set as-is --set dram_bandwidth=*2\n"
      "tilewright families lists them with their arguments. t0, t1, … are tile sizes of the\n"
      "result's dims, k0, … of contracted dims, r0, … of reduced ones. Exit code 1: no plan.");
  addFamilyChoices(*command, options->family, "NAME=VALUE: sizes and data type");
  addDeviceChoices(*command, options->devices);
  addPlanChoices(*command, options->plans);
  command->add_option("--top", options->top, "Plans to show, the best of each tile size")
      ->capture_default_str()
      ->check(CLI::Range(size_t(1), size_t(1000)));
  command->add_option("--budget", options->budget, "Plans to price in each pass of the search")
      ->capture_default_str()
      ->check(CLI::Range(size_t(1), size_t(1) << 30));
  addRefineOptions(*command, options->refine);
  command->add_flag("--schedules", options->schedules,
                    "Also other schedules of the same tile sizes");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback(
      [options, &selection] { selection.run = [options] { return runSuggest(*options); }; });
}

} // namespace tilewright::cli
