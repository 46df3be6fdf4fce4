// tilewright data: measurements taken in, listed and compared.
#include "tests/cli/run_program.h"

#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilewright::test {

namespace {
using Json = nlohmann::json;
}

TEST(Data, ImportsWritesAndRefuses) {
  TemporaryFolder folder;
  std::string file = folder.write("b.csv", "M,triton (us)\n128,\"1,000.5\"\n");
  Outcome outcome = runTilewright({"data", "import", file});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.describe();
  EXPECT_EQ(outcome.out, "kernel,time_ns,M\ntriton,1.0005e+06,128\n");
  outcome = runTilewright({"data", "import", file, "--out", folder / "o.csv"});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.describe();
  EXPECT_EQ(readBytes(folder / "o.csv"), "kernel,time_ns,M\ntriton,1.0005e+06,128\n");
  outcome = runTilewright({"data", "import", folder.write("c.csv", "M,triton (us)\n1,fast\n"),
                           "--out", folder / "p.csv"});
  EXPECT_EQ(outcome.exitCode, 2) << outcome.describe();
  EXPECT_NE(outcome.err.find("c.csv:2:1: error: column 'triton (us)' is 'fast'"),
            std::string::npos);
  EXPECT_EQ(runTilewright({"data", "import", folder / "none.csv"}).exitCode, 2);
  EXPECT_EQ(runTilewright({"data"}).exitCode, 2);
}

TEST(Data, ListsTheBundledMeasurements) {
  Outcome outcome =
      runTilewright({"data", "list", "datasets/measurements/h100-sxm/gemm.csv.gz", "--json"});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
  Json document = Json::parse(outcome.out);
  const Json &file = document["files"][0];
  EXPECT_EQ(file["rows"].get<size_t>(), file["timed"].get<size_t>() + file["failed"].get<size_t>());
  EXPECT_GT(file["timed"].get<size_t>(), 10000u);
  EXPECT_EQ(file["kernels"], "gemm");
}

TEST(Data, DiffMatchesRowsByWhatWasMeasured) {
  TemporaryFolder folder;
  std::string a = folder.write("a.csv", "kernel,d0,warps,time_ns,error\ng,1,4,100,\ng,1,8,200,\n"
                                        "g,2,4,50,\ng,3,4,,too large\n");
  std::string b = folder.write("b.csv", "time_ns,warps,d0,kernel,regs\n110,4,1,g,9\n"
                                        "400,8,1,g,9\n70,4,9,g,9\n");
  Outcome outcome = runTilewright({"data", "diff", a, b, "--json"});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
  Json document = Json::parse(outcome.out);
  EXPECT_EQ(document["compared"], 2);
  EXPECT_EQ(document["only_first"], 1);
  EXPECT_EQ(document["only_second"], 1);
  EXPECT_NEAR(document["mean_ratio"].get<double>(), std::sqrt(2.2), 1e-9);
  EXPECT_EQ(document["rows"][0]["key"], "d0=1 kernel=g warps=8");
  EXPECT_EQ(document["rows"][0]["ratio"], 2.0);
  EXPECT_EQ(
      runTilewright({"data", "diff", a, folder.write("c.csv", "kernel,time_ns\nx,1\n")}).exitCode,
      1);
  EXPECT_EQ(runTilewright({"data", "diff", a, folder.write("d.csv", "kernel\nx\n")}).exitCode, 2);
}

TEST(Data, AFolderIsQueriedThroughItsIndex) {
  TemporaryFolder folder;
  const std::string header = "kernel,d0,device,driver,sm_clock_mhz,tool_version,time_ns,error\n";
  folder.write("old.csv",
               header + "g,1,H100,580.1,1980,0.1.0,100,\ng,2,H100,580.1,1980,0.1.0,,no\n");
  folder.write("new.csv", header + "g,1,H100,590.1,1980,0.1.0,80,\nh,1,L4,590.1,2040,0.1.0,70,\n");
  std::string all = folder / "";
  Outcome outcome = runTilewright({"data", "list", all, "--json"});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
  Json document = Json::parse(outcome.out);
  ASSERT_EQ(document["files"].size(), 2u);
  ASSERT_EQ(document["series"].size(), 3u);
  EXPECT_EQ(document["series"][0]["driver"], "580.1");
  EXPECT_EQ(document["series"][0]["times"], 1);
  EXPECT_TRUE(std::filesystem::exists(folder / ".tilewright-index.sqlite"));

  outcome = runTilewright({"data", "show", all, "--where", "device=H100", "kernel=g", "--json"});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
  document = Json::parse(outcome.out);
  ASSERT_EQ(document["rows"].size(), 3u);
  EXPECT_EQ(document["rows"][0]["time_ns"], 80.0);
  EXPECT_EQ(document["rows"][0]["line"], 2);
  EXPECT_EQ(document["rows"][2]["error"], "no");
  EXPECT_EQ(document["rows"][0]["plan_hash"], document["rows"][1]["plan_hash"]);
  // A row that is appended is there at once.
  std::string text = readBytes(folder / "new.csv");
  folder.write("new.csv", text + "g,3,H100,590.1,1980,0.1.0,30,\n");
  outcome = runTilewright({"data", "show", all, "--where", "driver=590*", "kernel=g"});
  EXPECT_NE(outcome.out.find("new.csv:4:"), std::string::npos) << outcome.describe();
  EXPECT_EQ(runTilewright({"data", "show", all, "--where", "kernel=none"}).exitCode, 1);
  outcome = runTilewright({"data", "show", all, "--where", "speed=3"});
  EXPECT_EQ(outcome.exitCode, 2);
  EXPECT_NE(outcome.err.find("sm_clock_mhz"), std::string::npos) << outcome.describe();

  outcome = runTilewright(
      {"data", "diff", all, all, "--first", "driver=580*", "--second", "driver=590*", "--json"});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
  document = Json::parse(outcome.out);
  EXPECT_EQ(document["compared"], 1);
  EXPECT_NEAR(document["mean_ratio"].get<double>(), 0.8, 1e-9);

  // The files are only ever read.
  EXPECT_EQ(readBytes(folder / "new.csv"), text + "g,3,H100,590.1,1980,0.1.0,30,\n");
  folder.write(".tilewright-index.sqlite", "rubbish");
  outcome = runTilewright({"data", "list", all});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.describe();
  EXPECT_NE(outcome.err.find("made anew"), std::string::npos) << outcome.describe();
}

TEST(Data, RowsOfTwoRunsMatchWhateverTheirBlock) {
  TemporaryFolder folder;
  const std::string header =
      "role,block,attempt,kernel,problem,plan,plan_hash,regime,uuid,time_ns\n";
  std::string a = folder.write("a.csv", header + "measure,0,1,k,p,t0=1,h,cold,u,100\n");
  std::string b = folder.write("b.csv", header + "measure,7,1,k,p,t0=1,h,cold,u,150\n");
  Outcome outcome = runTilewright({"data", "diff", a, b, "--json"});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
  EXPECT_EQ(Json::parse(outcome.out)["rows"][0]["ratio"], 1.5);
}

} // namespace tilewright::test
