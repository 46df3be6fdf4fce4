// Quality of predictions: absolute error over rows, and the loss from choosing by them.
//
// A *group* is one problem (family, dtype, shape) with several measured configurations. With t the
// measured time, t* the best of the group and the k rows predicted fastest chosen:
//   oracle@k = t* / min over the chosen of t          (1: the best was among them)
// A family's oracle@k is the geometric mean over its groups; worst@k the smallest of a group.
// random@k is the same for k rows drawn at random: the geometric mean of each group's expected
// ratio, in closed form. Kendall's tau-b compares the two orders among rows within 1.25 t* only,
// since the order of slow configurations is irrelevant.
//
// Intervals contain 95 % of bootstrap resamples that draw whole shapes with replacement, since the
// rows of a shape share their error. The seed is fixed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tilewright {

struct PredictedRow {
  std::string family; ///< "gemm/bf16"
  std::string group;  ///< key of the problem, unique over all families
  double measuredNs = 0;
  double predictedNs = 0;
  std::string shape = {}; ///< unit of the bootstrap; the group where it is empty
};

struct ConfidenceInterval {
  double low = 0, high = 0;
};

/// Fractions: 0.08 is 8 %. All zero where there are no rows.
struct FamilyMetrics {
  std::string family;
  int64_t groups = 0, rows = 0;
  double mape = 0; ///< mean |p/t - 1|
  double medianApe = 0, p90Ape = 0;
  double bias = 0;                                     ///< mean p/t - 1
  double oracleAt1 = 0, oracleAt5 = 0, oracleAt10 = 0; ///< geometric means over groups
  double worstAt1 = 0, worstAt5 = 0, worstAt10 = 0;
  double randomAt1 = 0, randomAt5 = 0, randomAt10 = 0;
  double kendallTau = 0; ///< mean over tauGroups
  int64_t tauGroups = 0; ///< groups with three rows or more near the top
  ConfidenceInterval mapeInterval, biasInterval, oracleAt1Interval, oracleAt5Interval,
      oracleAt10Interval;
  int64_t unpricedRows = 0;
};

/// Metrics of one set of rows. Times must be positive. Equal predictions are taken in row order.
FamilyMetrics metricsOf(std::string family, std::span<const PredictedRow> rows);

/// One entry a family, sorted by name.
std::vector<FamilyMetrics> metricsByFamily(std::span<const PredictedRow> rows);

/// The change from a first prediction to a second of the same rows: second - first. Intervals
/// resample whole shapes, the same ones for both, so that their common error cancels.
struct MetricsChange {
  double mape = 0, oracleAt1 = 0;
  ConfidenceInterval mapeInterval, oracleAt1Interval;
};
MetricsChange changeOf(std::span<const PredictedRow> first, std::span<const PredictedRow> second);

/// Kendall's tau-b of two equally long lists: 1 for the same order, -1 for the reverse, 0 where one
/// is constant.
double kendallTau(std::span<const double> a, std::span<const double> b);

/// E[t* / min of k draws without replacement] for measured times of one group.
double expectedRandomRatio(std::vector<double> measured, size_t k);

} // namespace tilewright
