#include "analysis/compiled/testing/compiled.h"
#include "costmodel/sequence/emitter_features.h"
#include "costmodel/sequence/levers.h"
#include "costmodel/sequence/library_product.h"

#include <fmt/format.h>
#include <random>

namespace tilewright {
namespace {

Device h100() {
  auto device = loadDevice("h100-sxm");
  if (!device)
    ADD_FAILURE() << takeDiag(device.takeError()).str();
  return std::move(*device);
}

constexpr double mega = 1 << 20;

/// A kernel that reads and writes whole buffers of so many bytes.
Launch kernelOf(std::vector<std::pair<uint32_t, double>> reads,
                std::vector<std::pair<uint32_t, double>> writes) {
  Launch launch;
  for (auto [space, bytes] : reads)
    launch.accesses.push_back({space, 0, int64_t(bytes), bytes, false, {}});
  for (auto [space, bytes] : writes)
    launch.accesses.push_back({space, 0, int64_t(bytes), bytes, true, {}});
  return launch;
}

std::vector<ScheduleItem> inOrder(size_t launches) {
  std::vector<ScheduleItem> items;
  for (size_t i = 0; i < launches; ++i)
    items.push_back({i, {}, 1});
  return items;
}

LibraryTime convolutionTime(int64_t pixels, int64_t channels, int stride) {
  const Module module = compiledModule(fmt::format(
      R"(HloModule m, is_scheduled=true
ENTRY e {{
  x = bf16[64,{0},{0},{1}]{{3,2,1,0}} parameter(0)
  w = bf16[64,7,7,{1}]{{3,2,1,0}} parameter(1)
  ROOT c = (bf16[64,112,112,64]{{3,2,1,0}}, u8[0]{{0}}) custom-call(x, w), window={{size=7x7 stride={2}x{2}}}, dim_labels=b01f_o01i->b01f, custom_call_target="__cudnn$convForward"
}})",
      pixels, channels, stride));
  const std::optional<LibraryWork> work = libraryWork(module.entry(), module.entry().root());
  if (!work) {
    ADD_FAILURE() << "no work";
    return {};
  }
  return libraryTime(*work, h100());
}

// Positions two pixels apart take a sector of L2 each, of which they use a half.
TEST(LibraryProducts, FewChannelsAreReadBySectors) {
  const double strided = convolutionTime(230, 3, 2).smNs, dense = convolutionTime(118, 3, 1).smNs;
  EXPECT_GT(strided, 1.5 * dense);
  const double full = convolutionTime(230, 16, 2).smNs,
               fullDense = convolutionTime(118, 16, 1).smNs;
  EXPECT_DOUBLE_EQ(full, fullDense);
  constexpr double measuredNs = 54530 + 2272 + 387433; // two kernels that pad, and the product
  EXPECT_GT(strided, 0.5 * measuredNs);
  EXPECT_LT(strided, 1.2 * measuredNs);
}

TEST(L2Contents, KernelsWhoseDataFitFindThemAgain) {
  const std::vector<Launch> launches = {kernelOf({{1, 4 * mega}}, {{2, 4 * mega}})};
  const auto traffic = replay(launches, inOrder(1), h100());
  EXPECT_EQ(traffic[0].missedBytes, 0);
  EXPECT_EQ(traffic[0].writtenBackBytes, 0);
  EXPECT_EQ(traffic[0].readBytes, 4 * mega);
}

TEST(L2Contents, WhatIsFarLargerThanL2MissesAndIsWrittenBack) {
  const std::vector<Launch> launches = {kernelOf({{1, 400 * mega}}, {{2, 400 * mega}})};
  const auto traffic = replay(launches, inOrder(1), h100());
  EXPECT_NEAR(traffic[0].missedBytes, 400 * mega, mega);
  EXPECT_NEAR(traffic[0].writtenBackBytes, 400 * mega, mega);
}

// Buffers that no memory holds are replayed by their ends, at once: they miss whole, and what a
// small kernel finds behind them is no more or less than behind one that is just larger than L2.
TEST(L2Contents, NoSizeTakesLong) {
  for (double size : {1e12, 1e15, 9e17}) {
    std::vector<Launch> launches = {kernelOf({{1, size}}, {{2, size}}),
                                    kernelOf({{2, 8 * mega}, {3, 8 * mega}}, {})};
    launches[1].accesses[0].offset = int64_t(size - 8 * mega);
    launches[1].accesses[0].extent = int64_t(8 * mega);
    const auto traffic = replay(launches, inOrder(2), h100());
    EXPECT_NEAR(traffic[0].missedBytes, size, 1e-9 * size);
    EXPECT_NEAR(traffic[0].writtenBackBytes, size, 1e-3 * size);
    EXPECT_NEAR(traffic[1].missedBytes, 8 * mega, mega); // the end of the first's result is there
  }
  Launch strided = kernelOf({}, {});
  strided.accesses.push_back({1, 0, int64_t(4e18), 1e18, false, "columns"});
  const auto traffic = replay(std::vector<Launch>{strided}, inOrder(1), h100());
  EXPECT_NEAR(traffic[0].missedBytes, 1e18, 1e9);
}

// A kernel between two that fill L2 finds nothing, and pushes out what the one before has written.
TEST(L2Contents, BetweenLargeKernelsNothingStays) {
  const std::vector<Launch> launches = {kernelOf({}, {{1, 200 * mega}}),
                                        kernelOf({{2, 8 * mega}}, {{3, 8 * mega}}),
                                        kernelOf({}, {{4, 200 * mega}})};
  const auto traffic = replay(launches, inOrder(3), h100());
  EXPECT_NEAR(traffic[1].missedBytes, 8 * mega, 1);
  EXPECT_NEAR(traffic[1].writtenBackBytes, 16 * mega, mega);
}

TEST(L2Contents, ReadersFindWhatWasJustWritten) {
  const std::vector<Launch> launches = {kernelOf({{1, 8 * mega}}, {{2, 8 * mega}}),
                                        kernelOf({{2, 8 * mega}}, {{3, 8 * mega}})};
  EXPECT_NEAR(replay(launches, inOrder(2), h100())[1].missedBytes, 0, 1);
  // Unless so much was read meanwhile that it has been pushed out again.
  const std::vector<Launch> streaming = {kernelOf({{1, 400 * mega}}, {{2, 8 * mega}}), launches[1]};
  EXPECT_GT(replay(streaming, inOrder(2), h100())[1].missedBytes, 4 * mega);
}

// Three slices of columns are three different shares of the same pieces.
TEST(L2Contents, StridedPartsDoNotFindEachOther) {
  Launch slices[2] = {kernelOf({}, {}), kernelOf({}, {})};
  for (int i = 0; i < 2; ++i)
    slices[i].accesses.push_back(
        {1, 0, int64_t(24 * mega), 8 * mega, false, i == 0 ? "left" : "right"});
  const Launch flush = kernelOf({{9, 200 * mega}}, {});
  const auto other = replay(std::vector<Launch>{flush, slices[0], slices[1]}, inOrder(3), h100());
  EXPECT_NEAR(other[2].missedBytes, 8 * mega, 1);
  const auto same = replay(std::vector<Launch>{flush, slices[0], slices[0]}, inOrder(3), h100());
  EXPECT_NEAR(same[2].missedBytes, 0, 1);
}

// Least recently used first: a larger cache holds all that a smaller one does.
TEST(L2Contents, LargerCachesNeverMissMore) {
  std::mt19937 random(3);
  for (int i = 0; i < 20; ++i) {
    std::vector<Launch> launches;
    for (int k = 0; k < 12; ++k) {
      auto some = [&] {
        std::vector<std::pair<uint32_t, double>> buffers;
        for (size_t n = random() % 3; n-- > 0;) {
          const uint32_t space = 1 + random() % 8;
          buffers.push_back({space, double(space) * 3 * mega});
        }
        return buffers;
      };
      const auto reads = some();
      launches.push_back(kernelOf(reads, some()));
    }
    double before = -1;
    for (double size : {100.0, 50.0, 25.0}) {
      Device device = h100();
      device.l2Bytes = size * mega;
      double missed = 0;
      for (const CacheTraffic &traffic : replay(launches, inOrder(launches.size()), device))
        missed += traffic.missedBytes;
      EXPECT_GE(missed + 1, before) << size;
      before = missed;
    }
  }
}

// The first trip of a loop brings what later ones find.
TEST(L2Contents, LoopsAverageTheirTrips) {
  const std::vector<Launch> launches = {kernelOf({{9, 200 * mega}}, {}),
                                        kernelOf({{1, 8 * mega}}, {})};
  std::vector<ScheduleItem> items = {{0, {}, 1}, {0, {{1, {}, 1}}, 4}};
  EXPECT_NEAR(replay(launches, items, h100())[1].missedBytes, 2 * mega, 1);
}

Features streamOf(double bytes) {
  const Module module = compiledModule(fusionText(
      fmt::format("  ROOT n = f32[{}] negate(p0)\n", int64_t(bytes / 4)),
      {fmt::format("f32[{}]", int64_t(bytes / 4))}, fmt::format("f32[{}]", int64_t(bytes / 4))));
  const Op &op = module.entry()[module.entry().root()];
  const FusionWork work = fusionWork(module, op, false);
  return emitterFeatures(module, op, work, launchDimsOf(module, op, LaunchKind::Loop, work, 132),
                         h100());
}

/// Of a fusion of one op over p0, by the rules of its kind.
Features featuresOfOne(const std::string &line, const std::string &operand,
                       const std::string &result) {
  const std::string sum = "plus {\n  x = bf16[] parameter(0)\n  y = bf16[] parameter(1)\n"
                          "  ROOT s = bf16[] add(x, y)\n}\n";
  std::string text =
      fusionText("  zero = bf16[] constant(0)\n" + line, {operand}, result, "kInput");
  text.insert(text.find("body {"), sum);
  const Module module = compiledModule(text);
  const Op &op = module.entry()[module.entry().root()];
  const FusionWork work = fusionWork(module, op, false);
  const LaunchKind kind = launchKindOf(module, op);
  return emitterFeatures(module, op, work, launchDimsOf(module, op, kind, work, 132), h100());
}

// 1024 threads have four sums each: written, read and shuffled five times.
TEST(EmitterFeatures, ColumnSumsPassThroughSharedMemory) {
  const Features features =
      featuresOfOne("  ROOT r = bf16[64,768] reduce(p0, zero), dimensions={1}, to_apply=plus\n",
                    "bf16[64,128,768]", "bf16[64,768]");
  EXPECT_EQ(features.warps, 32);
  EXPECT_EQ(features.epilogueSharedBytes, 1024 * 4 * 4 * 7);
}

// A tile of 64 by 64 halves is moved by twos.
TEST(EmitterFeatures, TransposesOfHalvesLoadTwoAtOnce) {
  const Features halves =
      featuresOfOne("  ROOT t = bf16[1024,2048] transpose(p0), dimensions={1,0}\n",
                    "bf16[2048,1024]", "bf16[1024,2048]");
  EXPECT_EQ(halves.warps, 4);
  EXPECT_EQ(halves.loadsPerThread, 64 * 64 / 128 / 2);
}

TEST(SequencePrice, TimesFollowWhatMissesAndNothingIsFasterThanItsBytes) {
  const Device device = h100();
  const Parameters parameters = priorCalibration(device).values();
  const double bytes = 64 * mega;
  const Features features = streamOf(bytes);
  double before = 0;
  for (double missed : {0.0, 0.25, 0.5, 1.0}) {
    CacheTraffic traffic{bytes, bytes, missed * bytes, missed * bytes, {}};
    const double time = timeInSequence(features, traffic, device, parameters).timeNs;
    EXPECT_GE(time, before);
    EXPECT_GE(time, 2 * missed * bytes / device.dramBandwidth);
    before = time;
  }
}

TEST(SequencePrice, LeversAreDifferencesOfTheTime) {
  const Device device = h100();
  const Parameters parameters = priorCalibration(device).values();
  const double bytes = 256 * mega;
  const Features features = streamOf(bytes);
  const CacheTraffic traffic{bytes, bytes, bytes, bytes, {}};
  const std::vector<Lever> found = levers(features, traffic, device, parameters);
  ASSERT_FALSE(found.empty());
  const double now = timeInSequence(features, traffic, device, parameters).timeNs;
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_GT(found[i].gainNs, 0);
    EXPECT_LT(found[i].gainNs, now);
    if (i) {
      EXPECT_LE(found[i].gainNs, found[i - 1].gainNs);
    }
  }
  EXPECT_TRUE(found[0].what.find("L2") != std::string::npos) << found[0].what;
}

