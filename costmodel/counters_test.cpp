#include "costmodel/counters.h"
#include "costmodel/testing/data.h"

namespace tilewright {
namespace {

CounterReport bundledCounters() {
  TemplateLibrary templates = testing::bundledTemplates();
  Table table = llvm::cantFail(Table::read("datasets/measurements/h100-sxm/counters.csv"));
  return llvm::cantFail(compareCounters(table, templates, testing::h100()));
}

TEST(Counters, TrafficOfTheBundledLaunches) {
  CounterReport report = bundledCounters();
  EXPECT_EQ(report.launches.size(), 46u);
  EXPECT_EQ(report.unpricedRows(), 0);
  EXPECT_LT(report.errors[size_t(TrafficLevel::DramRead)].medianApe, 0.15);
  EXPECT_LT(report.errors[size_t(TrafficLevel::L2Read)].medianApe, 0.10);
  EXPECT_LT(report.errors[size_t(TrafficLevel::L1)].medianApe, 0.10);
}

/// By hand: 64² CTAs of 128 x 64 inputs, each read 4096 / 64 times.
TEST(Counters, BytesByHandAgreeWithTheCounter) {
  for (const CountedLaunch &launch : bundledCounters().launches)
    if (launch.line == 4) { // gemm 4096³, tile 64 x 64 x 64
      double asked = 64.0 * 64 * 64 * 2 * 64 * 64 * 2;
      EXPECT_NEAR(launch.predicted[size_t(TrafficLevel::L1)], asked + 4096.0 * 4096 * 2, 1);
      EXPECT_NEAR(launch.counted[size_t(TrafficLevel::L1)] / asked, 1, 0.02);
    }
}

/// Rows that no family takes leave nothing to compare, and no error of 0 %.
TEST(Counters, WithoutALaunchThereIsNoError) {
  TemplateLibrary templates = testing::bundledTemplates();
  Table table =
      llvm::cantFail(Table::read("datasets/measurements/h100-sxm/tilewright-1/counters.csv"));
  CounterReport report = llvm::cantFail(compareCounters(table, templates, testing::h100()));
  EXPECT_TRUE(report.launches.empty());
  EXPECT_TRUE(report.errors.empty());
  EXPECT_EQ(report.unpricedRows(), int64_t(table.rowCount()));
  EXPECT_EQ(report.unpriced.front().reason, noTemplate);
}

TEST(Counters, MissingColumnsAreErrors) {
  TemplateLibrary templates = testing::bundledTemplates();
  Table table = llvm::cantFail(Table::parse("c.csv", "kernel,dtype\ncopy1d,f32\n"));
  auto report = compareCounters(table, templates, testing::h100());
  ASSERT_FALSE(report);
  EXPECT_EQ(takeDiag(report.takeError()).cls, DiagClass::BadInput);
}

} // namespace
} // namespace tilewright
