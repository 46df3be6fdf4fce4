// Whatever a user gives: exit code 2, a located message where there is a place, nothing on stdout,
// nothing left behind.
#include "tests/cli/run_program.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace tilewright::test {

namespace {

constexpr const char *smallModel = "tests/cases/06-window-of-one-that-crops.hlo.txt";
constexpr const char *dotModel = "tests/cases/44-nothing-to-do.hlo.txt";
constexpr const char *measured = "datasets/measurements/h100-sxm/memory.csv.gz";

std::string repeated(const std::string &text, size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i)
    out += text;
  return out;
}

/// Files that are wrong in one way each. Names are used as {name} in the tables below.
class BadInput : public testing::Test {
protected:
  TemporaryFolder folder;

  void SetUp() override {
    std::string whole = readBytes("datasets/models/gpt2_block.hlo.txt");
    ASSERT_GT(whole.size(), 10000u);
    folder.write("truncated.hlo.txt", whole.substr(0, 3000));
    folder.write("nested.hlo.txt", "HloModule m\nENTRY e {\n  a = " + repeated("(", 200000) +
                                       "f32[]" + repeated(")", 200000) + " parameter(0)\n}\n");
    folder.write("braces.hlo.txt", "HloModule m\nENTRY e {\n  a = f32[2] constant(" +
                                       repeated("{", 200000) + "\n}\n");
    folder.write("type.hlo.txt", "HloModule m\nENTRY e {\n  a = f32[4] parameter(0)\n"
                                 "  ROOT b = s32[4] add(a, a)\n}\n");
    std::string binary;
    for (unsigned i = 0, state = 1; i < 5000; ++i, state = state * 1664525 + 1013904223)
      binary += static_cast<char>(state >> 24);
    folder.write("binary", binary);
    folder.write("empty", "");
    folder.write("gzip.gz", "\x1f\x8b\x08" + binary);
    folder.write("nested.json", repeated("[", 200000) + repeated("]", 200000));
    folder.write("objects.json", repeated("{\"a\":", 200000) + "1" + repeated("}", 200000));
    folder.write("cut.json", "{\"schema\": \"tilewright.explore\",\n \"models\": [");
    folder.write("schema.json", "{\"schema\": 3}");
    folder.write("list.json", "[]");
    folder.write("other.json", "{\"schema\": \"tilewright.import\", \"schema_version\": 1}");
    folder.write("explore.json", "{\"schema\":\"tilewright.explore\",\"schema_version\":1,"
                                 "\"device\":{},\"models\":[{\"model\":5}]}");
    folder.write("plan.json", "{\"schema\":\"tilewright.plan\",\"schema_version\":1,"
                              "\"name\":\"x\",\"plan\":{},\"hlo\":\"HloModule\"}");
    folder.write("columns.csv", "a,b\n1,2\n");
    folder.write("quote.csv", "family,time_ns\n\"unclosed\n");
    std::filesystem::create_directories(folder / "pack");
    folder.write("pack/manifest.json", "{");
    std::filesystem::create_directories(folder / "deep_pack");
    folder.write("deep_pack/manifest.json", repeated("[", 200000));
    std::filesystem::create_directories(folder / "nothing");
    std::filesystem::create_directories(folder / "templates");
    folder.write("templates/x.json", "{\"schema\": ");
  }

  /// "{F}" in an argument stands for the folder.
  std::vector<std::string> placed(std::vector<std::string> arguments) const {
    std::string path = folder / "";
    path.pop_back();
    for (std::string &argument : arguments)
      if (size_t at = argument.find("{F}"); at != std::string::npos)
        argument.replace(at, 3, path);
    return arguments;
  }

  void expectRefused(const std::vector<std::string> &arguments, const std::string &message) const {
    std::vector<std::string> before = folder.entries();
    Outcome outcome = runTilewright(placed(arguments));
    SCOPED_TRACE(outcome.describe());
    EXPECT_EQ(outcome.exitCode, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("error: "), std::string::npos);
    EXPECT_NE(outcome.err.find(message), std::string::npos) << "expected: " << message;
    EXPECT_LT(outcome.err.size(), 4000u);
    bool isPrintable = std::all_of(outcome.err.begin(), outcome.err.end(), [](unsigned char c) {
      return c == '\n' || c == '\t' || (c >= 0x20 && c != 0x7f);
    });
    EXPECT_TRUE(isPrintable) << "control characters of the file reach the terminal";
    EXPECT_EQ(folder.entries(), before) << "files were left behind";
  }
};

} // namespace

