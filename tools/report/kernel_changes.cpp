#include "tools/report/kernel_changes.h"

#include "tools/report/summary.h"
#include "tools/report/text.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilewright::report {

namespace {

constexpr size_t maxTerms = 2;
constexpr double leastTermChange = 0.02; ///< of the time

/// "k07_dot.3" is "dot.3": numbers move where kernels come or go.
std::string_view nameWithoutNumber(std::string_view name) {
  size_t end = 1;
  while (end < name.size() && name[end] >= '0' && name[end] <= '9')
    ++end;
  const bool isNumbered =
      name.starts_with("k") && end > 1 && end + 1 < name.size() && name[end] == '_';
  return isNumbered ? name.substr(end + 1) : name;
}

void add(std::string &out, std::string_view part) {
  if (!part.empty())
    put(out, "{}{}", out.empty() ? "" : "; ", part);
}

std::string parameterChanges(const Parameters &before, const Parameters &after) {
  std::string out;
  for (const auto &[name, value] : after) {
    const auto old = std::find_if(before.begin(), before.end(),
                                  [&](const auto &one) { return one.first == name; });
    if (old == before.end() || old->second != value)
      put(out, "{}{} {} → {}", out.empty() ? "" : ", ", escapeHtml(name, 32),
          old == before.end() ? "–" : escapeHtml(old->second, 32), escapeHtml(value, 32));
  }
  return out;
}

std::string planChanges(const Plan &before, const Plan &after) {
  std::string out = parameterChanges(before.tile, after.tile);
  const std::string schedule = parameterChanges(before.schedule, after.schedule);
  if (!schedule.empty())
    put(out, "{}{}", out.empty() ? "" : ", ", schedule);
  return out.empty() ? out : "plan: " + out;
}

/// Those that changed most, of a size that matters.
std::string termChanges(const Kernel &before, const Kernel &after) {
  std::map<std::string, std::pair<double, double>> terms;
  for (const auto &[name, ns] : before.termsNs)
    terms[name].first = ns;
  for (const auto &[name, ns] : after.termsNs)
    terms[name].second = ns;
  std::vector<std::pair<double, std::string>> changes;
  const double least =
      leastTermChange * std::max(before.timeNs.value_or(0), after.timeNs.value_or(0));
  for (const auto &[name, ns] : terms) {
    const double change = std::abs(ns.first - ns.second);
    if (std::isfinite(change) && change > least)
      changes.emplace_back(-change, fmt::format("{} {} → {}", escapeHtml(name, 40),
                                                timeText(ns.first), timeText(ns.second)));
  }
  std::sort(changes.begin(), changes.end());
  std::string out;
  for (size_t i = 0; i < changes.size() && i < maxTerms; ++i)
    add(out, changes[i].second);
  return out;
}

void addNumber(std::string &out, Quantity before, Quantity after, auto textOf) {
  if (before != after)
    add(out, fmt::format("{} in place of {}", textOf(after), textOf(before)));
}

} // namespace

double KernelChange::weightNs() const {
  auto time = [](const Kernel *kernel) { return kernel ? totalTimeNs(*kernel).value_or(0) : 0; };
  return std::abs(time(after) - time(before));
}

std::vector<KernelChange> kernelChanges(const Model &before, const Model &after) {
  std::map<std::pair<std::string_view, size_t>, KernelChange> byName;
  std::map<std::string_view, size_t> seen;
  for (const Kernel &kernel : before.kernels) {
    const std::string_view name = nameWithoutNumber(kernel.name);
    byName[{name, seen[name]++}].before = &kernel;
  }
  seen.clear();
  for (const Kernel &kernel : after.kernels) {
    const std::string_view name = nameWithoutNumber(kernel.name);
    byName[{name, seen[name]++}].after = &kernel;
  }
  std::vector<KernelChange> changes;
  for (const auto &[name, change] : byName)
    if (change.weightNs() > 0)
      changes.push_back(change);
  std::stable_sort(changes.begin(), changes.end(),
                   [](const auto &a, const auto &b) { return a.weightNs() > b.weightNs(); });
  return changes;
}

std::string whyText(const KernelChange &change) {
  if (!change.before)
    return fmt::format("new, of {}", counted(change.after->ops.size(), "op"));
  if (!change.after)
    return fmt::format("gone, of {}", counted(change.before->ops.size(), "op"));
  const Kernel &before = *change.before, &after = *change.after;
  std::string out;
  if (before.ops.size() != after.ops.size())
    add(out, fmt::format("{} in place of {}", counted(after.ops.size(), "op"), before.ops.size()));
  if (before.tripCount != after.tripCount)
    add(out,
        fmt::format("{} runs in place of {}", count(after.tripCount), count(before.tripCount)));
  add(out, planChanges(before.plan, after.plan));
  if (before.limiter != after.limiter)
    add(out, fmt::format("limited by {} → {}", escapeHtml(before.limiter, 40),
                         escapeHtml(after.limiter, 40)));
  add(out, termChanges(before, after));
  return out;
}

std::string runDifferences(const Exploration &before, const Exploration &after) {
  std::string out;
  auto name = [](const std::string &text) { return text.empty() ? "none" : escapeHtml(text, 60); };
  if (before.device.name != after.device.name)
    add(out,
        fmt::format("device {} in place of {}", name(after.device.name), name(before.device.name)));
  addNumber(out, before.device.smCount, after.device.smCount,
            [](Quantity value) { return count(value) + " SMs"; });
  addNumber(out, before.device.clockGhz, after.device.clockGhz,
            [](Quantity value) { return threeDigits(value) + " GHz"; });
  addNumber(out, before.device.dramBytesPerS, after.device.dramBytesPerS,
            [](Quantity value) { return "DRAM " + rateText(value, "B/s"); });
  addNumber(out, before.device.l2Bytes, after.device.l2Bytes,
            [](Quantity value) { return "L2 " + bytesText(value); });
  if (before.calibration != after.calibration)
    add(out, fmt::format("calibration {} in place of {}", name(after.calibration),
                         name(before.calibration)));
  if (before.toolVersion != after.toolVersion)
    add(out, fmt::format("version {} in place of {}", name(after.toolVersion),
                         name(before.toolVersion)));
  return out;
}

} // namespace tilewright::report
