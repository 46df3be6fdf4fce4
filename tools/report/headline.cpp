#include "tools/report/headline.h"

#include "tools/report/graph_fold.h"
#include "tools/report/text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace tilewright::report {

namespace {

constexpr size_t maxItems = 3;
constexpr double leastShare = 0.005;

std::string kernelLink(const Model &model, size_t number, const KernelLinks &links) {
  const Kernel &kernel = model.kernels[number];
  return links.link(number,
                    fmt::format("<span class=\"mono\">{}</span>", escapeHtml(kernel.name, 60))) +
         (kernel.layer.empty() ? std::string() : " " + escapeHtml(kernel.layer, 60));
}

/// Kernels that do the same work in layers of one kind, the most expensive first.
struct WorkGroup {
  size_t foremost = 0, kernels = 0;
  double ns = 0;
};

std::vector<WorkGroup> workGroups(const Model &model, const Summary &summary) {
  std::map<std::tuple<std::string, std::string_view, std::string_view, double>, WorkGroup> groups;
  for (size_t number : summary.byTime) {
    const Kernel &kernel = model.kernels[number];
    WorkGroup &group = groups[{layerPattern(kernel.layer), kernel.kind, kernel.rootShape,
                               kernel.flops.value_or(0)}];
    if (group.kernels++ == 0)
      group.foremost = number;
    group.ns += totalTimeNs(kernel).value_or(0);
  }
  std::vector<WorkGroup> sorted;
  for (const auto &[work, group] : groups)
    sorted.push_back(group);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const WorkGroup &a, const WorkGroup &b) { return a.ns > b.ns; });
  return sorted;
}

std::string whereItGoes(const Model &model, const Summary &summary, const KernelLinks &links) {
  double shares = 0;
  size_t shown = 0, kernels = 0;
  std::string items;
  for (const WorkGroup &group : workGroups(model, summary)) {
    const double share = group.ns / summary.sumNs;
    if (shown == maxItems || share < leastShare)
      break;
    ++shown;
    kernels += group.kernels;
    shares += share;
    put(items, "<li><b>{} %</b> {}{}, {}</li>", percent(share),
        kernelLink(model, group.foremost, links),
        group.kernels > 1 ? fmt::format(" and {} like it", group.kernels - 1) : "",
        timeText(group.ns));
  }
  return fmt::format("<div><h3>Where the time goes</h3><ol>{}</ol><p class=\"note\">{} of {} {} {} "
                     "% of the time.</p></div>",
                     items, kernels, counted(model.kernels.size(), "kernel"),
                     kernels == 1 ? "takes" : "take", percent(std::min(shares, 1.0)));
}

std::string whatLimits(const Model &model, const Summary &summary) {
  const std::vector<LimiterTime> limiters = limiterTimes(model);
  std::string items;
  for (size_t i = 0; i < limiters.size() && i < maxItems; ++i)
    put(items, "<li><b>{} %</b> {}</li>", percent(limiters[i].ns / summary.sumNs),
        swatch(limiters[i].term, limiters[i].name));
  std::string bound;
  if (model.lowerBoundNs && summary.totalNs && *summary.totalNs > 0)
    bound =
        fmt::format("<p class=\"note\">{} % of speed of light: the lower bound is {}.</p>",
                    percent(*model.lowerBoundNs / *summary.totalNs), timeText(model.lowerBoundNs));
  return "<div><h3>What limits it</h3><ol>" + items + "</ol>" + bound + "</div>";
}

std::string whatToDo(const Model &model, const Summary &summary, const KernelLinks &links) {
  std::string items;
  const std::vector<Advice> advice = adviceOf(model, summary);
  for (size_t i = 0; i < advice.size() && i < maxItems; ++i)
    put(items, "<li><b>{}</b> ({} %) by {}: {}{}</li>", timeText(advice[i].gainNs),
        percent(advice[i].gainNs / summary.sumNs), escapeHtml(advice[i].what, 100),
        kernelLink(model, advice[i].foremost, links),
        advice[i].kernels > 1 ? fmt::format(" and {} more", advice[i].kernels - 1) : "");
  if (items.empty())
    return {};
  return "<div><h3>What would help</h3><ol>" + items +
         "</ol><p class=\"note\">Each gain by itself, by the model's formula.</p></div>";
}

} // namespace

std::vector<Advice> adviceOf(const Model &model, const Summary &summary) {
  struct Found {
    Advice advice;
    double most = 0;
  };
  std::map<std::string, Found> byWhat;
  for (size_t k = 0; k < model.kernels.size(); ++k)
    for (const auto &[what, gain] : model.kernels[k].levers) {
      const double gained = gain.value_or(0) * model.kernels[k].tripCount;
      if (!(gained > 0) || !std::isfinite(gained))
        continue;
      Found &found = byWhat[what];
      found.advice.gainNs += gained;
      ++found.advice.kernels;
      if (gained > found.most) {
        found.most = gained;
        found.advice.foremost = k;
      }
    }
  std::vector<Advice> advice;
  for (auto &[what, found] : byWhat) {
    found.advice.what = what;
    if (found.advice.gainNs >= leastShare * summary.sumNs)
      advice.push_back(found.advice);
  }
  std::stable_sort(advice.begin(), advice.end(),
                   [](const Advice &a, const Advice &b) { return a.gainNs > b.gainNs; });
  return advice;
}

std::vector<LimiterTime> limiterTimes(std::span<const Kernel *const> kernels) {
  std::map<std::string, LimiterTime> byName;
  for (const Kernel *kernel : kernels) {
    const Term term = termOf(kernel->limiter);
    const bool hasOwnName = term == Term::Other && !kernel->limiter.empty();
    const std::string name(hasOwnName ? std::string_view(kernel->limiter) : termName(term));
    LimiterTime &limiter = byName.try_emplace(name, LimiterTime{name, term, 0}).first->second;
    limiter.ns += totalTimeNs(*kernel).value_or(0);
  }
  std::vector<LimiterTime> sorted;
  for (auto &[name, limiter] : byName)
    if (limiter.ns > 0)
      sorted.push_back(std::move(limiter));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const LimiterTime &a, const LimiterTime &b) { return a.ns > b.ns; });
  return sorted;
}

std::vector<LimiterTime> limiterTimes(const Model &model) {
  std::vector<const Kernel *> kernels;
  for (const Kernel &kernel : model.kernels)
    kernels.push_back(&kernel);
  return limiterTimes(kernels);
}

std::string headline(const Model &model, const Summary &summary, const KernelLinks &links) {
  if (!(summary.sumNs > 0) || !std::isfinite(summary.sumNs))
    return {};
  return "<div class=\"headline\">" + whereItGoes(model, summary, links) +
         whatLimits(model, summary) + whatToDo(model, summary, links) + "</div>";
}

} // namespace tilewright::report
