#include "costmodel/metrics.h"

#include <cmath>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

TEST(Metrics, HandMadeGroup) {
  // Measured 10 20 40; the prediction ranks the 20 first.
  std::vector<PredictedRow> rows = {{"f", "a", 10, 15}, {"f", "a", 20, 10}, {"f", "a", 40, 40}};
  FamilyMetrics m = metricsOf("f", rows);
  EXPECT_EQ(m.groups, 1);
  EXPECT_EQ(m.rows, 3);
  EXPECT_DOUBLE_EQ(m.mape, (0.5 + 0.5 + 0) / 3);
  EXPECT_DOUBLE_EQ(m.bias, 0);
  EXPECT_DOUBLE_EQ(m.medianApe, 0.5);
  EXPECT_DOUBLE_EQ(m.oracleAt1, 0.5);
  EXPECT_DOUBLE_EQ(m.worstAt1, 0.5);
  EXPECT_DOUBLE_EQ(m.oracleAt5, 1);
}

TEST(Metrics, GeometricMeanOverGroupsAndFamilies) {
  std::vector<PredictedRow> rows = {
      {"f", "a", 10, 2}, {"f", "a", 20, 1}, {"f", "b", 5, 1}, {"f", "b", 10, 2}, {"g", "c", 1, 2}};
  std::vector<FamilyMetrics> families = metricsByFamily(rows);
  ASSERT_EQ(families.size(), 2u);
  EXPECT_EQ(families[0].family, "f");
  EXPECT_DOUBLE_EQ(families[0].oracleAt1, std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(families[1].mape, 1);
  EXPECT_DOUBLE_EQ(families[1].bias, 1);
}

TEST(Metrics, TiesGoByRowOrder) {
  std::vector<PredictedRow> rows = {{"f", "a", 20, 1}, {"f", "a", 10, 1}};
  EXPECT_DOUBLE_EQ(metricsOf("f", rows).oracleAt1, 0.5);
}

TEST(Metrics, NoRows) { EXPECT_EQ(metricsOf("f", {}).mape, 0); }

/// Against the mean over all subsets.
TEST(Metrics, ExpectedRandomRatioMatchesBruteForce) {
  std::vector<double> times = {3, 9, 4, 4, 12, 5, 30};
  for (size_t k = 1; k <= times.size() + 2; ++k) {
    double sum = 0;
    int count = 0;
    for (unsigned mask = 0; mask < 1u << times.size(); ++mask) {
      if (static_cast<size_t>(__builtin_popcount(mask)) != std::min(k, times.size()))
        continue;
      double best = 1e9;
      for (size_t i = 0; i < times.size(); ++i)
        if (mask >> i & 1)
          best = std::min(best, times[i]);
      sum += 3 / best;
      ++count;
    }
    EXPECT_NEAR(expectedRandomRatio(times, k), sum / count, 1e-12) << k;
  }
}

} // namespace
} // namespace tilewright
