#include "tools/tilewright/evaluation_output.h"

#include "tools/tilewright/measured_input.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright::cli {

namespace {

std::string withInterval(double value, const ConfidenceInterval &interval) {
  return fmt::format("{} ({}–{})", percent(value), percent(interval.low), percent(interval.high));
}

/// Columns of a terminal: continuation bytes of UTF-8 take none.
size_t widthOf(const std::string &text) {
  return size_t(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::vector<std::string> cellsOf(const FamilyMetrics &m) {
  if (m.rows == 0)
    return {m.family, "0", "0", fmt::format("{} rows without a price", m.unpricedRows)};
  return {
      m.family,
      fmt::format("{}", m.rows),
      fmt::format("{}", m.groups),
      withInterval(m.mape, m.mapeInterval),
      percent(m.medianApe),
      percent(m.p90Ape),
      fmt::format("{:+.1f}", 100 * m.bias),
      withInterval(m.oracleAt1, m.oracleAt1Interval),
      percent(m.worstAt1),
      withInterval(m.oracleAt5, m.oracleAt5Interval),
      percent(m.worstAt5),
      percent(m.oracleAt10),
      fmt::format("{}/{}/{}", percent(m.randomAt1), percent(m.randomAt5), percent(m.randomAt10)),
      m.tauGroups ? fmt::format("{:.2f}", m.kendallTau) : "-"};
}

} // namespace

std::string TextTable::text() const {
  std::vector<size_t> widths(head.size(), 0);
  auto widen = [&](const std::vector<std::string> &cells) {
    for (size_t i = 0; i < cells.size() && cells.size() == head.size(); ++i)
      widths[i] = std::max(widths[i], widthOf(cells[i]));
  };
  widen(head);
  for (const auto &row : rows)
    widen(row);
  std::string out;
  auto line = [&](const std::vector<std::string> &cells) {
    std::string text;
    for (size_t i = 0; i < cells.size(); ++i) {
      size_t have = widthOf(cells[i]), want = widths[i];
      std::string space(want > have ? want - have : 0, ' ');
      text += i == 0 ? cells[i] + space : "  " + space + cells[i];
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  line(head);
  for (const auto &row : rows)
    line(row);
  return out;
}

std::string TextTable::markdown() const {
  auto line = [&](const std::vector<std::string> &cells) {
    std::string text = "|";
    for (size_t i = 0; i < head.size(); ++i)
      text += fmt::format(" {} |", i < cells.size() ? cells[i] : "");
    return text + "\n";
  };
  std::string out = line(head) + "|";
  for (size_t i = 0; i < head.size(); ++i)
    out += i == 0 ? "---|" : "---:|";
  out += "\n";
  for (const auto &row : rows)
    out += line(row);
  return out;
}

std::string describe(const EvaluationReport &report) {
  const std::string &c = report.calibration;
  if (c == "left-out")
    return fmt::format("device {}: whole shapes left out, {} folds", report.device, report.folds);
  if (c == "family-out")
    return fmt::format("device {}: each family priced by a fit to the others", report.device);
  if (c == "prior")
    return fmt::format(
        "device {}, calibration none (priors): the description alone, no measurement",
        report.device);
  if (parseBaseline(c))
    return fmt::format("device {}: baseline {}", report.device, c);
  return fmt::format("device {}, calibration {}", report.device, c);
}

TextTable metricsTable(const EvaluationReport &report) {
  TextTable table;
  table.head = {"family",          "rows",
                "groups",          "MAPE % (95 %)",
                "median %",        "p90 %",
                "bias %",          "top-1 % (95 %)",
                "worst %",         "top-5 % (95 %)",
                "worst %",         "top-10 %",
                "random 1/5/10 %", "tau"};
  for (const FamilyMetrics &family : report.families)
    table.rows.push_back(cellsOf(family));
  table.rows.push_back(cellsOf(report.overall));
  return table;
}

TextTable parameterTable(const Calibration &calibration) {
  TextTable table;
  table.head = {"parameter", "value", "unit", "± %", "prior", "status"};
  for (size_t i = 0; i < calibration.parameters.size(); ++i) {
    const CalibratedParameter &parameter = calibration.parameters[i];
    const ParameterInfo &info = parameterInfos()[i];
    table.rows.push_back({std::string(info.name), fmt::format("{:.3g}", parameter.value),
                          std::string(info.unit), percent(parameter.sigmaLn),
                          fmt::format("{:.3g}", parameter.prior),
                          std::string(toString(parameter.status))});
  }
  return table;
}

std::vector<std::string> leftOutNotes(std::span<const LeftOutRow> rows,
                                      std::span<const std::string> files) {
  constexpr size_t shown = 5;
  std::vector<std::string> notes;
  for (const LeftOutRow &row : rows.first(std::min(shown, rows.size())))
    notes.push_back(fmt::format("left out: {}:{}: {}", files[row.table], row.line, row.reason));
  if (rows.size() > shown)
    notes.push_back(fmt::format("left out: {} rows more; --json lists them", rows.size() - shown));
  return notes;
}

std::vector<std::string> notesOf(const EvaluationReport &report) {
  std::vector<std::string> notes;
  for (const UnpricedRows &rows : report.unpriced)
    notes.push_back(
        fmt::format("not priced: {} rows of {}: {}", rows.rows, rows.family, rows.reason));
  if (report.failedRows)
    notes.push_back(
        fmt::format("left out: {} rows that failed when they were measured", report.failedRows));
  for (std::string &note : leftOutNotes(report.leftOut, report.files))
    notes.push_back(std::move(note));
  return notes;
}

TextTable curveTable(const LearningCurve &curve) {
  TextTable table;
  table.head = {"measurements",  "designed MAPE %", "of all",  "top-1 %", "top-5 %",
                "random MAPE %", "range",           "top-1 %", "top-5 %"};
  const FamilyMetrics &all = curve.all.overall;
  for (const LearningPoint &p : curve.points)
    table.rows.push_back({fmt::format("{}", p.measurements), percent(p.designed.mape),
                          fmt::format("{:.2f} x", p.designed.mape / std::max(all.mape, 1e-12)),
                          percent(p.designed.oracleAt1), percent(p.designed.oracleAt5),
                          percent(p.randomMape),
                          fmt::format("{}–{}", percent(p.randomLow), percent(p.randomHigh)),
                          percent(p.randomOracleAt1), percent(p.randomOracleAt5)});
  table.rows.push_back({"all", percent(all.mape), "1.00 x", percent(all.oracleAt1),
                        percent(all.oracleAt5), percent(all.mape), "", percent(all.oracleAt1),
                        percent(all.oracleAt5)});
  return table;
}

TextTable curveFamilies(const LearningCurve &curve) {
  TextTable table;
  table.head = {"family"};
  for (const LearningPoint &p : curve.points)
    table.head.push_back(fmt::format("{}", p.measurements));
  table.head.push_back("all");
  for (size_t f = 0; f < curve.all.families.size(); ++f) {
    const FamilyMetrics &family = curve.all.families[f];
    if (family.rows == 0)
      continue;
    std::vector<std::string> cells = {family.family};
    for (const LearningPoint &p : curve.points)
      cells.push_back(percent(p.designedFamilies[f].mape));
    cells.push_back(percent(family.mape));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

} // namespace tilewright::cli