LibraryWork productOf(double batch, double rows, double columns, double depth) {
  LibraryWork work;
  work.product = {batch, rows, columns, depth, DType::BF16};
  return work;
}

TEST(LibraryProduct, TakesNoLessThanThePeakAndGrowsWithTheWork) {
  const Device device = h100();
  for (double n : {256.0, 1024.0, 4096.0, 8192.0}) {
    const double time = libraryTime(productOf(1, n, n, n), device).smNs;
    EXPECT_GT(time, 2 * n * n * n / device.peakFlops(DType::BF16, true));
    EXPECT_GT(libraryTime(productOf(1, n, n, 2 * n), device).smNs, time);
    EXPECT_GT(libraryTime(productOf(4, n, n, n), device).smNs, time);
  }
  // Stand-alone on an H100: 8192 x 8192 x 8192 takes 1.5 to 1.8 ms.
  const double large = libraryTime(productOf(1, 8192, 8192, 8192), device).smNs;
  EXPECT_GT(large, 1.3e6);
  EXPECT_LT(large, 1.8e6);
}

Op callOf(Graph &graph, const std::string &config, const std::string &target,
          std::vector<Shape> operands, Shape result) {
  Op op;
  for (size_t i = 0; i < operands.size(); ++i) {
    Op parameter;
    parameter.name = fmt::format("p{}", i);
    parameter.attrs.parameterNumber = int64_t(i);
    parameter.shape = operands[i];
    op.operands.push_back(graph.add(std::move(parameter)));
  }
  op.name = "call";
  op.opcode = Opcode::CustomCall;
  op.shape = std::move(result);
  op.attrs.customCallTarget = target;
  op.rawAttrs.push_back({"backend_config", config, {}});
  return op;
}

