#include "tools/report/layer_table.h"

#include "tools/report/graph_fold.h"
#include "tools/report/headline.h"
#include "tools/report/text.h"

#include <algorithm>
#include <map>
#include <set>

namespace tilewright::report {

namespace {

constexpr size_t maxLayers = 30;

struct LayerKind {
  std::string pattern;
  std::set<std::string_view> layers;
  std::vector<const Kernel *> kernels;
  double ns = 0;
};

std::vector<LayerKind> layerKinds(const Model &model) {
  std::map<std::string, LayerKind> kinds;
  for (const Kernel &kernel : model.kernels) {
    LayerKind &kind = kinds[layerPattern(kernel.layer)];
    const double ns = totalTimeNs(kernel).value_or(0);
    kind.layers.insert(kernel.layer);
    kind.kernels.push_back(&kernel);
    kind.ns += ns;
  }
  std::vector<LayerKind> sorted;
  for (auto &[pattern, kind] : kinds) {
    kind.pattern = pattern;
    sorted.push_back(std::move(kind));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const LayerKind &a, const LayerKind &b) { return a.ns > b.ns; });
  return sorted;
}

/// The words by which the search finds the kernels of these layers.
std::string wordsOf(std::string pattern) {
  std::replace(pattern.begin(), pattern.end(), '*', ' ');
  return pattern;
}

void layerRow(std::string &out, const LayerKind &kind, const Summary &summary, TimeUnit unit) {
  const double share = summary.sumNs > 0 ? kind.ns / summary.sumNs : 0;
  const std::vector<LimiterTime> limiters = limiterTimes(kind.kernels);
  if (kind.pattern.empty())
    out += "<tr><th scope=\"row\">no layer known</th>";
  else
    put(out, "<tr><th scope=\"row\" class=\"mono\" data-find=\"{}\">{}</th>",
        escapeHtml(wordsOf(kind.pattern)),
        escapeHtml(kind.layers.size() > 1 ? kind.pattern : std::string(*kind.layers.begin()), 100));
  put(out,
      "<td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td>"
      "<td class=\"num\">{}</td><td>{}</td></tr>",
      kind.layers.size(), kind.kernels.size(), inUnit(kind.ns, unit), percent(share),
      limiters.empty() ? "–" : swatch(limiters.front().term, limiters.front().name));
}

} // namespace

std::string layerTable(const Model &model, const Summary &summary, std::string_view id) {
  const std::vector<LayerKind> kinds = layerKinds(model);
  if (kinds.size() < 2)
    return {};
  const TimeUnit unit = timeUnitFor(kinds.front().ns);
  std::string out;
  put(out,
      "<h3 id=\"{0}-h\">Layers</h3><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
      "aria-labelledby=\"{0}-h\"><table class=\"plain sortable\" id=\"{0}\" "
      "aria-labelledby=\"{0}-h\"><thead><tr><th scope=\"col\" data-sort=\"up\">Layer</th>"
      "<th scope=\"col\" class=\"num\" data-sort=\"down\">Alike (count)</th>"
      "<th scope=\"col\" class=\"num\" data-sort=\"down\">Kernels (count)</th>"
      "<th scope=\"col\" class=\"num\" data-sort=\"down\">Time ({1})</th>"
      "<th scope=\"col\" class=\"num\" data-sort=\"down\" aria-sort=\"descending\">Share (%)</th>"
      "<th scope=\"col\" data-sort=\"up\">Most limited by</th></tr></thead><tbody>",
      id, unit.name);
  for (size_t i = 0; i < kinds.size() && i < maxLayers; ++i)
    layerRow(out, kinds[i], summary, unit);
  out += "</tbody></table></div>";
  if (kinds.size() > maxLayers)
    put(out, "<p class=\"note\">{} with less time not listed.</p>",
        counted(kinds.size() - maxLayers, "layer"));
  return out;
}

} // namespace tilewright::report
