// explore → emit → tilewright-profile on a stand-in driver: every path of measuring without a GPU.
#include "profiler/cuda_abi.h"
#include "profiler/cupti_abi.h"
#include "profiler/nvml_abi.h"
#include "tests/cli/run_program.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace tilewright::test {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const char *const models[] = {
    "HloModule ew\nENTRY e {\n  x = f32[37,51] parameter(0)\n  b = f32[37] parameter(1)\n"
    "  w = f32[37,51] broadcast(b), dimensions={0}\n  s = f32[37,51] add(x, w)\n"
    "  ROOT t = f32[51,37] transpose(s), dimensions={1,0}\n}\n",
    "HloModule rows\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
    "  ROOT c = f32[] add(a, b)\n}\nENTRY e {\n  x = f32[13,77] parameter(0)\n"
    "  zero = f32[] constant(0)\n"
    "  ROOT r = f32[13] reduce(x, zero), dimensions={1}, to_apply=sum\n}\n",
    "HloModule dot\nENTRY e {\n  a = bf16[70,100] parameter(0)\n  b = bf16[100,50] parameter(1)\n"
    "  ROOT c = bf16[70,50] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n",
    "HloModule look\nENTRY e {\n  x = f32[40,8] parameter(0)\n  i = s32[9,1] parameter(1)\n"
    "  ROOT g = f32[9,8] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, "
    "start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}\n}\n"};

/// The rows of a file as maps from column to cell. Cells of ours hold no quoted commas but in
/// `error` and `rejected_samples`, which are looked for in the text.
std::vector<std::map<std::string, std::string>> readRows(const std::string &path) {
  std::vector<std::map<std::string, std::string>> rows;
  std::istringstream lines(readBytes(path));
  std::vector<std::string> header;
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (char c : line)
      if (c == '"')
        quoted = !quoted;
      else if (c == ',' && !quoted)
        cells.emplace_back();
      else
        cells.back() += c;
    if (header.empty()) {
      header = cells;
      continue;
    }
    EXPECT_EQ(cells.size(), header.size()) << line;
    auto &row = rows.emplace_back();
    for (size_t i = 0; i < header.size() && i < cells.size(); ++i)
      row[header[i]] = cells[i];
  }
  return rows;
}

/// What a row is about, without what was measured.
std::vector<std::string> keysOf(const std::string &path) {
  std::vector<std::string> keys;
  for (auto &row : readRows(path))
    keys.push_back(row["role"] + " " + row["block"] + " " + row["attempt"] + " " +
                   row["plan_hash"] + " " + row["regime"]);
  return keys;
}

class Profile : public testing::Test {
protected:
  static void SetUpTestSuite() {
    shared = std::make_unique<TemporaryFolder>();
    std::vector<std::string> emit = {"emit", "--no-assemble", "--target", "sm_90", "--out", pack()};
    int number = 0;
    for (const char *hlo : models) {
      std::string name = "m" + std::to_string(number++);
      std::string out = *shared / (name + ".out");
      Outcome outcome =
          runTilewright({"explore", shared->write(name + ".hlo.txt", hlo), "--instruction",
                         "mma.sync", "--budget", "100", "--out", out, "--json"});
      ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
      const Json document = Json::parse(outcome.out);
      for (const Json &kernel : document["models"][0]["kernels"])
        emit.push_back(out + "/" + kernel["plan_file"].get<std::string>());
    }
    Outcome outcome = runTilewright(emit);
    ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
  }
  static void TearDownTestSuite() { shared.reset(); }

  static std::string pack() { return *shared / "pack"; }
  static constexpr size_t kernels = std::size(models);

