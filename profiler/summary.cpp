#include "profiler/summary.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace tilewright::profile {

RunSummary summarise(const std::vector<WorkItem> &items, const SessionOptions &options,
                     const Journal &journal) {
  RunSummary summary;
  summary.kernels = items.size();
  std::map<std::string, const PackKernel *> known;
  for (const WorkItem &item : items) {
    known.emplace(item.kernel->planHash, item.kernel);
    summary.unchecked += item.kernel->expectations.empty();
  }
  std::map<std::pair<std::string, std::string>, Record> last; // by plan and regime
  for (const auto &cells : journal.rows()) {
    std::optional<Record> record = Record::fromCells(cells);
    if (!record || (*record)[Column::Role] != "measure" ||
        !known.contains((*record)[Column::PlanHash]))
      continue;
    ++summary.rows;
    last[{(*record)[Column::PlanHash], (*record)[Column::Regime]}] = *record;
  }
  std::set<std::string> throttles;
  for (const auto &[key, record] : last) {
    if (record[Column::Error].empty())
      ++summary.measured;
    else
      summary.failed.push_back(
          {record[Column::Kernel], record[Column::Regime], record[Column::Error]});
    summary.rejectedSamples += std::strtoul(record[Column::Rejected].c_str(), nullptr, 10);
    if (!record[Column::Throttle].empty())
      throttles.insert(record[Column::Throttle]);
  }
  summary.throttles.assign(throttles.begin(), throttles.end());
  for (const WorkItem &item : items)
    summary.unmeasured +=
        std::any_of(options.regimes.begin(), options.regimes.end(), [&](Regime regime) {
          return !last.contains({item.kernel->planHash, toString(regime)});
        });
  summary.driftedBlocks = replay(items, options, journal).driftedBlocks();
  return summary;
}

std::string toText(const RunSummary &summary, const std::string &file) {
  std::string text = file + ": " + std::to_string(summary.measured) + " times of " +
                     std::to_string(summary.kernels) + " kernels";
  auto add = [&](size_t count, const std::string &what) {
    if (count > 0)
      text += ", " + std::to_string(count) + " " + what;
  };
  add(summary.failed.size(), "failed");
  add(summary.unmeasured, "kernels not measured yet");
  add(summary.rejectedSamples, "impossible samples left out");
  add(summary.driftedBlocks, "blocks measured twice because clocks drifted");
  text += "\n";
  if (summary.unchecked > 0)
    text += "not checked for numbers: " + std::to_string(summary.unchecked) +
            " kernels, of which the pack does not say what must come out\n";
  for (const std::string &reason : summary.throttles)
    text += "clocks were held down: " + reason + "\n";
  constexpr size_t shown = 20;
  for (size_t i = 0; i < summary.failed.size() && i < shown; ++i)
    text += "failed: " + summary.failed[i].kernel + " (" + summary.failed[i].regime +
            "): " + summary.failed[i].reason + "\n";
  if (summary.failed.size() > shown)
    text +=
        "and " + std::to_string(summary.failed.size() - shown) + " more, see the column error\n";
  return text;
}

std::string toJson(const RunSummary &summary, const std::string &file, const std::string &end) {
  using Json = nlohmann::ordered_json;
  Json failed = Json::array();
  for (const RunSummary::Problem &problem : summary.failed)
    failed.push_back(
        {{"kernel", problem.kernel}, {"regime", problem.regime}, {"reason", problem.reason}});
  Json root{{"schema", "tilewright.profile"},
            {"schema_version", 1},
            {"tool_version", TILEWRIGHT_VERSION},
            {"file", file},
            {"end", end},
            {"kernels", summary.kernels},
            {"measured", summary.measured},
            {"unmeasured_kernels", summary.unmeasured},
            {"rejected_samples", summary.rejectedSamples},
            {"unchecked_kernels", summary.unchecked},
            {"drifted_blocks", summary.driftedBlocks},
            {"throttle", summary.throttles},
            {"failed", failed}};
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace tilewright::profile
