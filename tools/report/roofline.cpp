#include "tools/report/roofline.h"

#include "analysis/support/printable.h"
#include "tools/report/chart.h"
#include "tools/report/text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <span>

namespace tilewright::report {

namespace {
constexpr double width = 1140, height = 470;
constexpr Box plot{72, 16, 930, 420}; // ceilings are labelled right of it
constexpr double railWidth = 34;
constexpr double radiusOfAll = 36, largestRadius = 26, smallestRadius = 3;
constexpr double lineHeight = 15;
constexpr size_t maxLabels = 8, labelLength = 26;

struct Ceiling {
  double flopsPerS;
  std::string label;
};

/// Equal peaks share a line: "bf16, f16 990 TFLOP/s". Highest first.
std::vector<Ceiling> ceilingsOf(const Device &device) {
  constexpr size_t maxCeilings = 8;
  std::map<double, std::string, std::greater<>> byPeak;
  for (const auto &[dtype, peak] : device.peakFlopsPerS) {
    if (!(peak > 0))
      continue;
    std::string &names = byPeak[peak];
    names += (names.empty() ? "" : ", ") + excerpt(dtype, 16);
  }
  std::vector<Ceiling> result;
  for (const auto &[peak, names] : byPeak)
    if (result.size() < maxCeilings)
      result.push_back({peak, excerpt(names, 12) + " " + rateText(peak, "FLOP/s")});
  return result;
}

enum class Place { Plane, LeftRail, RightRail, Nowhere };

struct Dot {
  const Kernel *kernel;
  Place place;
  double share, radius;
  double intensity = 0, flopsPerS = 0, bytesPerS = 0; ///< 0 where unknown
  double x = 0, y = 0;
};

Dot dotFor(const Kernel &kernel, const Summary &summary) {
  Dot dot{&kernel, Place::Nowhere, summary.share(kernel), 0};
  dot.radius = std::clamp(radiusOfAll * std::sqrt(dot.share), smallestRadius, largestRadius);
  dot.intensity = intensity(kernel).value_or(0);
  dot.flopsPerS = achievedFlopsPerS(kernel).value_or(0);
  dot.bytesPerS = achievedBytesPerS(kernel).value_or(0);
  if (dot.intensity > 0 && dot.flopsPerS > 0)
    dot.place = Place::Plane;
  else if (dot.flopsPerS > 0)
    dot.place = Place::RightRail;
  else if (dot.bytesPerS > 0)
    dot.place = Place::LeftRail;
  return dot;
}

std::string dotTitle(const Dot &dot) {
  std::string text = fmt::format("{}: {}, {} % of the time", escapeHtml(dot.kernel->name),
                                 timeText(totalTimeNs(*dot.kernel)), percent(dot.share));
  if (dot.flopsPerS > 0)
    put(text, ", {}", rateText(dot.flopsPerS, "FLOP/s"));
  if (dot.intensity > 0)
    put(text, ", {} FLOP/byte", threeDigits(dot.intensity));
  if (dot.bytesPerS > 0)
    put(text, ", DRAM {}", rateText(dot.bytesPerS, "B/s"));
  if (!dot.kernel->limiter.empty())
    put(text, ", limited by {}", escapeHtml(dot.kernel->limiter, 40));
  return text;
}

/// "100 G": a power of ten with its prefix.
std::string siTick(double tick) {
  std::string text = rateText(tick, "");
  size_t space = text.find(' ');
  std::string number = powerOfTen(std::strtod(text.c_str(), nullptr));
  return space == std::string::npos ? number : number + text.substr(space);
}

std::string svgText(std::string_view cssClass, double x, double y, std::string_view anchor,
                    std::string_view escapedText) {
  return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>",
                     cssClass, x, y, anchor, escapedText);
}

class Roofline {
public:
  Roofline(const Device &device, const Model &model, const Summary &summary, DotLimits limits)
      : ceilings(ceilingsOf(device)), bandwidth(device.dramBytesPerS.value_or(0)),
        titles(limits.titles) {
    for (size_t index :
         std::span(summary.byTime).first(std::min(limits.dots, summary.byTime.size())))
      dots.push_back(dotFor(model.kernels[index], summary));
    placeDots();
  }

  std::string svg(std::string_view modelName, std::string_view id) {
    std::string out;
    put(out,
        "<svg class=\"chart\" role=\"img\" aria-labelledby=\"{0}-t {0}-d\" viewBox=\"0 0 {1} {2}\">"
        "<title id=\"{0}-t\">Roofline of {3}</title><desc id=\"{0}-d\">Compute rate in FLOP/s over "
        "arithmetic intensity in FLOP per DRAM byte, both on logarithmic axes, with {4} under the "
        "DRAM slope and {5}. The table below has the same numbers.</desc>",
        id, width, height, escapeHtml(modelName), counted(drawn(), "kernel"),
        counted(ceilings.size(), "compute ceiling"));
    drawAxes(out);
    drawRoof(out);
    drawDots(out);
    drawLabels(out);
    return out + "</svg>";
  }