  Outcome profile(const std::string &file, const std::string &faults = "",
                  std::vector<std::string> more = {}, const std::string &gpu = "",
                  const std::string &libraries = TILEWRIGHT_FAKE_GPU_FOLDER) {
    std::vector<std::string> arguments = {pack(),      "--out", folder / file, "--samples", "3",
                                          "--warmups", "1",     "--block",     "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::vector<std::string> environment = {
        "TILEWRIGHT_GPU_LIBRARIES=" + libraries, "TILEWRIGHT_FAKE_PACK=" + pack(),
        "TILEWRIGHT_FAKE_FAULTS=" + faults, "TILEWRIGHT_FAKE_GPU=" + gpu};
    if (!disk.empty()) {
      environment.push_back("TILEWRIGHT_FAKE_DISK=" + disk);
      environment.push_back("LD_PRELOAD=" TILEWRIGHT_FAKE_GPU_FOLDER "/libfake_disk.so");
      // A sanitizer's own library wants to be first, and works behind this one, too.
      environment.push_back("ASAN_OPTIONS=verify_asan_link_order=0");
    }
    if (isOnce) {
      fs::remove(folder / "once");
      environment.push_back("TILEWRIGHT_FAKE_ONCE=" + (folder / "once"));
    }
    return runProfiler(arguments, environment);
  }

  /// Rows of the kind "measure" with and without an error.
  std::pair<size_t, size_t> goodAndBad(const std::string &file) {
    std::pair<size_t, size_t> counts;
    for (auto &row : readRows(folder / file))
      if (row["role"] == "measure")
        ++(row["error"].empty() ? counts.first : counts.second);
    return counts;
  }

  TemporaryFolder folder;
  bool isOnce = false; ///< a fault happens in the first process alone
  std::string disk;    ///< what happens at which operation on a file, see fake_disk.cpp
  static std::unique_ptr<TemporaryFolder> shared;
};
std::unique_ptr<TemporaryFolder> Profile::shared;

} // namespace

TEST_F(Profile, MeasuresEachKernelColdAndWarmOnce) {
  Outcome outcome = profile("a.csv");
  ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
  EXPECT_EQ(outcome.err, "");
  std::set<std::string> seen;
  for (auto &row : readRows(folder / "a.csv")) {
    EXPECT_EQ(row["error"], "");
    EXPECT_GT(std::stod(row["time_ns"]), 0);
    EXPECT_LE(std::stod(row["min_ns"]), std::stod(row["time_ns"]));
    EXPECT_GE(std::stod(row["max_ns"]), std::stod(row["time_ns"]));
    EXPECT_EQ(row["timer"], "cupti");
    EXPECT_EQ(row["sm_clock_mhz"], "1980");
    EXPECT_EQ(row["power_w"], "350.5");
    EXPECT_EQ(row["max_error"], "0");
    EXPECT_EQ(row["samples"], "3");
    EXPECT_EQ(row["flush_bytes"].empty(), row["regime"] == "warm");
    EXPECT_EQ(row["gap_ns"].empty(), row["regime"] == "cold");
    EXPECT_NE(row["plan"].find("warps="), std::string::npos);
    if (row["role"] == "measure") {
      EXPECT_TRUE(seen.insert(row["plan_hash"] + row["regime"]).second);
    }
  }
  EXPECT_EQ(seen.size(), 2 * kernels);
  Json problems = Json::parse(readBytes(folder / "a.csv.problems.json"));
  EXPECT_EQ(problems["problems"].size(), kernels);
  // Again: nothing to do. Elsewhere: the same bytes.
  std::string bytes = readBytes(folder / "a.csv");
  EXPECT_EQ(profile("a.csv").exitCode, 0);
  EXPECT_EQ(readBytes(folder / "a.csv"), bytes);
  EXPECT_EQ(profile("b.csv").exitCode, 0);
  EXPECT_EQ(readBytes(folder / "b.csv"), bytes);
  // Another seed is another order.
  EXPECT_EQ(profile("c.csv", "", {"--seed", "2"}).exitCode, 0);
  EXPECT_NE(keysOf(folder / "c.csv"), keysOf(folder / "b.csv"));
}

