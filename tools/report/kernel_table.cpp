#include "tools/report/kernel_table.h"

#include "tools/report/kernel_details.h"
#include "tools/report/kernel_links.h"
#include "tools/report/text.h"

#include <algorithm>
#include <cmath>

namespace tilewright::report {

namespace {
constexpr size_t firstRows = 40, laterRows = 100; ///< in the page, and in each part that follows

/// The plain number for the sorting script; empty when missing.
std::string sortKey(Quantity value) {
  return value && std::isfinite(*value) ? fmt::format("{:.6g}", *value) : std::string();
}

void numberCell(std::string &out, Quantity value, std::string_view text) {
  put(out, "<td class=\"num\" data-v=\"{}\">{}</td>", sortKey(value), text);
}

/// "±8.3 %", or as a factor when the band is too wide for that to mean anything.
std::string bandText(Quantity sigmaLn) {
  Quantity band = bandFraction(sigmaLn);
  if (!band || *band <= 0 || !std::isfinite(*band))
    return {};
  return *band <= 0.5 ? fmt::format("±{} %", percent(band))
                      : fmt::format("×÷ {}", threeDigits(1 + *band));
}

/// The framework's name below a kernel's.
std::string layerLine(const Kernel &kernel) {
  const std::string &name = kernel.layer.empty() ? kernel.opName : kernel.layer;
  return name.empty() ? std::string()
                      : fmt::format("<div class=\"sub\">{}</div>", escapeHtml(name, 120));
}

std::string termBar(const Kernel &kernel) {
  std::vector<std::pair<std::string_view, double>> parts;
  for (const auto &[name, ns] : orderedTerms(kernel))
    parts.emplace_back(termClass(termOf(name)), ns);
  return parts.empty() ? "–" : stackedBar(parts, termShares(kernel), 100, 12);
}

std::string shareBar(double share) {
  std::string text = percent(share);
  return stackedBar({{"c-share", share}, {"c-rest", 1 - share}}, text + " % of the predicted time",
                    44, 12) +
         " " + text;
}

std::string candidatesText(const Kernel &kernel) {
  if (!kernel.feasibleCandidates && !kernel.rawCandidates)
    return "–";
  return fmt::format("{}<div class=\"sub\">of {}</div>", count(kernel.feasibleCandidates),
                     count(kernel.rawCandidates));
}

/// Legend of the terms that occur in the model's kernels.
std::string termLegend(const Model &model) {
  std::array<bool, termCount> used{};
  for (const Kernel &kernel : model.kernels)
    for (const auto &[name, ns] : orderedTerms(kernel))
      used[static_cast<size_t>(termOf(name))] = true;
  std::string out = "<ul class=\"legend\" aria-label=\"Colours of the terms\">";
  for (size_t i = 0; i < termCount; ++i)
    if (used[i])
      put(out, "<li>{}</li>", swatch(static_cast<Term>(i), termName(static_cast<Term>(i))));
  return out + "</ul>";
}

/// The lower bound's share of the time.
Quantity speedOfLight(const Kernel &kernel) {
  if (!kernel.lowerBoundNs || !kernel.timeNs || *kernel.timeNs <= 0)
    return std::nullopt;
  return *kernel.lowerBoundNs / *kernel.timeNs;
}

void tableRow(std::string &out, const Kernel &kernel, size_t number, const Summary &summary,
              TimeUnit unit, bool withDetails, bool withMap, std::string_view id) {
  Quantity total = totalTimeNs(kernel);
  double share = summary.share(kernel);
  std::string band = bandText(kernel.sigmaLn);
  put(out, "<tbody id=\"{}\"><tr class=\"main\"><td class=\"num\">{}</td>", id, number + 1);
  put(out, "<th scope=\"row\" data-v=\"{0}\"><span class=\"mono\">{0}</span>{1}</th>",
      escapeHtml(kernel.name), layerLine(kernel));
  std::string time = inUnit(total, unit);
  if (kernel.tripCount != 1 && total)
    put(time, "<div class=\"sub\">{} × {}</div>", count(kernel.tripCount),
        inUnit(kernel.timeNs, unit));
  if (!band.empty())
    put(time, "<div class=\"sub\">{}</div>", band);
  numberCell(out, total, time);
  numberCell(out, share, total ? shareBar(share) : "–");
  numberCell(out, speedOfLight(kernel), percent(speedOfLight(kernel)));
  put(out, "<td class=\"limiter\" data-v=\"{}\">{}</td>", escapeHtml(kernel.limiter, 40),
      limiterCell(kernel.limiter));
  put(out, "<td>{}</td>", termBar(kernel));
  put(out, "<td class=\"mono plan\">{}</td>", planCell(kernel.plan));
  numberCell(out, kernel.registersPerThread, count(kernel.registersPerThread));
  Quantity sharedKib = kernel.sharedBytes ? Quantity(*kernel.sharedBytes / 1024) : std::nullopt;
  numberCell(out, kernel.sharedBytes, threeDigits(sharedKib));
  numberCell(out, kernel.ctasPerSm, count(kernel.ctasPerSm));
  numberCell(out, kernel.feasibleCandidates, candidatesText(kernel));
  out += "</tr><tr class=\"more\"><td></td><td colspan=\"11\">";
  std::string caption = captionOf(kernel);
  if (withDetails)
    out += detailsOf(kernel, caption, withMap, id);
  else
    put(out, "<div class=\"sub\">{}</div>", caption);
  out += "</td></tr></tbody>";
}

std::string tableHead(TimeUnit unit) {
  return fmt::format(
      "<thead><tr><th scope=\"col\" class=\"num\" data-sort=\"up\">No.</th>"
      "<th scope=\"col\" data-sort=\"up\">Kernel</th>"
      "<th scope=\"col\" class=\"num\" data-sort=\"down\">Time ({})</th>"
      "<th scope=\"col\" class=\"num\" data-sort=\"down\" aria-sort=\"descending\">Share (%)</th>"
      "<th scope=\"col\" class=\"num\" data-sort=\"up\">Speed of light (%)</th>"
      "<th scope=\"col\" data-sort=\"up\">Limited by</th>"
      "<th scope=\"col\">Terms (parts of sum)</th>"
      "<th scope=\"col\">Tile and schedule (elements)</th>"
      "<th scope=\"col\" class=\"num\" data-sort=\"down\">Registers a&nbsp;thread</th>"
      "<th scope=\"col\" class=\"num\" data-sort=\"down\">Shared (KiB a&nbsp;CTA)</th>"
      "<th scope=\"col\" class=\"num\" data-sort=\"down\">CTAs an&nbsp;SM</th>"
      "<th scope=\"col\" class=\"num\" data-sort=\"down\">Feasible plans</th></tr></thead>",
      unit.name);
}

} // namespace

std::string kernelTable(const Model &model, const Summary &summary, TableLimits limits,
                        std::string_view id) {
  if (model.kernels.empty())
    return "<p>No kernels.</p>";
  TimeUnit unit = timeUnitFor(totalTimeNs(model.kernels[summary.byTime[0]]).value_or(0));
  const std::string head = tableHead(unit);
  std::string out = termLegend(model);
  put(out,
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"{0}-h\">"
      "<table class=\"kernels sortable\" id=\"{0}\" aria-labelledby=\"{0}-h\">{1}",
      id, head);
  size_t rows = std::min(limits.rows, summary.byTime.size());
  for (size_t rank = 0; rank < rows; ++rank) {
    if (rank >= firstRows && (rank - firstRows) % laterRows == 0) // see script.cpp
      put(out,
          "</table>{0}<noscript data-rows=\"{1}\"><table class=\"kernels\" "
          "aria-labelledby=\"{1}-h\">{2}",
          rank == firstRows ? "</div>" : "</noscript>", id, head);
    size_t number = summary.byTime[rank];
    tableRow(out, model.kernels[number], number, summary, unit, rank < limits.details,
             rank < limits.maps, KernelLinks::idOf(id, number));
  }
  out += rows > firstRows ? "</table></noscript>" : "</table></div>";
  double hidden = 0;
  for (size_t rank = rows; rank < summary.byTime.size(); ++rank)
    hidden += summary.share(model.kernels[summary.byTime[rank]]);
  if (rows < summary.byTime.size())
    put(out, "<p class=\"note\">{} with {} % of the time not listed.</p>",
        counted(summary.byTime.size() - rows, "cheaper kernel"), percent(hidden));
  if (limits.details < rows)
    put(out, "<p class=\"note\">Details for the {} most expensive.</p>",
        count(static_cast<double>(limits.details)));
  return out;
}

} // namespace tilewright::report
