// `tile` and `explore` are asked the same questions, and must give the same answers.
#include "tests/cli/run_json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>

namespace tilewright::test {

namespace {

using Json = nlohmann::json;

/// "t0=64,k0=32"; with the schedule "t0=64,k0=32,warps=4,…".
std::string sizesOf(const Json &plan, bool withSchedule) {
  std::string text;
  for (const char *part : {"tile", "schedule"})
    for (const auto &[name, value] : plan[part].items())
      if (value.is_number() && (withSchedule || part == std::string("tile")))
        text += (text.empty() ? "" : ",") + name + "=" + value.dump();
  return text;
}

/// The root of a kernel, "add.3" of "k12_add.3".
std::string rootOf(const Json &kernel) {
  const std::string name = kernel["name"].get<std::string>();
  return name.substr(name.find('_') + 1);
}

/// What `tile` is asked of a kernel that `explore` lists.
std::vector<std::string> askingFor(const std::string &path, const Json &kernel,
                                   std::vector<std::string> more) {
  std::string ops, results;
  auto add = [&](std::string &to, const Json &names) {
    for (const Json &name : names)
      to += (to.empty() ? "" : ",") + name.get<std::string>();
  };
  add(ops, kernel["ops"]);
  add(ops, kernel.value("recomputed", Json::array()));
  add(results, kernel.value("results", Json::array({rootOf(kernel)})));
  std::vector<std::string> arguments = {"tile", path, "--ops", ops, "--root", results};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

struct Case {
  std::string model;
  std::vector<std::string> options;
};

class Agreement : public ::testing::TestWithParam<Case> {};

} // namespace

/// Every plan that `explore` lists has that very time in `tile`, as text and as JSON; a tile alone
/// is completed to the plan that explore found; and both count the same plans.
TEST_P(Agreement, OfEveryListedPlan) {
  const auto &[path, options] = GetParam();
  auto with = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), options.begin(), options.end());
    return arguments;
  };
  const Json model = runJson(with({"explore", path, "--top", "2", "--budget", "100"}))["models"][0];
  std::set<std::string> seen;
  size_t compared = 0;
  for (const Json &kernel : model["kernels"]) {
    if (kernel.contains("computation"))
      continue;
    SCOPED_TRACE(path + " " + rootOf(kernel));
    if (!seen.insert(kernel["root_shape"].dump() + sizesOf(kernel["plan"], true)).second)
      continue; // the same again
    if (++compared > 6)
      break;
    for (const Json &plan : kernel["alternatives"]) {
      std::vector<std::string> arguments =
          with(askingFor(path, kernel, {"--price", "--tile", sizesOf(plan["plan"], true)}));
      const Json tile = runJson(arguments);
      ASSERT_EQ(tile["feasible"], "yes");
      EXPECT_EQ(tile["plan"]["instruction"], plan["plan"]["schedule"]["instruction"]);
      EXPECT_EQ(tile["price"]["time_ns"], plan["time_ns"]);
      EXPECT_EQ(tile["price"]["roofline_ns"], kernel["lower_bound_ns"]);
      EXPECT_LE(tile["price"]["roofline_ns"], tile["price"]["time_ns"]);
    }
    const Json best = runJson(
        with(askingFor(path, kernel, {"--price", "--tile", sizesOf(kernel["plan"], false)})));
    EXPECT_EQ(best["price"]["time_ns"], kernel["time_ns"]);
    EXPECT_EQ(best["resources"]["registers"], kernel["resources"]["registers"]);
    const Json list = runJson(with(askingFor(path, kernel, {"--list", "--limit", "0"})));
    EXPECT_EQ(list["feasible_count"], kernel["candidates"]["feasible"]);
  }
  EXPECT_GT(compared, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Models, Agreement,
    ::testing::Values(
        Case{"datasets/models/gpt2_block.hlo.txt", {"--device", "h100-sxm"}},
        Case{"datasets/models/gpt2_block.hlo.txt",
             {"--device", "h100-sxm", "--cache", "flushed", "--instruction", "mma.sync"}},
        Case{"datasets/models/gpt2_block.xla_optimized.hlo.txt", {"--device", "b200"}},
        Case{"datasets/models/llama3_8b_prefill.hlo.txt",
             {"--device", "h100-sxm", "--cache", "clean", "--instruction", "wgmma"}},
        Case{"datasets/models/bert_base_layer.hlo.txt", {"--device", "a100", "--cache", "flushed"}},
        Case{"datasets/models/resnet50_stem.hlo.txt", {"--device", "a100", "--cache", "clean"}},
        Case{"datasets/models/efficientnet_mbconv.hlo.txt",
             {"--device", "l4", "--cache", "flushed"}},
        Case{"datasets/models/mlp_mixer_b16.hlo.txt",
             {"--device", "b200", "--instruction", "mma.sync"}},
        Case{"datasets/models/dlrm.hlo.txt", {"--device", "l4"}},
        Case{"datasets/models/vit_b16_embed.hlo.txt",
             {"--device", "h100-sxm", "--instruction", "fma"}},
        Case{"tests/cases/53c-as-one-fusion.hlo.txt", {"--device", "l4"}},
        Case{"tests/cases/60b-its-weight-gradient.hlo.txt", {"--device", "h100-sxm"}},
        Case{"tests/cases/62d-one-element-once-aliased.hlo.txt", {"--device", "a100"}}));

