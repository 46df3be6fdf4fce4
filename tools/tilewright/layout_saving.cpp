#include "tools/tilewright/layout_saving.h"

#include "analysis/program/inference/prices.h"

#include <fmt/format.h>

namespace tilewright::cli {

void addLayoutsOption(CLI::App &command, size_t &plansOfVariant) {
  command
      .add_option("--layouts", plansOfVariant,
                  "Infer the layouts of the best N plans of each variant, rank them again by what "
                  "that would save at most, and record them where they are cheaper")
      ->check(CLI::Range(size_t(1), size_t(1000)));
}

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

std::vector<std::string> savingLines(const Json &saving) {
  std::vector<std::string> lines;
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
  return lines;
}

} // namespace tilewright::cli
