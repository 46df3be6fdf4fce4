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

TEST(Metrics, TauOfOrdersAndTies) {
  EXPECT_DOUBLE_EQ(kendallTau(std::vector<double>{1, 2, 3}, std::vector<double>{10, 20, 30}), 1);
  EXPECT_DOUBLE_EQ(kendallTau(std::vector<double>{1, 2, 3}, std::vector<double>{3, 2, 1}), -1);
  EXPECT_DOUBLE_EQ(kendallTau(std::vector<double>{1, 2, 3}, std::vector<double>{5, 5, 5}), 0);
  // Pairs: 2 agree, 0 disagree, 1 tied in b: 2 / √(3·2).
  EXPECT_DOUBLE_EQ(kendallTau(std::vector<double>{1, 2, 3}, std::vector<double>{1, 1, 2}),
                   2 / std::sqrt(6.0));
}

TEST(Metrics, TauLooksNearTheTopOnly) {
  std::vector<PredictedRow> rows = {
      {"f", "a", 10, 1}, {"f", "a", 11, 2}, {"f", "a", 12, 3}, {"f", "a", 90, 0.5}};
  FamilyMetrics m = metricsOf("f", rows);
  EXPECT_EQ(m.tauGroups, 1);
  EXPECT_DOUBLE_EQ(m.kendallTau, 1);
  EXPECT_DOUBLE_EQ(m.worstAt5, 1);
  EXPECT_DOUBLE_EQ(m.randomAt10, 1);
  EXPECT_DOUBLE_EQ(m.randomAt1, (1 + 10 / 11.0 + 10 / 12.0 + 10 / 90.0) / 4);
}

/// One shape can not vary; many alike hardly do; the interval holds the value.
TEST(Metrics, IntervalsComeOfWholeShapes) {
  std::vector<PredictedRow> one, many, mixed;
  for (int i = 0; i < 40; ++i) {
    std::string group = "g" + std::to_string(i), half = i % 2 ? "s1" : "s2";
    double error = i % 2 ? 1.4 : 1.1;
    one.push_back({"f", group, 10, 10 * error, "s"});
    many.push_back({"f", group, 10, 10 * error, group});
    mixed.push_back({"f", group, 10, 10 * error, half});
  }
  FamilyMetrics a = metricsOf("f", one), b = metricsOf("f", many), c = metricsOf("f", mixed);
  EXPECT_DOUBLE_EQ(a.mapeInterval.low, a.mapeInterval.high);
  EXPECT_LT(b.mapeInterval.low, b.mape);
  EXPECT_GT(b.mapeInterval.high, b.mape);
  EXPECT_LT(b.mapeInterval.high - b.mapeInterval.low, 0.15);
  EXPECT_NEAR(c.mapeInterval.low, 0.1, 1e-12); // two shapes: both draws may be the same
  EXPECT_NEAR(c.mapeInterval.high, 0.4, 1e-12);
  EXPECT_DOUBLE_EQ(metricsOf("f", many).mapeInterval.low, b.mapeInterval.low); // fixed seed
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

TEST(Metrics, ChangeBetweenTwoPredictions) {
  // Errors 0.5 and 0.3 become 0.1 and 0.3; the first ranks the slower one first.
  std::vector<PredictedRow> first = {{"f", "a", 10, 15}, {"f", "a", 20, 14}},
                            second = {{"f", "a", 10, 11}, {"f", "a", 20, 26}};
  MetricsChange change = changeOf(first, second);
  EXPECT_NEAR(change.mape, (0.1 + 0.3) / 2 - (0.5 + 0.3) / 2, 1e-12);
  EXPECT_NEAR(change.oracleAt1, 1 - 0.5, 1e-12);
  // One shape can not vary.
  EXPECT_NEAR(change.mapeInterval.low, change.mape, 1e-12);
  EXPECT_NEAR(change.mapeInterval.high, change.mape, 1e-12);
  EXPECT_EQ(changeOf({}, {}).mape, 0);
}

/// Shapes whose errors are far apart, and a change that all of them share: its interval is narrow.
TEST(Metrics, ChangesArePaired) {
  std::vector<PredictedRow> first, second;
  for (int i = 0; i < 40; ++i) {
    const double error = 0.1 * i;
    first.push_back({"f", std::to_string(i), 10, 10 * (1 + error)});
    second.push_back({"f", std::to_string(i), 10, 10 * (1 + error + 0.01)});
  }
  MetricsChange change = changeOf(first, second);
  EXPECT_NEAR(change.mapeInterval.low, 0.01, 1e-9);
  EXPECT_NEAR(change.mapeInterval.high, 0.01, 1e-9);
  EXPECT_GT(metricsOf("f", first).mapeInterval.high - metricsOf("f", first).mapeInterval.low, 0.3);
  MetricsChange back = changeOf(second, first);
  EXPECT_NEAR(back.mape, -change.mape, 1e-12);
}

} // namespace
} // namespace tilewright
