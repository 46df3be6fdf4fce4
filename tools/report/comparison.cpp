#include "tools/report/comparison.h"

#include "tools/report/kernel_changes.h"
#include "tools/report/summary.h"
#include "tools/report/text.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilewright::report {

namespace {
constexpr size_t maxOthers = 4, maxModels = 60, maxKernels = 12, maxCompared = 100;

std::string changeText(Quantity before, Quantity after) {
  if (!before || !after || *before <= 0)
    return "–";
  double ratio = *after / *before;
  return fmt::format("{}{} %", ratio >= 1 ? "+" : "−", percent(std::abs(ratio - 1)));
}

void timeRow(std::string &out, std::string_view kind, std::string_view name, Quantity before,
             Quantity after, std::string_view why) {
  constexpr TimeUnit unit{"µs", 1e3};
  put(out,
      "<tr><th scope=\"row\" class=\"{}\">{}</th><td class=\"num\">{}</td><td class=\"num\">{}</td>"
      "<td class=\"num\">{}</td><td>{}</td></tr>",
      kind, escapeHtml(name, 80), inUnit(before, unit), inUnit(after, unit),
      changeText(before, after), why);
}

void kernelRow(std::string &out, const KernelChange &change) {
  auto time = [](const Kernel *kernel) { return kernel ? totalTimeNs(*kernel) : std::nullopt; };
  const Kernel &named = change.after ? *change.after : *change.before;
  timeRow(out, "mono indent", named.name + layerText(named.layer), time(change.before),
          time(change.after), whyText(change));
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
    const Quantity was = summarise(*before->second).totalNs, is = summarise(after).totalNs;
    const std::vector<KernelChange> changes = kernelChanges(*before->second, after);
    timeRow(rows, "strong", modelTitle(after.name), was, is,
            changes.empty() ? "nothing changed"
                            : counted(changes.size(), "kernel") + " with another time");
    for (size_t i = 0; i < changes.size() && i < maxKernels; ++i)
      kernelRow(rows, changes[i]);
  }
  if (rows.empty())
    return {};
  std::string out;
  const std::string differences = runDifferences(first, other);
  if (!differences.empty())
    put(out, "<p>{}: {}.</p>", columnTitle(other, first), differences);
  put(out,
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Predicted times\"><table "
      "class=\"records compare\" aria-label=\"Predicted times\"><thead><tr>"
      "<th scope=\"col\">Model and its kernels that changed most</th><th scope=\"col\" "
      "class=\"num\">{} (µs)</th><th scope=\"col\" class=\"num\">{} (µs)</th>"
      "<th scope=\"col\" class=\"num\">Change</th><th scope=\"col\">Why</th></tr></thead>"
      "<tbody>{}</tbody></table></div>",
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
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Accuracy\"><table "
      "class=\"records compare\" aria-label=\"Accuracy\"><thead><tr><th scope=\"col\">"
      "Family</th><th scope=\"col\" class=\"num\">MAPE of {0} (%)</th><th scope=\"col\" "
      "class=\"num\">of {1} (%)</th><th scope=\"col\" class=\"num\">Top&nbsp;1 of {0} (% of best)"
      "</th><th scope=\"col\" class=\"num\">of {1}</th></tr></thead><tbody>{2}</tbody></table>"
      "</div>",
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
