// Sweeps: several devices, changed devices, shards and their merge, the cache, interruptions.
#include "tests/cli/run_json.h"

#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tilewright::test {

namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

std::string sweepModel(const std::string &op, int rows) {
  const std::string shape = "f32[" + std::to_string(rows) + ",512]";
  return "HloModule m\nENTRY e {\n  x = " + shape +
         " parameter(0)\n  w = f32[512,512] parameter(1)\n"
         "  d = " +
         shape +
         " dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
         "  a = " +
         shape + " " + op + "(d)\n  ROOT y = " + shape + " add(a, x)\n}\n";
}

class Sweeps : public testing::Test {
protected:
  TemporaryFolder folder;
  std::vector<std::string> models;

  void SetUp() override {
    for (const char *op : {"negate", "exponential", "abs"})
      models.push_back(
          folder.write(std::string(op) + ".hlo.txt", sweepModel(op, 128 * int(models.size() + 1))));
  }

  Outcome explore(const std::vector<std::string> &more,
                  const std::vector<std::string> &environment = {}) const {
    std::vector<std::string> arguments = {"explore", "--budget", "30", "--top", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.end(), models.begin(), models.end());
    return runTilewright(arguments, environment);
  }

  /// Paths and bytes of all files below a folder, hidden ones too.
  std::map<std::string, std::string> bytesIn(const std::string &name) const {
    std::map<std::string, std::string> result;
    for (const std::string &entry : folder.entries())
      if (entry.starts_with(name + "/") && fs::is_regular_file(folder / entry))
        result[entry.substr(name.size() + 1)] = readBytes(folder / entry);
    return result;
  }
};

bool says(const Outcome &outcome, const std::string &text) {
  return (outcome.out + outcome.err).find(text) != std::string::npos;
}

} // namespace

TEST_F(Sweeps, SeveralDevicesAreAMatrix) {
  const Outcome outcome = explore({"--device", "h100,a100", "--out", folder / "out", "--json"});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
  const Json document = Json::parse(outcome.out);
  EXPECT_EQ(document["schema"], "tilewright.explore.devices");
  EXPECT_EQ(document["matrix"]["devices"], Json::parse(R"(["h100-sxm", "a100"])"));
  EXPECT_EQ(document["matrix"]["models"], Json(models));
  EXPECT_EQ(readBytes(folder / "out/explore.json"), outcome.out);
  // Each run is what the device alone gives.
  size_t column = 0;
  for (const char *device : {"h100", "a100"}) {
    Json alone = Json::parse(explore({"--device", device, "--json"}).out);
    Json run = document["runs"][column];
    for (size_t m = 0; m < models.size(); ++m) {
      EXPECT_EQ(run["models"][m]["total_time_ns"], document["matrix"]["total_time_ns"][m][column]);
      for (Json &kernel : run["models"][m]["kernels"])
        for (const char *ofFolder : {"tile_map", "plan_file"})
          kernel.erase(ofFolder);
    }
    EXPECT_EQ(run, alone);
    ++column;
  }
  const Outcome text = explore({"--device", "h100,a100"});
  EXPECT_TRUE(says(text, "model")) << text.describe();
  EXPECT_TRUE(says(text, "faster")) << text.describe();
  const Outcome report = runTilewright({"report", folder / "out", "--markdown"});
  EXPECT_EQ(report.exitCode, 0) << report.describe();
  EXPECT_TRUE(says(report, "## Models on devices")) << report.describe();
}