/// Which card it was tells two of a machine apart, and nothing more.
TEST_F(Profile, NoUuidIsWritten) {
  ASSERT_EQ(profile("a.csv").exitCode, 0);
  EXPECT_EQ(readBytes(folder / "a.csv").find("GPU-"), std::string::npos);
  std::set<std::string> boards;
  for (auto &row : readRows(folder / "a.csv"))
    boards.insert(row["board"]);
  ASSERT_EQ(boards.size(), 1u);
  EXPECT_EQ(boards.begin()->size(), 8u);
}

/// The rows of a runner that is killed can be priced before it runs again.
TEST_F(Profile, RowsOfAKilledRunnerCanBeEvaluated) {
  std::string device = readBytes("datasets/devices/h100-sxm.json");
  const std::string name = "NVIDIA H100 80GB HBM3";
  device.replace(device.find(name), name.size(), "Stand-in GPU");
  const std::string file = folder.write("stand-in.json", device);
  ASSERT_EQ(profile("a.csv").exitCode, 0);
  const Outcome whole = runTilewright({"evaluate", folder / "a.csv", "--device", file, "--json"});
  ASSERT_FALSE(Json::parse(whole.out, nullptr, false).is_discarded()) << whole.describe();
  const size_t rows = Json::parse(whole.out)["overall"]["rows"];
  size_t most = 0;
  for (unsigned call : {2u, 8u, 20u, 30u}) {
    fs::remove(folder / "x.csv");
    fs::remove(folder / "x.csv.problems.json");
    Outcome killed = profile("x.csv", "launch:" + std::to_string(call) + "=kill");
    ASSERT_EQ(killed.signal, 9) << killed.describe();
    if (readBytes(folder / "x.csv").find("\nmeasure,") == std::string::npos)
      continue;
    Outcome outcome = runTilewright({"evaluate", folder / "x.csv", "--device", file, "--json"});
    const Json document = Json::parse(outcome.out, nullptr, false);
    ASSERT_FALSE(document.is_discarded()) << outcome.describe();
    most = std::max<size_t>(most, document["overall"]["rows"].get<size_t>() +
                                      document["left_out"].size());
  }
  EXPECT_GT(most, 0u);
  EXPECT_LE(most, rows + 1);
}

/// What earlier rows are priced by is never replaced by less.
TEST_F(Profile, ACutFileOfOpsIsRefused) {
  ASSERT_EQ(profile("a.csv").exitCode, 0);
  const std::string problems = folder / "a.csv.problems.json", whole = readBytes(problems),
                    rows = readBytes(folder / "a.csv");
  for (size_t length : {size_t(0), size_t(1), whole.size() / 2, whole.size() - 3}) {
    folder.write("a.csv.problems.json", whole.substr(0, length));
    Outcome outcome = profile("a.csv", "", {"--regimes", "cold,warm,graph"});
    EXPECT_EQ(outcome.exitCode, 2) << outcome.describe();
    EXPECT_NE(outcome.err.find("problems.json is damaged"), std::string::npos)
        << outcome.describe();
    EXPECT_EQ(readBytes(problems), whole.substr(0, length));
    EXPECT_EQ(readBytes(folder / "a.csv"), rows);
  }
}

TEST_F(Profile, KilledAtAnyPointNothingIsLostOrDoubled) {
  ASSERT_EQ(profile("straight.csv").exitCode, 0);
  const std::vector<std::string> expected = keysOf(folder / "straight.csv");
  size_t kills = 0;
  for (size_t call = 1;; ++call) {
    fs::remove(folder / "x.csv");
    Outcome killed = profile("x.csv", "any:" + std::to_string(call) + "=kill");
    bool wasKilled = killed.signal == 9;
    std::string before = readBytes(folder / "x.csv");
    if (wasKilled) {
      Outcome resumed = profile("x.csv");
      ASSERT_EQ(resumed.exitCode, 0) << "call " << call << ": " << resumed.describe();
      EXPECT_EQ(readBytes(folder / "x.csv").substr(0, before.size()), before);
    }
    ASSERT_EQ(keysOf(folder / "x.csv"), expected) << "killed at call " << call;
    if (!wasKilled)
      break;
    ++kills;
  }
  EXPECT_GT(kills, 100u);
}

