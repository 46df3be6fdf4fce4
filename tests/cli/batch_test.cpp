// Many files at once, and folders that are used again: one bad file costs itself, and results of
// two runs never mix.
#include "tests/cli/run_program.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilewright::test {

namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

std::string model(const std::string &name, const std::string &op) {
  return "HloModule " + name +
         "\nENTRY e {\n  x = f32[64,64] parameter(0)\n  s = f32[64,64] sort(x), "
         "dimensions={1}, to_apply=lt\n  a = f32[64,64] " +
         op + "(x)\n  ROOT y = f32[64,64] " + op +
         "(s)\n}\nlt {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
         "  ROOT c = pred[] compare(a, b), direction=LT\n}\n";
}

class Batches : public testing::Test {
protected:
  TemporaryFolder folder;

  std::string write(const std::string &name, const std::string &op) const {
    return folder.write(name, model("m", op));
  }

  static Outcome explore(std::vector<std::string> models, const std::vector<std::string> &more) {
    std::vector<std::string> arguments = {"explore", "--budget", "20", "--top", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.end(), models.begin(), models.end());
    return runTilewright(arguments);
  }

  /// Files below a folder of the temporary one, without hidden ones.
  std::vector<std::string> filesIn(const std::string &name) const {
    std::vector<std::string> result;
    for (const std::string &entry : folder.entries())
      if (entry.starts_with(name + "/") && fs::is_regular_file(folder / entry) &&
          entry.find("/.") == std::string::npos)
        result.push_back(entry.substr(name.size() + 1));
    return result;
  }
};

bool holds(const std::vector<std::string> &names, const std::string &part) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string &name) { return name.find(part) != std::string::npos; });
}

} // namespace

