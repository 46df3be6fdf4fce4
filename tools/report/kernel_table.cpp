#include "tools/report/kernel_table.h"

#include "tools/report/text.h"
#include "tools/report/tile_map_table.h"

#include <algorithm>
#include <cmath>

namespace tilewright::report {

namespace {
constexpr size_t maxOps = 200, maxAlternatives = 20;

/// The plain number for the sorting script; empty when missing.
std::string sortKey(Quantity value) {
  return value && std::isfinite(*value) ? fmt::format("{:.6g}", *value) : std::string();
}

void numberCell(std::string &out, Quantity value, std::string_view text) {
  put(out, "<td class=\"num\" data-v=\"{}\">{}</td>", sortKey(value), text);
}

std::string planCell(const Plan &plan) {
  std::string tile = parametersText(plan.tile), schedule = parametersText(plan.schedule, true);
  if (plan.grid)
    put(schedule, "{}grid {}", schedule.empty() ? "" : " · ", count(plan.grid));
  std::string out = tile.empty() ? "–" : escapeHtml(tile, 400);
  if (!schedule.empty())
    put(out, "<div class=\"sub\">{}</div>", escapeHtml(schedule, 400));
  return out;
}

/// "±8.3 %", or as a factor when the band is too wide for that to mean anything.
std::string bandText(Quantity sigmaLn) {
  Quantity band = bandFraction(sigmaLn);
  if (!band || *band <= 0 || !std::isfinite(*band))
    return {};
  return *band <= 0.5 ? fmt::format("±{} %", percent(band))
                      : fmt::format("×÷ {}", threeDigits(1 + *band));
}

std::string limiterCell(std::string_view limiter) {
  return limiter.empty() ? "–" : swatch(termOf(limiter), limiter);
}

void fact(std::string &out, std::string_view name, std::string_view value) {
  if (value != "–")
    put(out, "<dt>{}</dt><dd>{}</dd>", name, value);
}

/// The layer below a kernel's name.
std::string layerLine(const Kernel &kernel) {
  return kernel.layer.empty()
             ? std::string()
             : fmt::format("<div class=\"sub\">{}</div>", escapeHtml(kernel.layer, 120));
}

std::string factList(const Kernel &kernel) {
  std::string out = "<dl>";
  if (!kernel.opName.empty())
    fact(out, "Op", escapeHtml(kernel.opName, 200));
  if (std::string place = sourceText(kernel); !place.empty())
    fact(out, "Source", escapeHtml(place, 200));
  if (kernel.tripCount != 1)
    fact(out, "Executions", count(kernel.tripCount));
  fact(out, "Time of one", timeText(kernel.timeNs));
  if (kernel.timeNs && kernel.sigmaLn && *kernel.sigmaLn > 0)
    fact(out, "68 % band",
         fmt::format("{} to {}", timeText(*kernel.timeNs * std::exp(-*kernel.sigmaLn)),
                     timeText(*kernel.timeNs * std::exp(*kernel.sigmaLn))));
  fact(out, "Alone", timeText(kernel.aloneNs));
  if (kernel.lowerBoundNs && kernel.aloneNs && *kernel.aloneNs > 0)
    fact(out, "Lower bound",
         fmt::format("{}, {} % of the time alone", timeText(kernel.lowerBoundNs),
                     percent(*kernel.lowerBoundNs / *kernel.aloneNs)));
  for (const Lever &lever : kernel.levers)
    fact(out, "Would gain",
         fmt::format(
             "{} by {}{}", timeText(lever.gainNs), escapeHtml(lever.what, 100),
             lever.because.empty() ? "" : ", were it not for " + escapeHtml(lever.because, 200)));
  fact(out, "Useful work", rateText(kernel.flops, "FLOP"));
  fact(out, "Issued work", rateText(kernel.issuedFlops, "FLOP"));
  if (kernel.transcendentals.value_or(0) > 0)
    fact(out, "Transcendentals", rateText(kernel.transcendentals, "op"));
  fact(out, "DRAM traffic", bytesText(kernel.dramBytes));
  fact(out, "L2 traffic", bytesText(kernel.l2Bytes));
  fact(out, "Compute rate", rateText(achievedFlopsPerS(kernel), "FLOP/s"));
  fact(out, "DRAM rate", rateText(achievedBytesPerS(kernel), "B/s"));
  Quantity perByte = intensity(kernel);
  if (perByte)
    fact(out, "Intensity", threeDigits(perByte) + " FLOP/byte");
  fact(out, "Threads a CTA", count(kernel.threads));
  for (const std::string &note : kernel.notes)
    fact(out, "Note", escapeHtml(note, 400));
  return out + "</dl>";
}

std::string alternativesTable(const Kernel &kernel, std::string_view id) {
  if (kernel.alternatives.empty())
    return {};
  double largest = 0;
  size_t shown = std::min(kernel.alternatives.size(), maxAlternatives);
  for (size_t i = 0; i < shown; ++i)
    largest = std::max(largest, kernel.alternatives[i].timeNs.value_or(0));
  TimeUnit unit = timeUnitFor(largest);
  std::string out;
  put(out,
      "<div><h4 id=\"{}-a\">Best plans</h4><table class=\"plain\" aria-labelledby=\"{}-a\"><thead>"
      "<tr><th scope=\"col\" class=\"num\">Rank</th><th scope=\"col\">Tile and schedule</th>"
      "<th scope=\"col\" class=\"num\">Time ({})</th><th scope=\"col\" class=\"num\">Slower "
      "(%)</th>"
      "<th scope=\"col\">Limited by</th></tr></thead><tbody>",
      id, id, unit.name);
  for (size_t i = 0; i < shown; ++i) {
    const Alternative &alternative = kernel.alternatives[i];
    Quantity slower;
    if (alternative.timeNs && kernel.timeNs && *kernel.timeNs > 0)
      slower = *alternative.timeNs / *kernel.timeNs - 1;
    put(out,
        "<tr><th scope=\"row\" class=\"num\">{}</th><td class=\"mono\">{}</td>"
        "<td class=\"num\">{}</td><td class=\"num\">{}</td><td>{}</td></tr>",
        i + 1, planCell(alternative.plan), inUnit(alternative.timeNs, unit), percent(slower),
        limiterCell(alternative.limiter));
  }
  out += "</tbody></table>";
  if (shown < kernel.alternatives.size())
    put(out, "<p class=\"note\">{} more not shown.</p>",
        counted(kernel.alternatives.size() - shown, "plan"));
  return out + "</div>";
}

std::string opsList(const Kernel &kernel) {
  if (kernel.ops.empty())
    return {};
  std::string out = "<div class=\"ops\"><h4>Ops</h4><span class=\"mono\">";
  size_t shown = std::min(kernel.ops.size(), maxOps);
  for (size_t i = 0; i < shown; ++i)
    put(out, "{}{}", i ? ", " : "", escapeHtml(kernel.ops[i], 80));
  if (shown < kernel.ops.size())
    put(out, " and {} more", count(static_cast<double>(kernel.ops.size() - shown)));
  return out + "</span></div>";
}

/// "dot bf16[4,8], 7 ops, 5 plans"
std::string captionOf(const Kernel &kernel) {
  std::string out = escapeHtml(kernel.kind, 40);
  if (!kernel.rootShape.empty())
    put(out, "{}<b class=\"mono\">{}</b>", out.empty() ? "" : " ", escapeHtml(kernel.rootShape));
  put(out, "{}{}", out.empty() ? "" : ", ", counted(kernel.ops.size(), "op"));
  if (!kernel.alternatives.empty())
    put(out, ", {}", counted(kernel.alternatives.size(), "plan"));
  return out;
}

std::string detailsOf(const Kernel &kernel, std::string_view caption, bool withMap,
                      std::string_view id) {
  std::string out;
  put(out, "<details><summary>{}</summary><div class=\"inner\">", caption);
  std::string chart = termChart(kernel, id);
  if (!chart.empty())
    put(out, "<div><h4>Terms, each alone</h4>{}</div>", chart);
  out += factList(kernel);
  out += alternativesTable(kernel, id);
  if (withMap)
    out += tileMapTable(kernel, id);
  out += opsList(kernel);
  return out + "</div></details>";
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

void tableRow(std::string &out, const Kernel &kernel, size_t number, const Summary &summary,
              TimeUnit unit, bool withDetails, bool withMap, std::string_view id) {
  Quantity total = totalTimeNs(kernel);
  double share = summary.share(kernel);
  std::string band = bandText(kernel.sigmaLn);
  put(out, "<tbody><tr class=\"main\"><td class=\"num\">{}</td>", number + 1);
  put(out, "<th scope=\"row\" data-v=\"{0}\"><span class=\"mono\">{0}</span>{1}</th>",
      escapeHtml(kernel.name), layerLine(kernel));
  put(out, "<td class=\"mono plan\">{}</td>", planCell(kernel.plan));
  std::string time = inUnit(total, unit);
  if (kernel.tripCount != 1 && total)
    put(time, "<div class=\"sub\">{} × {}</div>", count(kernel.tripCount),
        inUnit(kernel.timeNs, unit));
  if (!band.empty())
    put(time, "<div class=\"sub\">{}</div>", band);
  numberCell(out, total, time);
  numberCell(out, share, total ? shareBar(share) : "–");
  put(out, "<td class=\"limiter\" data-v=\"{}\">{}</td>", escapeHtml(kernel.limiter, 40),
      limiterCell(kernel.limiter));
  put(out, "<td>{}</td>", termBar(kernel));
  numberCell(out, kernel.registersPerThread, count(kernel.registersPerThread));
  Quantity sharedKib = kernel.sharedBytes ? Quantity(*kernel.sharedBytes / 1024) : std::nullopt;
  numberCell(out, kernel.sharedBytes, threeDigits(sharedKib));
  numberCell(out, kernel.ctasPerSm, count(kernel.ctasPerSm));
  numberCell(out, kernel.feasibleCandidates, candidatesText(kernel));
  out += "</tr><tr class=\"more\"><td></td><td colspan=\"10\">";
  std::string caption = captionOf(kernel);
  if (withDetails)
    out += detailsOf(kernel, caption, withMap, id);
  else
    put(out, "<div class=\"sub\">{}</div>", caption);
  out += "</td></tr></tbody>";
}
} // namespace

std::string kernelTable(const Model &model, const Summary &summary, TableLimits limits,
                        std::string_view id) {
  if (model.kernels.empty())
    return "<p>No kernels.</p>";
  TimeUnit unit = timeUnitFor(totalTimeNs(model.kernels[summary.byTime[0]]).value_or(0));
  std::string out = termLegend(model);
  put(out,
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"{}-h\">"
      "<table class=\"kernels sortable\" aria-labelledby=\"{}-h\"><thead><tr>"
      "<th scope=\"col\" class=\"num\" data-sort=\"up\">No.</th>"
      "<th scope=\"col\" data-sort=\"up\">Kernel</th>"
      "<th scope=\"col\">Tile and schedule (elements)</th>"
      "<th scope=\"col\" class=\"num\" data-sort=\"down\">Time ({})</th>"
      "<th scope=\"col\" class=\"num\" data-sort=\"down\" aria-sort=\"descending\">Share (%)</th>"
      "<th scope=\"col\" data-sort=\"up\">Limited by</th>"
      "<th scope=\"col\">Terms (parts of sum)</th>"
      "<th scope=\"col\" class=\"num\" data-sort=\"down\">Registers a&nbsp;thread</th>"
      "<th scope=\"col\" class=\"num\" data-sort=\"down\">Shared (KiB a&nbsp;CTA)</th>"
      "<th scope=\"col\" class=\"num\" data-sort=\"down\">CTAs an&nbsp;SM</th>"
      "<th scope=\"col\" class=\"num\" data-sort=\"down\">Feasible plans</th>"
      "</tr></thead>",
      id, id, unit.name);
  size_t rows = std::min(limits.rows, summary.byTime.size());
  for (size_t rank = 0; rank < rows; ++rank) {
    size_t number = summary.byTime[rank];
    tableRow(out, model.kernels[number], number, summary, unit, rank < limits.details,
             rank < limits.maps, fmt::format("{}-{}", id, number));
  }
  out += "</table></div>";
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