TEST_F(BadInput, Models) {
  const std::pair<const char *, const char *> models[] = {
      {"truncated.hlo.txt", "truncated.hlo.txt:72:67: error: expected an operand, found the end"},
      {"nested.hlo.txt", "nested.hlo.txt:3:263: error: tuples nest deeper than 256"},
      {"braces.hlo.txt", "braces.hlo.txt:3:"},
      {"type.hlo.txt", "type.hlo.txt:4:8: error: add: the result is s32[4], operand %a f32[4]"},
      {"binary", "binary: error: this is not text"},
      {"empty", "empty: error: the file holds no model"},
      {"gzip.gz", "gzip.gz: cannot read"},
      {"nested.json", "nested.json:1:1: error: expected a computation"},
      {"nothing", "nothing: the folder holds no module"},
      {"missing", "missing: cannot open"},
  };
  for (const auto &[file, message] : models) {
    std::string path = "{F}/" + std::string(file);
    expectRefused({"import", path}, message);
    expectRefused({"import", path, "--json"}, message);
    expectRefused({"index", path}, message);
    expectRefused({"tile", path, "--json"}, message);
    // Where no model is left, nothing is: see batch_test.cpp for bad ones among good ones.
    expectRefused({"explore", path, path, "--out", "{F}/out"}, message);
  }
}

TEST_F(BadInput, DimensionsThatAreNone) {
  std::string gather = readBytes("tests/cases/39-gather-along-no-axis.hlo.txt");
  const std::string none = "dimensions={}";
  ASSERT_NE(gather.find(none), std::string::npos);
  for (const char *dims : {"{}", "{2}", "{-1}", "{0,0}", "{99999999999999999999}", "{x}"}) {
    std::string changed = gather;
    changed.replace(changed.find(none), none.size(), "dimensions=" + std::string(dims));
    folder.write("dims.hlo.txt", changed);
    expectRefused({"import", "{F}/dims.hlo.txt"}, "dims.hlo.txt:5:");
  }
  const std::pair<const char *, const char *> ops[] = {
      {"f32[8,8]", "concatenate(a, a), dimensions={"},
      {"f32[4]", "reduce(a, z), to_apply=add, dimensions={"},
      {"f32[4,8,2]", "broadcast(a), dimensions={"},
      {"f32[8,4]", "transpose(a), dimensions={"},
      {"f32[4,8]", "sort(a), to_apply=lt, dimensions={"},
      {"f32[4,8]", "reverse(a), dimensions={"},
  };
  for (const auto &[shape, op] : ops)
    for (const char *dims : {"2", "-1", "0,0", "99999999999999999999"}) {
      folder.write("dims.hlo.txt", "HloModule m\n"
                                   "add { x = f32[] parameter(0) y = f32[] parameter(1) "
                                   "ROOT s = f32[] add(x, y) }\n"
                                   "lt { x = f32[] parameter(0) y = f32[] parameter(1) "
                                   "ROOT s = pred[] compare(x, y), direction=LT }\n"
                                   "ENTRY e { a = f32[4,8] parameter(0) z = f32[] constant(0)\n"
                                   "  ROOT r = " +
                                       std::string(shape) + " " + op + dims + "}\n}\n");
      expectRefused({"import", "{F}/dims.hlo.txt"}, "dims.hlo.txt:5:");
    }
}

TEST_F(BadInput, ReportsAndPlans) {
  const std::pair<const char *, const char *> reports[] = {
      {"nested.json", "nested.json:1:65: error: "},
      {"objects.json", "objects.json:1:321: error: "},
      {"binary", "binary:1:"},
      {"empty", "empty:1:1: error: invalid JSON"},
      {"cut.json", "cut.json:2:"},
      {"schema.json", "schema"},
      {"list.json", "expected an object"},
      {"other.json", "tilewright.import"},
      {"explore.json", "models[0].model"},
      {"nothing", "nothing/explore.json: cannot open"},
      {"missing", "missing: cannot open"},
  };
  for (const auto &[file, message] : reports) {
    std::string path = "{F}/" + std::string(file);
    expectRefused({"report", path}, message);
    expectRefused({"report", path, "--markdown", "--out", "{F}/r.md"}, message);
  }
}

TEST_F(BadInput, Measurements) {
  const std::pair<const char *, const char *> files[] = {
      {"columns.csv", "no column 'time_ns'"},
      {"quote.csv", "quote.csv:2:1: error: a quote that is never closed"},
      {"binary", "binary:1:"},
      {"empty", "empty:1:1: error: an empty file"},
      {"nested.json", "nested.json"},
      {"gzip.gz", "gzip.gz: cannot read"},
      {"nothing", "nothing: is a folder"},
      {"missing", "missing: cannot open"},
  };
  for (const auto &[file, message] : files) {
    std::string path = "{F}/" + std::string(file);
    expectRefused({"evaluate", path, "--out", "{F}/out.json"}, message);
    expectRefused({"evaluate", path, "--left-out", "--json"}, message);
    expectRefused({"calibrate", path, "--out", "{F}/out.json"}, message);
  }
}

