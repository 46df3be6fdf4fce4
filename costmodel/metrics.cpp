#include "costmodel/metrics.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilewright {

namespace {

/// Linear interpolation between order statistics (the usual definition, "type 7").
double quantile(std::vector<double> &values, double fraction) {
  std::sort(values.begin(), values.end());
  double position = fraction * static_cast<double>(values.size() - 1);
  size_t below = static_cast<size_t>(position);
  size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
}

/// best / best of the first k.
double oracleRatio(std::span<const PredictedRow *const> byPrediction, double best, size_t k) {
  double found = byPrediction[0]->measuredNs;
  for (size_t i = 1; i < std::min(k, byPrediction.size()); ++i)
    found = std::min(found, byPrediction[i]->measuredNs);
  return best / found;
}

} // namespace

double expectedRandomRatio(std::vector<double> measured, size_t k) {
  std::sort(measured.begin(), measured.end());
  size_t n = measured.size();
  k = std::min(k, n);
  // P(the i-th best is the best of the k) = C(n-1-i, k-1) / C(n, k), by its recurrence in i.
  double probability = static_cast<double>(k) / static_cast<double>(n);
  double expected = 0;
  for (size_t i = 0; i + k <= n; ++i) {
    expected += probability * measured[0] / measured[i];
    if (i + 1 < n)
      probability *= static_cast<double>(n - k - i) / static_cast<double>(n - 1 - i);
  }
  return expected;
}

FamilyMetrics metricsOf(std::string family, std::span<const PredictedRow> rows) {
  FamilyMetrics result;
  result.family = std::move(family);
  result.rows = static_cast<int64_t>(rows.size());
  if (rows.empty())
    return result;

  std::vector<double> errors;
  std::map<std::string_view, std::vector<const PredictedRow *>> groups;
  for (const PredictedRow &row : rows) {
    double relative = row.predictedNs / row.measuredNs - 1;
    errors.push_back(std::abs(relative));
    result.mape += std::abs(relative);
    result.bias += relative;
    groups[row.group].push_back(&row);
  }
  result.mape /= static_cast<double>(rows.size());
  result.bias /= static_cast<double>(rows.size());
  result.medianApe = quantile(errors, 0.5);
  result.p90Ape = quantile(errors, 0.9);

  double log1 = 0, log5 = 0, log10 = 0, logRandom = 0;
  result.worstAt1 = 1;
  for (auto &[key, members] : groups) {
    std::stable_sort(members.begin(), members.end(),
                     [](const PredictedRow *a, const PredictedRow *b) {
                       return a->predictedNs < b->predictedNs;
                     });
    std::vector<double> measured;
    for (const PredictedRow *row : members)
      measured.push_back(row->measuredNs);
    double best = *std::min_element(measured.begin(), measured.end());
    double at1 = oracleRatio(members, best, 1);
    result.worstAt1 = std::min(result.worstAt1, at1);
    log1 += std::log(at1);
    log5 += std::log(oracleRatio(members, best, 5));
    log10 += std::log(oracleRatio(members, best, 10));
    logRandom += std::log(expectedRandomRatio(std::move(measured), 5));
  }
  double count = static_cast<double>(groups.size());
  result.groups = static_cast<int64_t>(groups.size());
  result.oracleAt1 = std::exp(log1 / count);
  result.oracleAt5 = std::exp(log5 / count);
  result.oracleAt10 = std::exp(log10 / count);
  result.randomAt5 = std::exp(logRandom / count);
  return result;
}

std::vector<FamilyMetrics> metricsByFamily(std::span<const PredictedRow> rows) {
  std::map<std::string, std::vector<PredictedRow>> families;
  for (const PredictedRow &row : rows)
    families[row.family].push_back(row);
  std::vector<FamilyMetrics> result;
  for (auto &[family, members] : families)
    result.push_back(metricsOf(family, members));
  return result;
}

} // namespace tilewright
