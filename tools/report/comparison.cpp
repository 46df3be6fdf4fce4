#include "tools/report/comparison.h"

#include "tools/report/summary.h"
#include "tools/report/text.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilewright::report {

namespace {
constexpr size_t maxOthers = 4, maxModels = 60, maxKernels = 12, maxCompared = 100;

struct Change {
  std::string name;
  Quantity before, after;
  double weight() const { // ns gained or lost
    return std::abs(after.value_or(0) - before.value_or(0));
  }
};

std::string changeText(Quantity before, Quantity after) {
  if (!before || !after || *before <= 0)
    return "–";
  double ratio = *after / *before;
  return fmt::format("{}{} %", ratio >= 1 ? "+" : "−", percent(std::abs(ratio - 1)));
}

/// Kernels of both runs by name, those first whose time changed most.
std::vector<Change> kernelChanges(const Model &before, const Model &after) {
  std::map<std::string, Change> byName;
  for (const Kernel &kernel : before.kernels)
    byName[kernel.name].before = totalTimeNs(kernel);
  for (const Kernel &kernel : after.kernels)
    byName[kernel.name].after = totalTimeNs(kernel);
  std::vector<Change> changes;
  for (auto &[name, change] : byName) {
    change.name = name;
    if (change.weight() > 0)
      changes.push_back(change);
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change &a, const Change &b) { return a.weight() > b.weight(); });
  return changes;
}

void timeRow(std::string &out, std::string_view kind, const Change &change, TimeUnit unit) {
  put(out,
      "<tr><th scope=\"row\" class=\"{}\">{}</th><td class=\"num\">{}</td><td class=\"num\">{}</td>"
      "<td class=\"num\">{}</td></tr>",
      kind, escapeHtml(change.name, 80), inUnit(change.before, unit), inUnit(change.after, unit),
      changeText(change.before, change.after));
}

/// What tells two runs apart: their devices, or their files.
std::string columnTitle(const Exploration &run, const Exploration &other) {
  const bool isDevice = run.device.name != other.device.name && !run.device.name.empty();
  return escapeHtml(isDevice ? run.device.name : run.file, 70);
}

std::string explorations(const Exploration &first, const Exploration &other) {
  std::map<std::string_view, const Model *> known;
  for (const Model &model : first.models)
    known.emplace(model.name, &model);
  std::string rows;
  size_t models = 0;
  for (const Model &after : other.models) {
    auto before = known.find(after.name);
    if (before == known.end() || models++ >= maxModels)
      continue;
    Change total{modelTitle(after.name), summarise(*before->second).totalNs,
                 summarise(after).totalNs};
    TimeUnit unit{"µs", 1e3};
    timeRow(rows, "strong", total, unit);
    std::vector<Change> changes = kernelChanges(*before->second, after);
    for (size_t i = 0; i < changes.size() && i < maxKernels; ++i)
      timeRow(rows, "mono indent", changes[i], unit);
  }
  if (rows.empty())
    return {};
  std::string out;
  put(out,
      "<table class=\"records compare\" aria-label=\"Predicted times\"><thead><tr>"
      "<th scope=\"col\">Model and its kernels that changed most</th><th scope=\"col\" "
      "class=\"num\">{} (µs)</th><th scope=\"col\" class=\"num\">{} (µs)</th>"
      "<th scope=\"col\" class=\"num\">Change</th></tr></thead><tbody>{}</tbody></table>",
      columnTitle(first, other), columnTitle(other, first), rows);
  return out;
}

std::string evaluations(const Evaluation &first, const Evaluation &other) {
  std::map<std::string_view, const Accuracy *> known;
  for (const Accuracy &family : first.families)
    known.emplace(family.family, &family);
  std::string rows;
  size_t shown = 0;
  auto row = [&](std::string_view name, const Accuracy &before, const Accuracy &after) {
    put(rows,
        "<tr><th scope=\"row\" class=\"mono\">{}</th><td class=\"num\">{}</td><td class=\"num\">{}"
        "</td><td class=\"num\">{}</td><td class=\"num\">{}</td></tr>",
        escapeHtml(name, 60), percent(before.mape), percent(after.mape), percent(before.oracleAt1),
        percent(after.oracleAt1));
  };
  for (const Accuracy &after : other.families)
    if (auto before = known.find(after.family); before != known.end() && shown++ < maxCompared)
      row(after.family, *before->second, after);
  if (first.overall && other.overall)
    row("overall", *first.overall, *other.overall);
  if (rows.empty())
    return {};
  std::string out;
  put(out,
      "<table class=\"records compare\" aria-label=\"Accuracy\"><thead><tr><th scope=\"col\">"
      "Family</th><th scope=\"col\" class=\"num\">MAPE of {0} (%)</th><th scope=\"col\" "
      "class=\"num\">of {1} (%)</th><th scope=\"col\" class=\"num\">Top&nbsp;1 of {0} (% of best)"
      "</th><th scope=\"col\" class=\"num\">of {1}</th></tr></thead><tbody>{2}</tbody></table>",
      escapeHtml(first.file, 60), escapeHtml(other.file, 60), rows);
  return out;
}
} // namespace

std::string comparisonSection(const Documents &documents) {
  std::string tables;
  for (size_t i = 1; i < std::min(documents.explorations.size(), maxOthers + 1); ++i)
    tables += explorations(documents.explorations.front(), documents.explorations[i]);
  for (size_t i = 1; i < std::min(documents.evaluations.size(), maxOthers + 1); ++i)
    tables += evaluations(documents.evaluations.front(), documents.evaluations[i]);
  if (tables.empty())
    return {};
  if (std::max(documents.explorations.size(), documents.evaluations.size()) > maxOthers + 1)
    put(tables, "<p class=\"note\">Only the first {} after the first are compared.</p>",
        counted(maxOthers, "document"));
  return "<section class=\"comparison\" id=\"compare\" aria-labelledby=\"compare-t\">"
         "<h2 id=\"compare-t\">Comparison</h2>" +
         tables + "</section>";
}

} // namespace tilewright::report
