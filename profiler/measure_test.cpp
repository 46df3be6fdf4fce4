#include "analysis/support/median.h"
#include "profiler/measure.h"
#include "profiler/statistics.h"
#include "profiler/testing/test_pack.h"

#include <cmath>
#include <gtest/gtest.h>

namespace tilewright::profile {

TEST(Statistics, MedianAndDeviation) {
  EXPECT_TRUE(std::isnan(medianOf({})));
  EXPECT_EQ(medianOf({3}), 3);
  EXPECT_EQ(medianOf({4, 1, 3}), 3);
  EXPECT_EQ(medianOf({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(medianDeviation({1, 2, 3, 4, 100}), 1);
  EXPECT_EQ(medianDeviation({5, 5, 5}), 0);
}

TEST(Judge, ImpossibleSamplesAreListedWithTheReason) {
  std::vector<Interval> intervals = {{1000, 2000}, {2100, 3100}, {0, 0},       {5000, 5000},
                                     {6000, 5500}, {7000, 8000}, {7100, 8100}, {9000, 9200}};
  Samples samples = judge(intervals, 500);
  EXPECT_EQ(samples.timesNs, (std::vector<double>{1000, 1000, 1000}));
  EXPECT_EQ(samples.allNs.size(), intervals.size());
  std::vector<size_t> numbers;
  for (const RejectedSample &rejected : samples.rejected)
    numbers.push_back(rejected.number);
  EXPECT_EQ(numbers, (std::vector<size_t>{2, 3, 4, 6, 7}));
  EXPECT_EQ(samples.rejected[0].reason, "no time was recorded");
  EXPECT_EQ(samples.rejected[3].reason, "starts 900 ns before the one before it ends");
  EXPECT_EQ(samples.rejected[4].reason, "200 ns is under the bound of 500 ns");
  Record record;
  writeSamples(samples, Regime::Warm, record);
  EXPECT_NE(record[Column::Error].find("5 of 8"), std::string::npos);
  EXPECT_EQ(record[Column::TimeNs], "");
}

TEST(Judge, GoodSamplesBecomeAMedianWithItsSpread) {
  Record record;
  writeSamples(judge({{0, 100}, {200, 310}, {420, 540}, {700, 730}}, 90), Regime::Warm, record);
  EXPECT_EQ(record[Column::TimeNs], "110");
  EXPECT_EQ(record[Column::MinNs], "100");
  EXPECT_EQ(record[Column::MaxNs], "120");
  EXPECT_EQ(record[Column::MadNs], "10");
  EXPECT_EQ(record[Column::GapNs], "105");
  EXPECT_EQ(record[Column::Samples], "3");
  EXPECT_EQ(record[Column::RejectedSamples], "3: 30 ns is under the bound of 90 ns");
  EXPECT_EQ(record[Column::SamplesNs], "100 110 120 30");
  EXPECT_EQ(record[Column::Error], "");
}

TEST(Judge, TheBudgetLimitsTheSamples) {
  MeasureOptions options;
  EXPECT_EQ(sampleCount(options, 1000), 20u);
  EXPECT_EQ(sampleCount(options, 10e6), 10u);
  EXPECT_EQ(sampleCount(options, 1e9), 5u);
  EXPECT_EQ(sampleCount(options, 0), 20u);
  options.samples = 3;
  EXPECT_EQ(sampleCount(options, 1e9), 3u);
}

TEST(Plausibility, BoundsOfAnH100) {
  GpuInfo h100;
  h100.major = 9;
  h100.multiprocessors = 132;
  h100.clockHz = 1.98e9;
  h100.memoryBytesPerSecond = 3352e9;
  h100.l2Bytes = 50 << 20;
  PackKernel kernel;
  EXPECT_EQ(leastTimeNs(kernel, h100, Regime::Cold), 0);
  // 4096^3 in bf16: 137.4 GFLOP at 1070 TFLOP/s.
  kernel.work = PackWork{2.0 * 4096 * 4096 * 4096, true, DType::BF16, 2.0 * 2 * 4096 * 4096,
                         2.0 * 4096 * 4096};
  EXPECT_NEAR(leastTimeNs(kernel, h100, Regime::Cold), 128.4e3, 0.2e3);
  // A copy of 64 MiB: the reads come from DRAM, the writes may stay in L2 but for 14 MiB.
  kernel.work = PackWork{0, false, DType::F32, 64.0 * (1 << 20), 64.0 * (1 << 20)};
  EXPECT_NEAR(leastTimeNs(kernel, h100, Regime::Cold), 1e9 * 78.0 * (1 << 20) / 3352e9, 1);
  EXPECT_NEAR(leastTimeNs(kernel, h100, Regime::Warm), 1e9 * 78.0 * (1 << 20) / 3352e9, 1);
  kernel.work->readBytes = kernel.work->writeBytes = 1 << 20;
  EXPECT_EQ(leastTimeNs(kernel, h100, Regime::Warm), 0);
}

TEST(Plausibility, PeaksGrowAsTypesShrink) {
  for (int major : {7, 8, 9, 10, 12})
    for (bool tensor : {false, true}) {
      double last = 0;
      for (DType type : {DType::F64, DType::F32, DType::BF16, DType::F8E4M3FN}) {
        double peak = peakOpsPerClock(major, 0, type, tensor);
        EXPECT_GE(peak, last);
        last = peak;
      }
    }
}

} // namespace tilewright::profile
