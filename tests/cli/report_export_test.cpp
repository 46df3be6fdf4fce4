// tilewright report --csv and --trace: from an exploration and a measurement file to whole files.
#include "tests/cli/run_program.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilewright::test {

namespace {
using Json = nlohmann::json;
}

TEST(ReportExport, TablesAndTracesOfAModel) {
  TemporaryFolder folder;
  std::string model = folder.write("two.hlo.txt", R"(HloModule two
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[64,96] parameter(0)
  y = f32[96,64] parameter(1)
  d = f32[64,64] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  z = f32[] constant(0)
  ROOT r = f32[64] reduce(d, z), dimensions={1}, to_apply=add
})");
  std::string out = folder / "out";
  Outcome outcome = runTilewright({"explore", model, "--greedy", "--budget", "40", "--out", out});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
  const Json explored = Json::parse(readBytes(out + "/explore.json"))["models"][0]["kernels"];
  ASSERT_EQ(explored.size(), 2u);

  std::string tables = folder / "tables";
  outcome = runTilewright({"report", out, "--csv", "--out", tables});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
  std::string kernels = readBytes(tables + "/kernels.csv");
  for (const Json &kernel : explored)
    EXPECT_NE(kernels.find("," + kernel["name"].get<std::string>() + ","), std::string::npos);
  EXPECT_EQ(std::count(kernels.begin(), kernels.end(), '\n'), 3);

  std::string rows = "role,attempt,kernel,problem,plan,regime,uuid,time_ns,error\n";
  int time = 1000;
  for (const Json &kernel : explored)
    for (const char *regime : {"cold", "warm"}) {
      rows += "measure,1," + kernel["name"].get<std::string>() + ",p," + std::to_string(time) +
              "," + regime + ",u,";
      time += 500;
      rows += std::to_string(time) + ",\n";
    }
  std::string measured = folder.write("measured.csv", rows);
  outcome = runTilewright({"report", out, measured, "--trace", "--out", folder / "t.json"});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
  std::vector<double> durations; // of the measured track: warm times
  const Json trace = Json::parse(readBytes(folder / "t.json"));
  for (const Json &event : trace["traceEvents"])
    if (event["ph"] == "X" && event["tid"] == 1)
      durations.push_back(event["dur"].get<double>());
  EXPECT_EQ(durations, (std::vector<double>{2.0, 3.0}));

  EXPECT_EQ(runTilewright({"report", out, "--csv"}).exitCode, 2);
  EXPECT_EQ(runTilewright({"report", out, measured}).exitCode, 2);
  EXPECT_EQ(runTilewright({"report", out, "--csv", "--trace", "--out", tables}).exitCode, 2);
  std::string bad = folder.write("bad.csv", "kernel,time_ns\nk,soon\n");
  outcome = runTilewright({"report", out, bad, "--trace"});
  EXPECT_EQ(outcome.exitCode, 2);
  EXPECT_NE(outcome.err.find("bad.csv:2"), std::string::npos) << outcome.describe();
}

} // namespace tilewright::test
