// `explore` on every bundled model: nothing is lost, nothing is counted twice, and the bytes do not
// depend on how it was run.
#include "analysis/import/import_file.h"
#include "analysis/import/testing/models.h"
#include "analysis/ir/inline.h"
#include "tests/cli/run_program.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>

namespace tilewright::test {

namespace {

using Json = nlohmann::json;

/// Few plans are priced: what is tested here does not depend on how good they are.
std::vector<std::string> exploring(const std::vector<std::string> &models,
                                   const std::vector<std::string> &more) {
  std::vector<std::string> arguments = {"explore", "--budget", "40", "--top", "2"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  arguments.insert(arguments.end(), models.begin(), models.end());
  return arguments;
}

/// How often the result speaks of each op.
std::map<std::string, int> mentions(const Json &model) {
  std::map<std::string, int> count;
  for (const Json &kernel : model["kernels"])
    for (const Json &op : kernel["ops"])
      ++count[op.get<std::string>()];
  for (const char *list : {"unsupported", "assumed", "no_kernel"})
    for (const Json &entry : model[list]) {
      EXPECT_FALSE(entry["reason"].get<std::string>().empty()) << entry;
      ++count[entry["op"].get<std::string>()];
    }
  return count;
}

void checkTimes(const Json &model) {
  double alone = 0, inRun = 0;
  auto add = [&](const Json &row) {
    const double runs = row["trip_count"];
    alone += row["time_ns"].get<double>() * runs;
    const Json &placed = row.contains("in_sequence") ? row["in_sequence"] : row;
    inRun += placed["time_ns"].get<double>() * runs;
  };
  for (const Json &kernel : model["kernels"]) {
    double time = kernel["time_ns"].get<double>(); // throws where a number is null
    EXPECT_TRUE(std::isfinite(time) && time >= 0) << kernel["name"];
    EXPECT_FALSE(kernel["limiter"].get<std::string>().empty()) << kernel["name"];
    for (const auto &[name, term] : kernel["terms"].items())
      EXPECT_TRUE(term.is_number() && term.get<double>() >= 0) << kernel["name"] << " " << name;
    ASSERT_FALSE(kernel["alternatives"].empty());
    EXPECT_EQ(kernel["alternatives"][0]["plan"], kernel["plan"]);
    double last = 0;
    for (const Json &plan : kernel["alternatives"]) {
      EXPECT_GE(plan["time_ns"].get<double>(), last) << kernel["name"] << ": not sorted by time";
      last = plan["time_ns"].get<double>();
    }
    EXPECT_GE(kernel["candidates"]["raw"].get<uint64_t>(),
              kernel["candidates"]["feasible"].get<uint64_t>());
    EXPECT_EQ(kernel.contains("in_sequence"), kernel["trip_count"] > 0) << kernel["name"];
    const double bound = kernel["lower_bound_ns"];
    EXPECT_LE(bound, time * (1 + 1e-9)) << kernel["name"];
    const Json &placed = kernel.contains("in_sequence") ? kernel["in_sequence"] : kernel;
    EXPECT_LE(bound, placed["time_ns"].get<double>() * (1 + 1e-9)) << kernel["name"];
    add(kernel);
  }
  for (const Json &row : model["assumed"])
    add(row);
  EXPECT_NEAR(model["total_time_ns"].get<double>(), inRun, 1e-6 * inRun + 1e-9);
  EXPECT_NEAR(model["alone_time_ns"].get<double>(), alone, 1e-6 * alone + 1e-9);
  EXPECT_EQ(model["total_is_complete"].get<bool>(), model["unsupported"].empty());
  if (model["total_is_complete"].get<bool>()) {
    EXPECT_LE(model["lower_bound_ns"].get<double>(), inRun);
  }
}

} // namespace

TEST(Explore, EveryOpOfEveryBundledModelIsAccountedForOnce) {
  std::vector<std::string> models = bundledModels();
  ASSERT_GE(models.size(), 20u);
  Outcome outcome = runTilewright(exploring(models, {"--json", "--jobs", "2"}), {}, 300);
  ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
  Json document = Json::parse(outcome.out);
  EXPECT_EQ(document["schema"], "tilewright.explore");
  EXPECT_EQ(document["schema_version"], 1);
  ASSERT_EQ(document["models"].size(), models.size());
  for (size_t i = 0; i < models.size(); ++i) {
    SCOPED_TRACE(models[i]);
    const Json &model = document["models"][i];
    EXPECT_EQ(model["model"], models[i]);
    checkTimes(model);
    // The explored graph is the entry with its calls inlined.
    llvm::Expected<Module> module = importFile(models[i]);
    ASSERT_TRUE(static_cast<bool>(module));
    llvm::Expected<Module> inlined = inlineCalls(*module);
    ASSERT_TRUE(static_cast<bool>(inlined));
    const Graph &graph = inlined->entry();
    std::map<std::string, int> count = mentions(model);
    EXPECT_EQ(count.size(), graph.size());
    EXPECT_EQ(model["ops"].get<size_t>(), graph.size());
    for (uint32_t op = 0; op < graph.size(); ++op)
      EXPECT_EQ(count[graph.op(OpId{op}).name], 1) << graph.op(OpId{op}).name;
  }
}

TEST(Explore, SameBytesForAnyJobsAndAfterResuming) {
  const std::vector<std::string> models = {"datasets/models/dlrm.xla_optimized.hlo.txt",
                                           "datasets/models/resnet50_bottleneck.hlo.txt",
                                           "datasets/models/gpt2_block.hlo.txt"};
  TemporaryFolder folder;
  auto run = [&](const std::string &out, const std::vector<std::string> &more) {
    std::vector<std::string> arguments = {"--out", folder / out};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Outcome outcome = runTilewright(exploring(models, arguments));
    EXPECT_EQ(outcome.exitCode, 0) << outcome.describe();
    return readBytes((folder / out) + "/explore.json");
  };
  std::string once = run("a", {"--jobs", "1"});
  ASSERT_FALSE(once.empty());
  std::vector<std::string> entries = folder.entries();
  EXPECT_EQ(run("b", {"--jobs", "2"}), once);
  EXPECT_EQ(run("b", {"--resume"}), once);

  // An interrupted run: one model is missing, one was cut short, one was changed by hand.
  std::filesystem::remove(folder / "a/models/000.json");
  std::filesystem::resize_file(folder / "a/models/001.json", 500);
  std::string changed = readBytes(folder / "a/models/002.json");
  size_t at = changed.find("\"total_time_ns\": ");
  ASSERT_NE(at, std::string::npos);
  changed.insert(at + 17, "9");
  folder.write("a/models/002.json", changed);
  std::filesystem::remove(folder / "a/explore.json");
  EXPECT_EQ(run("a", {"--resume"}), once);

  // No temporary file stays, and both folders hold the same files.
  std::vector<std::string> inA, inB;
  for (const std::string &entry : folder.entries()) {
    EXPECT_EQ(entry.find(".tmp"), std::string::npos) << entry;
    (entry[0] == 'a' ? inA : inB).push_back(entry.substr(1));
  }
  EXPECT_EQ(inA, inB);
  EXPECT_EQ(inA.size(), entries.size());
  for (const std::string &entry : inA)
    if (std::filesystem::is_regular_file(folder / ("a" + entry))) {
      EXPECT_EQ(readBytes(folder / ("a" + entry)), readBytes(folder / ("b" + entry))) << entry;
    }
}

TEST(Explore, ResumingAfterAChangeExploresAgain) {
  TemporaryFolder folder;
  std::string model = folder.write("m.hlo.txt", "HloModule m\nENTRY e {\n"
                                                "  x = f32[64,64] parameter(0)\n"
                                                "  ROOT y = f32[64,64] negate(x)\n}\n");
  auto run = [&](const std::vector<std::string> &more) {
    std::vector<std::string> arguments = {"--out", folder / "out", "--resume"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Outcome outcome = runTilewright(exploring({model}, arguments));
    EXPECT_EQ(outcome.exitCode, 0) << outcome.describe();
    return Json::parse(readBytes(folder / "out/explore.json"));
  };
  Json first = run({});
  EXPECT_NE(run({"--device", "l4"})["models"], first["models"]);
  EXPECT_EQ(run({}), first);
  folder.write("m.hlo.txt", "HloModule m\nENTRY e {\n  x = f32[64,64] parameter(0)\n"
                            "  ROOT z = f32[64,64] abs(x)\n}\n");
  EXPECT_EQ(run({})["models"][0]["kernels"][0]["ops"], Json::array({"z"}));
}

TEST(Explore, NamesThatAreNoFileNames) {
  TemporaryFolder folder;
  std::string longName(300, 'n');
  std::string model =
      folder.write("m.hlo.txt", "HloModule m\nENTRY e {\n  x = f32[64,64] parameter(0)\n"
                                "  " +
                                    longName +
                                    " = f32[64,64] negate(x)\n"
                                    "  s = f32[64,64] sort(" +
                                    longName +
                                    "), dimensions={1}, "
                                    "to_apply=lt\n"
                                    "  ROOT y = f32[64,64] abs(s)\n}\n"
                                    "lt {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                                    "  ROOT c = pred[] compare(a, b), direction=LT\n}\n");
  Outcome outcome = runTilewright(exploring({model}, {"--out", folder / "out", "--json"}));
  ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
  Json explored = Json::parse(outcome.out)["models"][0];
  ASSERT_EQ(explored["kernels"].size(), 2u);
  for (const Json &kernel : explored["kernels"])
    if (kernel.contains("plan_file")) {
      EXPECT_TRUE(std::filesystem::is_regular_file(
          folder / ("out/" + kernel["plan_file"].get<std::string>())));
    }
}

} // namespace tilewright::test