  size_t drawn() const { return dots.size() - count(Place::Nowhere); }
  size_t count(Place place) const {
    return static_cast<size_t>(std::count_if(dots.begin(), dots.end(),
                                             [&](const Dot &dot) { return dot.place == place; }));
  }

private:
  void placeDots() {
    std::vector<double> xs, ys;
    for (const Dot &dot : dots)
      if (dot.place == Place::Plane) {
        xs.push_back(dot.intensity);
        ys.push_back(dot.flopsPerS);
      } else if (dot.place == Place::RightRail) {
        ys.push_back(dot.flopsPerS);
      }
    for (const Ceiling &ceiling : ceilings) {
      ys.push_back(ceiling.flopsPerS);
      if (bandwidth > 0)
        xs.push_back(ceiling.flopsPerS / bandwidth);
    }
    left = plot.left + (count(Place::LeftRail) ? railWidth : 0);
    right = plot.right - (count(Place::RightRail) ? railWidth : 0);
    x = LogAxis::covering(xs, 0.35, 3, left, right);
    // Rail dots hang from the slope's height at the left end.
    for (const Dot &dot : dots)
      if (dot.place == Place::LeftRail)
        ys.push_back(dot.bytesPerS * x.low());
    if (bandwidth > 0)
      ys.push_back(bandwidth * x.low());
    y = LogAxis::covering(ys, 0.25, 3, plot.bottom, plot.top);
    for (Dot &dot : dots) {
      switch (dot.place) {
      case Place::Plane:
        dot.x = x.at(dot.intensity);
        dot.y = y.at(dot.flopsPerS);
        break;
      case Place::LeftRail:
        dot.x = plot.left + railWidth / 2;
        dot.y = y.at(dot.bytesPerS * x.low());
        dot.radius = std::min(dot.radius, railWidth / 2 - 1);
        break;
      case Place::RightRail:
        dot.x = plot.right - railWidth / 2;
        dot.y = y.at(dot.flopsPerS);
        dot.radius = std::min(dot.radius, railWidth / 2 - 1);
        break;
      case Place::Nowhere:
        break;
      }
    }
  }

  void drawRail(std::string &out, double railLeft, std::string_view label) const {
    put(out,
        "<rect class=\"rail\" x=\"{:.1f}\" y=\"{}\" width=\"{}\" height=\"{}\"/>"
        "<text class=\"soft\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
        railLeft, plot.top, railWidth, plot.bottom - plot.top, railLeft + railWidth / 2,
        plot.bottom + 18, label);
  }

  void drawAxes(std::string &out) const {
    if (count(Place::LeftRail))
      drawRail(out, plot.left, "0");
    if (count(Place::RightRail))
      drawRail(out, plot.right - railWidth, "∞");
    for (double tick : x.ticks()) {
      put(out, "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>",
          x.at(tick), plot.top, plot.bottom);
      out += svgText("soft", x.at(tick), plot.bottom + 18, "middle", powerOfTen(tick));
    }
    for (double tick : y.ticks()) {
      put(out, "<line class=\"grid\" x1=\"{1:.1f}\" x2=\"{2:.1f}\" y1=\"{0:.1f}\" y2=\"{0:.1f}\"/>",
          y.at(tick), left, right);
      out += svgText("soft", plot.left - 8, y.at(tick) + 4, "end", siTick(tick));
    }
    put(out, "<path class=\"axis\" d=\"M{0} {1}V{2}H{3}\"/>", plot.left, plot.top, plot.bottom,
        plot.right);
    out += svgText("axis-title", (left + right) / 2, height - 8, "middle",
                   "arithmetic intensity (FLOP / DRAM byte)");
    put(out,
        "<text class=\"axis-title\" transform=\"translate(18 {}) rotate(-90)\" "
        "text-anchor=\"middle\">compute rate (FLOP/s)</text>",
        (plot.top + plot.bottom) / 2);
  }

  void drawRoof(std::string &out) {
    double highest = ceilings.empty() ? y.high() : ceilings.front().flopsPerS;
    if (bandwidth > 0) {
      double topX = std::min(highest / bandwidth, x.high());
      double x1 = x.at(x.low()), y1 = y.at(bandwidth * x.low());
      double x2 = x.at(topX), y2 = y.at(bandwidth * topX);
      put(out, "<line class=\"roof\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>", x1,
          y1, x2, y2);
      double angle = std::atan2(y2 - y1, x2 - x1) * 180 / std::numbers::pi;
      double along = 0.3, labelX = x1 + along * (x2 - x1), labelY = y1 + along * (y2 - y1);
      put(out,
          "<text class=\"roof-label\" transform=\"translate({:.1f} {:.1f}) rotate({:.1f})\" "
          "dy=\"-6\" text-anchor=\"middle\">DRAM  {}</text>",
          labelX, labelY, angle, rateText(bandwidth, "B/s"));
      // The slanted label and its line, as a chain of small boxes for the label placer.
      for (double t = 0; t < 1; t += 0.02) {
        double px = x1 + t * (x2 - x1), py = y1 + t * (y2 - y1);
        bool underLabel = std::abs(t - along) < 0.16;
        placer.addObstacle({px - 8, py - (underLabel ? 20 : 4), px + 8, py + 4});
      }
    }
    double labelY = plot.top - lineHeight;
    for (const Ceiling &ceiling : ceilings) {
      double level = y.at(ceiling.flopsPerS);
      double start = bandwidth > 0 ? x.at(ceiling.flopsPerS / bandwidth) : left;
      put(out, "<line class=\"{}\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>",
          &ceiling == &ceilings.front() ? "roof" : "ceiling", start, right, level, level);
      // Ceilings can be closer than a line of text: labels then move down.
      labelY = std::max(labelY + lineHeight, level);
      put(out, "<path class=\"leader\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>", plot.right, level,
          plot.right + 10, labelY);
      out += svgText("roof-label", plot.right + 14, labelY + 4, "start", escapeHtml(ceiling.label));
      placer.addObstacle({start, level - 2, right, level + 2});
    }
  }

