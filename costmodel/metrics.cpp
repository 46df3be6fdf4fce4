#include "costmodel/metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

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

double kendallTau(std::span<const double> a, std::span<const double> b) {
  double agree = 0, differA = 0, differB = 0; // pairs
  auto sign = [](double x) { return (x > 0) - (x < 0); };
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = i + 1; j < a.size(); ++j) {
      int da = sign(a[i] - a[j]), db = sign(b[i] - b[j]);
      agree += da * db;
      differA += da != 0;
      differB += db != 0;
    }
  return differA > 0 && differB > 0 ? agree / std::sqrt(differA * differB) : 0;
}

namespace {

/// The choice metrics of one group.
struct GroupScore {
  std::array<double, 3> oracle, random; ///< at each of choiceCounts
  std::optional<double> tau;
};
constexpr std::array<size_t, 3> choiceCounts = {1, 5, 10};

GroupScore scoreOf(std::vector<const PredictedRow *> members) {
  constexpr double nearTop = 1.25;
  constexpr size_t fewestForTau = 3;
  std::stable_sort(
      members.begin(), members.end(),
      [](const PredictedRow *a, const PredictedRow *b) { return a->predictedNs < b->predictedNs; });
  std::vector<double> measured, topMeasured, topPredicted;
  for (const PredictedRow *row : members)
    measured.push_back(row->measuredNs);
  double best = *std::min_element(measured.begin(), measured.end());
  for (const PredictedRow *row : members)
    if (row->measuredNs <= nearTop * best) {
      topMeasured.push_back(row->measuredNs);
      topPredicted.push_back(row->predictedNs);
    }
  GroupScore score;
  for (size_t i = 0; i < choiceCounts.size(); ++i) {
    score.oracle[i] = oracleRatio(members, best, choiceCounts[i]);
    score.random[i] = expectedRandomRatio(measured, choiceCounts[i]);
  }
  if (topMeasured.size() >= fewestForTau)
    score.tau = kendallTau(topMeasured, topPredicted);
  return score;
}

/// Sums over one shape, from which all resampled metrics follow.
struct ShapeSums {
  double rows = 0, absolute = 0, bias = 0, groups = 0;
  std::array<double, 3> logOracle{};

  ShapeSums &operator+=(const ShapeSums &o) {
    rows += o.rows;
    absolute += o.absolute;
    bias += o.bias;
    groups += o.groups;
    for (size_t i = 0; i < logOracle.size(); ++i)
      logOracle[i] += o.logOracle[i];
    return *this;
  }
};

/// SplitMix64: the same draws with every standard library.
class Draws {
public:
  size_t below(size_t n) {
    uint64_t z = state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return size_t((z ^ (z >> 31)) % n);
  }

private:
  uint64_t state = 1;
};

constexpr int resamples = 1000;

ConfidenceInterval intervalOf(std::vector<double> &samples) {
  return {quantile(samples, 0.025), quantile(samples, 0.975)};
}

void addIntervals(FamilyMetrics &m, std::span<const ShapeSums> shapes) {
  std::array<std::vector<double>, 5> samples;
  Draws draws;
  for (int r = 0; r < resamples; ++r) {
    ShapeSums sum;
    for (size_t i = 0; i < shapes.size(); ++i)
      sum += shapes[draws.below(shapes.size())];
    samples[0].push_back(sum.absolute / sum.rows);
    samples[1].push_back(sum.bias / sum.rows);
    for (size_t i = 0; i < choiceCounts.size(); ++i)
      samples[2 + i].push_back(std::exp(sum.logOracle[i] / std::max(sum.groups, 1.0)));
  }
  ConfidenceInterval *const intervals[] = {&m.mapeInterval, &m.biasInterval, &m.oracleAt1Interval,
                                           &m.oracleAt5Interval, &m.oracleAt10Interval};
  for (size_t i = 0; i < samples.size(); ++i)
    *intervals[i] = intervalOf(samples[i]);
}

std::string_view shapeOf(const PredictedRow &row) {
  return row.shape.empty() ? row.group : row.shape;
}

/// By shape; only the error and the choice at k = 1.
std::map<std::string_view, ShapeSums> sumsByShape(std::span<const PredictedRow> rows) {
  std::map<std::string_view, ShapeSums> shapes;
  std::map<std::string_view, std::vector<const PredictedRow *>> groups;
  for (const PredictedRow &row : rows) {
    double relative = row.predictedNs / row.measuredNs - 1;
    shapes[shapeOf(row)] += {1, std::abs(relative), relative, 0, {}};
    groups[row.group].push_back(&row);
  }
  for (const auto &[key, members] : groups) {
    const PredictedRow *chosen = members.front(), *best = members.front();
    for (const PredictedRow *row : members) {
      if (row->predictedNs < chosen->predictedNs)
        chosen = row;
      if (row->measuredNs < best->measuredNs)
        best = row;
    }
    ShapeSums &shape = shapes[shapeOf(*members.front())];
    shape.groups += 1;
    shape.logOracle[0] += std::log(best->measuredNs / chosen->measuredNs);
  }
  return shapes;
}

} // namespace