TEST_F(BadInput, DevicesCalibrationsTemplates) {
  const std::pair<const char *, const char *> files[] = {
      {"nested.json", "nested.json:1:65: error: "},
      {"cut.json", "cut.json:2:"},
      {"schema.json", "schema.json:1:"},
      {"list.json", "list.json:1:1: error: "},
      {"missing.json", "missing.json: cannot open"}};
  for (const auto &[file, message] : files) {
    std::string path = "{F}/" + std::string(file);
    expectRefused({"explore", smallModel, "--out", "{F}/out", "--device", path}, message);
    expectRefused({"explore", smallModel, "--out", "{F}/out", "--calibration", path}, message);
    expectRefused({"tile", smallModel, "--device", path}, message);
    expectRefused({"calibrate", measured, "--device", path, "--out", "{F}/c.json"}, message);
  }
  expectRefused({"evaluate", measured, "--templates", "{F}/templates", "--out", "{F}/e.json"},
                "templates/x.json:1:");
  expectRefused({"evaluate", measured, "--templates", "{F}/missing"}, "missing");
  expectRefused({"explore", smallModel, "--device", "h1"}, "no device 'h1'; known: a100, ");
  expectRefused({"tile", smallModel, "--device", "{F}/nothing"}, "no device");
  expectRefused({"explore", smallModel, "--calibration", "no-such"}, "no-such");
}

TEST_F(BadInput, TilesAndOps) {
  for (const char *tile : {"x", "-1", "0", "4,", "4,,4", ",", "t0=", "=4", "t0=4,t0", "1e3", "0x10",
                           "99999999999999999999", "4;4", "t0=4=4", "t0=1,t0=2", "4,t0=4"})
    expectRefused({"tile", dotModel, "--root", "dz", "--tile", tile}, "--tile");
  expectRefused({"tile", dotModel, "--root", "dz", "--tile", "q7=3"}, "no parameter 'q7'");
  expectRefused({"tile", dotModel, "--root", "dz", "--tile", "1,1,1,1,1,1,1,1"}, "7 parameters");
  for (const char *rule : {"", "pow3", "x0", "x", "1,,2", "-4", "0", "x99999999999999999999"})
    expectRefused({"tile", dotModel, "--root", "dz", "--list", "--candidates", rule}, "candidates");
  expectRefused({"tile", dotModel, "--root", "nowhere"}, "no op %nowhere");
  expectRefused({"index", dotModel, "--op", "nowhere"}, "no op nowhere");
  expectRefused({"index", dotModel, "--op", "d", "--to", "nowhere"}, "no op nowhere");
}

TEST_F(BadInput, Usage) {
  const std::vector<std::string> lines[] = {
      {},
      {"explode"},
      {"import"},
      {"import", "--frobnicate"},
      {"import", dotModel, "extra"},
      {"import", dotModel, "--json", "--dot"},
      {"import", dotModel, "--inline", "everything"},
      {"index"},
      {"index", dotModel, "--to", "x", "--parameters"},
      {"tile"},
      {"tile", dotModel, "--limit", "-1"},
      {"tile", dotModel, "--limit", "many"},
      {"tile", dotModel, "--rlimit", "-1"},
      {"tile", dotModel, "--rlimit", "0"},
      {"explore"},
      {"explore", dotModel, "--jobs", "0"},
      {"explore", dotModel, "--top", "0"},
      {"explore", dotModel, "--budget", "0"},
      {"explore", dotModel, "--cache", "cold"},
      {"explore", dotModel, "--instruction", "dp4a"},
      {"explore", dotModel, "--resume"},
      {"evaluate"},
      {"evaluate", measured, "--left-out", "--folds", "1"},
      {"evaluate", measured, "--left-out", "--calibration", "h100-sxm"},
      {"calibrate"},
      {"report"},
  };
  for (const std::vector<std::string> &line : lines)
    expectRefused(line, "--help");
}

/// Where the output can't be: under a file, or in the place of a folder.
TEST_F(BadInput, OutputsThatCannotBeWritten) {
  Outcome explored = runTilewright({"explore", smallModel, "--budget", "20", "--json"});
  ASSERT_EQ(explored.exitCode, 0) << explored.describe();
  folder.write("explored.json", explored.out);
  std::vector<std::string> before = folder.entries();
  const std::vector<std::string> lines[] = {
      {"explore", smallModel, "--out", "{F}/empty/out"},
      {"explore", smallModel, "--out", "{F}/empty"},
      {"report", "{F}/explored.json", "--out", "{F}/empty/r.html"},
      {"report", "{F}/explored.json", "--out", "{F}/nothing"},
      {"evaluate", measured, "--out", "{F}/empty/e.json"},
  };
  for (const std::vector<std::string> &line : lines)
    expectRefused(line, "cannot ");
  EXPECT_EQ(folder.entries(), before);
}

} // namespace tilewright::test
