// Cases that went wrong in other tools, where the answer is a number or a fact rather than a page.
#include "tests/cli/run_json.h"

#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilewright::test {

namespace {

using Json = nlohmann::json;

Json exploreOne(const std::string &model, const std::vector<std::string> &more = {}) {
  return exploreJson("tests/cases/" + model, more);
}

/// A model given as text.
Json exploreText(const std::string &text, const std::vector<std::string> &more = {}) {
  TemporaryFolder folder;
  return exploreJson(folder.write("case.hlo.txt", text), more);
}

std::vector<std::string> namesIn(const Json &list) {
  std::vector<std::string> names;
  for (const Json &entry : list)
    names.push_back(entry["op"]);
  std::sort(names.begin(), names.end());
  return names;
}

using Names = std::vector<std::string>;

} // namespace

/// Rank 16: the constraints must not grow with the number of ways to split the axes.
TEST(Cases, SixteenAxesHaveOneTilingForEachPairOfPowersOfTwo) {
  Json list = runJson({"tile", "tests/cases/10-sixteen-axes-of-two.hlo.txt", "--root", "out",
                       "--list", "--candidates", "all"});
  EXPECT_EQ(list["feasible_count"], 81);
  EXPECT_TRUE(list["is_complete"].get<bool>());
  for (const Json &tiling : list["tilings"])
    for (int dim : {0, 1}) {
      int64_t size = tiling[dim];
      EXPECT_EQ(size & (size - 1), 0) << tiling;
    }
}

TEST(Cases, RowsOfThreeAllowOneAndMultiplesOfThree) {
  Json list = runJson({"tile", "tests/cases/11-eight-by-three-rows.hlo.txt", "--root", "out",
                       "--list", "--candidates", "all", "--tile", "t0=64"});
  std::vector<int64_t> sizes;
  for (const Json &tiling : list["tilings"])
    sizes.push_back(tiling[1]);
  EXPECT_EQ(sizes, (std::vector<int64_t>{1, 3, 6, 9, 12, 15, 18, 21, 24}));
}

/// DRAM hands out 64 bytes at a time: a strided read moves what lies between its elements, too.
TEST(Cases, StridedReadsMoveWholePiecesOfMemory) {
  constexpr int64_t elements = 1 << 20;
  for (int64_t stride : {1, 2, 3, 8, 16, 32}) {
    SCOPED_TRACE(stride);
    Json model = exploreText(fmt::format("HloModule m\nENTRY main {{\n x = f32[{}] parameter(0)\n"
                                         " ROOT y = f32[{}] slice(x), slice={{[0:{}:{}]}}\n}}\n",
                                         elements * stride, elements, elements * stride, stride),
                             {"--cache", "flushed"});
    double read = double(model["kernels"][0]["dram_bytes"]) - 4.0 * elements;
    EXPECT_EQ(read, elements * 4.0 * std::min<double>(stride, 16));
  }
}

/// The tile behind a slice and a transpose is a whole operand tile: 4,096 bytes a row.
TEST(Cases, SharedMemoryDecidesTheRowsOfASlicedHead) {
  const std::pair<const char *, int64_t> largest[] = {
      {"l4", 16}, {"rtx-4090", 16}, {"a100", 32}, {"h100-sxm", 32}};
  for (const auto &[device, rows] : largest)
    for (int64_t asked : {16, 32, 64}) {
      SCOPED_TRACE(std::string(device) + " " + std::to_string(asked));
      runJson({"tile", "tests/cases/14-sliced-head-transpose.hlo.txt", "--root", "split", "--tile",
               std::to_string(asked) + ",16,128", "--device", device},
              asked <= rows ? 0 : 1);
    }
}

/// Most stages of bf16 operand tiles that fit: by 232,448, 166,912 and 101,376 bytes.
TEST(Cases, StagesThatFitInSharedMemory) {
  struct Row {
    const char *tile;
    int h100, a100, l4;
  };
  const Row rows[] = {{"128,256,64", 4, 3, 2},
                      {"128,128,128", 3, 2, 1},
                      {"256,128,64", 4, 3, 2},
                      {"128,128,64", 7, 5, 3},
                      {"64,256,64", 5, 4, 2}};
  for (const Row &row : rows)
    for (const auto &[device, most] :
         {std::pair<const char *, int>{"h100-sxm", row.h100}, {"a100", row.a100}, {"l4", row.l4}})
      for (int stages : {most, most + 1}) {
        SCOPED_TRACE(std::string(device) + " " + row.tile + " " + std::to_string(stages));
        runJson({"tile", "tests/cases/15-big-gemm-stages.hlo.txt", "--tile",
                 std::string(row.tile) + ",stages=" + std::to_string(stages), "--device", device},
                stages == most ? 0 : 1);
      }
}

