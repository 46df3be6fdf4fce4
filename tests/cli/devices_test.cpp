// Devices, calibrations and measurements as the commands take them: one look-up, and answers that
// say what they rest on.
#include "tests/cli/run_program.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilewright::test {

namespace {

using Json = nlohmann::json;

constexpr const char *gemmModel = "tests/cases/15-big-gemm-stages.hlo.txt";
const std::string copyHeader = "kernel,dtype,d0,block,warps,time_ns,error\n";
const std::string copyRow = "copy1d,bf16,67108864,1024,4,91000,\n";

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string deviceText() { return readBytes("datasets/devices/h100-sxm.json"); }

} // namespace

TEST(Devices, ListsAllWithTheirNumbers) {
  Outcome outcome = runTilewright({"devices", "--json"});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
  const Json document = Json::parse(outcome.out);
  EXPECT_EQ(document["schema"], "tilewright.devices");
  EXPECT_GE(document["devices"].size(), 6u);
  Outcome table = runTilewright({"devices"});
  for (const Json &device : document["devices"]) {
    EXPECT_GE(device["numbers"].size(), 30u);
    for (const Json &number : device["numbers"])
      for (const char *field : {"key", "unit", "meaning", "source"})
        EXPECT_FALSE(number[field].get<std::string>().empty()) << number;
    EXPECT_NE(table.out.find(device["name"].get<std::string>()), std::string::npos);
    for (const Json &note : device["notes"])
      EXPECT_NE(table.out.find("note: " + note["text"].get<std::string>()), std::string::npos);
  }
  EXPECT_EQ(document["devices"][2]["name"], "h100-sxm");
  EXPECT_EQ(document["devices"][2]["calibration"], "h100-sxm");
  EXPECT_TRUE(document["devices"][0]["calibration"].is_null());
}

TEST(Devices, OneThatIsBrokenDoesNotHideTheOthers) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder / "devices");
  folder.write("devices/good.json", deviceText());
  folder.write("devices/bad.json", "{");
  Outcome outcome = runTilewright({"devices"}, {"TILEWRIGHT_DATA=" + (folder / "")});
  EXPECT_EQ(outcome.exitCode, 2) << outcome.describe();
  EXPECT_NE(outcome.out.find("h100-sxm"), std::string::npos) << outcome.describe();
  EXPECT_NE(outcome.err.find("bad.json:1:"), std::string::npos) << outcome.describe();
}

/// Every command takes every form of a name, and gives the same answer.
TEST(Devices, EveryCommandLooksANameUpAlike) {
  TemporaryFolder folder;
  const std::string rows = folder.write("rows.csv", copyHeader + copyRow);
  const std::vector<std::vector<std::string>> commands = {
      {"devices"},
      {"explore", gemmModel, "--budget", "20", "--json", "--device"},
      {"tile", gemmModel, "--tile", "128,128,64", "--price", "--json", "--device"},
      {"evaluate", rows, "--json", "--device"},
      {"calibrate", "--transfer-to", "h200-sxm", "--json", "--device"}};
  for (std::vector<std::string> command : commands) {
    command.push_back("h100-sxm");
    const Outcome expected = runTilewright(command);
    EXPECT_LE(expected.exitCode, 1) << expected.describe();
    for (const char *form : {"h100", "H100", "H100-sxm", "datasets/devices/h100-sxm.json"}) {
      command.back() = form;
      Outcome outcome = runTilewright(command);
      EXPECT_EQ(outcome.exitCode, expected.exitCode) << outcome.describe();
      EXPECT_EQ(outcome.out, expected.out) << form;
    }
    command.back() = "../devices/h100-sxm";
    Outcome outcome = runTilewright(command);
    EXPECT_EQ(outcome.exitCode, 2) << outcome.describe();
    EXPECT_NE(outcome.err.find("known: a100"), std::string::npos) << outcome.describe();
  }
  for (const char *form : {"h100", "H100-SXM", "datasets/calibrations/h100-sxm.json"}) {
    Outcome outcome = runTilewright({"evaluate", rows, "--calibration", form});
    EXPECT_EQ(outcome.exitCode, 0) << outcome.describe();
    EXPECT_NE(outcome.out.find("calibration h100-sxm"), std::string::npos) << outcome.describe();
  }
}