FamilyMetrics metricsOf(std::string family, std::span<const PredictedRow> rows) {
  FamilyMetrics result;
  result.family = std::move(family);
  result.rows = static_cast<int64_t>(rows.size());
  if (rows.empty())
    return result;

  std::vector<double> errors;
  std::map<std::string_view, std::vector<const PredictedRow *>> groups;
  std::map<std::string_view, ShapeSums> shapes;
  for (const PredictedRow &row : rows) {
    double relative = row.predictedNs / row.measuredNs - 1;
    errors.push_back(std::abs(relative));
    shapes[shapeOf(row)] += {1, std::abs(relative), relative, 0, {}};
    groups[row.group].push_back(&row);
  }
  std::array<double, 3> logOracle{}, logRandom{}, worst = {1, 1, 1};
  double tau = 0;
  for (const auto &[key, members] : groups) {
    GroupScore score = scoreOf(members);
    ShapeSums &shape = shapes[shapeOf(*members.front())];
    shape.groups += 1;
    for (size_t i = 0; i < choiceCounts.size(); ++i) {
      worst[i] = std::min(worst[i], score.oracle[i]);
      logOracle[i] += std::log(score.oracle[i]);
      logRandom[i] += std::log(score.random[i]);
      shape.logOracle[i] += std::log(score.oracle[i]);
    }
    result.tauGroups += score.tau.has_value();
    tau += score.tau.value_or(0);
  }

  ShapeSums all;
  std::vector<ShapeSums> sums;
  for (const auto &[key, shape] : shapes) {
    all += shape;
    sums.push_back(shape);
  }
  result.mape = all.absolute / all.rows;
  result.bias = all.bias / all.rows;
  result.medianApe = quantile(errors, 0.5);
  result.p90Ape = quantile(errors, 0.9);
  double count = static_cast<double>(groups.size());
  result.groups = static_cast<int64_t>(groups.size());
  auto meanOf = [&](const std::array<double, 3> &logs, size_t i) {
    return std::exp(logs[i] / count);
  };
  result.oracleAt1 = meanOf(logOracle, 0);
  result.oracleAt5 = meanOf(logOracle, 1);
  result.oracleAt10 = meanOf(logOracle, 2);
  result.randomAt1 = meanOf(logRandom, 0);
  result.randomAt5 = meanOf(logRandom, 1);
  result.randomAt10 = meanOf(logRandom, 2);
  result.worstAt1 = worst[0];
  result.worstAt5 = worst[1];
  result.worstAt10 = worst[2];
  result.kendallTau = result.tauGroups ? tau / double(result.tauGroups) : 0;
  addIntervals(result, sums);
  return result;
}

MetricsChange changeOf(std::span<const PredictedRow> first, std::span<const PredictedRow> second) {
  MetricsChange change;
  std::vector<ShapeSums> before, after;
  for (const auto &[shape, sums] : sumsByShape(first))
    before.push_back(sums);
  for (const auto &[shape, sums] : sumsByShape(second))
    after.push_back(sums);
  if (before.empty() || before.size() != after.size())
    return change;
  auto mapeOf = [](const ShapeSums &sum) { return sum.absolute / sum.rows; };
  auto oracleOf = [](const ShapeSums &sum) {
    return std::exp(sum.logOracle[0] / std::max(sum.groups, 1.0));
  };
  ShapeSums allBefore, allAfter;
  for (size_t i = 0; i < before.size(); ++i) {
    allBefore += before[i];
    allAfter += after[i];
  }
  change.mape = mapeOf(allAfter) - mapeOf(allBefore);
  change.oracleAt1 = oracleOf(allAfter) - oracleOf(allBefore);
  std::vector<double> mapes, oracles;
  Draws draws;
  for (int r = 0; r < resamples; ++r) {
    ShapeSums a, b;
    for (size_t i = 0; i < before.size(); ++i) {
      size_t shape = draws.below(before.size());
      a += before[shape];
      b += after[shape];
    }
    mapes.push_back(mapeOf(b) - mapeOf(a));
    oracles.push_back(oracleOf(b) - oracleOf(a));
  }
  change.mapeInterval = intervalOf(mapes);
  change.oracleAt1Interval = intervalOf(oracles);
  return change;
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