TEST(Cases, ALibraryCallHasThePriceOfItsProduct) {
  const Json model = exploreOne("19-dense-layer-through-a-library.hlo.txt");
  ASSERT_EQ(model["assumed"].size(), 1u);
  const Json &gemm = model["assumed"][0];
  EXPECT_EQ(gemm["op"], "gemm");
  EXPECT_EQ(gemm["flops"], 2 * 2 * 73 * 256);
  EXPECT_EQ(gemm["read_bytes"].get<int64_t>() + gemm["written_bytes"].get<int64_t>(),
            584 + 74752 + 2048)
      << "the workspace of 4 MiB is no traffic";
  EXPECT_GT(gemm["time_ns"], 1000);
  EXPECT_TRUE(model["total_is_complete"].get<bool>());
}

/// Bytes that a kernel must move do not depend on what caches hold.
TEST(Cases, CompulsoryBytesOfKernels) {
  struct Row {
    const char *model;
    int64_t bytes;
    double tolerance; ///< share
  };
  const Row rows[] = {
      {"19-dense-layer-through-a-library.hlo.txt", 2048 + 1024 + 2048, 0}, // the bias
      {"22-depthwise.hlo.txt", 3215872, 0},
      {"24-halo-exchange.hlo.txt", 3129344, 0},
      {"27-wide-stencil.hlo.txt", 134348860, 0.001}, // one window stands for their union
      {"28-gather-over-eight.hlo.txt", 65536 + 65536, 0}};
  for (const Row &row : rows)
    for (const char *cache : {"warm", "clean", "flushed"}) {
      SCOPED_TRACE(std::string(row.model) + " " + cache);
      Json model = exploreOne(row.model, {"--cache", cache});
      ASSERT_EQ(model["kernels"].size(), 1u);
      EXPECT_NEAR(model["kernels"][0]["bytes"].get<double>(), double(row.bytes),
                  row.tolerance * double(row.bytes));
    }
}

/// A gather reads the rows it was asked for, whatever its tiles: each index its own row, but never
/// more than there is.
TEST(Cases, AGatherReadsOneRowForEachIndex) {
  for (int rows : {64, 4096, 50000}) {
    Json model = exploreText(
        fmt::format("HloModule take\n\nENTRY main {{\n"
                    "  i = s32[4096]{{0}} parameter(0)\n"
                    "  t = f32[{},64]{{1,0}} parameter(1)\n"
                    "  ROOT g = f32[4096,64]{{1,0}} gather(t, i), offset_dims={{1}}, "
                    "collapsed_slice_dims={{0}}, start_index_map={{0}}, index_vector_dim=1, "
                    "slice_sizes={{1,64}}\n}}\n",
                    rows));
    ASSERT_EQ(model["kernels"].size(), 1u);
    int64_t indices = 4096 * 4, written = 4096 * 64 * 4, read = std::min(rows, 4096) * 64 * 4;
    EXPECT_EQ(model["kernels"][0]["bytes"], indices + written + read) << rows;
    EXPECT_EQ(model["kernels"][0]["flops"], 0);
  }
}

/// Three inputs side by side take as long as one input of their size.
TEST(Cases, AConcatenationTakesAsLongAsACopy) {
  double joined = exploreOne("24-halo-exchange.hlo.txt", {"--cache", "clean"})["alone_time_ns"];
  double copied = exploreText("HloModule copy\n\nENTRY main {\n"
                              "  x = f32[256,1528]{1,0} parameter(0)\n"
                              "  ROOT y = f32[256,1528]{1,0} copy(x)\n}\n",
                              {"--cache", "clean"})["alone_time_ns"];
  EXPECT_NEAR(joined / copied, 1, 0.05);
}

/// CTAs of an SM follow from the registers, and the spread of warps from the CTAs.
TEST(Cases, OccupancyFollowsFromTheRegisters) {
  for (const char *device : {"a100", "h100-sxm"}) {
    Json kernel = exploreOne("27-wide-stencil.hlo.txt", {"--device", device})["kernels"][0];
    const Json &resources = kernel["resources"];
    double warps = resources["threads"].get<double>() / 32;
    // Eights of registers a thread, and an SM's warps in fours.
    double perWarp = std::ceil(resources["registers"].get<double>() / 8) * 8 * 32;
    double byRegisters = std::floor(std::floor(65536 / perWarp / 4) * 4 / warps);
    double blocks = std::min(byRegisters, std::floor(64 / warps));
    EXPECT_EQ(resources["blocks_per_sm"].get<double>(), std::min(blocks, 32.0));
    EXPECT_DOUBLE_EQ(resources["occupancy"].get<double>(),
                     resources["blocks_per_sm"].get<double>() * warps / 64);
    EXPECT_EQ(kernel["flops"], 385875968);
  }
}