TEST_F(Sweeps, ChangedDevicesSayWhatFollows) {
  const Outcome outcome =
      explore({"--set", "as-is", "--set", "dram_bandwidth=*2,l2_bandwidth=*2", "--json"});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
  const Json document = Json::parse(outcome.out);
  const Json &changed = document["runs"][1];
  EXPECT_FALSE(document["runs"][0].contains("changes"));
  EXPECT_EQ(changed["device"]["name"], "h100-sxm.dram_bandwidth-x2.l2_bandwidth-x2");
  EXPECT_EQ(changed["calibration"], "h100-sxm");
  ASSERT_EQ(changed["changes"].size(), 3u);
  EXPECT_EQ(changed["changes"][2]["follows"], "dram_bandwidth");
  EXPECT_NE(changed["notes"].dump().find("carried over"), std::string::npos);
  for (size_t m = 0; m < models.size(); ++m)
    EXPECT_LT(changed["models"][m]["total_time_ns"],
              document["runs"][0]["models"][m]["total_time_ns"]);
  // The other commands that ask of a device.
  const std::vector<std::string> set = {"--device", "h100,l4", "--set", "dram_bandwidth=*1.5",
                                        "--json"};
  for (std::vector<std::string> command :
       {std::vector<std::string>{"suggest", "copy1d", "n=65536", "dtype=f32", "--top", "1"},
        {"tile", models[0], "--tile", "64,64,32", "--price"},
        {"tile", models[0], "--list", "--price", "--limit", "2"}}) {
    command.insert(command.end(), set.begin(), set.end());
    const Outcome answer = runTilewright(command);
    ASSERT_EQ(answer.exitCode, 0) << answer.describe();
    const Json runs = Json::parse(answer.out)["runs"];
    ASSERT_EQ(runs.size(), 2u);
    EXPECT_EQ(runs[0]["device"], "h100-sxm.dram_bandwidth-x1.5");
    EXPECT_EQ(runs[1]["device"], "l4.dram_bandwidth-x1.5");
    EXPECT_EQ(runs[1]["changes"][1]["key"], "dram_data_rate");
  }
  for (const auto &[wrong, reason] : std::map<std::string, std::string>{
           {"dram_bandwith=*2", "did you mean 'dram_bandwidth'?"},
           {"dram_bandwidth=*2,dram_data_rate=1,dram_bus_width=64", "bus width and data rate"},
           {"l2_bandwidth=*0.1", "below DRAM's"},
           {"sm_count", "is not FIELD=VALUE"}}) {
    const Outcome refused = explore({"--set", wrong});
    EXPECT_EQ(refused.exitCode, 2) << refused.describe();
    EXPECT_TRUE(says(refused, reason)) << refused.describe();
  }
  EXPECT_EQ(explore({"--device", "h100,H100-SXM"}).exitCode, 2);
  EXPECT_EQ(explore({"--device", "h100,"}).exitCode, 2);
}

TEST_F(Sweeps, MergedShardsAreOneRun) {
  models.push_back(folder / "missing.hlo.txt");
  models.push_back(folder.write("bad.hlo.txt", "HloModule b\nENTRY e {\n  oops\n}\n"));
  const std::vector<std::string> devices = {"--device", "h100,l4"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), devices.begin(), devices.end());
    return more;
  };
  const Outcome whole = explore(with({"--out", folder / "whole", "--json"}));
  EXPECT_EQ(whole.exitCode, 2) << whole.describe(); // some failed
  for (int count : {1, 3, 12}) {                    // 12: more shards than pairs
    std::vector<std::string> merge = {"merge", "--json", "--out", folder / "merged"};
    for (int i = 1; i <= count; ++i) {
      const std::string name = "part" + std::to_string(i);
      const Outcome part = explore(with(
          {"--out", folder / name, "--shard", std::to_string(i) + "/" + std::to_string(count)}));
      EXPECT_TRUE(part.exitCode == 0 || part.exitCode == 2) << part.describe();
      merge.insert(merge.begin() + 1, folder / name); // in any order
    }
    const Outcome merged = runTilewright(merge);
    EXPECT_EQ(merged.exitCode, whole.exitCode) << merged.describe();
    EXPECT_EQ(merged.out, whole.out);
    EXPECT_EQ(bytesIn("merged"), bytesIn("whole"));
  }
}