/// Before and after every write, every sync and every rename, and in the middle of every write.
TEST_F(Profile, KilledAtAnyOperationOnTheDiskNothingIsLostOrDoubled) {
  ASSERT_EQ(profile("straight.csv").exitCode, 0);
  const std::vector<std::string> expected = keysOf(folder / "straight.csv");
  const std::string bytes = readBytes(folder / "straight.csv");
  for (const char *how : {"before", "torn", "after"}) {
    size_t kills = 0;
    for (size_t operation = 1;; ++operation) {
      SCOPED_TRACE(std::string(how) + " operation " + std::to_string(operation));
      fs::remove(folder / "x.csv");
      fs::remove(folder / "x.csv.problems.json");
      disk = std::to_string(operation) + "=" + how;
      Outcome killed = profile("x.csv");
      disk.clear();
      if (killed.signal != 9) {
        ASSERT_EQ(killed.exitCode, 0) << killed.describe();
        break;
      }
      ++kills;
      std::string before = readBytes(folder / "x.csv");
      Outcome resumed = profile("x.csv");
      ASSERT_EQ(resumed.exitCode, 0) << resumed.describe();
      ASSERT_EQ(keysOf(folder / "x.csv"), expected);
      // Whole lines stay as they were.
      std::string whole = before.substr(0, before.rfind('\n') + 1);
      EXPECT_EQ(readBytes(folder / "x.csv").substr(0, whole.size()), whole);
      EXPECT_EQ(Json::parse(readBytes(folder / "x.csv.problems.json"))["problems"].size(), kernels);
    }
    EXPECT_GT(kills, 2 * expected.size()); // a write and a sync for each row
  }
}

TEST_F(Profile, ADiskThatFailsIsAnErrorAndTheNextRunGoesOn) {
  ASSERT_EQ(profile("straight.csv").exitCode, 0);
  const std::string bytes = readBytes(folder / "straight.csv");
  for (const char *how : {"full", "broken", "short", "again"}) {
    size_t failures = 0;
    for (size_t operation = 1; operation < 40; operation += 3) {
      SCOPED_TRACE(std::string(how) + " operation " + std::to_string(operation));
      fs::remove(folder / "x.csv");
      fs::remove(folder / "x.csv.problems.json");
      disk = std::to_string(operation) + "=" + how;
      Outcome outcome = profile("x.csv");
      disk.clear();
      if (outcome.exitCode != 0) {
        ++failures;
        EXPECT_EQ(outcome.exitCode, 2) << outcome.describe();
        EXPECT_NE(outcome.err.find("x.csv"), std::string::npos) << outcome.describe();
        outcome = profile("x.csv");
        ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
      }
      ASSERT_EQ(keysOf(folder / "x.csv"), keysOf(folder / "straight.csv"));
    }
    // What is short or interrupted is gone on with.
    EXPECT_EQ(failures > 3, std::string(how) == "full" || std::string(how) == "broken") << how;
  }
}

