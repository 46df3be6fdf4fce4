#include "tools/report/residuals.h"

#include "tools/report/text.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilewright::report {

namespace {
constexpr size_t maxFamilies = 40, maxDimensions = 12, maxValues = 10, maxProblems = 25;

/// The value at a fraction of a sorted, non-empty list, between neighbours in proportion.
double quantile(const std::vector<double> &sorted, double fraction) {
  double position = fraction * static_cast<double>(sorted.size() - 1);
  size_t below = static_cast<size_t>(position);
  size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// Numbers in their order, then words.
struct ValueOrder {
  bool operator()(const std::string &a, const std::string &b) const {
    auto key = [](const std::string &text) {
      char *end = nullptr;
      double number = std::strtod(text.c_str(), &end);
      bool isNumber = !text.empty() && *end == 0;
      return std::tuple(!isNumber, isNumber ? number : 0, text);
    };
    return key(a) < key(b);
  }
};

using RatiosByValue = std::map<std::string, std::vector<double>, ValueOrder>;

/// Ratio 1/2 to 2 over the pixels of a panel, logarithmic; beyond that on the edge.
double heightOf(double ratio, double top, double bottom) {
  double clamped = std::clamp(std::log2(ratio), -1.0, 1.0);
  return (top + bottom) / 2 - clamped * (bottom - top) / 2;
}

std::string panel(std::string_view dimension, const RatiosByValue &values, std::string_view id) {
  constexpr double left = 40, top = 8, height = 96, step = 40, bottom = top + height;
  size_t shown = std::min(values.size(), maxValues);
  double right = left + step * static_cast<double>(shown);
  std::string out, marks, description;
  size_t i = 0;
  for (const auto &[value, ratios] : values) {
    if (i == shown)
      break;
    std::vector<double> sorted(ratios);
    std::sort(sorted.begin(), sorted.end());
    double median = quantile(sorted, 0.5), low = quantile(sorted, 0.1),
           high = quantile(sorted, 0.9);
    double x = left + step * (static_cast<double>(i++) + 0.5);
    put(marks,
        "<path class=\"spread\" d=\"M{0:.0f} {1:.1f}V{2:.1f}\"/>"
        "<path class=\"median\" d=\"M{3:.0f} {4:.1f}h14\"/>"
        "<text class=\"soft\" x=\"{0:.0f}\" y=\"{5}\" text-anchor=\"middle\">{6}</text>",
        x, heightOf(low, top, bottom), heightOf(high, top, bottom), x - 7,
        heightOf(median, top, bottom), bottom + 15, escapeHtml(value, 6));
    put(description, "{}{}: {:.2f} ({:.2f} to {:.2f}, {})", description.empty() ? "" : "; ",
        escapeHtml(value, 20), median, low, high, counted(ratios.size(), "row"));
  }
  put(out,
      "<svg class=\"residual\" role=\"img\" aria-labelledby=\"{0}-t {0}-d\" width=\"{1}\" "
      "height=\"{2}\" viewBox=\"0 0 {1} {2}\"><title id=\"{0}-t\">Predicted over measured by {3}"
      "</title><desc id=\"{0}-d\">Median (10th to 90th percentile) at each value: {4}.</desc>",
      id, right + 8, bottom + 36, escapeHtml(dimension, 30), description);
  for (auto [ratio, label] : {std::pair(0.5, "0.5"), {1.0, "1"}, {2.0, "2"}}) {
    double y = heightOf(ratio, top, bottom);
    put(out,
        "<path class=\"{0}\" d=\"M{1} {2:.1f}H{3}\"/><text class=\"soft\" x=\"{4}\" y=\"{5:.1f}\" "
        "text-anchor=\"end\">{6}</text>",
        ratio == 1 ? "axis" : "grid", left, y, right, left - 6, y + 4, label);
  }
  put(out, "{}<text x=\"{:.0f}\" y=\"{}\" text-anchor=\"middle\">{}</text></svg>", marks,
      (left + right) / 2, bottom + 32, escapeHtml(dimension, 30));
  return out;
}

Regret judge(std::string name, std::vector<std::pair<double, double>> plans) {
  std::sort(plans.begin(), plans.end()); // predicted, measured
  Regret regret{std::move(name), plans.size(), plans.front().second, plans.front().second, 1};
  for (const auto &[predicted, measured] : plans)
    regret.bestNs = std::min(regret.bestNs, measured);
  while (regret.bestNs < 0.99 * plans[regret.needed - 1].second)
    ++regret.needed; // ends at the best plan itself
  return regret;
}

} // namespace

std::string residualFigures(const Evaluation &evaluation, std::string_view id) {
  std::map<std::string, std::map<std::string, RatiosByValue>> families;
  for (const Measured &row : evaluation.rows)
    if (hasBothTimes(row))
      for (const auto &[name, value] : row.plan)
        families[row.family][name][value].push_back(*row.predictedNs / *row.measuredNs);
  std::string out;
  size_t number = 0, shownFamilies = 0;
  for (auto &[family, dimensions] : families) {
    std::erase_if(dimensions, [](const auto &entry) { return entry.second.size() < 2; });
    if (dimensions.empty())
      continue;
    if (shownFamilies++ == maxFamilies)
      break;
    put(out, "<details{}><summary><b>{}</b> by {}</summary><div class=\"panels\">",
        shownFamilies == 1 ? " open" : "", escapeHtml(family),
        counted(dimensions.size(), "dimension"));
    size_t shown = 0;
    for (const auto &[dimension, values] : dimensions) {
      if (shown++ == maxDimensions)
        break;
      out += panel(dimension, values, fmt::format("{}-{}", id, number++));
    }
    out += "</div></details>";
  }
  if (!out.empty())
    out += "<p class=\"note\">Predicted over measured time: the dash is the median, the line the "
           "10th to the 90th percentile. At most ten values of a dimension.</p>";
  return out;
}

std::vector<Regret> regrets(const Evaluation &evaluation) {
  std::map<std::pair<std::string, std::string>, std::vector<std::pair<double, double>>> plans;
  for (const Measured &row : evaluation.rows)
    if (hasBothTimes(row) && !row.group.empty())
      plans[{row.family, row.group}].push_back({*row.predictedNs, *row.measuredNs});
  std::vector<Regret> result;
  for (auto &[key, times] : plans)
    result.push_back(judge(key.second, std::move(times)));
  std::stable_sort(result.begin(), result.end(),
                   [](const Regret &a, const Regret &b) { return a.share() < b.share(); });
  return result;
}

std::string regretTable(const Evaluation &evaluation, std::string_view id) {
  std::vector<Regret> problems = regrets(evaluation);
  if (problems.empty())
    return {};
  size_t shown = std::min(problems.size(), maxProblems);
  std::string out;
  put(out,
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"{0}\"><table "
      "class=\"records\" aria-labelledby=\"{0}\"><thead><tr><th scope=\"col\">Problem</th>"
      "<th scope=\"col\" class=\"num\">Plans (count)</th>"
      "<th scope=\"col\" class=\"num\">Fastest measured (µs)</th>"
      "<th scope=\"col\" class=\"num\">Predicted fastest, measured (µs)</th>"
      "<th scope=\"col\" class=\"num\">Top&nbsp;1 (% of best)</th>"
      "<th scope=\"col\" class=\"num\">Plans to try for 99&nbsp;%</th></tr></thead><tbody>",
      id);
  for (size_t i = 0; i < shown; ++i) {
    const Regret &regret = problems[i];
    put(out,
        "<tr><th scope=\"row\" class=\"mono\">{}</th><td class=\"num\">{}</td><td class=\"num\">{}"
        "</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td></tr>",
        escapeHtml(regret.problem, 80), count(static_cast<double>(regret.plans)),
        threeDigits(regret.bestNs / 1e3), threeDigits(regret.chosenNs / 1e3),
        percent(regret.share()), regret.needed);
  }
  out += "</tbody></table></div>";
  if (shown < problems.size())
    put(out, "<p class=\"note\">The {} worst of {}.</p>", shown,
        counted(problems.size(), "problem"));
  return out;
}

} // namespace tilewright::report
