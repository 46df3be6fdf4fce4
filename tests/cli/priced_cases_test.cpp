// Cases that other tools price wrong: predicted times within what bytes and FLOPs allow, and the
// same answer from every command.
#include "analysis/support/diag.h"
#include "tests/cli/run_json.h"

#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilewright::test {

namespace {

using Json = nlohmann::json;

Json pricedCase(const std::string &name, const std::vector<std::string> &more = {}) {
  return exploreJson(fmt::format("tests/cases/{}.hlo.txt", name), more);
}

/// Of the kernels each alone, under the caches that a case asks for.
double microseconds(const Json &model) { return model["alone_time_ns"].get<double>() / 1e3; }

bool hasNote(const Json &kernel, const std::string &part) {
  const Json notes = kernel.value("notes", Json::array());
  for (const Json &note : notes)
    if (note.get<std::string>().find(part) != std::string::npos)
      return true;
  return false;
}

} // namespace

/// One token against all keys reads the cache once, in one kernel, however few rows there are.
TEST(PricedCases, OneTokenTakesAsLongAsItsCache) {
  const Json two = pricedCase("53-one-token-two-kv-heads"),
             many = pricedCase("53b-one-token-sixteen-kv-heads"),
             whole = pricedCase("53c-as-one-fusion");
  for (const Json *model : {&two, &many, &whole})
    ASSERT_EQ((*model)["kernels"].size(), 1u) << (*model)["chains"];
  EXPECT_GE(microseconds(two), 176);
  EXPECT_LE(microseconds(two), 220);
  EXPECT_GE(microseconds(many), 1410);
  EXPECT_LE(microseconds(many), 1600);
  EXPECT_EQ(two["kernels"][0]["time_ns"], whole["kernels"][0]["time_ns"]);
  EXPECT_EQ(two["kernels"][0]["candidates"], whole["kernels"][0]["candidates"]);
  const Json tile =
      runJson({"tile", "tests/cases/53c-as-one-fusion.hlo.txt", "--device", "h100-sxm", "--price"});
  EXPECT_EQ(tile["price"]["time_ns"], whole["kernels"][0]["time_ns"]);
  EXPECT_EQ(tile["plans_to_choose_from"], whole["kernels"][0]["candidates"]["feasible"]);
}

/// Keys beyond the window are skipped, and no bound comes from their work.
TEST(PricedCases, AWindowSkipsWhatItMasks) {
  const Json window = pricedCase("55d-window-head-of-128"),
             causal = pricedCase("55e-causal-head-of-128");
  ASSERT_EQ(window["kernels"].size(), 1u);
  const Json &kernel = window["kernels"][0];
  EXPECT_GE(microseconds(window), 100);
  EXPECT_LE(microseconds(window), 250);
  EXPECT_NEAR(microseconds(window) / microseconds(causal), 0.25, 0.06);
  EXPECT_LE(kernel["lower_bound_ns"].get<double>(), 65e3); // of 68 GFLOP
  for (const Json &plan : kernel["alternatives"])
    EXPECT_GT(plan["time_ns"].get<double>(), 1.5 * kernel["lower_bound_ns"].get<double>());
}

/// Groups of 64 that share a scale.
TEST(PricedCases, TilesOfPackedWeightsAreWholeGroups) {
  const std::string model = "tests/cases/59f-16-rows-as-one-fusion.hlo.txt";
  const Json refused = runJson({"tile", model, "--tile", "t0=16,t1=128,k0=96"}, 1);
  EXPECT_NE(refused["core"].dump().find("tile 96 must divide 64 or be a multiple of it"),
            std::string::npos)
      << refused["core"];
  EXPECT_EQ(runJson({"tile", model, "--tile", "t0=16,t1=128,k0=128"})["feasible"], "yes");
}