/// Each function of the driver, of CUPTI and of NVML refuses, the first time and later: that is a
/// row with the reason, a note or an end with a message. Never a crash, a hang, a row that is lost
/// or one that is there twice, and the next run completes the file.
TEST_F(Profile, WhateverFunctionFailsTheFileIsWhole) {
  std::vector<std::string> symbols;
#define TILEWRIGHT_SYMBOL(member, symbol, ...) symbols.push_back(#symbol);
  TILEWRIGHT_CUDA_FUNCTIONS(TILEWRIGHT_SYMBOL)
  TILEWRIGHT_CUPTI_ACTIVITY_FUNCTIONS(TILEWRIGHT_SYMBOL)
  TILEWRIGHT_CUPTI_PROFILER_FUNCTIONS(TILEWRIGHT_SYMBOL)
  TILEWRIGHT_NVML_FUNCTIONS(TILEWRIGHT_SYMBOL)
#undef TILEWRIGHT_SYMBOL
  symbols.push_back("cuTensorMapEncodeTiled");
  const std::vector<std::string> more = {"--regimes", "cold,graph", "--counters", "--timeout", "1"};
  ASSERT_EQ(profile("straight.csv", "", more).exitCode, 0);
  auto measured = [&](const std::string &file) { // by plan and regime
    std::map<std::string, int> count;
    if (fs::exists(folder / file))
      for (auto &row : readRows(folder / file))
        if (row["role"] == "measure" && row["attempt"] == "1")
          ++count[row["plan_hash"] + " " + row["regime"]];
    return count;
  };
  const auto expected = measured("straight.csv");
  ASSERT_EQ(expected.size(), 2 * kernels);
  size_t noticed = 0, number = 0;
  for (const std::string &symbol : symbols)
    for (const char *when : {"1=1", ++number % 2 ? "3=700" : "*=999"}) {
      SCOPED_TRACE(symbol + ":" + when);
      for (const auto &entry : fs::directory_iterator(folder / ""))
        if (entry.path().filename().string().starts_with("x.csv"))
          fs::remove(entry.path());
      Outcome outcome = profile("x.csv", symbol + ":" + when, more);
      EXPECT_EQ(outcome.signal, 0) << outcome.describe();
      EXPECT_TRUE(outcome.exitCode == 0 || outcome.exitCode == 1 || outcome.exitCode == 3)
          << outcome.describe();
      if (outcome.exitCode == 0) {
        EXPECT_EQ(measured("x.csv"), expected);
        continue; // it is of no account, or was asked again
      }
      ++noticed;
      EXPECT_FALSE(outcome.err.empty() && outcome.out.find("failed: ") == std::string::npos)
          << outcome.describe();
      for (const auto &[row, count] : measured("x.csv"))
        EXPECT_EQ(count, 1) << row;
      outcome = profile("x.csv", "", more);
      EXPECT_TRUE(outcome.exitCode == 0 || outcome.exitCode == 1) << outcome.describe();
      EXPECT_EQ(measured("x.csv"), expected);
    }
  EXPECT_GT(noticed, symbols.size() / 2);
}

TEST_F(Profile, ARowThatIsNotWholeIsMeasuredAgain) {
  ASSERT_EQ(profile("straight.csv").exitCode, 0);
  const std::string whole = readBytes(folder / "straight.csv");
  const std::vector<std::string> expected = keysOf(folder / "straight.csv");
  for (size_t keep = 1; keep < whole.size(); keep += whole.size() / 40) {
    folder.write("cut.csv", whole.substr(0, keep));
    Outcome outcome = profile("cut.csv");
    ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
    EXPECT_EQ(keysOf(folder / "cut.csv"), expected) << keep;
  }
  // Damage further up is not for us to repair.
  std::string damaged = whole;
  damaged[whole.size() / 2] ^= 1;
  folder.write("damaged.csv", damaged);
  Outcome refused = profile("damaged.csv");
  EXPECT_EQ(refused.exitCode, 2) << refused.describe();
  EXPECT_NE(refused.err.find("is damaged"), std::string::npos);
  EXPECT_EQ(readBytes(folder / "damaged.csv"), damaged);
}