TEST_F(Sweeps, ShardsThatDoNotFitAreRefused) {
  auto part = [&](const std::string &name, const std::string &shard,
                  std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--out", folder / name, "--shard", shard});
    EXPECT_EQ(explore(more).exitCode, 0);
    return folder / name;
  };
  const std::string one = part("one", "1/2"), two = part("two", "2/2"),
                    again = part("again", "2/2"), third = part("third", "3/3"),
                    foreign = part("foreign", "2/2", {"--device", "a100"});
  const std::string plain = folder / "plain";
  ASSERT_EQ(explore({"--out", plain}).exitCode, 0);
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{one}, "1 of 2 shards are missing: 2/2"}, {{one, two, again}, "are both shard 2/2"},
      {{one, foreign}, "is of another batch"},   {{one, third}, "is one of 3 shards"},
      {{one, plain}, "shard.json: cannot open"}, {{one, folder / "nowhere"}, "cannot open"},
  };
  auto merge = [&](std::vector<std::string> shards, const std::string &out) {
    shards.insert(shards.begin(), {"merge", "--out", out});
    return runTilewright(shards);
  };
  for (const auto &[shards, reason] : cases) {
    const Outcome refused = merge(shards, folder / "out");
    EXPECT_EQ(refused.exitCode, 2) << refused.describe();
    EXPECT_TRUE(says(refused, reason)) << refused.describe();
    EXPECT_FALSE(fs::exists(folder / "out")) << reason;
  }
  // A damaged result is not taken, nor a changed shard.json, nor the folder of a shard overwritten.
  EXPECT_EQ(merge({one, two}, one).exitCode, 2);
  const std::string result = two + "/models/001.json", text = readBytes(result);
  folder.write("two/models/001.json", text.substr(0, text.size() / 2));
  Outcome refused = merge({one, two}, folder / "out");
  EXPECT_EQ(refused.exitCode, 2) << refused.describe();
  EXPECT_TRUE(says(refused, "is damaged or gone")) << refused.describe();
  folder.write("two/models/001.json", text);
  std::string shard = readBytes(two + "/shard.json");
  folder.write("two/shard.json", shard.replace(shard.find("negate"), 6, "regate"));
  EXPECT_TRUE(says(merge({one, two}, folder / "out"), "was changed since it was written"));
  folder.write("two/shard.json", "{\"schema\": 3}");
  EXPECT_TRUE(says(merge({one, two}, folder / "out"), "is no result of explore --shard"));
  for (const char *wrong : {"0/2", "3/2", "1", "1/0", "a/b", "1/2x", "-1/2", "1/100001", ""}) {
    refused = explore({"--out", folder / "out", "--shard", wrong});
    EXPECT_EQ(refused.exitCode, *wrong ? 2 : refused.exitCode) << refused.describe();
  }
}

