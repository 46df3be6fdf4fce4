#include "costmodel/plausible.h"

#include "analysis/support/digest.h"
#include "analysis/support/printable.h"
#include "costmodel/named_files.h"
#include "costmodel/price.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <map>

namespace tilewright {

std::optional<std::string> whyNotTrusted(const TableRow &row, const Device &device) {
  if (!row.hasFittingCheck())
    return "its row_check does not fit: it was changed after it was measured";
  const std::string_view measuredOn = row.text("device");
  const std::vector<std::string> &names = device.driverNames;
  if (!measuredOn.empty() && !names.empty() &&
      std::find(names.begin(), names.end(), measuredOn) == names.end())
    return fmt::format("measured on '{}', {} is '{}'; give the description of that device, or add "
                       "the name to driver_names",
                       excerpt(measuredOn), device.name, fmt::join(names, "' or '"));
  return std::nullopt;
}

std::optional<std::string> whyNoTime(double timeNs, const Features &features,
                                     const Device &device) {
  // Of the bounds: launch overhead and peak rates are given for typical devices and clocks.
  constexpr double launchShare = 0.25, boundShare = 0.5;
  constexpr double longestNs = 3.6e12;
  if (timeNs > longestNs)
    return fmt::format("time_ns is {:.4g}, more than an hour", timeNs);
  if (const double launch = launchShare * device.launchOverhead; timeNs < launch)
    return fmt::format("time_ns is {:.4g}, but a launch alone takes {:.4g} or more", timeNs,
                       launch);
  if (features.empty)
    return std::nullopt;
  const double bound = boundShare * price(features, device, priorParameters(device)).rooflineNs;
  if (timeNs < bound)
    return fmt::format("time_ns is {:.4g}, but its bytes and FLOPs take {:.4g} or more at the "
                       "device's peak rates",
                       timeNs, bound / boundShare);
  return std::nullopt;
}

std::optional<std::string> whyNotLaunched(const Features &f, const Device &device) {
  if (f.empty || f.occupancy >= 1)
    return std::nullopt;
  const DeviceLimits &limits = device.limits;
  auto because = [&](double amount, std::string_view what, int64_t most) {
    return fmt::format("can't be launched: {:.0f} {} a CTA, {} has at most {}", amount, what,
                       device.name, most);
  };
  const double threads = 32 * f.residentWarps;
  if (threads > double(limits.threadsPerCta))
    return because(threads, "threads", limits.threadsPerCta);
  if (f.sharedPerCta > double(limits.sharedBytesPerCta))
    return because(f.sharedPerCta, "B of shared memory", limits.sharedBytesPerCta);
  return because(f.registers * threads, "registers", limits.registersPerSm);
}

void leaveOutContradictions(Dataset &data) {
  constexpr double mostApart = 10;
  std::map<std::string, std::vector<size_t>> plans;
  for (size_t i = 0; i < data.rows.size(); ++i) {
    const DatasetRow &row = data.rows[i];
    if (row.timeNs == 0)
      continue;
    Digest digest;
    digest.add(row.identity.group);
    for (int64_t value : row.choice.values)
      digest.add(fmt::format("{}", value));
    digest.add(toString(row.choice.instruction));
    plans[digest.str()].push_back(i);
  }
  std::vector<bool> isOut(data.rows.size(), false);
  for (const auto &[plan, rows] : plans) {
    auto byTime = [&](size_t a, size_t b) { return data.rows[a].timeNs < data.rows[b].timeNs; };
    const DatasetRow &least = data.rows[*std::min_element(rows.begin(), rows.end(), byTime)];
    const DatasetRow &most = data.rows[*std::max_element(rows.begin(), rows.end(), byTime)];
    if (most.timeNs <= mostApart * least.timeNs)
      continue;
    for (size_t i : rows) {
      isOut[i] = true;
      data.leftOut.push_back({data.rows[i].table, data.rows[i].line,
                              fmt::format("the same plan takes {:.4g} ns on line {} and {:.4g} ns "
                                          "on line {}",
                                          least.timeNs, least.line, most.timeNs, most.line)});
    }
  }
  size_t kept = 0;
  for (size_t i = 0; i < data.rows.size(); ++i)
    if (!isOut[i]) {
      if (kept != i)
        data.rows[kept] = std::move(data.rows[i]);
      ++kept;
    }
  data.rows.resize(kept);
}

} // namespace tilewright
