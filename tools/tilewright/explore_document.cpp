#include "tools/tilewright/explore_document.h"

#include "analysis/support/digest.h"
#include "tools/tilewright/device_output.h"
#include "tools/tilewright/evaluation_output.h"
#include "tools/tilewright/explore_output.h"

#include <algorithm>

namespace tilewright::cli {

Json exploreHead(const AskedDevice &asked, const std::string &cache,
                 const std::string &instruction) {
  Json head = newDocument("explore");
  head["device"] = deviceJson(asked.device);
  head["calibration"] = asked.calibration.isFitted() ? Json(asked.calibration.device) : Json();
  head["cache"] = cache;
  head["instruction"] = instruction;
  head["notes"] = notesJson(asked.notes());
  if (!asked.changes.empty())
    head["changes"] = changesJson(asked.changes);
  return head;
}

std::string ExploredBatch::identity() const {
  Digest digest;
  for (const Json &head : heads)
    digest.add(dump(head));
  for (const ExploredPair &pair : pairs) {
    digest.add(pair.name);
    digest.add(pair.key);
  }
  return digest.str();
}

bool ExploredBatch::hasResult() const {
  return std::any_of(pairs.begin(), pairs.end(),
                     [](const ExploredPair &pair) { return !pair.entry.is_null(); });
}

namespace {

/// Times of models, by device: null where there is none.
Json matrixOf(const std::vector<ExploredPair> &pairs, const Json &runs) {
  Json models = Json::array(), devices = Json::array(), times = Json::array(),
       complete = Json::array();
  for (const Json &run : runs)
    devices.push_back(run["device"]["name"]);
  const size_t rows = pairs.size() / runs.size();
  for (size_t m = 0; m < rows; ++m) {
    models.push_back(pairs[m].name);
    Json timesOfModel = Json::array(), isComplete = Json::array();
    for (size_t d = 0; d < runs.size(); ++d) {
      const Json &entry = pairs[d * rows + m].entry;
      timesOfModel.push_back(entry.is_null() ? Json() : entry["total_time_ns"]);
      isComplete.push_back(entry.is_null() ? Json(false) : entry["total_is_complete"]);
    }
    times.push_back(std::move(timesOfModel));
    complete.push_back(std::move(isComplete));
  }
  return {{"models", models},
          {"devices", devices},
          {"total_time_ns", times},
          {"total_is_complete", complete}};
}

} // namespace

Json ExploredBatch::document(bool isWhole) const {
  Json runs = Json::array();
  for (const Json &head : heads) {
    const size_t device = runs.size();
    Json run = head, failures = Json::array(), missing = Json::array();
    run["models"] = Json::array();
    for (const ExploredPair &pair : pairs) {
      if (pair.device != device)
        continue;
      if (!pair.entry.is_null())
        run["models"].push_back(pair.entry);
      else if (!pair.failure.is_null())
        failures.push_back(pair.failure);
      else
        missing.push_back(pair.name);
    }
    run["failures"] = std::move(failures);
    if (!isWhole)
      run["not_explored"] = std::move(missing);
    runs.push_back(std::move(run));
  }
  if (runs.size() == 1)
    return std::move(runs.front());
  Json document = newDocument("explore.devices");
  document["matrix"] = matrixOf(pairs, runs);
  document["runs"] = std::move(runs);
  return document;
}

namespace {

bool isCarriedOver(const Json &run) {
  return std::any_of(run["notes"].begin(), run["notes"].end(),
                     [](const Json &note) { return note["kind"] == "carried-over"; });
}

void printRun(const Json &run) {
  const std::string instruction = run["instruction"];
  say("device {}, calibration {}{}; kernels alone with {} caches{}\n",
      run["device"]["name"].get<std::string>(),
      run["calibration"].is_null() ? "none (priors)" : run["calibration"].get<std::string>(),
      isCarriedOver(run) ? ", carried over" : "", run["cache"].get<std::string>(),
      instruction == "auto" ? "" : fmt::format(", dots by {}", instruction));
  for (const Json &note : run["notes"])
    say("note: {}\n", note["text"].get<std::string>());
  for (const Json &model : run["models"])
    printModel(model);
}

/// Times, and in front of them how much faster than on the first device.
void printMatrix(const Json &matrix) {
  TextTable table;
  table.head = {"model"};
  for (const Json &device : matrix["devices"]) {
    table.head.push_back(device);
    if (table.head.size() > 2)
      table.head.push_back("faster");
  }
  bool hasPart = false;
  for (size_t m = 0; m < matrix["models"].size(); ++m) {
    std::vector<std::string> row = {matrix["models"][m]};
    const Json &times = matrix["total_time_ns"][m], &complete = matrix["total_is_complete"][m];
    for (size_t d = 0; d < times.size(); ++d) {
      const bool isPart = !times[d].is_null() && !complete[d].get<bool>();
      hasPart |= isPart;
      row.push_back(times[d].is_null() ? "-"
                                       : timeText(times[d].get<double>()) + (isPart ? "*" : ""));
      if (d > 0)
        row.push_back(times[0].is_null() || times[d].is_null() || times[d] == 0
                          ? "-"
                          : fmt::format("{:.2f}", times[0].get<double>() / times[d].get<double>()));
    }
    table.rows.push_back(std::move(row));
  }
  say("\n{}{}", table.text(), hasPart ? "* without unsupported ops\n" : "");
}

} // namespace

void printExplored(const Json &document, const std::string &writtenTo) {
  if (document.contains("runs")) {
    for (const Json &run : document["runs"]) {
      if (&run != &document["runs"].front())
        say("\n");
      printRun(run);
    }
    printMatrix(document["matrix"]);
  } else {
    printRun(document);
  }
  if (!writtenTo.empty())
    say("written to {}\n", writtenTo);
}

} // namespace tilewright::cli
