#include "tools/report/graph_figure.h"

#include "tools/report/chart.h"
#include "tools/report/graph_fold.h"
#include "tools/report/text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>

namespace tilewright::report {

namespace {

constexpr size_t mostNodes = 60; ///< of a graph that is not folded

/// Class of the colour ramp, 0 (least) to 6, for a share of the time. Kernels differ by orders of
/// magnitude, so that each step is a factor of two.
int rampOf(double share) {
  if (!(share > 0))
    return 0;
  return std::clamp(static_cast<int>(std::floor(std::log2(share))) + 7, 0, 6);
}

struct Arc {
  size_t from, to;
  size_t length() const { return to > from ? to - from : from - to; }
  bool operator<(const Arc &other) const {
    return std::pair(to, from) < std::pair(other.to, other.from);
  }
};

/// What is drawn: a kernel, or several folded.
struct Row {
  Quantity timeNs;
  double share = 0;
  std::string name, shape, what; ///< HTML
  std::string target;            ///< of a link; may be empty
};

Row rowOf(const Model &model, const Summary &summary, size_t number, const KernelLinks &links) {
  const Kernel &kernel = model.kernels[number];
  Row row{totalTimeNs(kernel),
          summary.share(kernel),
          escapeHtml(kernel.name + layerText(kernel.layer), 60),
          escapeHtml(kernel.rootShape, 44),
          escapeHtml(kernel.kind, 20),
          links.target(number)};
  put(row.what, "{}{}", row.what.empty() ? "" : ", ", counted(kernel.ops.size(), "op"));
  if (kernel.tripCount != 1)
    put(row.what, ", {} runs", count(kernel.tripCount));
  if (!kernel.computation.empty())
    put(row.what, ", in {}", escapeHtml(kernel.computation, 40));
  return row;
}

/// "k02_a to k25_b (layer_*)"
std::string namesOf(const Model &model, const GraphNode &node) {
  return escapeHtml(model.kernels[node.first].name, 26) + " to " +
         escapeHtml(model.kernels[node.first + node.count - 1].name, 26);
}

std::string countsOf(const GraphNode &node) {
  return node.repeats > 1 ? fmt::format("{} × {} alike", node.repeats,
                                        counted(node.count / node.repeats, "kernel"))
                          : counted(node.count, "kernel");
}

Row rowOf(const Model &model, const Summary &summary, const GraphNode &node, std::string target) {
  Row row{std::nullopt, 0, {}, {}, countsOf(node), std::move(target)};
  for (size_t k = node.first; k < node.first + node.count; ++k) {
    row.share += summary.share(model.kernels[k]);
    if (Quantity time = totalTimeNs(model.kernels[k]))
      row.timeNs = row.timeNs.value_or(0) + *time;
  }
  row.name = (node.label.empty() ? std::string() : escapeHtml(node.label, 40) + ": ") +
             namesOf(model, node);
  return row;
}

/// Arcs between the nodes that hold kernels, each once.
std::vector<Arc> arcsOf(const Model &model, const std::vector<GraphNode> &nodes) {
  std::map<std::string_view, size_t> place;
  for (size_t n = 0; n < nodes.size(); ++n)
    for (size_t k = nodes[n].first; k < nodes[n].first + nodes[n].count; ++k)
      place.emplace(model.kernels[k].name, n);
  std::set<Arc> arcs;
  for (size_t to = 0; to < nodes.size(); ++to)
    for (size_t k = nodes[to].first; k < nodes[to].first + nodes[to].count; ++k)
      for (const std::string &name : model.kernels[k].reads)
        if (auto from = place.find(name); from != place.end() && from->second != to)
          arcs.insert({from->second, to});
  return {arcs.begin(), arcs.end()};
}

constexpr double rowHeight = 20, top = 8, arcWidth = 150, box = 118, gap = 8, width = 1280;
double middleOf(size_t row) { return top + rowHeight * (static_cast<double>(row) + 0.5); }

void drawArcs(std::string &out, const std::vector<Arc> &arcs) {
  size_t longest = 1;
  for (const Arc &arc : arcs)
    longest = std::max(longest, arc.length());
  for (const Arc &arc : arcs) {
    // Longer arcs reach further out; the square root keeps short ones distinguishable.
    const double reach = 18 + (arcWidth - 40) * std::sqrt(static_cast<double>(arc.length()) /
                                                          static_cast<double>(longest));
    const double x = arcWidth, from = middleOf(arc.from) + 3, to = middleOf(arc.to) - 3;
    put(out,
        "<g data-e=\"{4} {5}\"><path class=\"edge-arc\" d=\"M{0} {1}C{2:.1f} {1} {2:.1f} {3} {0} "
        "{3}\"/><path class=\"edge-head\" d=\"M{0} {3}l-6 -3.5v7z\"/></g>",
        x, from, x - reach, to, arc.from, arc.to);
  }
}

void drawRow(std::string &out, const Row &row, size_t index) {
  constexpr double left = arcWidth + gap, nameLeft = left + box + gap;
  const double y = middleOf(index);
  if (row.target.empty())
    put(out, "<g data-n=\"{}\">", index);
  else
    put(out, "<a data-n=\"{}\" href=\"{}\">", index, row.target);
  // The whole row reacts to the pointer.
  put(out,
      "<rect class=\"row\" x=\"{0}\" y=\"{1:.1f}\" width=\"{2}\" height=\"{3}\"/>"
      "<rect class=\"ramp{4}\" x=\"{0}\" y=\"{5:.1f}\" width=\"{6}\" height=\"{7}\" rx=\"2\"/>",
      left, y - rowHeight / 2, width - left, rowHeight, rampOf(row.share), y - rowHeight / 2 + 1,
      box, rowHeight - 2);
  put(out,
      "<text x=\"{0}\" y=\"{1:.1f}\" text-anchor=\"end\">{2}</text>"
      "<text x=\"{3}\" y=\"{1:.1f}\">{4} %</text><text x=\"{5}\" y=\"{1:.1f}\">{6}</text>",
      left + box - 6, y + 4, timeText(row.timeNs), left + 6, percent(row.share), nameLeft,
      row.name);
  // The shape starts where the longest allowed name ends.
  put(out,
      "<text class=\"soft\" x=\"{}\" y=\"{:.1f}\">{}</text><text class=\"soft\" x=\"{}\" "
      "y=\"{:.1f}\" text-anchor=\"end\">{}</text>{}",
      nameLeft + 440, y + 4, row.shape, width - 4, y + 4, row.what,
      row.target.empty() ? "</g>" : "</a>");
}

std::string drawing(const std::vector<Row> &rows, const std::vector<Arc> &arcs,
                    std::string_view title, std::string_view description, std::string_view id) {
  std::string out;
  put(out,
      "<div class=\"scroll graph\" tabindex=\"0\" role=\"region\" aria-labelledby=\"{0}-t\"><svg "
      "class=\"graph\" role=\"img\" aria-labelledby=\"{0}-t {0}-d\" viewBox=\"0 0 {1} {2}\"><title "
      "id=\"{0}-t\">{3}</title><desc id=\"{0}-d\">{4} in execution order with {5} between "
      "them.</desc>",
      id, width, top * 2 + rowHeight * static_cast<double>(rows.size()), title, description,
      counted(arcs.size(), "edge"));
  drawArcs(out, arcs);
  for (size_t i = 0; i < rows.size(); ++i)
    drawRow(out, rows[i], i);
  return out + "</svg></div>";
}

/// The kernels of a folded node, of what repeats one time.
std::string insideOf(const Model &model, const Summary &summary, const GraphNode &node,
                     const KernelLinks &links, bool isOpen, std::string_view id) {
  std::vector<GraphNode> kernels;
  std::vector<Row> rows;
  double share = 0;
  for (size_t k = node.first; k < node.first + node.count; ++k)
    share += summary.share(model.kernels[k]);
  for (size_t k = node.first; k < node.first + node.count / node.repeats; ++k) {
    kernels.push_back({k, 1, 1, {}});
    rows.push_back(rowOf(model, summary, k, links));
  }
  std::string out;
  put(out, "<details id=\"{}\"{}><summary>{}{}, {}{}, {} % of the time</summary>", id,
      isOpen ? " open=\"\"" : "", escapeHtml(node.label, 60),
      node.label.empty() ? namesOf(model, node) : ": " + namesOf(model, node), countsOf(node),
      node.repeats > 1 ? ", the first of them" : "", percent(share));
  return out +
         drawing(rows, arcsOf(model, kernels), "Kernels of " + namesOf(model, node),
                 counted(rows.size(), "kernel"), id) +
         "</details>";
}

} // namespace

std::string graphFigure(const Model &model, const Summary &summary, size_t maxKernels,
                        const KernelLinks &links, std::string_view id) {
  const size_t shown = std::min(model.kernels.size(), maxKernels);
  if (shown == 0)
    return {};
  const std::vector<GraphNode> nodes =
      foldKernels(std::span(model.kernels).first(shown), mostNodes);
  std::vector<Row> rows;
  std::string folded;
  for (size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].isKernel()) {
      rows.push_back(rowOf(model, summary, nodes[n].first, links));
      continue;
    }
    const std::string inside = fmt::format("{}-{}", id, n);
    rows.push_back(rowOf(model, summary, nodes[n], "#" + inside));
    folded += insideOf(model, summary, nodes[n], links, nodes.size() == 1, inside);
  }
  std::string description = counted(shown, "kernel");
  if (nodes.size() < shown)
    put(description, " folded to {}", counted(nodes.size(), "row"));
  std::string out = "<figure>" + drawing(rows, arcsOf(model, nodes), "Kernels and what they read",
                                         description, id);
  out += "<figcaption>In execution order. Arcs lead from a kernel to those that read its result. "
         "Colour: share of the predicted time, a step for each factor of two.";
  if (!folded.empty())
    out +=
        " What repeats, what belongs to one layer and runs of kernels with little time are a row "
        "each, opened below.";
  if (shown < model.kernels.size())
    put(out, " The first {} of {}.", shown, counted(model.kernels.size(), "kernel"));
  return out + "</figcaption>" + folded + "</figure>";
}

} // namespace tilewright::report