TEST(Devices, DescriptionsThatCanNotBeAreLocated) {
  TemporaryFolder folder;
  const std::string text = deviceText();
  const std::pair<std::string, std::string> changes[] = {
      {"\"compute_capability\": \"9.0\"", "\"compute_capability\": \"banana\""},
      {"\"value\": 132,", "\"value\": 132.5,"},
      {"\"name\": \"h100-sxm\"", "\"name\": \"../h100-sxm\""},
      {"\"sm_count\"", "\"sms\""},
      {"\"sm_clock\"", "\"sm_count\""}};
  for (const auto &[from, to] : changes) {
    const std::string file = folder.write("d.json", replaced(text, from, to));
    for (const std::vector<std::string> &command :
         {std::vector<std::string>{"devices", file}, {"explore", gemmModel, "--device", file}}) {
      Outcome outcome = runTilewright(command);
      EXPECT_EQ(outcome.exitCode, 2) << outcome.describe();
      EXPECT_TRUE(outcome.err.starts_with(file + ":")) << outcome.describe();
      EXPECT_EQ(outcome.out, "") << outcome.describe();
    }
  }
}

TEST(Calibrations, ListSaysWhatTheyStandOn) {
  Outcome outcome = runTilewright({"calibrations", "--json"});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
  const Json calibration = Json::parse(outcome.out)["calibrations"][0];
  EXPECT_EQ(calibration["device"], "h100-sxm");
  EXPECT_EQ(calibration["standing"], "as described");
  EXPECT_GE(calibration["spreads"]["kinds"].size(), 6u);
  Outcome one = runTilewright({"calibrations", "H100"});
  EXPECT_EQ(one.exitCode, 0);
  for (const char *part : {"spread of", "reduction", "dot wgmma", "parameter", "launch"})
    EXPECT_NE(one.out.find(part), std::string::npos) << part << one.describe();
}

/// A device of a known name and other numbers is another device, and every command says so.
TEST(Calibrations, CarryOverIsSaid) {
  TemporaryFolder folder;
  const std::string half = replaced(replaced(deviceText(), "\"value\": 3352", "\"value\": 1676"),
                                    "\"value\": 5.238", "\"value\": 2.619");
  const std::string same = folder.write("same.json", half),
                    renamed = folder.write("renamed.json", replaced(half, "\"name\": \"h100-sxm\"",
                                                                    "\"name\": \"x\""));
  double times[2];
  for (size_t i = 0; i < 2; ++i) {
    const std::string &file = i ? renamed : same;
    Outcome outcome = runTilewright({"explore", gemmModel, "--budget", "50", "--json",
                                     "--calibration", "h100-sxm", "--device", file});
    ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
    const Json document = Json::parse(outcome.out);
    ASSERT_EQ(document["notes"].size(), 1u) << document["notes"];
    EXPECT_EQ(document["notes"][0]["kind"], "carried-over");
    times[i] = document["models"][0]["total_time_ns"];
    Outcome tile =
        runTilewright({"tile", gemmModel, "--tile", "128,128,64", "--price", "--device", file});
    if (i == 0) {
      EXPECT_NE(tile.out.find("carried over from another description of h100-sxm"),
                std::string::npos)
          << tile.describe();
    }
  }
  EXPECT_EQ(times[0], times[1]);
}

