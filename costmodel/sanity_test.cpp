// What must hold of any time model: better hardware is not slower, more work not faster.
#include "costmodel/estimate.h"
#include "costmodel/formula.h"
#include "costmodel/test_data.h"

#include <algorithm>
#include <cmath>

namespace tilewright {
namespace {

using testing::datasetOf;
using testing::h100;
using testing::measured;
using testing::planFrom;

Parameters fitted() {
  auto calibration = loadCalibration("h100-sxm");
  if (!calibration)
    ADD_FAILURE() << takeDiag(calibration.takeError()).str();
  return calibration->values();
}

double timeOf(const std::string &row) {
  auto plan = planFrom(row);
  if (!plan) {
    ADD_FAILURE() << takeDiag(plan.takeError()).str();
    return 0;
  }
  auto features = featuresOf(*plan, h100());
  if (!features) {
    ADD_FAILURE() << takeDiag(features.takeError()).str();
    return 0;
  }
  return estimateTime(*features, h100(), fitted(), 0.1).timeNs;
}

std::string gemmRow(int64_t m, int64_t n, int64_t k, int tileM, int tileN, int tileK, int warps,
                    int stages) {
  return fmt::format("kernel,dtype,d0,d1,d2,tile_m,tile_n,tile_k,warps,stages,group_m\n"
                     "gemm,bf16,{},{},{},{},{},{},{},{},8\n",
                     m, n, k, tileM, tileN, tileK, warps, stages);
}

// Not quite "never": SMs share the L2 and DRAM bandwidth, which stays the same here, pairs of SMs
// need CTAs on more than half of them to share what they fetch, and a kernel that waits for DRAM
// with several CTAs an SM overlaps these waits, with one it does not.
TEST(Sanity, MoreSmsAreFasterOrContendForMemory) {
  std::vector<Table> tables;
  for (const char *file :
       {"gemm.csv.gz", "gemm_variants.csv.gz", "memory.csv.gz", "attention.csv.gz"}) {
    int n = 0;
    tables.push_back(measured(file, [&](std::string_view) { return n++ % 31 == 0; }));
  }
  Dataset data = datasetOf(std::move(tables));
  Device device = h100(), twice = device;
  twice.smCount *= 2;
  Parameters p = fitted();
  ASSERT_GT(data.rows.size(), 700u);
  double slower = 0, sumOfLogs = 0, withAllDoubled = 0;
  for (const DatasetRow &row : data.rows) {
    double base = kernelTime(row.features, device, p).total;
    double ratio = kernelTime(row.features, twice, p).total / base;
    EXPECT_LE(ratio, 1.25) << row.identity.group;
    slower += ratio > 1.02 ? 1 : 0;
    sumOfLogs += std::log(ratio);
    Parameters faster = p;
    faster.l2Near *= 2;
    faster.l2Far *= 2;
    faster.l2Stream *= 2;
    faster.dramBandwidth *= 2;
    withAllDoubled = std::max(withAllDoubled, kernelTime(row.features, twice, faster).total / base);
  }
  double count = double(data.rows.size());
  EXPECT_LE(slower / count, 0.25);
  EXPECT_LE(sumOfLogs / count, -0.1);
  EXPECT_LE(withAllDoubled, 1.12);
}

TEST(Sanity, MoreWorkTakesLongerAtOneTile) {
  struct Tile {
    int m, n, k, warps, stages;
  };
  for (Tile t : {Tile{64, 64, 64, 4, 3}, Tile{128, 128, 64, 4, 3}, Tile{128, 256, 64, 8, 4},
                 Tile{16, 128, 64, 4, 4}, Tile{32, 64, 128, 8, 2}})
    for (int axis = 0; axis < 3; ++axis) {
      double before = 0;
      for (int64_t steps = 1; steps <= 96; steps += 1 + steps / 6) {
        int64_t size[3] = {8 * t.m, 8 * t.n, 8 * t.k};
        const int64_t tile[3] = {t.m, t.n, t.k};
        size[axis] = steps * tile[axis];
        double time = timeOf(gemmRow(size[0], size[1], size[2], t.m, t.n, t.k, t.warps, t.stages));
        // One step down in fetched bytes is real: see pairSharing().
        EXPECT_GE(time, before * 0.99) << size[0] << "x" << size[1] << "x" << size[2];
        before = time;
      }
    }
}

TEST(Sanity, EqualPlansTakeEqualTime) {
  for (int64_t k : {256, 4096})
    EXPECT_EQ(timeOf(gemmRow(512, 2048, k, 64, 128, 32, 4, 3)),
              timeOf(gemmRow(512, 2048, k, 64, 128, 32, 4, 3)));
}

} // namespace
} // namespace tilewright
