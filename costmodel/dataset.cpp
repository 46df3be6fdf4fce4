#include "costmodel/dataset.h"

#include "analysis/support/digest.h"
#include "analysis/support/printable.h"
#include "analysis/tiling/resources.h"
#include "costmodel/measured_plans.h"
#include "costmodel/plausible.h"
#include "costmodel/price.h"
#include "costmodel/spread_kind.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

namespace tilewright {

namespace {

class Loader {
public:
  Loader(TemplateLibrary &templates, const Device &device, Times times)
      : templates(templates), device(device), times(times) {}

  llvm::Error addTable(const Table &table) {
    if (times == Times::Needed && !table.column("time_ns"))
      return makeError(DiagClass::BadInput, "{}: no column 'time_ns'", table.name());
    if (table.rowCount() == 0)
      return makeError(DiagClass::BadInput, "{}: no rows under the header", table.name());
    data.files.push_back(table.name());
    timed = impossible = 0;
    if (auto error =
            MeasuredPlans::describes(table) ? addMeasuredTable(table) : addPlainTable(table))
      return error;
    if (2 * impossible > timed)
      return makeError(DiagClass::BadInput,
                       "{}: {} of {} times can't be, the first on line {}: {}; time_ns is in "
                       "nanoseconds",
                       table.name(), impossible, timed, firstImpossible.line,
                       firstImpossible.reason);
    ++tableNumber;
    return llvm::Error::success();
  }

  Dataset finish() {
    leaveOutContradictions(data);
    std::sort(data.leftOut.begin(), data.leftOut.end(), [](const auto &a, const auto &b) {
      return std::pair(a.table, a.line) < std::pair(b.table, b.line);
    });
    for (auto &[key, count] : unpriced)
      data.unpriced.push_back({key.first, key.second, count});
    data.hash = hash.str();
    return std::move(data);
  }

private:
  llvm::Error addMeasuredTable(const Table &table) {
    if (auto error = measured.readProblems(table))
      return error;
    for (size_t i : rowsThatCount(table))
      if (auto error = addMeasured(TableRow(table, i)))
        return error;
    if (table.tornLine())
      leaveOut(table.tornLine(), "it is not whole: the runner was stopped while it wrote the row");
    return llvm::Error::success();
  }

  llvm::Error addPlainTable(const Table &table) {
    if (auto error = templates.expectColumns(table))
      return error;
    for (size_t i = 0; i < table.rowCount(); ++i)
      if (auto error = addRow(TableRow(table, i)))
        return error;
    return llvm::Error::success();
  }

  void leaveOut(unsigned line, std::string reason) {
    data.leftOut.push_back({tableNumber, line, std::move(reason)});
  }

  /// The time of a row (0 if none is needed), or empty for a failed row, which is counted.
  llvm::Expected<std::optional<double>> timeOf(const TableRow &row) {
    auto time = row.number("time_ns");
    if (!time)
      return time.takeError();
    if (!row.text("error").empty() || (times == Times::Needed && !*time)) {
      ++data.failedRows;
      return std::nullopt;
    }
    if (*time && **time <= 0)
      return row.error(fmt::format("time_ns is {}, it must be positive", **time));
    return std::optional(time->value_or(0));
  }

  /// Code generation may have made other code of a plan when it was measured: such a time says
  /// nothing of the code that is priced.
  static std::optional<std::string> whyOtherCode(std::string_view kind, const KernelPlan &plan) {
    const std::string_view now = toString(codeOf(plan.ops(), *plan.tiled, plan.instruction).kind);
    if (kind.empty() || kind == now || (kind == "convolution" && now == "dot"))
      return std::nullopt;
    return fmt::format("measured as {} code, and such a plan is {} code now; measure it again",
                       excerpt(kind), now);
  }