/// Whatever way leads to a fit: one that did not converge is neither written nor printed.
TEST(Calibrate, WhatDidNotConvergeIsNotWritten) {
  const std::string folder = "datasets/measurements/h100-sxm/";
  const std::string rows = folder + "attention.csv.gz";
  const std::vector<std::vector<std::string>> ways = {
      {},
      {"--all-parameters"},
      {"--design", "64"},
      {"--transfer-to", "h200-sxm"},
      {"--spreads", folder + "tilewright-1/check.csv.gz"}};
  for (const std::vector<std::string> &way : ways) {
    TemporaryFolder out;
    const std::string kept = out.write("kept.json", "as it was");
    std::vector<std::string> command = {"calibrate", rows, "--json", "--max-iterations", "1"};
    command.insert(command.end(), way.begin(), way.end());
    for (const std::string &file : {out / "new.json", kept}) {
      std::vector<std::string> writing = command;
      writing.insert(writing.end(), {"--out", file});
      const Outcome outcome = runTilewright(writing);
      EXPECT_EQ(outcome.exitCode, 1) << outcome.describe();
      EXPECT_NE(outcome.err.find("did not converge in 1 iterations"), std::string::npos)
          << outcome.describe();
      EXPECT_EQ(outcome.out, "") << outcome.describe();
    }
    EXPECT_FALSE(std::filesystem::exists(out / "new.json"));
    EXPECT_EQ(readBytes(kept), "as it was");
  }
  TemporaryFolder out;
  const Outcome outcome = runTilewright({"calibrate", rows, "--out", out / "new.json"});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.describe();
  EXPECT_TRUE(Json::parse(readBytes(out / "new.json"))["fit"]["converged"].get<bool>());
}

TEST(Evaluate, SaysWhereThereIsNoCalibration) {
  TemporaryFolder folder;
  const std::string rows = folder.write("rows.csv", copyHeader + copyRow);
  Outcome outcome = runTilewright({"evaluate", rows, "--device", "a100"});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.describe();
  EXPECT_NE(outcome.out.find("device a100, calibration none (priors)"), std::string::npos)
      << outcome.describe();
  EXPECT_EQ(Json::parse(
                runTilewright({"evaluate", rows, "--device", "a100", "--json"}).out)["calibration"],
            "prior");
}

/// What has no price stands with its reason, and no number is made up for it.
TEST(Evaluate, NothingPricedIsTheAnswerNo) {
  TemporaryFolder folder;
  const std::string wide = "copy1d,bf16,67108864,1024,64,91000,\n";
  const std::string rows = folder.write("rows.csv", copyHeader + wide);
  Outcome outcome = runTilewright({"evaluate", rows, "--json"});
  EXPECT_EQ(outcome.exitCode, 1) << outcome.describe();
  EXPECT_EQ(Json::parse(outcome.out)["overall"]["unpriced_rows"], 1);
  for (const char *how : {"--left-out", "--no-measurement", "--baseline=roofline"}) {
    Outcome text = runTilewright({"evaluate", rows, how});
    EXPECT_EQ(text.out.find("nan"), std::string::npos) << text.describe();
    EXPECT_EQ(text.out.find("inf"), std::string::npos) << text.describe();
  }
  outcome = runTilewright({"evaluate", folder.write("both.csv", copyHeader + wide + copyRow)});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.describe();
  EXPECT_NE(outcome.out.find("2048 threads a CTA"), std::string::npos) << outcome.describe();
}

TEST(Evaluate, CountersWithoutALaunchAreNull) {
  const std::string file = "datasets/measurements/h100-sxm/tilewright-1/counters.csv";
  Outcome outcome = runTilewright({"evaluate", file, "--counters", "--json"});
  EXPECT_EQ(outcome.exitCode, 1) << outcome.describe();
  const Json report = Json::parse(outcome.out)["files"][0];
  EXPECT_EQ(report["launches"], 0);
  for (const Json &level : report["levels"])
    for (const char *number : {"median_ape", "worst_ape", "bias"})
      EXPECT_TRUE(level[number].is_null()) << level;
  outcome = runTilewright({"evaluate", file, "--counters"});
  EXPECT_EQ(outcome.exitCode, 1);
  EXPECT_NE(outcome.out.find("nothing is compared"), std::string::npos) << outcome.describe();
  EXPECT_EQ(outcome.out.find("0.0"), std::string::npos) << outcome.describe();
}