TEST_F(Batches, OneBadModelCostsTheBatchThatModel) {
  std::vector<std::string> models = {
      write("good.hlo.txt", "negate"), folder / "missing.hlo.txt",
      folder.write("bad.hlo.txt", "HloModule b\nENTRY e {\n  oops\n}\n"),
      folder.write("other.mlir", "module {\n}\n"), write("fine.hlo.txt", "abs")};
  std::string first;
  for (const char *jobs : {"1", "2"}) {
    Outcome outcome = explore(models, {"--json", "--jobs", jobs});
    ASSERT_EQ(outcome.exitCode, 2) << outcome.describe();
    if (first.empty())
      first = outcome.out;
    EXPECT_EQ(outcome.out, first);
    Json document = Json::parse(outcome.out);
    ASSERT_EQ(document["models"].size(), 2u);
    EXPECT_EQ(document["models"][0]["model"], models[0]);
    EXPECT_EQ(document["models"][1]["model"], models[4]);
    ASSERT_EQ(document["failures"].size(), 3u);
    EXPECT_EQ(document["failures"][0]["file"], models[1]);
    for (const Json &failure : document["failures"])
      EXPECT_FALSE(failure["message"].get<std::string>().empty());
    bool sawPlace = false;
    for (const Json &failure : document["failures"])
      if (failure["file"] == models[2]) {
        sawPlace = failure["line"] == 4;
        EXPECT_EQ(failure["class"], "bad input");
      }
    EXPECT_TRUE(sawPlace) << document["failures"];
    EXPECT_NE(outcome.err.find("bad.hlo.txt:4:"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("3 of 5 models failed"), std::string::npos) << outcome.err;
  }
  // No model is left: no result.
  Outcome outcome = explore({models[1], models[2]}, {"--json", "--out", folder / "none"});
  EXPECT_EQ(outcome.exitCode, 2) << outcome.describe();
  EXPECT_EQ(outcome.out, "");
  EXPECT_FALSE(fs::exists(folder / "none/explore.json"));
}

TEST_F(Batches, ARunOwnsItsFolder) {
  std::string a = write("a.hlo.txt", "negate"), b = write("b.hlo.txt", "abs");
  ASSERT_EQ(explore({a, b}, {"--out", folder / "out"}).exitCode, 0);
  std::vector<std::string> both = filesIn("out");
  EXPECT_TRUE(holds(both, "plans/001/")) << "the second model has plans";
  // A run that gives no result leaves the old one.
  ASSERT_EQ(explore({folder / "missing"}, {"--out", folder / "out"}).exitCode, 2);
  EXPECT_EQ(filesIn("out"), both);
  // A second run into the same folder: only its own files are there, as in a folder of its own.
  folder.write("out/report.html", "mine");
  ASSERT_EQ(explore({b}, {"--out", folder / "out"}).exitCode, 0);
  ASSERT_EQ(explore({b}, {"--out", folder / "fresh"}).exitCode, 0);
  std::vector<std::string> fresh = filesIn("fresh"), again = filesIn("out");
  EXPECT_EQ(readBytes(folder / "out/report.html"), "mine");
  std::erase(again, "report.html");
  EXPECT_EQ(again, fresh);
  for (const std::string &file : fresh)
    EXPECT_EQ(readBytes(folder / ("out/" + file)), readBytes(folder / ("fresh/" + file))) << file;
  // What no run wrote is not taken for a plan, and not removed.
  folder.write("out/plans/000/mine.json", "{}");
  Outcome refused = explore({a}, {"--out", folder / "out"});
  EXPECT_EQ(refused.exitCode, 2) << refused.describe();
  EXPECT_NE(refused.err.find("plans/000/mine.json"), std::string::npos) << refused.err;
  EXPECT_EQ(readBytes(folder / "out/plans/000/mine.json"), "{}");
  for (const std::string &file : fresh)
    EXPECT_EQ(readBytes(folder / ("out/" + file)), readBytes(folder / ("fresh/" + file))) << file;
}

TEST_F(Batches, ResumingLooksAtTheFiles) {
  std::string a = write("a.hlo.txt", "negate"), b = write("b.hlo.txt", "abs");
  ASSERT_EQ(explore({a, b}, {"--out", folder / "whole"}).exitCode, 0);
  std::vector<std::string> files = filesIn("whole");
  for (const std::string &damaged : files) {
    SCOPED_TRACE(damaged);
    fs::remove_all(folder / "out");
    fs::copy(folder / "whole", folder / "out", fs::copy_options::recursive);
    if (damaged.size() % 2)
      fs::remove(folder / ("out/" + damaged));
    else
      folder.write("out/" + damaged, "damaged");
    ASSERT_EQ(explore({a, b}, {"--out", folder / "out", "--resume"}).exitCode, 0);
    EXPECT_EQ(filesIn("out"), files);
    for (const std::string &file : files)
      EXPECT_EQ(readBytes(folder / ("out/" + file)), readBytes(folder / ("whole/" + file))) << file;
  }
}

TEST_F(Batches, OutputsThatAreNoFiles) {
  std::string a = write("a.hlo.txt", "negate");
  ASSERT_EQ(explore({a}, {"--out", folder / "out"}).exitCode, 0);
  Outcome report = runTilewright({"report", folder / "out", "--markdown", "--out", "/dev/stdout"});
  EXPECT_EQ(report.exitCode, 0) << report.describe();
  EXPECT_NE(report.out.find("# Tilewright report"), std::string::npos);
  EXPECT_EQ(runTilewright({"report", folder / "out", "--out", "/dev/null"}).exitCode, 0);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  folder.write("real.md", "old");
  fs::create_symlink("real.md", folder / "link.md");
  EXPECT_EQ(
      runTilewright({"report", folder / "out", "--markdown", "--out", folder / "link.md"}).exitCode,
      0);
  EXPECT_TRUE(fs::is_symlink(folder / "link.md"));
  EXPECT_EQ(readBytes(folder / "real.md"), report.out);
  // Tables of an earlier report do not stay beside those of a later one.
  ASSERT_EQ(runTilewright({"report", folder / "out", "--csv", "--out", folder / "t"}).exitCode, 0);
  EXPECT_TRUE(holds(filesIn("t"), "kernels.csv"));
  folder.write("empty.json", R"({"schema":"tilewright.explore","schema_version":1,"models":[]})");
  Outcome csv = runTilewright({"report", folder / "empty.json", "--csv", "--out", folder / "t"});
  EXPECT_EQ(csv.exitCode, 0) << csv.describe();
  EXPECT_FALSE(holds(filesIn("t"), "kernels.csv"));
}

TEST_F(Batches, NoNameReachesTheTerminalRaw) {
  const std::string hostile = "\x1b]0;title\x07\x1b[31m\xc3\xff\xe2\x80\xae";
  std::string named = folder.write("m\x1b[31m.hlo.txt", "HloModule m\nENTRY e {\n  oops\n}\n");
  std::string longName = "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] " +
                         std::string(5'000'000, 'n') + "(x)\n}\n";
  // A string of a model that is read.
  std::string strings = folder.write(
      "s.hlo.txt", "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT c = f32[4] "
                   "custom-call(x), custom_call_target=\"" +
                       hostile + "\", metadata={op_name=\"" + hostile + "\"}\n}\n");
  const std::vector<std::vector<std::string>> commands = {
      {"import", strings},
      {"import", strings, "--text"},
      {"import", strings, "--dot"},
      {"index", strings, "--op", "c"},
      {"explore", strings},
      {"import", named},
      {"explore", named, folder / "missing\x1b[2J"},
      {"import",
       folder.write("op.hlo.txt", "HloModule m\nENTRY e {\n  x = f32[4] " + hostile + "(x)\n}")},
      {"import", folder.write("long.hlo.txt", longName)},
      {"evaluate", folder.write("m.csv", "family,time_ns\n" + hostile + ",1\n" + hostile + ",2\n")},
      {"emit", folder.write("plan.json", "{\"schema\": \"" + hostile + "\"}"), "--out",
       folder / "p"},
      {"report", folder.write("e.json", "{\"schema\": \"" + std::string(5'000'000, 'n') + "\"}")},
      {"tile", write("t.hlo.txt", "negate"), "--root", hostile},
      {hostile},
      {"explore", "--device", hostile, named}};
  for (const std::vector<std::string> &command : commands) {
    Outcome outcome = runTilewright(command);
    EXPECT_GE(outcome.exitCode, 0) << outcome.describe();
    std::string shown = outcome.out + outcome.err;
    EXPECT_LT(shown.size(), 20'000u) << command[0];
    for (char c : shown)
      ASSERT_TRUE(c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= 0x20)
          << outcome.describe();
  }
}

} // namespace tilewright::test
