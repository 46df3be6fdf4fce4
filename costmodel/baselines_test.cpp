#include "costmodel/baselines.h"
#include "costmodel/testing/data.h"

namespace tilewright {
namespace {

using testing::h100;
using testing::planFrom;

Features featuresFrom(const std::string &csv) {
  return llvm::cantFail(featuresOf(llvm::cantFail(planFrom(csv)), h100()));
}

const std::string gemmHead = "kernel,dtype,d0,d1,d2,tile_m,tile_n,tile_k,warps,stages,group_m\n";

TEST(Baselines, RooflineOfALargeGemmIsItsFlopsAtPeak) {
  Features f = featuresFrom(gemmHead + "gemm,bf16,8192,8192,8192,128,256,64,8,3,8\n");
  double peak = 132 * 4096 * 1.98; // FLOP/ns
  EXPECT_NEAR(baselineTime(Baseline::Roofline, f, h100()), 2 * 8192.0 * 8192 * 8192 / peak, 1);
}

TEST(Baselines, RooflineOfACopyIsItsBytes) {
  Features f = featuresFrom("kernel,dtype,d0,block,warps\ncopy1d,f32,67108864,1024,4\n");
  EXPECT_NEAR(baselineTime(Baseline::Roofline, f, h100()), 2 * 4 * 67108864.0 / 3352, 40);
}

/// 2048² x 64 in 128² tiles: 256 CTAs. Shared memory holds 2·128·64·2 B·3 stages, thus two CTAs
/// an SM and one wave; a CTA moves 2·128·2048·2 B and writes 128²·2 B.
TEST(Baselines, TrafficTimesWaves) {
  Features f = featuresFrom(gemmHead + "gemm,bf16,2048,2048,2048,128,128,64,8,3,8\n");
  double traffic = 2 * 128 * 2048 * 2 + 128 * 128 * 2;
  EXPECT_NEAR(baselineTime(Baseline::TrafficWaves, f, h100()), (traffic + 1) * 132 / 3352, 0.02);
}

/// The pipelined loop, by hand: 32 iterations, 2 stages ahead.
TEST(Baselines, XlaDotIsThePublishedFormula) {
  Features f = featuresFrom(gemmHead + "gemm,bf16,2048,2048,2048,128,128,64,8,3,8\n");
  double compute = 2.0 * 128 * 128 * 64 / (4096 * 1.98);
  double memory = 2 * 128 * 64 * 2 * 132 / 3352.0, write = 128 * 128 * 2 * 132 / 3352.0;
  double steady = std::max({memory, compute, std::max(memory + 1300, compute) / 2});
  double loop = 2 * (memory + 1300) + 30 * steady + 2 * compute + write;
  double l2 = 256 * 32.0 * 2 * 128 * 64 * 2 / 6650 + 32 * 400;
  double dram = 5460 + 3 * 2048.0 * 2048 * 2 / (0.926 * 3352);
  EXPECT_NEAR(baselineTime(Baseline::Xla, f, h100()) / std::max({loop, l2, dram}), 1, 1e-3);
}

TEST(Baselines, XlaPaysForShortRows) {
  Features wide = featuresFrom("kernel,dtype,d0,d1,tile_m,tile_n,warps\n"
                               "bcast2d,bf16,4096,4096,2,512,4\n");
  Features narrow = featuresFrom("kernel,dtype,d0,d1,tile_m,tile_n,warps\n"
                                 "bcast2d,bf16,4096,4096,64,16,4\n");
  EXPECT_GT(baselineTime(Baseline::Xla, narrow, h100()),
            1.4 * baselineTime(Baseline::Xla, wide, h100()));
}

TEST(Baselines, NamesRoundTrip) {
  for (Baseline b : {Baseline::Roofline, Baseline::TrafficWaves, Baseline::Xla})
    EXPECT_EQ(parseBaseline(toString(b)), b);
  EXPECT_EQ(parseBaseline("oracle"), std::nullopt);
}

} // namespace
} // namespace tilewright