/// Taps that meet an element, not all that a window has; and the instruction is the fastest one.
TEST(PricedCases, ConvolutionsWithHoles) {
  for (const char *name : {"60-upsample-by-two-in-space", "60b-its-weight-gradient"}) {
    const Json model = pricedCase(name);
    ASSERT_EQ(model["kernels"].size(), 1u) << model["unsupported"];
    EXPECT_EQ(model["kernels"][0]["flops"], 443608960) << name;
  }
  const char *gradient = "60c-weight-gradient-of-32-channels";
  double least = INFINITY;
  for (const char *instruction : {"fma", "mma.sync", "wgmma"}) {
    const Json model = pricedCase(gradient, {"--instruction", instruction});
    for (const Json &kernel : model["kernels"]) // none by wgmma
      least = std::min(least, kernel["time_ns"].get<double>());
  }
  EXPECT_EQ(pricedCase(gradient)["kernels"][0]["time_ns"], least);
}

/// A loop's carry and a donated argument are updated in place.
TEST(PricedCases, AnUpdateInPlaceWritesWhatItUpdates) {
  const Json loop = pricedCase("62-one-element-a-step"),
             once = pricedCase("62d-one-element-once-aliased");
  const Json &step = loop["kernels"].back();
  EXPECT_EQ(step["trip_count"], 199999);
  EXPECT_LE(step["bytes"], 16);
  EXPECT_LE(step["time_ns"].get<double>(), 3000);
  EXPECT_TRUE(hasNote(step, "in place"));
  ASSERT_EQ(once["kernels"].size(), 1u);
  EXPECT_EQ(once["kernels"][0]["bytes"], 8);
  const std::string model = "tests/cases/62d-one-element-once-aliased.hlo.txt";
  const Json tile = runJson({"tile", model, "--device", "h100-sxm", "--price"});
  EXPECT_EQ(tile["price"]["time_ns"], once["kernels"][0]["time_ns"]);
  EXPECT_TRUE(hasNote(tile, "in place")) << tile["notes"];
  // Without a device the question is of the op as it stands.
  EXPECT_EQ(runJson({"tile", model})["parameters"][0]["extent"], 10000000);
}

/// Sums of 2^27 elements take as long as these are read, whatever their shape: CTAs share them.
TEST(PricedCases, SumsTakeAsLongAsTheirInput) {
  for (const char *name : {"66-column-sums-65536-by-2048", "66b-column-sums-4194304-by-32",
                           "66c-column-sums-32-by-4194304", "66d-column-sums-1048576-by-128"}) {
    const Json model = pricedCase(name, {"--cache", "flushed"});
    EXPECT_GE(microseconds(model), 176) << name;
    EXPECT_LE(microseconds(model), 260) << name;
  }
  const char *gibibyte = "66e-one-sum-of-a-gibibyte";
  const Json model = pricedCase(gibibyte, {"--cache", "flushed"});
  EXPECT_GE(microseconds(model), 352);
  EXPECT_LE(microseconds(model), 450);
  EXPECT_GT(model["kernels"][0]["plan"]["schedule"]["split_k"], 8);
  const Json tile = runJson({"tile", fmt::format("tests/cases/{}.hlo.txt", gibibyte), "--device",
                             "h100-sxm", "--cache", "flushed", "--price"});
  EXPECT_EQ(tile["price"]["time_ns"], model["kernels"][0]["time_ns"]);
}

/// The sum and the transpose apart; and what a tile reads under a reshape of its rows is what its
/// CTAs read, not what there is.
TEST(PricedCases, SumsUnderAReshapedOrTransposedRoot) {
  const Json model = pricedCase("82-attention-weights-turned-round");
  EXPECT_EQ(model["kernels"].size(), 2u);
  EXPECT_NEAR(microseconds(model), 3520, 150);
  const Json tile =
      runJson({"tile", "tests/cases/82b-normalise-and-flatten.hlo.txt", "--device", "h100-sxm",
               "--tile", "t0=1,t1=512,r0=1024,warps=8,stages=1", "--price"});
  EXPECT_NEAR(tile["price"]["bytes"]["l2"].get<double>() / (1 << 30), 33.5, 0.3);
}

