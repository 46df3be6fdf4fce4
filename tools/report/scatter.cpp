#include "tools/report/scatter.h"

#include "tools/report/chart.h"
#include "tools/report/text.h"

#include <cmath>
#include <map>
#include <set>

namespace tilewright::report {

namespace {
constexpr size_t maxPanels = 40;
constexpr double band = 0.2;

struct Point {
  double measuredNs, predictedNs;
};

std::string tickText(double ns) {
  TimeUnit unit = timeUnitFor(ns * 1.0000001); // 10^k is not always exact
  return fmt::format("{} {}", powerOfTen(ns / unit.ns), unit.name);
}

std::string panel(std::string_view family, const std::vector<Point> &points, double low,
                  double high, double side, std::string_view id) {
  const double left = 62, top = 10, right = left + side, bottom = top + side;
  LogAxis x(low, high, left, right), y(low, high, bottom, top);
  size_t within = 0;
  // One mark a pixel and no more.
  std::set<std::pair<int, int>> pixels;
  for (const Point &point : points) {
    pixels.emplace(static_cast<int>(std::lround(x.at(point.measuredNs))),
                   static_cast<int>(std::lround(y.at(point.predictedNs))));
    double ratio = point.predictedNs / point.measuredNs;
    within += ratio >= 1 - band && ratio <= 1 + band;
  }
  std::string share = percent(static_cast<double>(within) / static_cast<double>(points.size()));

  std::string out;
  put(out,
      "<figure class=\"panel\"><figcaption><strong>{3}</strong> {4}, {5} % within ±20 %"
      "</figcaption><svg class=\"scatter\" role=\"img\" aria-labelledby=\"{0}-t {0}-d\" "
      "viewBox=\"0 0 {1} {2}\" width=\"{1}\" height=\"{2}\"><title id=\"{0}-t\">Predicted against "
      "measured time of {3}</title><desc id=\"{0}-d\">{4}, {5} % of them within 20 percent of the "
      "measured time. Both axes are logarithmic.</desc>",
      id, right + 14, bottom + 46, escapeHtml(family), counted(points.size(), "row"), share);
  put(out,
      "<clipPath id=\"{0}-c\"><rect x=\"{1}\" y=\"{2}\" width=\"{3}\" height=\"{3}\"/></clipPath>",
      id, left, top, side);
  auto ticks = x.ticks();
  for (double tick : ticks) {
    put(out,
        "<path class=\"grid\" d=\"M{0:.1f} {1}V{2}M{3} {4:.1f}H{5}\"/>"
        "<text class=\"soft\" x=\"{0:.1f}\" y=\"{6}\" text-anchor=\"middle\">{8}</text>"
        "<text class=\"soft\" x=\"{7}\" y=\"{9:.1f}\" text-anchor=\"end\">{8}</text>",
        x.at(tick), top, bottom, left, y.at(tick), right, bottom + 17, left - 7, tickText(tick),
        y.at(tick) + 4);
  }
  // On logarithmic axes the band's edges are parallels of the diagonal.
  double decade = side / (std::log10(high) - std::log10(low));
  double up = std::log10(1 + band) * decade, down = -std::log10(1 - band) * decade;
  std::string clip = fmt::format("<g clip-path=\"url(#{}-c)\">", id);
  put(out, "{}<path class=\"band\" d=\"M{} {:.1f}L{} {:.1f}V{:.1f}L{} {:.1f}Z\"/></g>", clip, left,
      bottom - up, right, top - up, top + down, left, bottom + down);
  out += "<path class=\"points\" d=\"";
  for (auto [px, py] : pixels)
    put(out, "M{} {}h0", px, py);
  // Above the points, which would hide the band where they are dense.
  put(out,
      "\"/>{}<path class=\"edge\" d=\"M{} {:.1f}L{} {:.1f}M{} {:.1f}L{} {:.1f}\"/>"
      "<path class=\"equal\" d=\"M{} {}L{} {}\"/></g>",
      clip, left, bottom - up, right, top - up, left, bottom + down, right, top + down, left,
      bottom, right, top);
  put(out,
      "<path class=\"axis\" d=\"M{0} {1}V{2}H{3}\"/>"
      "<text class=\"axis-title\" x=\"{4}\" y=\"{5}\" text-anchor=\"middle\">measured</text>"
      "<text class=\"axis-title\" transform=\"translate(12 {6}) rotate(-90)\" "
      "text-anchor=\"middle\">predicted</text></svg></figure>",
      left, top, bottom, right, (left + right) / 2, bottom + 38, (top + bottom) / 2);
  return out;
}
} // namespace

std::string scatterFigures(const Evaluation &evaluation, std::string_view id) {
  std::map<std::string, std::vector<Point>> byFamily;
  std::vector<double> times;
  size_t dropped = 0;
  for (const Measured &row : evaluation.rows) {
    if (!hasBothTimes(row)) {
      ++dropped;
      continue;
    }
    byFamily[row.family].push_back({*row.measuredNs, *row.predictedNs});
    times.push_back(*row.measuredNs);
    times.push_back(*row.predictedNs);
  }
  if (byFamily.empty())
    return {};
  LogAxis common = LogAxis::covering(times, 0.1, 1.5, 0, 1);
  double side = byFamily.size() == 1 ? 400 : 300;
  std::string out = "<div class=\"panels\">";
  size_t number = 0;
  for (const auto &[family, points] : byFamily) {
    if (number == maxPanels)
      break;
    out += panel(family, points, common.low(), common.high(), side,
                 fmt::format("{}-{}", id, number++));
  }
  out += "</div>";
  if (byFamily.size() > maxPanels)
    put(out, "<p class=\"note\">Panels for the first {} of {} families.</p>", maxPanels,
        byFamily.size());
  if (dropped)
    put(out, "<p class=\"note\">{} without a predicted or a measured time not drawn.</p>",
        counted(dropped, "row"));
  return out;
}

} // namespace tilewright::report