/// The search of a whole space finds what the search of its best tile finds, whatever the budget.
TEST(AgreementOfSearches, HoldsForAnyBudget) {
  const std::vector<std::string> asked = {"--device", "h100-sxm", "--cache", "flushed"};
  auto with = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), asked.begin(), asked.end());
    return runJson(arguments);
  };
  const std::string path = "datasets/models/vit_b16_embed.hlo.txt";
  for (const char *budget : {"1", "17", "300"}) {
    const Json model = with({"explore", path, "--top", "1", "--budget", budget})["models"][0];
    for (const Json &kernel : model["kernels"]) {
      const Json best =
          with(askingFor(path, kernel, {"--price", "--tile", sizesOf(kernel["plan"], false)}));
      EXPECT_EQ(best["price"]["time_ns"], kernel["time_ns"]) << rootOf(kernel) << " " << budget;
      EXPECT_LE(kernel["candidates"]["priced"], kernel["candidates"]["feasible"]);
    }
  }
}

namespace {

/// Parts of a reason: what each constraint says.
std::vector<std::string> saidIn(const std::string &reason) {
  std::vector<std::string> parts;
  for (size_t start = 0, end = 0; end != std::string::npos; start = end + 2) {
    end = reason.find("; ", start);
    parts.push_back(reason.substr(start, end == std::string::npos ? end : end - start));
  }
  return parts;
}

} // namespace

/// Reasons are numbers and names, and short enough to read.
TEST(Refusals, AreReadable) {
  size_t reasons = 0;
  auto expectReadable = [&](const std::string &reason) {
    for (const std::string &part : saidIn(reason)) {
      ++reasons;
      EXPECT_LE(part.size(), 200u) << part;
      for (const char *raw : {"floordiv", "ceildiv", " mod ", "(("})
        EXPECT_EQ(part.find(raw), std::string::npos) << part;
    }
  };
  for (const char *path :
       {"datasets/models/gpt2_block.hlo.txt", "datasets/models/bert_base_layer.hlo.txt",
        "datasets/models/gpt2_block_train.hlo.txt", "datasets/models/mlp_mixer_b16.hlo.txt"}) {
    const Json model = exploreJson(path, {"--top", "1", "--budget", "20"});
    for (const Json &chain : model["chains"])
      if (chain.contains("reason"))
        expectReadable(chain["reason"]);
    for (const char *list : {"split_groups", "unsupported"})
      for (const Json &row : model[list])
        expectReadable(row["reason"]);
  }
  EXPECT_GT(reasons, 10u);
  for (const char *tile : {"128,256,64,stages=6", "1024,1024,1024"}) {
    const Json refused = runJson(
        {"tile", "tests/cases/15-big-gemm-stages.hlo.txt", "--tile", tile, "--device", "h100-sxm"},
        1);
    for (const Json &answer : refused["instructions"])
      for (const Json &each : answer["core"])
        expectReadable(each["text"]);
  }
}