TEST(LibraryProduct, ReadsWhatCublasIsAskedFor) {
  Graph graph("e");
  const OpId call = graph.add(callOf(
      graph,
      "{\"gemm_backend_config\":{\"dot_dimension_numbers\":{\"lhs_batch_dimensions\":[\"0\"],"
      "\"rhs_batch_dimensions\":[\"0\"],\"lhs_contracting_dimensions\":[\"2\"],"
      "\"rhs_contracting_dimensions\":[\"1\"]},\"epilogue\":\"DEFAULT\"}}",
      "__cublas$lt$matmul",
      {Shape::tensor(DType::BF16, {4, 128, 64}), Shape::tensor(DType::BF16, {4, 64, 256})},
      Shape::tensor(DType::BF16, {4, 128, 256})));
  const auto work = libraryWork(graph, call);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->product.batch, 4);
  EXPECT_EQ(work->product.rows, 128);
  EXPECT_EQ(work->product.columns, 256);
  EXPECT_EQ(work->product.depth, 64);
}

TEST(LibraryProduct, RefusesConfigurationsThatDoNotFit) {
  for (const char *config :
       {"", "7", "{}", "{\"gemm_backend_config\":{}}",
        "{\"gemm_backend_config\":{\"dot_dimension_numbers\":{\"lhs_batch_dimensions\":[],"
        "\"lhs_contracting_dimensions\":[\"9\"]}}}",
        "{\"gemm_backend_config\":{\"dot_dimension_numbers\":{\"lhs_batch_dimensions\":[],"
        "\"lhs_contracting_dimensions\":[\"x\"]}}}",
        "{\"gemm_backend_config\":{\"dot_dimension_numbers\":{\"lhs_batch_dimensions\":[],"
        "\"lhs_contracting_dimensions\":[\"99999999999999999999\"]}}}"}) {
    Graph graph("e");
    const OpId call = graph.add(
        callOf(graph, config, "__cublas$lt$matmul",
               {Shape::tensor(DType::BF16, {128, 64}), Shape::tensor(DType::BF16, {64, 256})},
               Shape::tensor(DType::BF16, {128, 256})));
    EXPECT_FALSE(libraryWork(graph, call)) << config;
  }
}

} // namespace
} // namespace tilewright
