#include "tools/report/overview.h"

#include "tools/report/headline.h"
#include "tools/report/text.h"

#include <algorithm>
#include <map>

namespace tilewright::report {

namespace {

constexpr size_t maxOverviewRows = 3000, openContents = 24;

/// Titles that several models have: those need their paths as well.
std::map<std::string, size_t> titleCounts(const std::vector<ModelRef> &models) {
  std::map<std::string, size_t> counts;
  for (const ModelRef &ref : models)
    ++counts[modelTitle(ref.model->name)];
  return counts;
}

std::string limiterText(const Model &model, const Summary &summary) {
  const std::vector<LimiterTime> limiters = limiterTimes(model);
  if (limiters.empty() || !(summary.sumNs > 0))
    return "–";
  const LimiterTime &most = limiters.front();
  return swatch(most.term, fmt::format("{} {} %", most.name, percent(most.ns / summary.sumNs)));
}

std::string adviceText(const Model &model, const Summary &summary) {
  const std::vector<Advice> advice = adviceOf(model, summary);
  return advice.empty() ? "–"
                        : fmt::format("{} by {}", timeText(advice.front().gainNs),
                                      escapeHtml(advice.front().what, 60));
}

void valueCell(std::string &out, Quantity value, const std::string &text) {
  put(out, "<td class=\"num\" data-v=\"{}\">{}</td>",
      value ? fmt::format("{:.6g}", *value) : std::string(), text);
}

void overviewRow(std::string &out, const ModelRef &ref, bool isLinked, bool withPath,
                 TimeUnit unit) {
  const Model &model = *ref.model;
  const Summary summary = summarise(model);
  const std::string name = escapeHtml(modelTitle(model.name));
  put(out, "<tr><th scope=\"row\" data-v=\"{}\">{}{}</th><td class=\"whole\">{}</td>", name,
      isLinked ? fmt::format("<a href=\"#{}\">{}</a>", ref.id, name) : name,
      withPath ? fmt::format("<div class=\"sub mono\">{}</div>", escapeHtml(model.name)) : "",
      escapeHtml(ref.exploration->device.name, 40));
  valueCell(out, model.ops, count(model.ops));
  valueCell(out, static_cast<double>(model.kernels.size()),
            count(static_cast<double>(model.kernels.size())));
  valueCell(out, summary.totalNs, inUnit(summary.totalNs, unit));
  valueCell(out, model.lowerBoundNs, inUnit(model.lowerBoundNs, unit));
  put(out, "<td class=\"whole\">{}</td><td>{}</td>", limiterText(model, summary),
      adviceText(model, summary));
  valueCell(out, static_cast<double>(model.unsupported.size()),
            count(static_cast<double>(model.unsupported.size())));
  put(out, "<td>{}</td></tr>",
      summary.gaps.empty() ? "complete" : "<span class=\"warn\">incomplete</span>");
}

std::string overviewHead(TimeUnit unit) {
  return fmt::format("<thead><tr><th scope=\"col\" data-sort=\"up\">Model</th>"
                     "<th scope=\"col\" data-sort=\"up\">Device</th>"
                     "<th scope=\"col\" class=\"num\" data-sort=\"down\">Ops (count)</th>"
                     "<th scope=\"col\" class=\"num\" data-sort=\"down\">Kernels (count)</th>"
                     "<th scope=\"col\" class=\"num\" data-sort=\"down\">Predicted time ({0})</th>"
                     "<th scope=\"col\" class=\"num\" data-sort=\"down\">Lower bound ({0})</th>"
                     "<th scope=\"col\" data-sort=\"up\">Most limited by</th>"
                     "<th scope=\"col\">Would gain most</th><th scope=\"col\" class=\"num\" "
                     "data-sort=\"down\">Unsupported ops (count)</th>"
                     "<th scope=\"col\" data-sort=\"up\">Total</th></tr></thead>",
                     unit.name);
}

} // namespace

std::string contents(const Documents &documents, const std::vector<ModelRef> &models,
                     size_t sections, const std::vector<ContentsItem> &first) {
  std::vector<ContentsItem> items = first;
  const bool hasDevices = documents.explorations.size() > 1;
  for (size_t i = 0; i < models.size() && i < sections; ++i)
    items.emplace_back(
        models[i].id,
        fmt::format("{}{}, {}", escapeHtml(modelTitle(models[i].model->name), 60),
                    hasDevices ? " on " + escapeHtml(models[i].exploration->device.name, 30) : "",
                    timeText(summarise(*models[i].model).totalNs)));
  for (size_t i = 0; i < documents.evaluations.size(); ++i)
    items.emplace_back(fmt::format("e{}", i),
                       "Accuracy: " + escapeHtml(documents.evaluations[i].file, 60));
  for (size_t i = 0; i < documents.calibrations.size(); ++i)
    items.emplace_back(fmt::format("c{}", i),
                       "Calibration: " + escapeHtml(documents.calibrations[i].file, 60));
  if (items.size() < 2)
    return {};
  std::string out;
  put(out, "<nav aria-label=\"Contents\"><details{}><summary>Contents</summary><ul>",
      items.size() <= openContents ? " open=\"\"" : "");
  for (const auto &[id, title] : items)
    put(out, "<li><a href=\"#{}\">{}</a></li>", id, title);
  return out + "</ul></details></nav>";
}

std::string overview(const std::vector<ModelRef> &models, size_t sections) {
  double largest = 0;
  for (const ModelRef &ref : models)
    largest = std::max(largest, summarise(*ref.model).totalNs.value_or(0));
  const TimeUnit unit = timeUnitFor(largest);
  const std::map<std::string, size_t> titles = titleCounts(models);
  const std::string head = overviewHead(unit);
  std::string out;
  put(out,
      "<section class=\"overview\" aria-labelledby=\"models\"><h2 id=\"models\">Models</h2><div "
      "class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"models\"><table "
      "class=\"records sortable\" aria-labelledby=\"models\">{}<tbody>",
      head);
  const size_t shown = std::min(models.size(), maxOverviewRows);
  for (size_t i = 0; i < shown; ++i)
    overviewRow(out, models[i], i<sections, titles.at(modelTitle(models[i].model->name))> 1, unit);
  out += "</tbody></table></div>";
  if (models.size() > maxOverviewRows)
    put(out, "<p class=\"note\">The first {} of {}.</p>", count(maxOverviewRows),
        counted(models.size(), "model"));
  if (models.size() > sections)
    put(out, "<p class=\"note\">Sections for the first {}.</p>", counted(sections, "model"));
  return out + "</section>";
}

} // namespace tilewright::report
