#include "tools/report/model_section.h"

#include "tools/report/graph_figure.h"
#include "tools/report/headline.h"
#include "tools/report/layer_table.h"
#include "tools/report/text.h"

#include <algorithm>
#include <map>

namespace tilewright::report {

namespace {
constexpr size_t maxReasons = 100, maxOpsPerReason = 60;

void fact(std::string &out, std::string_view name, std::string_view value,
          std::string_view sub = {}, std::string_view subClass = {}) {
  put(out, "<div><dt>{}</dt><dd>{}", name, value);
  if (!sub.empty())
    put(out, "<small class=\"{}\">{}</small>", subClass, sub);
  out += "</dd></div>";
}

std::string ratioText(Quantity numerator, Quantity denominator, std::string_view of) {
  if (!numerator || !denominator || *denominator <= 0)
    return {};
  return fmt::format("{} % of the {}", percent(*numerator / *denominator), of);
}

std::string factsOf(const Model &model, const Summary &summary) {
  std::string out = "<dl class=\"facts\">", gap = gapText(summary);
  if (gap.empty())
    fact(out, "Predicted time", timeText(summary.totalNs), "all ops priced");
  else
    fact(out, "Predicted time, incomplete", timeText(summary.totalNs), escapeHtml(gap), "warn");
  fact(out, "Lower bound", timeText(model.lowerBoundNs),
       ratioText(model.lowerBoundNs, summary.totalNs, "prediction"));
  if (model.aloneNs)
    fact(out, "Each kernel alone", timeText(model.aloneNs), "without what others leave in L2");
  if (model.simpleGroupingNs)
    fact(out, "Simple grouping", timeText(model.simpleGroupingNs),
         ratioText(model.simpleGroupingNs, model.aloneNs ? model.aloneNs : summary.totalNs,
                   "time of kernels alone"));
  fact(out, "Kernels", count(static_cast<double>(model.kernels.size())),
       model.ops ? fmt::format("from {} ops", count(model.ops)) : "");
  fact(out, "Unsupported ops", count(static_cast<double>(model.unsupported.size())),
       model.unsupported.empty() ? "" : "listed below");
  return out + "</dl>";
}

std::string limiterBar(const Summary &summary) {
  if (summary.limiterNs.empty() || summary.sumNs <= 0)
    return {};
  std::vector<std::pair<std::string_view, double>> parts;
  std::string label, legend = "<ul class=\"legend\">";
  for (auto [term, ns] : summary.limiterNs) {
    std::string share = percent(ns / summary.sumNs);
    parts.emplace_back(termClass(term), ns);
    put(label, "{}{} {} %", label.empty() ? "" : ", ", termName(term), share);
    put(legend, "<li>{} {} %, {}</li>", swatch(term, termName(term)), share, timeText(ns));
  }
  std::string bar = stackedBar(parts, label, 1320, 16);
  bar.replace(bar.find("class=\"bar\""), 11, "class=\"bar wide\"");
  return "<h3>Time by limiting term</h3>" + bar + legend + "</ul>";
}

std::string reasonTable(const std::vector<OpNote> &notes, std::string_view caption) {
  auto reasons = byReason(notes);
  std::string out;
  put(out,
      "<table class=\"plain\" aria-label=\"{}\"><thead><tr><th scope=\"col\">Reason</th>"
      "<th scope=\"col\" class=\"num\">Ops (count)</th><th scope=\"col\">Names</th></tr></thead>"
      "<tbody>",
      caption);
  for (size_t i = 0; i < reasons.size() && i < maxReasons; ++i) {
    const auto &[reason, ops] = reasons[i];
    put(out, "<tr><th scope=\"row\">{}</th><td class=\"num\">{}</td><td class=\"mono\">",
        reason.empty() ? "no reason given" : escapeHtml(reason, 400),
        count(static_cast<double>(ops.size())));
    for (size_t k = 0; k < ops.size() && k < maxOpsPerReason; ++k)
      put(out, "{}{}", k ? ", " : "", escapeHtml(ops[k], 80));
    if (ops.size() > maxOpsPerReason)
      put(out, " and {} more", count(static_cast<double>(ops.size() - maxOpsPerReason)));
    out += "</td></tr>";
  }
  out += "</tbody></table>";
  if (reasons.size() > maxReasons)
    put(out, "<p class=\"note\">{} more not listed.</p>",
        counted(reasons.size() - maxReasons, "reason"));
  return out;
}

/// Groups that had to be split into several kernels.
std::string splitGroups(const Model &model) {
  if (model.split.empty())
    return {};
  std::string out = "<h3>Split groups</h3><table class=\"plain\" aria-label=\"Split "
                    "groups\"><thead><tr><th scope=\"col\">Group of</th><th scope=\"col\" "
                    "class=\"num\">Ops (count)</th><th scope=\"col\">Why it was split"
                    "</th></tr></thead><tbody>";
  size_t shown = std::min(model.split.size(), maxReasons);
  for (size_t i = 0; i < shown; ++i)
    put(out,
        "<tr><th scope=\"row\" class=\"mono\">{}</th><td class=\"num\">{}</td><td>{}</td></tr>",
        escapeHtml(model.split[i].root, 80), count(model.split[i].ops),
        model.split[i].reason.empty() ? "no reason given" : escapeHtml(model.split[i].reason, 400));
  out += "</tbody></table>";
  if (shown < model.split.size())
    put(out, "<p class=\"note\">{} more not listed.</p>",
        counted(model.split.size() - shown, "group"));
  return out;
}

/// Ops whose time is that of what a library's kernels are taken to do.
std::string assumedTable(const Model &model) {
  if (model.assumed.empty())
    return {};
  std::string out = "<h3>Priced without a plan</h3><table class=\"plain\" aria-label=\"Ops priced "
                    "without a plan\"><thead><tr><th scope=\"col\">Op</th><th scope=\"col\" "
                    "class=\"num\">Time</th><th scope=\"col\">Why it has no plan</th></tr></thead>"
                    "<tbody>";
  size_t shown = std::min(model.assumed.size(), maxReasons);
  for (size_t i = 0; i < shown; ++i) {
    const AssumedNote &op = model.assumed[i];
    Quantity time = op.timeNs ? Quantity(*op.timeNs * op.tripCount) : std::nullopt;
    put(out,
        "<tr><th scope=\"row\" class=\"mono\">{}</th><td class=\"num\">{}</td><td>{}</td></tr>",
        escapeHtml(op.op + layerText(op.layer), 160), timeText(time),
        op.reason.empty() ? "no reason given" : escapeHtml(op.reason, 400));
  }
  out += "</tbody></table>";
  if (shown < model.assumed.size())
    put(out, "<p class=\"note\">{} more not listed.</p>",
        counted(model.assumed.size() - shown, "op"));
  return out;
}

std::string notModelled(const Exploration &exploration, const Model &model) {
  std::string out = "<h3>Not in the total</h3>";
  if (!model.unsupported.empty())
    put(out, "<p>{} without a kernel, because this version can't tile {}:</p>{}",
        counted(model.unsupported.size(), "op"), model.unsupported.size() == 1 ? "it" : "them",
        reasonTable(model.unsupported, "Unsupported ops"));
  out +=
      "<p>Not modelled: overlap between kernels, which are added up one after another; the host; "
      "transfers between devices; clocks that change under load.";
  if (exploration.calibration.empty())
    out += " No calibration was used, so times and bands rest on the device description alone.";
  out += "</p>";
  if (!model.noKernel.empty())
    put(out, "<details><summary>{} no kernel of {} own</summary>{}</details>",
        counted(model.noKernel.size(), "op") + (model.noKernel.size() == 1 ? " needs" : " need"),
        model.noKernel.size() == 1 ? "its" : "their",
        reasonTable(model.noKernel, "Ops that need no kernel"));
  return out;
}
} // namespace

std::string gapText(const Summary &summary) {
  std::string out;
  for (const std::string &gap : summary.gaps)
    put(out, "{}{}", out.empty() ? "excludes " : ", ", gap);
  return out;
}

std::vector<std::pair<std::string, std::vector<std::string>>>
byReason(const std::vector<OpNote> &notes) {
  std::map<std::string, std::vector<std::string>> grouped;
  for (const OpNote &note : notes)
    grouped[note.reason].push_back(note.op + layerText(note.layer));
  std::vector<std::pair<std::string, std::vector<std::string>>> result(
      std::make_move_iterator(grouped.begin()), std::make_move_iterator(grouped.end()));
  std::stable_sort(result.begin(), result.end(),
                   [](const auto &a, const auto &b) { return a.second.size() > b.second.size(); });
  return result;
}

std::string modelSection(const Exploration &exploration, const Model &model, ModelLimits limits,
                         std::string_view id) {
  Summary summary = summarise(model);
  const std::string tableId = fmt::format("{}-k", id);
  const KernelLinks links(summary, limits.table.rows, tableId);
  std::string out;
  put(out,
      "<section class=\"model\" id=\"{0}\" aria-labelledby=\"{0}-t\" data-title=\"{1} {2}\"><h2 "
      "id=\"{0}-t\">{1}</h2><p class=\"sub mono\">{3}</p>",
      id, escapeHtml(modelTitle(model.name)), escapeHtml(exploration.device.name, 40),
      escapeHtml(model.name));
  out += factsOf(model, summary);
  out += headline(model, summary, links);
  for (const std::string &warning : summary.warnings)
    put(out, "<p class=\"warn\">{}</p>", escapeHtml(warning, 400));
  for (const OpNote &note : model.notes)
    put(out, "<p class=\"warn\">{}: {}</p>", escapeHtml(note.op, 80), escapeHtml(note.reason, 400));
  out += limiterBar(summary);
  out += layerTable(model, summary, fmt::format("{}-l", id));
  std::string graph = graphFigure(model, summary, limits.graph, links, fmt::format("{}-g", id));
  if (!graph.empty())
    out += "<h3>Graph</h3>" + graph;
  out += "<h3>Roofline</h3>";
  out += rooflineFigure(exploration.device, model, summary, {limits.dots, limits.table.rows},
                        fmt::format("{}-r", id));
  put(out, "<div class=\"found\"><h3 id=\"{}-h\">Kernels</h3>", tableId);
  out += kernelTable(model, summary, limits.table, tableId) + "</div>";
  out += splitGroups(model);
  out += assumedTable(model);
  out += notModelled(exploration, model);
  return out + "</section>";
}

} // namespace tilewright::report