/// Groups that end inside a tile: priced once, not once a group; and their tiles can be asked for.
TEST(PricedCases, RaggedDotsArePricedByTheRowsOfTheirTiles) {
  const Json model = pricedCase("58-groups-that-end-inside-a-tile"),
             large = pricedCase("58b-sixteen-experts-of-4096");
  ASSERT_EQ(model["assumed"].size(), 1u) << model["unsupported"];
  EXPECT_EQ(model["assumed"][0]["flops"], 78643200);
  ASSERT_EQ(large["assumed"].size(), 1u);
  EXPECT_EQ(large["assumed"][0]["flops"], 137438953472);
  EXPECT_GE(microseconds(large), 170); // its 512 MiB of weights alone
  EXPECT_LE(microseconds(large), 250);
  const Json tile =
      runJson({"tile", "tests/cases/58-groups-that-end-inside-a-tile.hlo.txt", "--tile", "64,32"});
  EXPECT_EQ(tile["feasible"], "yes");
  EXPECT_TRUE(hasNote(tile, "5 tiles of 64 rows")) << tile["notes"];
  EXPECT_TRUE(hasNote(tile, "6.19 are expected, 7 at worst")) << tile["notes"];
  EXPECT_NE(tile.dump().find("which part belongs to which group is in %n"), std::string::npos);
}

/// 2 · 7/8 of 100 MB over each link: of 50 GB/s, and of the device's own.
TEST(PricedCases, AnAllReduceTakesWhatItsLinkTakes) {
  const char *file = "70-hundred-megabytes-on-eight";
  const Json nvlink = pricedCase(file);
  ASSERT_EQ(nvlink["assumed"].size(), 1u) << nvlink["unsupported"];
  EXPECT_EQ(nvlink["assumed"][0]["link_bytes"], 175000000);
  EXPECT_NEAR(nvlink["assumed"][0]["time_ns"].get<double>(), 175e6 / 450 + 14 * 1900, 1);
  llvm::Expected<std::string> device = readFile("datasets/devices/h100-sxm.json");
  ASSERT_TRUE(bool(device));
  TemporaryFolder folder;
  Json slow = Json::parse(*device), none = slow;
  slow["link_bandwidth"]["value"] = 50;
  none.erase("link_bandwidth");
  none.erase("link_latency");
  const Json atFifty = pricedCase(file, {"--device", folder.write("slow.json", slow.dump())});
  EXPECT_NEAR(atFifty["assumed"][0]["time_ns"].get<double>(), 3.5e6, 0.05e6);
  const Json unlinked = pricedCase(file, {"--device", folder.write("none.json", none.dump())});
  ASSERT_EQ(unlinked["unsupported"].size(), 1u);
  EXPECT_EQ(unlinked["unsupported"][0]["link_bytes"], 175000000);
  EXPECT_NE(unlinked["unsupported"][0]["reason"].get<std::string>().find("no link_bandwidth"),
            std::string::npos);
}

/// Factors that all elements share commute with the product, which is one of 8-bit floats.
TEST(PricedCases, ScaledEightBitProductsAreEightBitProducts) {
  const Json bare = pricedCase("76b-eight-bit-product-bare");
  for (const char *name : {"76-eight-bit-product-with-scales", "76c-as-one-fusion"}) {
    const Json model = pricedCase(name);
    ASSERT_EQ(model["kernels"].size(), 1u) << name;
    EXPECT_EQ(model["kernels"][0]["flops"].get<int64_t>() / 137438953472, 1) << name;
    EXPECT_TRUE(hasNote(model["kernels"][0], "8-bit floats")) << name;
    EXPECT_GE(microseconds(model), 69) << name;
    EXPECT_LE(microseconds(model), 1.1 * microseconds(bare)) << name;
  }
}

TEST(PricedCases, BlockScaledProductsHaveAPriceAndASpread) {
  const Json model = pricedCase("77-four-bit-blocks-with-scales", {"--device", "b200"});
  ASSERT_EQ(model["assumed"].size(), 1u) << model["unsupported"];
  const Json &row = model["assumed"][0];
  EXPECT_GE(row["time_ns"].get<double>(), 15e3);
  EXPECT_LE(row["time_ns"].get<double>(), 40e3);
  EXPECT_GE(row["sigma_ln"].get<double>(), 0.5);
  EXPECT_EQ(row["read_bytes"], 2 * (8388608 + 524288));
}

} // namespace tilewright::test