TEST(Cases, DepthwiseConvolutionCountsItsGroups) {
  Json model = exploreOne("22-depthwise.hlo.txt");
  ASSERT_EQ(model["kernels"].size(), 1u);
  int64_t flops = model["kernels"][0]["flops"];
  EXPECT_TRUE(flops == 14108672 || flops == 14450688) << flops;
  EXPECT_NE(model["kernels"][0]["limiter"], "tensor");
}

TEST(Cases, AConcatenationHasNoFlops) {
  Json model = exploreOne("24-halo-exchange.hlo.txt", {"--cache", "clean"});
  ASSERT_EQ(model["kernels"].size(), 1u);
  EXPECT_EQ(model["kernels"][0]["flops"], 0);
}

TEST(Cases, AnAllGatherIsItsOwnRow) {
  Json model = exploreOne("28-gather-over-eight.hlo.txt");
  EXPECT_EQ(model["kernels"].size(), 1u);
  ASSERT_EQ(namesIn(model["assumed"]), Names{"all"});
  const Json &row = model["assumed"][0];
  EXPECT_EQ(row["read_bytes"], 65536);
  EXPECT_EQ(row["written_bytes"], 524288);
  EXPECT_EQ(row["link_bytes"], 458752);
}

TEST(Cases, OpsWithoutMapsAreListedWithTheirReasons) {
  Json model = exploreOne("42-things-without-maps.hlo.txt");
  EXPECT_EQ(namesIn(model["unsupported"]), (Names{"cc", "done", "start"}));
  EXPECT_EQ(namesIn(model["assumed"]), Names{"sorted"});
  // The loop is its body, three times.
  double total = 0;
  for (const Json &kernel : model["kernels"]) {
    bool isBody = kernel.value("computation", "") == "body";
    EXPECT_EQ(isBody, kernel["ops"] != Json::array({"out"})) << kernel["ops"];
    EXPECT_EQ(kernel["trip_count"], isBody ? 3 : 1);
    total += kernel["time_ns"].get<double>() * kernel["trip_count"].get<double>();
  }
  for (const Json &row : model["assumed"])
    total += row["time_ns"].get<double>();
  EXPECT_EQ(model["kernels"].size(), 2u); // the counter is known to whoever launches a step
  EXPECT_NEAR(model["alone_time_ns"].get<double>(), total, 1e-9 * total);
}

TEST(Cases, ExtentsOfZeroMakeNoKernelOrOneThatWritesItsInitialValues) {
  Json model = exploreOne("44-nothing-to-do.hlo.txt");
  EXPECT_EQ(namesIn(model["unsupported"]), Names{}) << model["unsupported"];
  for (const Json &kernel : model["kernels"]) {
    ASSERT_TRUE(kernel["time_ns"].is_number()) << kernel["name"];
    EXPECT_TRUE(std::isfinite(kernel["time_ns"].get<double>()));
    EXPECT_GE(kernel["time_ns"].get<double>(), 0);
    EXPECT_GT(kernel["plan"]["grid"].get<int64_t>(), 0) << kernel["name"];
  }
}

/// A sum without terms is a zero: nothing is left of the dot, whatever it was for.
TEST(Cases, AContractionOfNothingIsAFill) {
  Json model = exploreOne("44-nothing-to-do.hlo.txt");
  EXPECT_EQ(model["ops"], 10);
  const Json &kernel = model["kernels"][0];
  EXPECT_EQ(kernel["name"], "k00_dz");
  EXPECT_EQ(kernel["kind"], "elementwise");
  EXPECT_EQ(kernel["flops"], 64);       // d + zb
  EXPECT_EQ(kernel["bytes"], 64 + 256); // z, dz
  // The same for a convolution without features, in the kernel of a fusion.
  Json other = exploreText(R"(HloModule m
f {
  x = bf16[2,0,8,8] parameter(0)
  w = bf16[4,0,3,3] parameter(1)
  ROOT c = bf16[2,4,6,6] convolution(x, w), window={size=3x3}, dim_labels=bf01_oi01->bf01
}
ENTRY e {
  x = bf16[2,0,8,8] parameter(0)
  w = bf16[4,0,3,3] parameter(1)
  ROOT c = bf16[2,4,6,6] fusion(x, w), kind=kOutput, calls=f
})");
  EXPECT_EQ(other["kernels"][0]["kind"], "elementwise");
  EXPECT_EQ(other["kernels"][0]["flops"], 0);
  EXPECT_EQ(other["kernels"][0]["bytes"], 2 * 4 * 6 * 6 * 2);
}