TEST(Evaluate, TablesAreReadOrRefused) {
  TemporaryFolder folder;
  Outcome outcome =
      runTilewright({"evaluate", folder.write("bom.csv", "\xef\xbb\xbf" + copyHeader + copyRow)});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.describe();
  EXPECT_NE(outcome.out.find("copy1d/bf16"), std::string::npos) << outcome.describe();
  for (const std::string &text :
       {copyHeader, replaced(copyHeader, "kernel", "name") + copyRow,
        copyHeader + "copy1d,bf16,67108864,1024,4,91,\n"}) { // microseconds
    const std::string file = folder.write("t.csv", text), out = folder / "c.json";
    for (const std::vector<std::string> &command :
         {std::vector<std::string>{"evaluate", file}, {"calibrate", file, "--out", out}}) {
      outcome = runTilewright(command);
      EXPECT_EQ(outcome.exitCode, 2) << outcome.describe();
      EXPECT_NE(outcome.err.find("t.csv"), std::string::npos) << outcome.describe();
      EXPECT_FALSE(std::filesystem::exists(out));
    }
  }
}

/// A row that is not believed is named with its line by every command that reads rows.
TEST(Evaluate, RowsThatAreNotBelievedAreNamed) {
  TemporaryFolder folder;
  std::string rows = copyHeader;
  for (int i = 0; i < 4; ++i)
    rows += fmt::format("copy1d,bf16,67108864,{},4,{},\n", 512 << i, 91000 + i);
  rows += "copy1d,bf16,67108864,8192,8,1e-300,\n";
  const std::string file = folder.write("t.csv", rows);
  Outcome outcome = runTilewright({"evaluate", file, "--json"});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
  const Json document = Json::parse(outcome.out);
  ASSERT_EQ(document["left_out"].size(), 1u);
  EXPECT_EQ(document["left_out"][0]["line"], 6);
  EXPECT_NE(runTilewright({"evaluate", file}).out.find("t.csv:6: time_ns is 1e-300"),
            std::string::npos);
  outcome = runTilewright({"calibrate", file, "--out", folder / "c.json"});
  EXPECT_NE(outcome.err.find("t.csv:6: time_ns is 1e-300"), std::string::npos)
      << outcome.describe();
}

TEST(Data, StripTakesTheCardOutOfAFile) {
  TemporaryFolder folder;
  const std::string uuid = "GPU-01234567-89ab-cdef-0123-456789abcdef";
  const std::string plain =
      folder.write("plain.csv", "kernel,uuid,time_ns\nk," + uuid + ",5\nl," + uuid + ",6\n");
  Outcome outcome = runTilewright({"data", "strip", plain});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.describe();
  EXPECT_EQ(outcome.out.find("GPU-"), std::string::npos);
  EXPECT_TRUE(outcome.out.starts_with("kernel,board,time_ns\nk,")) << outcome.out;
  // Bundled files were: they stay as they are.
  const std::string bundled = "datasets/measurements/h100-sxm/tilewright-1/counters.csv";
  EXPECT_EQ(runTilewright({"data", "strip", bundled}).out, readBytes(bundled));
  // A row whose check does not fit is not given one that does.
  const std::string changed =
      folder.write("c.csv", "kernel,uuid,row_check\nk," + uuid + ",00000000\n");
  outcome = runTilewright({"data", "strip", changed, "--out", folder / "o.csv"});
  EXPECT_EQ(outcome.exitCode, 2) << outcome.describe();
  EXPECT_NE(outcome.err.find("c.csv:2:1"), std::string::npos) << outcome.describe();
  EXPECT_FALSE(std::filesystem::exists(folder / "o.csv"));
}

} // namespace tilewright::test
