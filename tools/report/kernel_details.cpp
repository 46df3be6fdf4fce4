#include "tools/report/kernel_details.h"

#include "tools/report/summary.h"
#include "tools/report/term_chart.h"
#include "tools/report/text.h"
#include "tools/report/tile_map_table.h"

#include <algorithm>
#include <cmath>

namespace tilewright::report {

namespace {
constexpr size_t maxOps = 200, maxAlternatives = 20;
/// Plans whose times differ by less are alike to a reader, and to the formula.
constexpr double leastDifference = 1e-3;

/// What the search finds beside the rows.
std::string found(std::string_view text) {
  return fmt::format("<span class=\"find\">{}</span>", escapeHtml(text, 200));
}

void fact(std::string &out, std::string_view name, std::string_view value) {
  if (value != "–")
    put(out, "<dt>{}</dt><dd>{}</dd>", name, value);
}

std::string factList(const Kernel &kernel) {
  std::string out = "<dl>";
  if (!kernel.layer.empty())
    fact(out, "Layer", found(kernel.layer));
  if (!kernel.opName.empty())
    fact(out, "Op", found(kernel.opName));
  if (const std::string place = sourceText(kernel); !place.empty())
    fact(out, "Source", found(place));
  if (kernel.tripCount != 1)
    fact(out, "Executions", count(kernel.tripCount));
  fact(out, "Time of one", timeText(kernel.timeNs));
  if (kernel.timeNs && kernel.sigmaLn && *kernel.sigmaLn > 0)
    fact(out, "68 % band",
         fmt::format("{} to {}", timeText(*kernel.timeNs * std::exp(-*kernel.sigmaLn)),
                     timeText(*kernel.timeNs * std::exp(*kernel.sigmaLn))));
  if (kernel.sequenceNs)
    fact(out, "Behind those before it", timeText(kernel.sequenceNs));
  if (kernel.lowerBoundNs && kernel.timeNs && *kernel.timeNs > 0)
    fact(out, "Lower bound",
         fmt::format("{}, {} % of the time", timeText(kernel.lowerBoundNs),
                     percent(*kernel.lowerBoundNs / *kernel.timeNs)));
  for (const auto &[what, gain] : kernel.levers)
    fact(out, "Would gain", fmt::format("{} by {}", timeText(gain), escapeHtml(what, 100)));
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

void differingParameters(std::string &out, const Parameters &own, const Parameters &best) {
  for (const auto &[name, value] : own) {
    const auto same = std::find(best.begin(), best.end(), std::pair(name, value));
    if (same == best.end())
      put(out, "{}{} {}", out.empty() ? "" : " · ", escapeHtml(name, 32), escapeHtml(value, 32));
  }
}

/// "t1 64 · warps 8": what of a plan is not as in another.
std::string differences(const Plan &plan, const Plan &other) {
  std::string out;
  differingParameters(out, plan.tile, other.tile);
  differingParameters(out, plan.schedule, other.schedule);
  return out;
}

bool takeAsLong(const Alternative &a, const Alternative &b) {
  return a.timeNs && b.timeNs && *a.timeNs > 0 &&
         std::abs(*b.timeNs / *a.timeNs - 1) < leastDifference;
}

/// Plans of one time: the first of them, and what the others have different.
struct PlanGroup {
  const Alternative *first;
  std::vector<const Alternative *> alike;
};

std::vector<PlanGroup> planGroups(const std::vector<Alternative> &plans) {
  std::vector<PlanGroup> groups;
  for (const Alternative &plan : plans)
    if (!groups.empty() && takeAsLong(*groups.back().first, plan))
      groups.back().alike.push_back(&plan);
    else
      groups.push_back({&plan, {}});
  return groups;
}

std::string alikeText(const PlanGroup &group) {
  std::string out;
  for (const Alternative *plan : group.alike) {
    const std::string other = differences(plan->plan, group.first->plan);
    if (!other.empty())
      put(out, "{}{}", out.empty() ? "" : "; ", other);
  }
  return out.empty() ? out : "<div class=\"sub\">as fast with " + out + "</div>";
}

std::string alternativesTable(const Kernel &kernel, std::string_view id) {
  if (kernel.alternatives.empty())
    return {};
  double largest = 0;
  const std::vector<PlanGroup> groups = planGroups(kernel.alternatives);
  const size_t shown = std::min(groups.size(), maxAlternatives);
  for (size_t i = 0; i < shown; ++i)
    largest = std::max(largest, groups[i].first->timeNs.value_or(0));
  TimeUnit unit = timeUnitFor(largest);
  std::string out;
  put(out,
      "<div><h4 id=\"{}-a\">Best plans</h4><table class=\"plain\" aria-labelledby=\"{}-a\"><thead>"
      "<tr><th scope=\"col\" class=\"num\">Rank</th><th scope=\"col\">Tile and schedule</th>"
      "<th scope=\"col\">Unlike the best</th>"
      "<th scope=\"col\" class=\"num\">Time ({})</th><th scope=\"col\" class=\"num\">Slower "
      "(%)</th>"
      "<th scope=\"col\">Limited by</th></tr></thead><tbody>",
      id, id, unit.name);
  for (size_t i = 0; i < shown; ++i) {
    const Alternative &alternative = *groups[i].first;
    Quantity slower;
    if (alternative.timeNs && kernel.timeNs && *kernel.timeNs > 0)
      slower = *alternative.timeNs / *kernel.timeNs - 1;
    put(out,
        "<tr><th scope=\"row\" class=\"num\">{}</th><td class=\"mono\">{}{}</td><td "
        "class=\"mono\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td>{}</td></tr>",
        i + 1, planCell(alternative.plan), alikeText(groups[i]),
        i == 0 ? "" : differences(alternative.plan, groups[0].first->plan),
        inUnit(alternative.timeNs, unit), percent(slower), limiterCell(alternative.limiter));
  }
  out += "</tbody></table>";
  if (shown < groups.size())
    put(out, "<p class=\"note\">{} more not shown.</p>", counted(groups.size() - shown, "plan"));
  return out + "</div>";
}

/// The tile program or the assembly, where the report was given them.
std::string listings(const Kernel &kernel) {
  std::string out;
  for (const Listing &listing : kernel.listings)
    put(out,
        "<details class=\"listing\"><summary>{}, {}{}</summary><pre tabindex=\"0\">{}</pre>"
        "</details>",
        escapeHtml(listing.what, 60), counted(listing.lines, "line"),
        listing.isCut ? ", the first of them" : "", listing.html);
  return out;
}

std::string opsList(const Kernel &kernel) {
  if (kernel.ops.empty())
    return {};
  std::string out = "<div class=\"ops\"><h4>Ops</h4><span class=\"mono find\">";
  size_t shown = std::min(kernel.ops.size(), maxOps);
  for (size_t i = 0; i < shown; ++i)
    put(out, "{}{}", i ? ", " : "", escapeHtml(kernel.ops[i], 80));
  if (shown < kernel.ops.size())
    put(out, " and {} more", count(static_cast<double>(kernel.ops.size() - shown)));
  return out + "</span></div>";
}

} // namespace

std::string planCell(const Plan &plan) {
  std::string tile = parametersText(plan.tile), schedule = parametersText(plan.schedule, true);
  if (plan.grid)
    put(schedule, "{}grid {}", schedule.empty() ? "" : " · ", count(plan.grid));
  std::string out = tile.empty() ? "–" : escapeHtml(tile, 400);
  if (!schedule.empty())
    put(out, "<div class=\"sub\">{}</div>", escapeHtml(schedule, 400));
  return out;
}

std::string limiterCell(std::string_view limiter) {
  return limiter.empty() ? "–" : swatch(termOf(limiter), limiter);
}

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
  out += listings(kernel);
  out += opsList(kernel);
  return out + "</div></details>";
}

} // namespace tilewright::report