  void drawDots(std::string &out) const {
    // Most expensive first, so that small dots end up on top of large ones.
    for (size_t i = 0; i < dots.size(); ++i) {
      const Dot &dot = dots[i];
      if (dot.place == Place::Nowhere)
        continue;
      put(out, "<circle class=\"dot {}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"",
          termClass(termOf(dot.kernel->limiter)), dot.x, dot.y, dot.radius);
      if (i < titles)
        put(out, "><title>{}</title></circle>", dotTitle(dot));
      else
        out += "/>";
    }
  }

  void drawLabels(std::string &out) {
    std::vector<const Dot *> labelled;
    for (const Dot &dot : dots)
      if (dot.place != Place::Nowhere && labelled.size() < maxLabels && dot.share >= 0.01)
        labelled.push_back(&dot);
    for (const Dot *dot : labelled)
      placer.addObstacle(
          {dot->x - dot->radius, dot->y - dot->radius, dot->x + dot->radius, dot->y + dot->radius});
    for (const Dot *dot : labelled)
      drawLabel(out, *dot);
  }

  /// Tries places around the dot, nearest first; a dot in a crowd stays without a label.
  void drawLabel(std::string &out, const Dot &dot) {
    std::string text = excerpt(dot.kernel->name, labelLength);
    double size = textWidth(text);
    for (double distance : {3.0, 14.0, 28.0, 46.0, 70.0}) {
      double reach = dot.radius + distance, diagonal = reach * 0.71;
      struct {
        double dx, dy;
        double anchor; ///< fraction of the text's width left of the place
      } candidates[] = {{reach, 0, 0},
                        {-reach, 0, 1},
                        {0, -reach - 7, 0.5},
                        {0, reach + 7, 0.5},
                        {diagonal, -diagonal, 0},
                        {diagonal, diagonal, 0},
                        {-diagonal, -diagonal, 1},
                        {-diagonal, diagonal, 1}};
      for (const auto &candidate : candidates) {
        double labelLeft = dot.x + candidate.dx - candidate.anchor * size;
        double middle = dot.y + candidate.dy;
        Box box{labelLeft, middle - lineHeight / 2, labelLeft + size, middle + lineHeight / 2};
        if (!placer.take(box))
          continue;
        if (distance > 10) {
          double scale = dot.radius / std::hypot(candidate.dx, candidate.dy);
          put(out,
              "<line class=\"leader\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>",
              dot.x + candidate.dx * scale, dot.y + candidate.dy * scale, dot.x + candidate.dx,
              middle);
        }
        std::string_view anchor = candidate.anchor == 0   ? "start"
                                  : candidate.anchor == 1 ? "end"
                                                          : "middle";
        out += svgText("dot-label", dot.x + candidate.dx, middle + 4, anchor, escapeHtml(text));
        return;
      }
    }
  }

  std::vector<Ceiling> ceilings;
  double bandwidth;
  size_t titles;
  std::vector<Dot> dots; ///< most expensive first
  double left = plot.left, right = plot.right;
  LogAxis x{1, 10, 0, 1}, y{1, 10, 0, 1};
  LabelPlacer placer{plot};
};
} // namespace

std::string rooflineFigure(const Device &device, const Model &model, const Summary &summary,
                           DotLimits limits, std::string_view id) {
  Roofline roofline(device, model, summary, limits);
  std::string out = "<figure>";
  out += "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Roofline\">";
  out += roofline.svg(modelTitle(model.name), id);
  out += "</div><figcaption>Area: share of the predicted time. Colour: limiting term.";
  if (size_t n = roofline.count(Place::LeftRail))
    put(out,
        " {} without FLOPs on the left rail, as far below the DRAM slope as its bandwidth is below "
        "the peak.",
        counted(n, "kernel"));
  if (size_t n = roofline.count(Place::RightRail))
    put(out, " {} without DRAM traffic on the right rail.", counted(n, "kernel"));
  if (size_t n = roofline.count(Place::Nowhere))
    put(out, " {} without a predicted time, or with neither FLOPs nor bytes, not drawn.",
        counted(n, "kernel"));
  if (limits.dots < model.kernels.size())
    put(out, " {} not drawn.", counted(model.kernels.size() - limits.dots, "cheaper kernel"));
  return out + "</figcaption></figure>";
}

} // namespace tilewright::report