  /// A row that contains its ops and its plan.
  llvm::Error addMeasured(const TableRow &row) {
    if (auto reason = whyNotTrusted(row, device)) {
      leaveOut(row.line(), std::move(*reason));
      return llvm::Error::success();
    }
    auto time = timeOf(row);
    if (!time || !*time)
      return time.takeError();
    auto plan = measured.planOf(row);
    RowIdentity identity{measured.familyOf(row), std::string(row.text("problem")),
                         std::string(row.text("problem"))};
    if (!plan)
      return skipUnsupported(plan.takeError(), identity);
    if (auto reason = whyOtherCode(row.text("kind"), *plan)) {
      ++unpriced[{identity.family, std::move(*reason)}];
      return llvm::Error::success();
    }
    std::string_view regime = row.text("regime");
    if (regime != "cold" && regime != "warm") {
      ++unpriced[{identity.family, fmt::format("measured in the regime '{}'", regime)}];
      return llvm::Error::success();
    }
    if (regime == "cold")
      return addPlan(row, std::move(identity), *plan, **time, CacheState::Flushed);
    // Other times of the same problem: plans are ranked separately, but left out together.
    identity.family += " warm";
    identity.group += " warm";
    return addPlan(row, std::move(identity), *plan, **time, CacheState::Warm);
  }

  llvm::Error addRow(const TableRow &row) {
    auto time = timeOf(row);
    if (!time || !*time)
      return time.takeError();
    auto number = templates.match(row);
    if (!number) {
      std::string_view kernel = row.text("kernel");
      ++unpriced[{std::string(kernel.empty() ? "?" : kernel), noTemplate}];
      return llvm::Error::success();
    }
    auto identity = templates.identify(*number, row);
    if (!identity)
      return identity.takeError();
    auto plan = templates.planOf(*number, row, device);
    if (!plan)
      return skipUnsupported(plan.takeError(), *identity);
    return addPlan(row, std::move(*identity), *plan, **time, CacheState::Flushed);
  }

  llvm::Error addPlan(const TableRow &row, RowIdentity identity, const KernelPlan &plan,
                      double timeNs, CacheState cache) {
    auto features = featuresOf(plan, device);
    if (!features)
      return skipUnsupported(features.takeError(), identity);
    if (auto reason = whyNotLaunched(*features, device)) {
      ++unpriced[{identity.family, std::move(*reason)}];
      return llvm::Error::success();
    }
    Features measured = underCache(*features, device, cache);
    if (timeNs > 0) {
      ++timed;
      if (auto reason = whyNoTime(timeNs, measured, device)) {
        if (impossible++ == 0)
          firstImpossible = {tableNumber, row.line(), *reason};
        leaveOut(row.line(), std::move(*reason));
        return llvm::Error::success();
      }
    }
    hash.add(identity.group);
    hash.add(row.text("time_ns"));
    data.rows.push_back({std::move(identity), choiceOf(plan), std::move(measured), timeNs,
                         tableNumber, row.line(), spreadKindOf(plan)});
    return llvm::Error::success();
  }

  PlanChoice choiceOf(const KernelPlan &plan) {
    std::vector<std::string> names;
    for (const TileParameter &parameter : plan.tiled->space.parameters)
      names.push_back(parameter.name);
    if (!lastNames || *lastNames != names)
      lastNames = std::make_shared<const std::vector<std::string>>(std::move(names));
    return {lastNames, plan.values, plan.instruction};
  }

  llvm::Error skipUnsupported(llvm::Error error, const RowIdentity &identity) {
    Diag diag = takeDiag(std::move(error));
    if (diag.cls != DiagClass::Unsupported && diag.cls != DiagClass::BudgetSpent)
      return makeError(std::move(diag));
    ++unpriced[{identity.family, diag.message}];
    return llvm::Error::success();
  }

  TemplateLibrary &templates;
  MeasuredPlans measured;
  const Device &device;
  Times times;
  Dataset data;
  std::map<std::pair<std::string, std::string>, int64_t> unpriced;
  Digest hash;
  std::shared_ptr<const std::vector<std::string>> lastNames;
  unsigned tableNumber = 0;
  // Of the table at hand:
  int64_t timed = 0, impossible = 0;
  LeftOutRow firstImpossible;
};

} // namespace

llvm::Expected<Dataset> loadDataset(std::span<const Table> tables, TemplateLibrary &templates,
                                    const Device &device, Times times) {
  Loader loader(templates, device, times);
  for (const Table &table : tables)
    if (auto error = loader.addTable(table))
      return error;
  return loader.finish();
}

llvm::Expected<Dataset> loadDataset(std::span<const std::string> paths, TemplateLibrary &templates,
                                    const Device &device, Times times) {
  std::vector<Table> tables;
  for (const std::string &path : paths) {
    auto table = Table::read(path);
    if (!table)
      return table.takeError();
    tables.push_back(std::move(*table));
  }
  return loadDataset(tables, templates, device, times);
}

} // namespace tilewright
