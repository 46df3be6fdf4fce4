#include "costmodel/evaluation.h"

#include "analysis/support/digest.h"
#include "costmodel/feature_batch.h"

#include <algorithm>
#include <map>
#include <set>

namespace tilewright {

namespace {

PredictedRow predictedRow(const DatasetRow &row, double predictedNs) {
  return {row.identity.family, row.identity.group, row.timeNs, predictedNs, row.identity.shape};
}

std::vector<PredictedRow> rowsOfFamilies(const Dataset &data, const EvaluationReport &report,
                                         std::span<const std::string> families) {
  std::vector<PredictedRow> rows;
  for (size_t i = 0; i < data.rows.size(); ++i)
    if (std::find(families.begin(), families.end(), data.rows[i].identity.family) != families.end())
      rows.push_back(predictedRow(data.rows[i], report.predictedNs[i]));
  return rows;
}

} // namespace

FamilyMetrics metricsOfFamilies(std::string name, const Dataset &data,
                                const EvaluationReport &report,
                                std::span<const std::string> families) {
  return metricsOf(std::move(name), rowsOfFamilies(data, report, families));
}

MetricsChange changeOfFamilies(const Dataset &data, const EvaluationReport &first,
                               const EvaluationReport &second,
                               std::span<const std::string> families) {
  std::vector<std::string> all;
  for (const FamilyMetrics &family : first.families)
    all.push_back(family.family);
  std::span<const std::string> wanted = families.empty() ? all : families;
  return changeOf(rowsOfFamilies(data, first, wanted), rowsOfFamilies(data, second, wanted));
}

EvaluationReport reportOf(const Dataset &data, const Device &device,
                          std::vector<double> predictedNs) {
  EvaluationReport report;
  report.device = device.name;
  report.unpriced = data.unpriced;
  report.failedRows = data.failedRows;
  report.leftOut = data.leftOut;
  report.files = data.files;
  std::vector<PredictedRow> rows;
  for (size_t i = 0; i < data.rows.size(); ++i)
    rows.push_back(predictedRow(data.rows[i], predictedNs[i]));
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

EvaluationReport evaluate(const Dataset &data, const Device &device,
                          const Calibration &calibration) {
  EvaluationReport report =
      reportOf(data, device, predictAll(data, device, parametersFor(calibration, device)));
  report.calibration = !calibration.isFitted()               ? "prior"
                       : calibration.transferredFrom.empty() ? calibration.device
                                                             : calibration.transferredFrom;
  return report;
}

std::vector<double> predictAll(const Dataset &data, const Device &device,
                               const Parameters &parameters) {
  FeatureBatch batch;
  for (const DatasetRow &row : data.rows)
    batch.add(row.features);
  std::vector<double> times(data.rows.size());
  batch.score(device, parameters, CacheState::Flushed, times);
  for (size_t i = 0; i < times.size(); ++i)
    if (data.rows[i].features.empty)
      times[i] = parameters.launch;
  return times;
}

namespace {

/// Prices the rows of each part by a fit to the rows of all other parts.
llvm::Expected<std::vector<double>> predictLeftOut(const Dataset &data, const Device &device,
                                                   const FitOptions &options,
                                                   std::span<const int> part,
                                                   const EvaluationProgress &progress) {
  std::set<int> parts(part.begin(), part.end());
  std::vector<double> predicted(data.rows.size());
  size_t done = 0;
  for (int out : parts) {
    if (progress)
      progress(done++, parts.size());
    std::vector<size_t> train;
    for (size_t i = 0; i < data.rows.size(); ++i)
      if (part[i] != out)
        train.push_back(i);
    auto calibration = calibrate(data, train, device, options);
    if (!calibration)
      return calibration.takeError();
    std::vector<double> all = predictAll(data, device, calibration->values());
    for (size_t i = 0; i < data.rows.size(); ++i)
      if (part[i] == out)
        predicted[i] = all[i];
  }
  return predicted;
}

} // namespace

int foldOf(std::string_view shape, int folds) {
  uint64_t state = fnv1a(shape);
  state ^= state >> 29; // the low bits of FNV see little of the last characters
  state *= 0xbf58476d1ce4e5b9ull;
  return int((state >> 32) % uint64_t(std::max(folds, 1)));
}

llvm::Expected<EvaluationReport> evaluateLeftOut(const Dataset &data, const Device &device,
                                                 const FitOptions &options, int folds,
                                                 const EvaluationProgress &progress) {
  if (folds < 2)
    return makeError(DiagClass::BadInput, "{} folds, at least 2 are needed to leave shapes out",
                     folds);
  std::vector<int> fold;
  for (const DatasetRow &row : data.rows)
    fold.push_back(foldOf(row.identity.shape, folds));
  auto predicted = predictLeftOut(data, device, options, fold, progress);
  if (!predicted)
    return predicted.takeError();
  EvaluationReport report = reportOf(data, device, std::move(*predicted));
  report.calibration = "left-out";
  report.folds = folds;
  return report;
}

llvm::Expected<EvaluationReport> evaluateFamilyOut(const Dataset &data, const Device &device,
                                                   const FitOptions &options,
                                                   const EvaluationProgress &progress) {
  std::map<std::string_view, int> numbers;
  for (const DatasetRow &row : data.rows)
    numbers.emplace(row.identity.family, int(numbers.size()));
  if (numbers.size() < 2)
    return makeError(DiagClass::BadInput,
                     "{} priced families, at least 2 are needed to leave one out", numbers.size());
  std::vector<int> part;
  for (const DatasetRow &row : data.rows)
    part.push_back(numbers.at(row.identity.family));
  auto predicted = predictLeftOut(data, device, options, part, progress);
  if (!predicted)
    return predicted.takeError();
  EvaluationReport report = reportOf(data, device, std::move(*predicted));
  report.calibration = "family-out";
  return report;
}

EvaluationReport evaluatePrior(const Dataset &data, const Device &device) {
  EvaluationReport report =
      reportOf(data, device, predictAll(data, device, priorParameters(device)));
  report.calibration = "prior";
  return report;
}

EvaluationReport evaluateBaseline(const Dataset &data, const Device &device, Baseline baseline) {
  std::vector<double> predicted;
  for (const DatasetRow &row : data.rows)
    predicted.push_back(row.features.empty ? device.launchOverhead
                                           : baselineTime(baseline, row.features, device));
  EvaluationReport report = reportOf(data, device, std::move(predicted));
  report.calibration = toString(baseline);
  return report;
}

} // namespace tilewright
