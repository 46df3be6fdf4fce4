#include "costmodel/counters.h"

#include "analysis/support/printable.h"
#include "costmodel/features.h"
#include "costmodel/formula.h"
#include "costmodel/named_files.h"
#include "costmodel/plausible.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilewright {

namespace {

constexpr double bytesPerSector = 32;

struct Counter {
  const char *column;
  double bytes; ///< of one count
};
constexpr std::array<Counter, 3> counters = {{{"dram__bytes_read.sum", 1},
                                              {"lts__t_sectors_op_read.sum", bytesPerSector},
                                              {"l1tex__t_bytes.sum", 1}}};

std::array<double, 3> predictedBytes(const Features &f, const Device &d) {
  double wave = formula::ctasInFlight(f, d);
  double shared = formula::fetchesOf<double>(f, d, wave) / wave;
  double loads = f.ctas * (f.iterations * f.loadBytes + f.outsideLoadBytes);
  double dram = formula::bytesRead<double>(f, d, wave);
  return {dram, loads * shared + formula::crossingShare * dram, loads + f.ctas * f.storeBytes};
}

LevelError errorOf(TrafficLevel level, const std::vector<CountedLaunch> &launches) {
  LevelError error{level};
  std::vector<double> absolute;
  for (const CountedLaunch &launch : launches) {
    double relative = launch.predicted[size_t(level)] / launch.counted[size_t(level)] - 1;
    absolute.push_back(std::abs(relative));
    error.bias += relative / double(launches.size());
  }
  std::sort(absolute.begin(), absolute.end());
  size_t n = absolute.size();
  error.medianApe = n % 2 ? absolute[n / 2] : 0.5 * (absolute[n / 2 - 1] + absolute[n / 2]);
  error.worstApe = absolute.back();
  return error;
}

} // namespace

std::string_view toString(TrafficLevel level) {
  switch (level) {
  case TrafficLevel::DramRead:
    return "DRAM read";
  case TrafficLevel::L2Read:
    return "L2 read";
  case TrafficLevel::L1:
    return "L1";
  }
  return "";
}

int64_t CounterReport::unpricedRows() const {
  int64_t sum = 0;
  for (const UnpricedRows &each : unpriced)
    sum += each.rows;
  return sum;
}

llvm::Expected<CounterReport> compareCounters(const Table &table, TemplateLibrary &templates,
                                              const Device &device) {
  CounterReport report;
  std::map<std::pair<std::string, std::string>, int64_t> unpriced;
  for (const Counter &counter : counters)
    if (!table.column(counter.column))
      return makeError(DiagClass::BadInput, "{}: no column '{}'", table.name(), counter.column);
  for (size_t r = 0; r < table.rowCount(); ++r) {
    TableRow row(table, r);
    auto number = templates.match(row);
    if (!number) {
      std::string_view kernel = row.text("kernel");
      ++unpriced[{excerpt(kernel.empty() ? "?" : kernel), noTemplate}];
      continue;
    }
    auto identity = templates.identify(*number, row);
    if (!identity)
      return identity.takeError();
    auto plan = templates.planOf(*number, row, device);
    auto features = plan ? featuresOf(*plan, device) : plan.takeError();
    if (!features) {
      Diag diag = takeDiag(features.takeError());
      if (diag.cls != DiagClass::Unsupported && diag.cls != DiagClass::BudgetSpent)
        return makeError(std::move(diag));
      ++unpriced[{identity->family, diag.message}];
      continue;
    }
    if (auto reason = whyNotLaunched(*features, device)) {
      ++unpriced[{identity->family, std::move(*reason)}];
      continue;
    }
    CountedLaunch launch{std::move(*identity), row.line()};
    for (size_t i = 0; i < counters.size(); ++i) {
      auto counted = row.number(counters[i].column);
      if (!counted)
        return counted.takeError();
      if (!(counted->value_or(0) > 0))
        return row.error(fmt::format("'{}' is not positive", counters[i].column));
      launch.counted[i] = **counted * counters[i].bytes;
    }
    launch.predicted = predictedBytes(*features, device);
    report.launches.push_back(std::move(launch));
  }
  for (auto &[key, rows] : unpriced)
    report.unpriced.push_back({key.first, key.second, rows});
  if (report.launches.empty())
    return report;
  for (TrafficLevel level : trafficLevels)
    report.errors.push_back(errorOf(level, report.launches));
  return report;
}

} // namespace tilewright