TEST_F(Profile, WithoutAGpuItSaysSoAndLeavesNoFile) {
  struct Case {
    const char *faults, *gpu, *text;
    std::string libraries = TILEWRIGHT_FAKE_GPU_FOLDER;
  };
  const Case cases[] = {
      {"", "", "no NVIDIA driver", "/nonexistent"},
      {"init:1=34", "", "toolkit's stub"},
      {"init:1=100", "", "finds no GPU"},
      {"init:1=999", "", "does not start"},
      {"", "devices=0", "finds no GPU"},
      {"", "sm=80", "is for sm_90, and Stand-in GPU is sm_80"},
      {"", "memory=1000000", "can't allocate"},
  };
  for (const Case &c : cases) {
    Outcome outcome = profile("none.csv", c.faults, {}, c.gpu, c.libraries);
    EXPECT_EQ(outcome.exitCode, 3) << outcome.describe();
    EXPECT_NE(outcome.err.find("error: "), std::string::npos);
    EXPECT_NE(outcome.err.find(c.text), std::string::npos) << outcome.describe();
    EXPECT_EQ(outcome.out, "");
    EXPECT_FALSE(fs::exists(folder / "none.csv"));
  }
}

TEST_F(Profile, OneKernelThatFailsDoesNotTakeTheOthersWithIt) {
  struct Case {
    const char *faults, *text;
    std::vector<std::string> more = {};
  };
  isOnce = true;
  // The first kernel takes launches 1 to 9 (check, then warm-up and samples of both regimes), the
  // look at the incumbent 10 to 14, the second kernel those from 15 on.
  const Case cases[] = {
      {"load:3=209", "the code does not load: CUDA_ERROR_NO_BINARY_FOR_GPU"},
      {"function:3=500", "no kernel"},
      {"launch:8=1", "the launch is refused"},
      {"launch:9=700", "CUDA_ERROR_ILLEGAL_ADDRESS"}, // the context is lost: a new process
      {"query:10=719", "CUDA_ERROR_LAUNCH_FAILED"},
      {"launch:17=crash", "the process died: Killed"},
      {"query:11=hang", "not done after 0.5 s", {"--timeout", "0.5"}},
      {"copy-in:2=1", "can't copy to the device"},
      {"copy-out:3=1", "can't copy from the device"},
      {"launch:15=wrong", "wrong numbers: %"},
      {"launch:15=partial", "nan, expected"},
  };
  for (const Case &c : cases) {
    SCOPED_TRACE(c.faults);
    fs::remove(folder / "f.csv");
    Outcome outcome = profile("f.csv", c.faults, c.more);
    EXPECT_EQ(outcome.exitCode, 1) << outcome.describe();
    EXPECT_NE(outcome.out.find(c.text), std::string::npos) << outcome.describe();
    auto [good, bad] = goodAndBad("f.csv");
    EXPECT_GE(bad, 1u);
    EXPECT_LE(bad, 2u);
    EXPECT_EQ(good + bad, 2 * kernels);
    // The error is a row like any other: nothing is tried for ever.
    std::string bytes = readBytes(folder / "f.csv");
    EXPECT_EQ(profile("f.csv").exitCode, 1);
    EXPECT_EQ(readBytes(folder / "f.csv"), bytes);
  }
}

TEST_F(Profile, MemoryThatRunsShortIsTakenBackFromInputs) {
  isOnce = true;
  Outcome outcome = profile("m.csv", "alloc:7=2");
  EXPECT_EQ(outcome.exitCode, 0) << outcome.describe();
  EXPECT_EQ(goodAndBad("m.csv").first, 2 * kernels);
}

TEST_F(Profile, AProcessThatDiesBeforeAnyKernelIsNotStartedForEver) {
  Outcome outcome = profile("d.csv", "init:1=crash");
  EXPECT_EQ(outcome.exitCode, 3) << outcome.describe();
  EXPECT_NE(outcome.err.find("3 times before a kernel was measured"), std::string::npos);
  // Nor one that dies at every kernel: each is blamed once.
  outcome = profile("e.csv", "launch:1=crash");
  EXPECT_EQ(outcome.exitCode, 1) << outcome.describe();
  EXPECT_EQ(goodAndBad("e.csv"), std::make_pair(size_t(0), 2 * kernels));
}

