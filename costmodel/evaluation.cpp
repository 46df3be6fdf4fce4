#include "costmodel/evaluation.h"

#include "costmodel/formula.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilewright {

namespace {

double predict(const DatasetRow &row, const Device &device, const Parameters &parameters) {
  // A measured kernel with an empty result has a time all the same.
  return row.features.empty ? parameters.launch
                            : kernelTime(row.features, device, parameters).total;
}

EvaluationReport reportOf(const Dataset &data, const Device &device,
                          std::vector<double> predictedNs) {
  EvaluationReport report;
  report.device = device.name;
  report.unpriced = data.unpriced;
  report.failedRows = data.failedRows;
  std::vector<PredictedRow> rows;
  for (size_t i = 0; i < data.rows.size(); ++i)
    rows.push_back({data.rows[i].identity.family, data.rows[i].identity.group, data.rows[i].timeNs,
                    predictedNs[i]});
  report.families = metricsByFamily(rows);
  report.overall = metricsOf("overall", rows);
  for (const UnpricedRows &u : data.unpriced) {
    auto family = std::find_if(report.families.begin(), report.families.end(),
                               [&](const FamilyMetrics &f) { return f.family == u.family; });
    if (family == report.families.end()) {
      FamilyMetrics empty;
      empty.family = u.family;
      family = report.families.insert(report.families.end(), empty);
    }
    family->unpricedRows += u.rows;
    report.overall.unpricedRows += u.rows;
  }
  std::sort(report.families.begin(), report.families.end(),
            [](const FamilyMetrics &a, const FamilyMetrics &b) { return a.family < b.family; });
  report.predictedNs = std::move(predictedNs);
  return report;
}

llvm::json::Object toObject(const FamilyMetrics &m) {
  return llvm::json::Object{{"family", m.family},
                            {"groups", m.groups},
                            {"rows", m.rows},
                            {"mape", m.mape},
                            {"median_ape", m.medianApe},
                            {"p90_ape", m.p90Ape},
                            {"bias", m.bias},
                            {"oracle_at_1", m.oracleAt1},
                            {"worst_at_1", m.worstAt1},
                            {"oracle_at_5", m.oracleAt5},
                            {"oracle_at_10", m.oracleAt10},
                            {"random_at_5", m.randomAt5},
                            {"unpriced_rows", m.unpricedRows}};
}

} // namespace

EvaluationReport evaluate(const Dataset &data, const Device &device,
                          const Calibration &calibration) {
  Parameters parameters = parametersFor(calibration, device);
  std::vector<double> predicted;
  for (const DatasetRow &row : data.rows)
    predicted.push_back(predict(row, device, parameters));
  EvaluationReport report = reportOf(data, device, std::move(predicted));
  report.calibration = calibration.device;
  return report;
}

int foldOf(std::string_view shape, int folds) {
  uint64_t state = 0xcbf29ce484222325ull; // FNV-1a
  for (unsigned char c : shape)
    state = (state ^ c) * 0x100000001b3ull;
  state ^= state >> 29; // the low bits of FNV see little of the last characters
  state *= 0xbf58476d1ce4e5b9ull;
  return int((state >> 32) % uint64_t(std::max(folds, 1)));
}

llvm::Expected<EvaluationReport> evaluateLeftOut(const Dataset &data, const Device &device,
                                                 const FitOptions &options, int folds) {
  if (folds < 2)
    return makeError(DiagClass::BadInput, "{} folds, at least 2 are needed to leave shapes out",
                     folds);
  std::vector<int> fold;
  for (const DatasetRow &row : data.rows)
    fold.push_back(foldOf(row.identity.shape, folds));
  std::vector<double> predicted(data.rows.size());
  for (int k = 0; k < folds; ++k) {
    std::vector<size_t> train;
    for (size_t i = 0; i < data.rows.size(); ++i)
      if (fold[i] != k)
        train.push_back(i);
    if (train.size() == data.rows.size())
      continue; // no shape fell into this fold
    auto calibration = calibrate(data, train, device, options);
    if (!calibration)
      return calibration.takeError();
    Parameters parameters = calibration->values();
    for (size_t i = 0; i < data.rows.size(); ++i)
      if (fold[i] == k)
        predicted[i] = predict(data.rows[i], device, parameters);
  }
  EvaluationReport report = reportOf(data, device, std::move(predicted));
  report.calibration = "left-out";
  report.folds = folds;
  return report;
}

std::string toJson(const EvaluationReport &report) {
  llvm::json::Array families, unpriced;
  for (const FamilyMetrics &m : report.families)
    families.push_back(toObject(m));
  for (const UnpricedRows &u : report.unpriced)
    unpriced.push_back(llvm::json::Object{{"family", llvm::json::fixUTF8(u.family)},
                                          {"reason", llvm::json::fixUTF8(u.reason)},
                                          {"rows", u.rows}});
  llvm::json::Object root{{"schema", "tilewright.evaluate"},
                          {"schema_version", 1},
                          {"device", report.device},
                          {"calibration", report.calibration},
                          {"folds", report.folds},
                          {"families", std::move(families)},
                          {"overall", toObject(report.overall)},
                          {"unpriced", std::move(unpriced)},
                          {"failed_rows", report.failedRows}};
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << llvm::formatv("{0:2}", llvm::json::Value(std::move(root))) << "\n";
  return text;
}

} // namespace tilewright