TEST_F(Sweeps, TheCacheChangesNoResult) {
  const std::vector<std::string> cached = {"TILEWRIGHT_CACHE=" + (folder / "cache")};
  const std::string expected = explore({"--json"}).out;
  auto searches = [&](const std::vector<std::string> &more = {}) {
    std::vector<std::string> arguments = {"--json", "-v"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = explore(arguments, cached);
    if (more.empty()) {
      EXPECT_EQ(outcome.out, expected);
    }
    size_t found = 0, asked = 0, from = 0, of = 0;
    for (size_t at = 0; (at = outcome.err.find(" s, ", at)) != std::string::npos; ++at)
      if (std::sscanf(outcome.err.c_str() + at, " s, %zu of %zu searches", &from, &of) == 2) {
        found += from;
        asked += of;
      }
    EXPECT_GT(asked, 0u) << outcome.describe();
    return std::pair(found, asked);
  };
  const auto [coldFound, coldAsked] = searches();
  EXPECT_LT(coldFound, coldAsked);
  const auto [warmFound, warmAsked] = searches();
  EXPECT_EQ(warmFound, warmAsked) << "all are known";
  // Another device, other options, a changed device: nothing is known.
  EXPECT_EQ(searches({"--device", "a100"}).first, 0u);
  EXPECT_EQ(searches({"--set", "dram_bandwidth=*1.1"}).first, 0u);
  EXPECT_EQ(searches({"--instruction", "fma"}).first, 0u);
  EXPECT_EQ(searches({"--cache", "flushed"}).first, 0u);
  // Names are no part of a kernel.
  models = {folder.write("renamed.hlo.txt", [] {
    std::string text = sweepModel("negate", 128);
    for (const auto &[from, to] : std::map<std::string, std::string>{
             {" d = ", " product = "}, {"(d)", "(product)"}, {"HloModule m", "HloModule other"}})
      text.replace(text.find(from), from.size(), to);
    return text;
  }())};
  const auto [renamedFound, renamedAsked] = searches({"--device", "h100"});
  EXPECT_EQ(renamedFound, renamedAsked);
}

TEST_F(Sweeps, ATornCacheIsMadeAnew) {
  const std::vector<std::string> cached = {"TILEWRIGHT_CACHE=" + (folder / "cache")};
  const std::string expected = explore({"--json"}).out, file = folder / "cache/plans.sqlite";
  ASSERT_EQ(explore({"--json"}, cached).out, expected);
  ASSERT_TRUE(fs::exists(file));
  const std::string whole = readBytes(file);
  const std::vector<std::string> torn = {"", "no database", whole.substr(0, 100),
                                         whole.substr(0, whole.size() / 2),
                                         std::string(whole.size(), '\0')};
  for (const std::string &bytes : torn) {
    folder.write("cache/plans.sqlite", bytes);
    for (const char *part : {"-wal", "-shm"})
      fs::remove(file + part);
    EXPECT_EQ(explore({"--json"}, cached).out, expected) << bytes.size();
    EXPECT_EQ(explore({"--json"}, cached).out, expected) << bytes.size();
    const Outcome state = runTilewright({"cache", "--json"}, cached);
    EXPECT_EQ(state.exitCode, 0) << state.describe();
    EXPECT_GT(Json::parse(state.out)["entries"], 0) << state.describe();
  }
  // Every byte of the tables' pages in turn, some of them: entries are checked.
  for (size_t at = 4096; at < whole.size(); at += 997) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x15);
    folder.write("cache/plans.sqlite", damaged);
    for (const char *part : {"-wal", "-shm"})
      fs::remove(file + part);
    EXPECT_EQ(explore({"--json"}, cached).out, expected) << at;
  }
  // A place where nothing can be written costs no result either.
  EXPECT_EQ(explore({"--json"}, {"TILEWRIGHT_CACHE=/dev/null/x"}).out, expected);
}

