#include "tools/tilewright/plan_saving.h"

#include "analysis/program/inference/prices.h"

#include <fmt/format.h>

namespace tilewright::cli {

void addRefineOptions(CLI::App &command, RefineOptions &options) {
  const CLI::Range plans(size_t(1), size_t(1000));
  command
      .add_option("--layouts", options.layouts,
                  "Infer the layouts of the best N plans of each variant, rank them again by what "
                  "that would save at most, and record them where they are cheaper")
      ->check(plans);
  command
      .add_option("--pipeline", options.pipelines,
                  "Schedule the copying loops of the best N plans of each variant, rank them again "
                  "by what other settings would save at most, and record those that are faster")
      ->check(plans);
}

namespace {

Json savingJson(const LayoutSaving &saving) {
  Json json = Json::object();
  if (!saving.refusal.empty()) {
    json["refusal"] = saving.refusal;
  } else {
    auto clocks = [](inference::Cost cost) {
      return static_cast<double>(cost) / static_cast<double>(inference::unitsOfClock);
    };
    json["given_clocks"] = clocks(saving.given);
    json["inferred_clocks"] = clocks(saving.inferred);
    json["floor_clocks"] = clocks(saving.floor);
    json["gain_ns"] = saving.gainNs;
  }
  json["is_recorded"] = saving.areTaken();
  if (!saving.unwritten.empty())
    json["not_recorded_because"] = saving.unwritten;
  json["conflicts"] = saving.conflicts;
  json["values"] = Json::array();
  for (const PlanLayout &layout : saving.layouts)
    json["values"].push_back({{"of", layout.of}, {"layout", layout.layout}});
  return json;
}

Json settingsJson(const pipeline::PipelineSettings &settings, int64_t clocks) {
  Json json = {{"slots", settings.slots}, {"producer", settings.isProduced}};
  if (!settings.isProduced)
    json["ahead"] = settings.ahead;
  json["wait"] = settings.isAsynchronous ? 1 : 0;
  json["loop_clk"] = clocks;
  return json;
}

Json savingJson(const PipelineSaving &saving) {
  Json json = Json::object();
  if (!saving.refusal.empty())
    json["refusal"] = saving.refusal;
  json["is_recorded"] = saving.areTaken();
  json["gain_ns"] = saving.gainNs;
  json["loops"] = Json::array();
  for (const PipelineSaving::Loop &loop : saving.loops)
    json["loops"].push_back({{"loop", loop.name},
                             {"given", settingsJson(loop.given, loop.givenClocks)},
                             {"best", settingsJson(loop.best, loop.bestClocks)}});
  return json;
}

void addLayoutLines(const Json &saving, std::vector<std::string> &lines) {
  if (saving.contains("refusal"))
    lines.push_back("layouts not compared: " + saving["refusal"].get<std::string>());
  else if (saving["inferred_clocks"] < saving["given_clocks"])
    lines.push_back(
        fmt::format("inferred layouts take {:g} clk a CTA in place of {:g}{}",
                    saving["inferred_clocks"].get<double>(), saving["given_clocks"].get<double>(),
                    saving["is_recorded"].get<bool>()
                        ? fmt::format(": {} at most", timeText(saving["gain_ns"].get<double>()))
                        : ", but the program can't have them: " +
                              saving["not_recorded_because"].get<std::string>()));
  for (const Json &conflict : saving["conflicts"])
    lines.push_back("bank conflicts in the best layouts, too: " + conflict.get<std::string>());
}

/// "2 steps ahead", "wait 1".
std::string settingText(const Json &settings) {
  return settings.contains("ahead")
             ? fmt::format("{} steps ahead", settings["ahead"].get<int64_t>())
             : fmt::format("wait {}", settings["wait"].get<int64_t>());
}

void addPipelineLines(const Json &saving, std::vector<std::string> &lines) {
  if (saving.contains("refusal"))
    lines.push_back("pipeline not scheduled: " + saving["refusal"].get<std::string>());
  if (saving.contains("not_recorded_because"))
    lines.push_back("the program can't have the best settings: " +
                    saving["not_recorded_because"].get<std::string>());
  if (!saving["is_recorded"].get<bool>())
    return;
  for (const Json &loop : saving["loops"])
    if (const Json &given = loop["given"], &best = loop["best"];
        best["loop_clk"] < given["loop_clk"])
      lines.push_back(fmt::format("loop {}: {} in place of {}: {} clk in place of {}",
                                  loop["loop"].get<std::string>(), settingText(best),
                                  settingText(given), best["loop_clk"].get<int64_t>(),
                                  given["loop_clk"].get<int64_t>()));
  lines.back() += fmt::format(": {} at most", timeText(saving["gain_ns"].get<double>()));
}

} // namespace

void addSaving(Json &plan, const PlanSaving &saving) {
  if (saving.layouts)
    plan["layouts"] = savingJson(*saving.layouts);
  if (saving.pipeline)
    plan["pipeline"] = savingJson(*saving.pipeline);
}

std::vector<std::string> savingLines(const Json &plan) {
  std::vector<std::string> lines;
  if (plan.contains("layouts"))
    addLayoutLines(plan["layouts"], lines);
  if (plan.contains("pipeline"))
    addPipelineLines(plan["pipeline"], lines);
  return lines;
}

} // namespace tilewright::cli
