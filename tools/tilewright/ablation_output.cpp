#include "tools/tilewright/ablation_output.h"

#include "tools/tilewright/measured_input.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilewright::cli {

namespace {

bool isSure(const ConfidenceInterval &interval) { return interval.low > 0 || interval.high < 0; }

std::string points(double fraction, const ConfidenceInterval &interval) {
  std::string text = fmt::format("{:+.2f}", 100 * fraction);
  if (text == "-0.00" || text == "+0.00")
    return "0.00";
  return isSure(interval) ? "**" + text + "**" : text;
}

std::string pointsWithInterval(double fraction, const ConfidenceInterval &interval) {
  return fmt::format("{} ({:+.2f} to {:+.2f})", points(fraction, interval), 100 * interval.low,
                     100 * interval.high);
}

Json changeJson(const MetricsChange &change) {
  auto interval = [](const ConfidenceInterval &i) { return Json::array({i.low, i.high}); };
  return {{"mape", change.mape},
          {"mape_interval", interval(change.mapeInterval)},
          {"oracle_at_1", change.oracleAt1},
          {"oracle_at_1_interval", interval(change.oracleAt1Interval)}};
}

} // namespace

AblationView::AblationView(const Dataset &data, const Device &device, const AblationReport &report,
                           std::vector<FamilyClass> classes)
    : data(data), device(device), report(report), classes(std::move(classes)) {
  for (const TermWorth &term : report.terms)
    changes.push_back(changesOf(term));
}

std::vector<AblationView::Change> AblationView::changesOf(const TermWorth &term) const {
  std::vector<Change> all = {{"", changeOfFamilies(data, report.all, term.without)}};
  for (const FamilyClass &c : classes)
    all.push_back({c.name, changeOfFamilies(data, report.all, term.without, c.families)});
  return all;
}

std::string AblationView::head() const {
  return fmt::format("{}, fits to {} of {} rows: MAPE {} %, top-1 {} %; without a term, more error "
                     "is +, a worse choice -",
                     describe(report.all), report.fittedRows, data.rows.size(),
                     percent(report.all.overall.mape), percent(report.all.overall.oracleAt1));
}

TextTable AblationView::table() const {
  TextTable table;
  table.head = {"without", "what it is", "parameters", "MAPE points (95 %)", "top-1 points (95 %)"};
  for (const FamilyClass &c : classes)
    table.head.push_back(c.name);
  for (size_t t = 0; t < report.terms.size(); ++t) {
    const AblationInfo &info = ablations()[report.terms[t].ablation];
    std::vector<std::string_view> parameters = parametersOf(report.terms[t].ablation, device);
    const MetricsChange &all = changes[t].front().change;
    std::vector<std::string> cells = {
        std::string(info.name), std::string(info.removes),
        parameters.empty() ? "-" : fmt::format("{}", fmt::join(parameters, ", ")),
        pointsWithInterval(all.mape, all.mapeInterval),
        pointsWithInterval(all.oracleAt1, all.oracleAt1Interval)};
    for (size_t c = 1; c < changes[t].size(); ++c) {
      const MetricsChange &change = changes[t][c].change;
      cells.push_back(points(change.mape, change.mapeInterval) + " / " +
                      points(change.oracleAt1, change.oracleAt1Interval));
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Json AblationView::json() const {
  Json document = newDocument("evaluate.ablation");
  document["device"] = report.all.device;
  document["folds"] = report.folds;
  document["fitted_rows"] = report.fittedRows;
  document["rows"] = data.rows.size();
  document["mape"] = report.all.overall.mape;
  document["oracle_at_1"] = report.all.overall.oracleAt1;
  document["terms"] = Json::array();
  for (size_t t = 0; t < report.terms.size(); ++t) {
    const size_t ablation = report.terms[t].ablation;
    Json term = {{"term", ablations()[ablation].name}, {"removes", ablations()[ablation].removes}};
    term["parameters"] = Json::array();
    for (std::string_view name : parametersOf(ablation, device))
      term["parameters"].push_back(name);
    term["change"] = changeJson(changes[t].front().change);
    term["classes"] = Json::array();
    for (size_t c = 1; c < changes[t].size(); ++c) {
      Json change = changeJson(changes[t][c].change);
      change["name"] = changes[t][c].name;
      term["classes"].push_back(std::move(change));
    }
    document["terms"].push_back(std::move(term));
  }
  return document;
}

} // namespace tilewright::cli
