#include "tools/report/graph_figure.h"

#include "tools/report/chart.h"
#include "tools/report/text.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilewright::report {

namespace {

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
};

std::vector<Arc> arcsOf(const Model &model, size_t shown) {
  std::map<std::string_view, size_t> position;
  for (size_t i = 0; i < shown; ++i)
    position.emplace(model.kernels[i].name, i);
  std::vector<Arc> arcs;
  for (size_t to = 0; to < shown; ++to)
    for (const std::string &name : model.kernels[to].reads)
      if (auto from = position.find(name); from != position.end() && from->second != to)
        arcs.push_back({from->second, to});
  return arcs;
}

} // namespace

std::string graphFigure(const Model &model, const Summary &summary, size_t maxKernels,
                        std::string_view id) {
  size_t shown = std::min(model.kernels.size(), maxKernels);
  if (shown == 0)
    return {};
  constexpr double row = 20, top = 8, arcWidth = 190, box = 118, gap = 8;
  constexpr double nameLeft = arcWidth + gap + box + gap;
  constexpr double width = 1320, textRight = width - 4;
  auto middle = [&](size_t i) { return top + row * (static_cast<double>(i) + 0.5); };
  std::vector<Arc> arcs = arcsOf(model, shown);
  size_t longest = 1;
  for (const Arc &arc : arcs)
    longest = std::max(longest, arc.length());

  std::string out;
  put(out,
      "<figure><svg class=\"chart graph\" role=\"img\" aria-labelledby=\"{0}-t {0}-d\" "
      "viewBox=\"0 0 {1} {2}\"><title id=\"{0}-t\">Kernels and what they read</title>"
      "<desc id=\"{0}-d\">{3} in execution order with {4} between them.</desc>",
      id, width, top * 2 + row * static_cast<double>(shown), counted(shown, "kernel"),
      counted(arcs.size(), "edge"));
  for (const Arc &arc : arcs) {
    // Longer arcs reach further out; the square root keeps short ones distinguishable.
    double reach = 18 + (arcWidth - 40) * std::sqrt(static_cast<double>(arc.length()) /
                                                    static_cast<double>(longest));
    double x = arcWidth, from = middle(arc.from) + 3, to = middle(arc.to) - 3;
    put(out, "<path class=\"edge-arc\" d=\"M{0} {1}C{2:.1f} {1} {2:.1f} {3} {0} {3}\"/>", x, from,
        x - reach, to);
    put(out, "<path class=\"edge-head\" d=\"M{0} {1}l-6 -3.5v7z\"/>", x, to);
  }
  for (size_t i = 0; i < shown; ++i) {
    const Kernel &kernel = model.kernels[i];
    double share = summary.share(kernel), y = middle(i);
    std::string what = escapeHtml(kernel.kind, 20);
    put(what, "{}{}", what.empty() ? "" : ", ", counted(kernel.ops.size(), "op"));
    if (kernel.tripCount != 1)
      put(what, ", {} runs", count(kernel.tripCount));
    if (!kernel.computation.empty())
      put(what, ", in {}", escapeHtml(kernel.computation, 40));
    put(out,
        "<rect class=\"ramp{0}\" x=\"{1}\" y=\"{2:.1f}\" width=\"{3}\" height=\"{4}\" rx=\"2\"/>"
        "<text class=\"ramp-text{0}\" x=\"{5}\" y=\"{6:.1f}\" text-anchor=\"end\">{7}</text>"
        "<text class=\"ramp-text{0}\" x=\"{8}\" y=\"{6:.1f}\">{9} %</text>",
        rampOf(share), arcWidth + gap, y - row / 2 + 1, box, row - 2, arcWidth + gap + box - 6,
        y + 4, timeText(totalTimeNs(kernel)), arcWidth + gap + 6, percent(share));
    put(out,
        "<text x=\"{}\" y=\"{:.1f}\">{}</text><text class=\"soft\" x=\"{}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{}</text>",
        nameLeft, y + 4, escapeHtml(kernel.name + layerText(kernel.layer), 60), textRight, y + 4,
        what);
    // The shape starts where the longest allowed name ends.
    put(out, "<text class=\"soft\" x=\"{}\" y=\"{:.1f}\">{}</text>", nameLeft + 440, y + 4,
        escapeHtml(kernel.rootShape, 44));
  }
  out += "</svg><figcaption>In execution order. Arcs lead from a kernel to those that read its "
         "result. Colour: share of the predicted time, a step for each factor of two.";
  if (shown < model.kernels.size())
    put(out, " The first {} of {}.", shown, counted(model.kernels.size(), "kernel"));
  return out + "</figcaption></figure>";
}

} // namespace tilewright::report