namespace {

const char *wideTile = "HloModule m\nENTRY e {\n  a = bf16[4096,4096] parameter(0)\n"
                       "  b = bf16[4096,3328] parameter(1)\n"
                       "  ROOT c = bf16[4096,3328] dot(a, b), lhs_contracting_dims={1}, "
                       "rhs_contracting_dims={0}\n}\n";

} // namespace

/// A refusal is in the terms of the instruction that is asked about, and what is refused has no
/// price.
TEST(TileInstruction, RefusesInItsOwnTerms) {
  TemporaryFolder folder;
  const std::string model = folder.write("m.hlo.txt", wideTile);
  auto ask = [&](const std::string &tile, const std::string &instruction) {
    return runTilewright({"tile", model, "--tile", tile, "--device", "h100-sxm", "--price",
                          "--instruction", instruction});
  };
  Outcome wide = ask("256,208,64,warps=8,stages=3", "wgmma");
  EXPECT_EQ(wide.exitCode, 1);
  EXPECT_NE(wide.out.find("208 registers a thread for sums, of at most 184 with wgmma"),
            std::string::npos)
      << wide.describe();
  EXPECT_EQ(wide.out.find("price"), std::string::npos) << wide.describe();
  Outcome deep = ask("128,208,64,warps=8,stages=6", "wgmma");
  EXPECT_EQ(deep.exitCode, 1);
  EXPECT_NE(deep.out.find("B of shared memory a CTA, of at most 232448 B"), std::string::npos)
      << deep.describe();
  Outcome deeper = ask("256,208,64,warps=8,stages=4", "wgmma"); // both limits are named
  EXPECT_NE(deeper.out.find("B of shared memory a CTA, of at most 232448 B"), std::string::npos)
      << deeper.describe();
  Outcome any = ask("256,256,64,warps=4", "auto");
  EXPECT_EQ(any.exitCode, 1);
  for (const char *part : {"with wgmma because ", "with mma.sync ", "chosen: warps = 4"})
    EXPECT_NE(any.out.find(part), std::string::npos) << part << any.describe();
  Outcome fits = ask("128,208,64,warps=8,stages=3", "wgmma");
  EXPECT_EQ(fits.exitCode, 0);
  EXPECT_NE(fits.out.find("plan      t0=128 t1=208 k0=64 warps=8 stages=3"), std::string::npos)
      << fits.describe();
}

/// `--list --price` ranks: ascending times, the first that of the best plan.
TEST(TileList, RanksByPrice) {
  TemporaryFolder folder;
  const std::string model = folder.write("m.hlo.txt", wideTile);
  const std::vector<std::string> asked = {"tile",    model,    "--device", "h100-sxm",
                                          "--price", "--tile", "k0=64"};
  std::vector<std::string> listed = asked;
  listed.insert(listed.end(), {"--list", "--limit", "20"});
  const Json list = runJson(listed);
  ASSERT_EQ(list["times_ns"].size(), 20u);
  EXPECT_EQ(list["tilings"].size(), 20u);
  for (size_t i = 1; i < 20; ++i)
    EXPECT_LE(list["times_ns"][i - 1], list["times_ns"][i]);
  EXPECT_EQ(runJson(asked)["price"]["time_ns"], list["times_ns"][0]);
  EXPECT_FALSE(list["is_exhaustive"].get<bool>());
  EXPECT_LT(list["priced_count"], list["feasible_count"]);
}

/// Registers that are given are those of the price.
TEST(TilePrice, HonoursGivenRegisters) {
  auto price = [](const std::vector<std::string> &more) {
    std::vector<std::string> arguments = {"tile",     "tests/cases/27-wide-stencil.hlo.txt",
                                          "--device", "h100-sxm",
                                          "--tile",   "4,128,warps=4",
                                          "--price"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return runJson(arguments);
  };
  const Json few = price({"--registers", "32"}), many = price({"--registers", "255"});
  EXPECT_EQ(few["price"]["blocks_per_sm"]["registers"], 16);
  EXPECT_EQ(many["price"]["blocks_per_sm"]["registers"], 2);
  EXPECT_EQ(many["resources"]["registers"], 255);
  EXPECT_LT(few["price"]["time_ns"], many["price"]["time_ns"]);
}

} // namespace tilewright::test
