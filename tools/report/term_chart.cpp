#include "tools/report/term_chart.h"

#include "analysis/support/printable.h"
#include "tools/report/text.h"

#include <algorithm>
#include <cmath>

namespace tilewright::report {

namespace {
struct TermStyle {
  std::string_view name, cssClass;
  std::vector<std::string_view> keywords; ///< lower case; the first kind with a match wins
};

const std::array<TermStyle, termCount> &styles() {
  static const std::array<TermStyle, termCount> table = {{
      {"tensor cores", "c-tensor", {"tensor", "mma"}},
      {"other arithmetic", "c-fma", {"fma", "alu", "sfu", "compute", "transcendental", "issue"}},
      {"shared memory", "c-shared", {"shared", "smem"}},
      {"L2", "c-l2", {"l2"}},
      {"DRAM", "c-dram", {"dram", "hbm", "bandwidth"}},
      {"latency", "c-latency", {"latency", "sync", "barrier", "pipeline"}},
      {"launch", "c-launch", {"launch", "overhead"}},
      {"tail", "c-tail", {"tail", "wave"}},
      {"other", "c-other", {}},
  }};
  return table;
}

const TermStyle &styleOf(Term term) { return styles()[static_cast<size_t>(term)]; }

double sumOf(const std::vector<std::pair<std::string, double>> &terms) {
  double sum = 0;
  for (const auto &[name, ns] : terms)
    sum += ns;
  return sum;
}
} // namespace

Term termOf(std::string_view name) {
  std::string lower(name.substr(0, 64));
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  for (size_t i = 0; i < termCount; ++i)
    for (std::string_view keyword : styles()[i].keywords)
      if (lower.find(keyword) != std::string::npos)
        return static_cast<Term>(i);
  return Term::Other;
}

std::string_view termName(Term term) { return styleOf(term).name; }
std::string_view termClass(Term term) { return styleOf(term).cssClass; }

std::string swatch(Term term, std::string_view text) {
  return fmt::format("<svg class=\"swatch\" aria-hidden=\"true\" viewBox=\"0 0 11 11\">"
                     "<rect class=\"{}\" width=\"11\" height=\"11\"/></svg>{}",
                     termClass(term), escapeHtml(text, 40));
}

std::vector<std::pair<std::string, double>> orderedTerms(const Kernel &kernel) {
  std::vector<std::pair<std::string, double>> terms;
  for (const auto &term : kernel.termsNs)
    if (std::isfinite(term.second) && term.second > 0)
      terms.push_back(term);
  std::stable_sort(terms.begin(), terms.end(),
                   [](const auto &a, const auto &b) { return termOf(a.first) < termOf(b.first); });
  return terms;
}

std::string termShares(const Kernel &kernel) {
  auto terms = orderedTerms(kernel);
  double sum = sumOf(terms);
  std::string text;
  for (size_t i = 0; i < terms.size() && i < termCount; ++i)
    put(text, "{}{} {} %", i ? ", " : "", excerpt(terms[i].first, 32),
        percent(terms[i].second / sum));
  return text;
}

std::string stackedBar(const std::vector<std::pair<std::string_view, double>> &parts,
                       std::string_view label, double width, double height) {
  double sum = 0;
  for (const auto &[cssClass, size] : parts)
    sum += size;
  std::string out;
  put(out,
      "<svg class=\"bar\" role=\"img\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "preserveAspectRatio=\"none\"><title>{2}</title>",
      width, height, escapeHtml(label, 1000));
  double x = 0;
  for (const auto &[cssClass, size] : parts) {
    double part = sum > 0 && std::isfinite(sum) ? width * (size / sum) : 0;
    // A hairline between neighbours keeps them apart without colour.
    if (part > 0)
      put(out, "<rect class=\"{}\" x=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\"/>", cssClass, x,
          std::max(part - 1, 0.4), height);
    x += part;
  }
  return out + "</svg>";
}

std::string termChart(const Kernel &kernel, std::string_view id) {
  constexpr size_t maxTerms = 16;
  constexpr double labelWidth = 120, barWidth = 330, valueWidth = 80, row = 20, top = 22;
  auto terms = orderedTerms(kernel);
  if (terms.size() > maxTerms)
    terms.resize(maxTerms);
  if (terms.empty())
    return {};
  double predicted = kernel.timeNs.value_or(0), largest = predicted;
  for (const auto &[name, ns] : terms)
    largest = std::max(largest, ns);

  double width = labelWidth + barWidth + valueWidth;
  double bottom = top + row * static_cast<double>(terms.size());
  std::string out;
  put(out,
      "<svg class=\"terms\" role=\"img\" aria-labelledby=\"{0}-t {0}-d\" width=\"{1}\" "
      "height=\"{2}\" viewBox=\"0 0 {1} {2}\"><title id=\"{0}-t\">Terms of {3}</title>"
      "<desc id=\"{0}-d\">Time of each term alone against the predicted time {4}: ",
      id, width, bottom + 4, escapeHtml(kernel.name), timeText(kernel.timeNs));
  for (size_t i = 0; i < terms.size(); ++i)
    put(out, "{}{} {}", i ? ", " : "", escapeHtml(terms[i].first, 32), timeText(terms[i].second));
  out += ".</desc>";
  for (size_t i = 0; i < terms.size(); ++i) {
    const auto &[name, ns] = terms[i];
    double y = top + row * static_cast<double>(i);
    bool limits = name == kernel.limiter;
    put(out,
        "<text class=\"{}\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>"
        "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"/>"
        "<text class=\"{}\" x=\"{:.1f}\" y=\"{}\">{}</text>",
        limits ? "strong" : "soft", labelWidth - 8, y + 14, escapeHtml(name, 18),
        termClass(termOf(name)), labelWidth, y + 3, std::max(barWidth * (ns / largest), 1.0),
        row - 6, limits ? "strong" : "soft", labelWidth + barWidth * (ns / largest) + 6, y + 14,
        timeText(ns));
  }
  if (predicted > 0) {
    double x = labelWidth + barWidth * (predicted / largest);
    put(out,
        "<line class=\"mark\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>"
        "<text class=\"soft\" x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"{4}\">predicted {5}</text>",
        x, top - 4, bottom, top - 8, x > width * 0.7 ? "end" : "middle", timeText(predicted));
  }
  return out + "</svg>";
}

} // namespace tilewright::report
