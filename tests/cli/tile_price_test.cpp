// `tilewright tile … --price`: one plan's time, taken apart.
#include "tests/cli/run_program.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilewright::test {

namespace {

using Json = nlohmann::json;

const std::vector<std::string> priced = {"tile",     "tests/cases/14-sliced-head-transpose.hlo.txt",
                                         "--root",   "split",
                                         "--tile",   "32,16,128",
                                         "--device", "h100-sxm",
                                         "--price"};

} // namespace

TEST(TilePrice, TextNamesEveryPart) {
  Outcome outcome = runTilewright(priced);
  EXPECT_EQ(outcome.exitCode, 0) << outcome.describe();
  for (const char *part :
       {"price     ", "±", "68 % of such kernels", "  limit   ", "  time    ", "launch ", "DRAM ",
        "  bytes   DRAM read ", "  work    ", "  CTAs    ", "by registers ", "  drivers  "})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << outcome.describe();
}

TEST(TilePrice, PartsFitTogether) {
  std::vector<std::string> arguments = priced;
  arguments.push_back("--json");
  Outcome outcome = runTilewright(arguments);
  Json document = Json::parse(outcome.out, nullptr, false);
  ASSERT_FALSE(document.is_discarded()) << outcome.describe();
  const Json &price = document["price"];
  EXPECT_GE(price["time_ns"], price["roofline_ns"]);
  EXPECT_GT(price["sigma_ln"], 0);
  EXPECT_GT(price["parameter_sigma_ln"], 0);
  EXPECT_LT(price["parameter_sigma_ln"], price["sigma_ln"]);
  // The slice of 2048 rows of 1024, read and written once.
  EXPECT_EQ(price["bytes"]["compulsory"], 2.0 * 2048 * 1024 * 2);
  double most = 0, fewest = 1e9;
  for (const auto &[name, ns] : price["terms_ns"].items())
    most = std::max(most, ns.get<double>());
  EXPECT_EQ(price["terms_ns"][price["limiter"].get<std::string>()], most);
  for (const auto &[name, blocks] : price["blocks_per_sm"].items())
    fewest = std::min(fewest, blocks.get<double>());
  EXPECT_EQ(document["resources"]["blocks_per_sm"], fewest);
  // Without --price there is none.
  arguments = priced;
  arguments.back() = "--json";
  EXPECT_FALSE(Json::parse(runTilewright(arguments).out).contains("price"));
}

TEST(TilePrice, NeedsADevice) {
  Outcome outcome = runTilewright({"tile", priced[1], "--root", "split", "--price"});
  EXPECT_EQ(outcome.exitCode, 2) << outcome.describe();
}

} // namespace tilewright::test