TEST_F(Profile, WithoutCuptiEventsTellTheTime) {
  fs::create_directories(folder / "libraries");
  for (const char *name : {"libcuda.so.1", "libnvidia-ml.so.1"})
    fs::create_symlink(std::string(TILEWRIGHT_FAKE_GPU_FOLDER) + "/" + name,
                       (folder / "libraries") + "/" + name);
  for (bool isThere : {false, true}) {
    std::string file = isThere ? "t.csv" : "s.csv";
    Outcome outcome =
        isThere ? profile(file, "activity:*=15") : profile(file, "", {}, "", folder / "libraries");
    EXPECT_EQ(outcome.exitCode, 0) << outcome.describe();
    EXPECT_NE(outcome.err.find("times come from events"), std::string::npos);
    for (auto &row : readRows(folder / file))
      EXPECT_EQ(row["timer"], "events");
  }
  // Without NVML, clocks stay empty.
  fs::remove(folder / "libraries/libnvidia-ml.so.1");
  Outcome outcome = profile("n.csv", "", {}, "", folder / "libraries");
  EXPECT_EQ(outcome.exitCode, 0) << outcome.describe();
  EXPECT_NE(outcome.err.find("clocks and power are not recorded"), std::string::npos);
  EXPECT_EQ(readRows(folder / "n.csv")[0]["power_w"], "");
}

TEST_F(Profile, ImpossibleSamplesAreLeftOutAndListed) {
  Outcome outcome = profile("i.csv", "launch:4=short launch:18=back");
  EXPECT_EQ(outcome.exitCode, 0) << outcome.describe();
  EXPECT_NE(outcome.out.find("impossible samples left out"), std::string::npos);
  size_t rejected = 0;
  for (auto &row : readRows(folder / "i.csv"))
    if (row["rejected"] != "0") {
      ++rejected;
      EXPECT_NE(row["rejected_samples"], "");
      EXPECT_EQ(row["samples"], "2");
    }
  EXPECT_GE(rejected, 1u);
  // A record that got lost is asked for again.
  outcome = profile("l.csv", "launch:4=lost");
  EXPECT_EQ(outcome.exitCode, 0) << outcome.describe();
  EXPECT_EQ(readRows(folder / "l.csv")[0]["samples"], "3");
}

TEST_F(Profile, ABlockInWhichTheClockDriftedIsMeasuredAgain) {
  Outcome outcome = profile("w.csv", "launch:30=slow");
  EXPECT_EQ(outcome.exitCode, 0) << outcome.describe();
  EXPECT_NE(outcome.out.find("measured twice because clocks drifted"), std::string::npos);
  size_t again = 0;
  for (auto &row : readRows(folder / "w.csv"))
    again += row["attempt"] == "2";
  EXPECT_GE(again, 2u);
}

TEST_F(Profile, KernelsOfAGraphFollowEachOtherFaster) {
  Outcome outcome = profile("a.csv", "", {"--regimes", "warm,graph,cold"});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
  std::map<std::string, std::map<std::string, double>> gaps; // by plan and regime
  size_t rows = 0;
  for (auto &row : readRows(folder / "a.csv")) {
    EXPECT_EQ(row["error"], "");
    EXPECT_EQ(row["samples"], "3");
    rows += row["role"] == "measure";
    if (row["regime"] != "cold")
      gaps[row["plan_hash"]][row["regime"]] = std::stod(row["gap_ns"]);
  }
  EXPECT_EQ(rows, 3 * kernels);
  ASSERT_EQ(gaps.size(), kernels);
  for (auto &[plan, gap] : gaps) {
    EXPECT_EQ(gap["warm"], 700);
    EXPECT_EQ(gap["graph"], 300);
  }
  // What a driver refuses is a row with the reason; the other regimes are measured.
  isOnce = true;
  for (const char *fault : {"stream:1=1", "capture:1=1", "end-capture:2=1", "instantiate:1=1",
                            "graph-launch:2=1", "launch:9=1"}) {
    SCOPED_TRACE(fault);
    fs::remove(folder / "f.csv");
    outcome = profile("f.csv", fault, {"--regimes", "warm,graph"});
    EXPECT_EQ(outcome.exitCode, 1) << outcome.describe();
    EXPECT_EQ(goodAndBad("f.csv"), std::make_pair(2 * kernels - 1, size_t(1)));
  }
  // Events can't look into a graph.
  isOnce = false;
  outcome = profile("e.csv", "", {"--regimes", "graph", "--events"});
  EXPECT_EQ(outcome.exitCode, 1) << outcome.describe();
  EXPECT_NE(outcome.out.find("need CUPTI"), std::string::npos) << outcome.describe();
}

