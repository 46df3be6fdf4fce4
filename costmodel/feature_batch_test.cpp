#include "costmodel/elementary.h"
#include "costmodel/feature_batch.h"
#include "costmodel/testing/data.h"

#include <bit>
#include <cmath>
#include <random>

namespace tilewright {
namespace {

using testing::datasetOf;
using testing::h100;
using testing::measured;

const Dataset &everyEleventhRow() {
  static const Dataset data = [] {
    std::vector<Table> tables;
    for (const char *file :
         {"gemm.csv.gz", "gemm_variants.csv.gz", "memory.csv.gz", "attention.csv.gz"}) {
      int n = 0;
      tables.push_back(measured(file, [&](std::string_view) { return n++ % 11 == 0; }));
    }
    return datasetOf(std::move(tables));
  }();
  return data;
}

TEST(FeatureBatch, GivesTheTimesOfPlansPricedAlone) {
  Device device = h100();
  auto calibration = llvm::cantFail(loadCalibration("h100-sxm"));
  Parameters p = calibration.values();
  FeatureBatch batch;
  for (const DatasetRow &row : everyEleventhRow().rows)
    batch.add(row.features);
  ASSERT_GT(batch.size(), 2000u);
  std::vector<double> times(batch.size());
  for (CacheState cache : {CacheState::Flushed, CacheState::Clean, CacheState::Warm}) {
    batch.score(device, p, cache, times);
    for (size_t i = 0; i < times.size(); ++i) {
      const DatasetRow &row = everyEleventhRow().rows[i];
      double alone = estimateTime(row.features, device, p, 0.1, {cache}).timeNs;
      ASSERT_NEAR(times[i] / alone, 1, 1e-13) << row.identity.group;
    }
  }
}

TEST(FeatureBatch, EmptyAndImpossiblePlansAmongOthers) {
  Device device = h100();
  Parameters p = priorParameters(device);
  Features ordinary = everyEleventhRow().rows[5].features;
  Features empty = ordinary, impossible = ordinary;
  empty.empty = true;
  impossible.occupancy = 0;
  FeatureBatch batch;
  for (int i = 0; i < 21; ++i)
    batch.add(i % 3 == 0 ? ordinary : i % 3 == 1 ? empty : impossible);
  std::vector<double> times(batch.size());
  batch.score(device, p, CacheState::Flushed, times);
  double alone = estimateTime(ordinary, device, p, 0.1).timeNs;
  for (int i = 0; i < 21; ++i)
    if (i % 3 == 0)
      EXPECT_NEAR(times[i], alone, alone * 1e-13);
    else if (i % 3 == 1)
      EXPECT_EQ(times[i], 0);
    else
      EXPECT_TRUE(std::isinf(times[i]));
  batch.clear();
  EXPECT_EQ(batch.size(), 0u);
}

TEST(Elementary, LogarithmsAndExponentialsAreThoseOfTheLibrary) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-300, 300), near(-0.01, 0.01), y(-650, 650);
  for (int i = 0; i < 20000; ++i) {
    double x = i % 2 ? std::pow(10, exponent(random)) : 1 + near(random);
    EXPECT_NEAR(lnOf(x), std::log(x), 1e-15 * std::max(std::abs(std::log(x)), 1e-1)) << x;
    double at = i % 2 ? y(random) : near(random);
    EXPECT_NEAR(expOf(at) / std::exp(at), 1, 1e-15) << at;
  }
  EXPECT_EQ(lnOf(1.0), 0);
  EXPECT_EQ(expOf(0.0), 1);
  EXPECT_EQ(powOf(1.0, 0.37), 1);
  EXPECT_LT(powOf(0.0, 3.0), 1e-300);
  EXPECT_TRUE(std::isfinite(expOf(1e300)));
}

TEST(Elementary, LanesAgreeWithDoubles) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> magnitude(-20, 20), sign(-1, 1);
  for (int round = 0; round < 5000; ++round) {
    Lanes x, y;
    for (int i = 0; i < laneCount; ++i) {
      x.set(i, std::copysign(std::exp2(magnitude(random)), sign(random)));
      y.set(i, round % 5 ? std::floor(x[i]) : x[i] * 0x1p28);
    }
    Lanes absolute = larger(x, 0.0 - x);
    for (int i = 0; i < laneCount; ++i) {
      EXPECT_EQ(floorOf(x)[i], std::floor(x[i]));
      EXPECT_EQ(ceilOf(x)[i], std::ceil(x[i]));
      EXPECT_EQ(floorOf(y)[i], std::floor(y[i]));
      EXPECT_EQ(ceilOf(y)[i], std::ceil(y[i]));
      EXPECT_NEAR(lnOf(absolute)[i], lnOf(absolute[i]), 1e-15 * 20);
      EXPECT_NEAR(expOf(x * 1e-5)[i] / expOf(x[i] * 1e-5), 1, 1e-15);
      EXPECT_EQ(smaller(x, y)[i], std::min(x[i], y[i]));
      EXPECT_EQ(select(x < y, x, y)[i], std::min(x[i], y[i]));
    }
    EXPECT_EQ(anyOf(x < y), anyOf(y > x));
  }
}

} // namespace
} // namespace tilewright