TEST(Cases, WhatIsReadOnlyWhereNothingIsComputedNeedsNoKernel) {
  Json model = exploreText(R"(HloModule m
ENTRY e {
  x = f32[4,8] parameter(0)
  twice = f32[4,8] add(x, x)
  more = f32[4,8] exponential(twice)
  none = f32[4,0] slice(more), slice={[0:4], [8:8]}
  kept = f32[4,8] negate(x)
  dead = f32[4,8] tanh(x)
  ROOT t = (f32[4,0], f32[4,8]) tuple(none, kept)
})");
  ASSERT_EQ(model["kernels"].size(), 1u);
  EXPECT_EQ(model["kernels"][0]["ops"], Json::array({"kept"}));
  EXPECT_EQ(namesIn(model["no_kernel"]), (Names{"dead", "more", "none", "t", "twice", "x"}));
}

/// Registers come in eights a thread and an SM's warps in fours; what a CTA takes bounds how many
/// an SM holds.
TEST(Cases, OccupancyFollowsFromRegistersAndThreads) {
  struct Row {
    int warps, registers, blocks;
    double occupancy;
  };
  const Row rows[] = {{4, 255, 2, 0.125}, {4, 168, 3, 0.1875}, {4, 128, 4, 0.25},
                      {4, 85, 5, 0.3125}, {4, 64, 8, 0.5},     {4, 40, 12, 0.75},
                      {4, 32, 16, 1.0},   {8, 255, 1, 0.125},  {8, 168, 1, 0.125},
                      {8, 85, 2, 0.25},   {8, 64, 4, 0.5},     {1, 104, 16, 0.25},
                      {2, 104, 8, 0.25}};
  for (const char *device : {"a100", "h100-sxm"})
    for (const Row &row : rows) {
      Json tile = runJson({"tile", "tests/cases/27-wide-stencil.hlo.txt", "--device", device,
                           "--tile", fmt::format("4,128,warps={}", row.warps), "--registers",
                           std::to_string(row.registers)});
      EXPECT_EQ(tile["resources"]["blocks_per_sm"], row.blocks) << row.registers;
      EXPECT_EQ(tile["resources"]["occupancy"], row.occupancy) << row.registers;
      EXPECT_EQ(tile["resources"]["registers"], row.registers);
    }
}

/// Ops without a price have at least their bytes: what they read and what they write.
TEST(Cases, OpsOfOthersKernelsHaveTheirBytes) {
  Json model = exploreText(R"(HloModule m
lt {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=LT
}
ENTRY e {
  x = f32[64,1024] parameter(0)
  i = s32[64,1024] parameter(1)
  z = c64[64,1024] parameter(2)
  sorted = (f32[64,1024], s32[64,1024]) sort(x, i), dimensions={1}, to_apply=lt
  f = c64[64,1024] fft(z), fft_type=FFT, fft_length={1024}
  top = (f32[64,8], s32[64,8]) topk(x), k=8, largest=true
  ROOT t = ((f32[64,1024], s32[64,1024]), c64[64,1024], (f32[64,8], s32[64,8])) tuple(sorted, f, top)
})");
  const int64_t elements = 64 * 1024;
  EXPECT_EQ(namesIn(model["unsupported"]), Names{});
  EXPECT_EQ(namesIn(model["assumed"]), (Names{"f", "sorted", "top"}));
  for (const Json &row : model["assumed"]) { // whole passes over what each has
    const int64_t once = row["op"] == "sorted" ? 2 * elements * 4
                         : row["op"] == "f"    ? elements * 8
                                               : elements * 4;
    EXPECT_GE(row["read_bytes"].get<int64_t>(), once) << row;
    EXPECT_EQ(row["read_bytes"].get<int64_t>() % once, 0) << row;
    EXPECT_GT(row["written_bytes"].get<int64_t>(), 0) << row;
  }
}

/// The corner that no point of the stencil reads is not counted.
TEST(Cases, SlicesOfOneTensorAreReadTogether) {
  const Json kernel = exploreOne("27-wide-stencil.hlo.txt")["kernels"][0];
  EXPECT_EQ(kernel["bytes"], 134348860);
  EXPECT_EQ(kernel["flops"], 385875968);
}

/// `explore` never returns a plan that `tile` refuses on that device.
TEST(Cases, ExploredPlansAreFeasibleOnTheirDevice) {
  for (const char *device : {"l4", "h100-sxm"}) {
    const std::string file = "14-sliced-head-transpose.hlo.txt";
    Json model = exploreOne(file, {"--device", device, "--top", "20", "--budget", "200"});
    ASSERT_EQ(model["kernels"].size(), 1u);
    for (const Json &plan : model["kernels"][0]["alternatives"]) {
      std::string tile;
      for (const char *part : {"tile", "schedule"})
        for (const auto &[name, value] : plan["plan"][part].items())
          if (value.is_number())
            tile += (tile.empty() ? "" : ",") + name + "=" + value.dump();
      SCOPED_TRACE(std::string(device) + " " + tile);
      runJson(
          {"tile", "tests/cases/" + file, "--root", "split", "--tile", tile, "--device", device});
    }
  }
}

} // namespace tilewright::test