TEST_F(Profile, CountersGoToAFileOfTheirOwn) {
  Outcome outcome = profile("k.csv", "", {"--counters"}, "unknown=lts__t_bytes.sum");
  EXPECT_EQ(outcome.exitCode, 0) << outcome.describe();
  std::vector<std::map<std::string, std::string>> rows = readRows(folder / "k.csv.counters.csv");
  ASSERT_EQ(rows.size(), kernels);
  for (auto &row : rows) {
    EXPECT_EQ(row["lts__t_bytes.sum"], ""); // the chip does not have it
    EXPECT_GT(std::stod(row["gpu__time_duration.sum"]), 0);
    EXPECT_EQ(row["error"], "");
    EXPECT_EQ(row["passes"], "4");
  }
  // Not permitted: the times are there, and the message says what to do.
  outcome = profile("p.csv", "counters:*=35", {"--counters"});
  EXPECT_EQ(outcome.exitCode, 1) << outcome.describe();
  EXPECT_NE(outcome.err.find("NVreg_RestrictProfilingToAdminUsers=0"), std::string::npos);
  EXPECT_EQ(goodAndBad("p.csv").first, 2 * kernels);
  EXPECT_FALSE(fs::exists(folder / "p.csv.counters.csv"));
}

TEST_F(Profile, MeasurementsOfAnotherGpuAreNotMixedIn) {
  ASSERT_EQ(profile("g.csv", "launch:20=kill").signal, 9);
  std::string bytes = readBytes(folder / "g.csv");
  Outcome outcome = profile("g.csv", "", {}, "board=1");
  EXPECT_EQ(outcome.exitCode, 2) << outcome.describe();
  EXPECT_NE(outcome.err.find("give another --out"), std::string::npos);
  EXPECT_EQ(readBytes(folder / "g.csv"), bytes);
}

TEST_F(Profile, BadUsageIsCode2) {
  EXPECT_EQ(runProfiler({}).exitCode, 2);
  EXPECT_EQ(runProfiler({pack()}).exitCode, 2);
  EXPECT_EQ(runProfiler({folder / "no", "--out", folder / "x.csv"}).exitCode, 2);
  EXPECT_EQ(runProfiler({pack(), "--out", folder / "no/x.csv"}).exitCode, 2);
  for (const char *regimes : {"hot", "", "cold,", "cold,cold", "cold warm"})
    EXPECT_EQ(runProfiler({pack(), "--out", folder / "x.csv", "--regimes", regimes}).exitCode, 2)
        << regimes;
  folder.write("other.csv", "a,b\n");
  Outcome outcome = profile("other.csv");
  EXPECT_EQ(outcome.exitCode, 2) << outcome.describe();
  EXPECT_EQ(readBytes(folder / "other.csv"), "a,b\n");
  Outcome help = runProfiler({"--help"});
  EXPECT_EQ(help.exitCode, 0);
  EXPECT_NE(help.out.find("Exit code"), std::string::npos);
}

} // namespace tilewright::test