TEST_F(Sweeps, TheCacheIsShownPrunedAndCleared) {
  const std::vector<std::string> cached = {"TILEWRIGHT_CACHE=" + (folder / "cache")};
  ASSERT_EQ(explore({}, cached).exitCode, 0);
  auto state = [&](const std::vector<std::string> &more) {
    std::vector<std::string> arguments = {"cache", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = runTilewright(arguments, cached);
    EXPECT_EQ(outcome.exitCode, 0) << outcome.describe();
    return Json::parse(outcome.out);
  };
  const Json before = state({});
  EXPECT_EQ(before["file"], folder / "cache/plans.sqlite");
  EXPECT_GT(before["entries"], 2);
  EXPECT_EQ(state({"prune"})["removed"], 0);
  const Json pruned = state({"prune", "--most-bytes", "600"});
  EXPECT_GT(pruned["removed"], 0);
  EXPECT_EQ(pruned["removed"].get<int>() + pruned["entries"].get<int>(), before["entries"]);
  EXPECT_EQ(state({"clear"})["entries"], 0);
  EXPECT_EQ(runTilewright({"cache", "path"}, cached).out, folder / "cache/plans.sqlite" + "\n");
  EXPECT_EQ(runTilewright({"cache", "dance"}, cached).exitCode, 2);
  EXPECT_EQ(runTilewright({"cache"}).exitCode, 2) << "it is off";
  // A bound is kept to by the run that passes it.
  const std::vector<std::string> bounded = {cached[0], "TILEWRIGHT_CACHE_BYTES=300"};
  ASSERT_EQ(explore({}, bounded).exitCode, 0);
  EXPECT_LT(state({})["entries"], before["entries"]);
}

TEST_F(Sweeps, TwoWritersLoseNothing) {
  const std::vector<std::string> cached = {"TILEWRIGHT_CACHE=" + (folder / "cache")},
                                 alone = {"TILEWRIGHT_CACHE=" + (folder / "alone")};
  auto entries = [&](const std::vector<std::string> &environment) {
    return Json::parse(runTilewright({"cache", "--json"}, environment).out)["entries"];
  };
  const std::vector<std::vector<std::string>> runs = {
      {"--device", "h100"}, {"--device", "a100"}, {"--device", "l4"}, {"--device", "b200"}};
  for (const std::vector<std::string> &run : runs)
    EXPECT_EQ(explore(run, alone).exitCode, 0);
  std::vector<std::thread> writers;
  for (const std::vector<std::string> &run : runs)
    writers.emplace_back([&] { EXPECT_EQ(explore(run, cached).exitCode, 0); });
  for (std::thread &writer : writers)
    writer.join();
  EXPECT_EQ(entries(cached), entries(alone));
}

TEST_F(Sweeps, AnInterruptedRunGoesOn) {
  models.clear();
  for (int i = 0; i < 12; ++i) // seconds of work
    models.push_back(folder.write("m" + std::to_string(i) + ".hlo.txt",
                                  sweepModel("exponential", 1024 + 128 * i)));
  auto arguments = [&](const std::string &out) {
    std::vector<std::string> words = {
        TILEWRIGHT_PROGRAM, "explore", "--budget", "3000", "--out", out};
    words.insert(words.end(), models.begin(), models.end());
    return words;
  };
  auto run = [&](std::vector<std::string> words) {
    return runTilewright({words.begin() + 1, words.end()});
  };
  ASSERT_EQ(run(arguments(folder / "whole")).exitCode, 0);
  for (int signal : {SIGINT, SIGTERM}) {
    const std::string out = folder / ("out" + std::to_string(signal));
    std::vector<std::string> words = arguments(out);
    const pid_t child = fork();
    if (child == 0) {
      setenv("TILEWRIGHT_CACHE", "off", 1);
      std::vector<char *> argv;
      for (std::string &word : words)
        argv.push_back(word.data());
      argv.push_back(nullptr);
      if (!freopen((out + ".out").c_str(), "w", stdout) ||
          !freopen((out + ".err").c_str(), "w", stderr))
        _exit(126);
      execv(argv[0], argv.data());
      _exit(127);
    }
    // Once the first result is there.
    for (int wait = 0; wait < 3000 && !fs::exists(out + "/models/000.json"); ++wait)
      usleep(10000);
    kill(child, signal);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    const std::string err = readBytes(out + ".err");
    if (WEXITSTATUS(status) == 130) { // else it was done before the signal came
      EXPECT_NE(err.find("12 models are done; the same command with --resume goes on"),
                std::string::npos)
          << err;
      const Json document = Json::parse(readBytes(out + "/explore.json"));
      EXPECT_EQ(document["models"].size() + document["not_explored"].size(), models.size());
      EXPECT_GT(document["models"].size(), 0u);
    } else {
      EXPECT_EQ(WEXITSTATUS(status), 0);
    }
    words.push_back("--resume");
    ASSERT_EQ(run(words).exitCode, 0);
    EXPECT_EQ(bytesIn("out" + std::to_string(signal)), bytesIn("whole"));
  }
}

} // namespace tilewright::test
