// Every JSON document is as its schema in docs/schemas says, and every schema has a document.
#include "tests/cli/json_schema.h"
#include "tests/cli/run_program.h"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>

namespace tilewright::test {

namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

const std::string schemaFolder = "docs/schemas";
const std::string exploredModel = "datasets/models/resnet50_stem.hlo.txt",
                  transposedModel = "tests/cases/14-sliced-head-transpose.hlo.txt",
                  smallModel = "tests/cases/11-eight-by-three-rows.hlo.txt";

class Schemas : public testing::Test {
protected:
  TemporaryFolder folder;
  std::set<std::string> seen;

  void check(const std::string &text, const std::string &what, bool isOfProgram = true) {
    const Json document = Json::parse(text, nullptr, false);
    ASSERT_TRUE(document.is_object()) << what << ": " << text.substr(0, 300);
    ASSERT_TRUE(document.contains("schema")) << what;
    const std::string name = document["schema"];
    ASSERT_TRUE(name.starts_with("tilewright.")) << what;
    const std::string file = schemaFolder + "/" + name.substr(name.find('.') + 1) + ".schema.json";
    ASSERT_TRUE(fs::exists(file)) << what << ": there is no " << file;
    EXPECT_EQ(problemOf(document, Json::parse(readBytes(file)), schemaFolder), "") << what;
    if (isOfProgram) {
      EXPECT_TRUE(document.contains("tool_version")) << what;
    }
    seen.insert(fs::path(file).filename());
  }

  void checkCommand(std::vector<std::string> arguments) {
    arguments.push_back("--json");
    const Outcome outcome = runTilewright(arguments, {}, 300);
    EXPECT_LE(outcome.exitCode, 1) << outcome.describe();
    check(outcome.out, outcome.commandLine);
  }

  std::string out(const std::string &name) const { return folder / name; }
};

} // namespace

TEST_F(Schemas, EveryDocumentIsAsItsSchemaSays) {
  const std::string measured = "datasets/measurements/h100-sxm/attention.csv.gz";
  std::string copies = "kernel,dtype,d0,block,warps,time_ns,error\n";
  for (int n = 20; n < 26; ++n)
    for (int warps : {4, 8})
      copies +=
          fmt::format("copy1d,f32,{},1024,{},{},\n", 1 << n, warps, (1 << n) * 2.9e-3 + warps);
  copies = folder.write("copies.csv", copies);
  const std::vector<std::vector<std::string>> commands = {
      {"import", exploredModel},
      {"import", "tests/cases/two-modules.hlo.txt"},
      {"index", smallModel, "--op", "out"},
      {"index", "tests/cases/04-crop-then-padded-window.hlo.txt", "--parameters"},
      {"tile", smallModel, "--root", "out", "--tile", "16,4"},
      {"tile", smallModel, "--root", "out", "--tile", "16,6", "--device", "h100", "--price"},
      {"tile", smallModel, "--root", "out", "--tile", "16,6", "--device", "h100,l4", "--set",
       "sm_count=*0.5"},
      {"tile", smallModel, "--root", "out", "--list", "--limit", "3"},
      {"tile", smallModel, "--root", "out", "--list", "--limit", "3", "--device", "l4", "--price"},
      {"prove", "--op", "slice", "--all"},
      {"eval", "tests/cases/46-window-without-padding.mlir", "--input",
       "tests/eval/values/counting.npy"},
      {"program", "tests/programs/softmax.tile", "--let", "M=4096"},
      {"program", "tests/programs/attention.tile", "--pipeline", "--let", "B=8", "--let", "N=4096",
       "--let", "D=128", "--let", "BM=128", "--let", "BN=128", "--let", "W=8", "--let", "S=2"},
      {"explore", exploredModel, "--budget", "20", "--out", out("out"), "--set", "sm_count=120"},
      {"explore", exploredModel, "--budget", "20", "--greedy"},
      {"explore", transposedModel, "--budget", "20", "--layouts", "2", "--out", out("held")},
      {"explore", exploredModel, "--budget", "20", "--device", "h100,b200"},
      {"explore", exploredModel, "--budget", "20", "--shard", "1/2", "--out", out("part1")},
      {"explore", exploredModel, "--budget", "20", "--shard", "2/2", "--out", out("part2")},
      {"merge", out("part1"), out("part2"), "--out", out("merged")},
      {"audit", "datasets/models/resnet50_stem.xla_optimized.hlo.txt", "--budget", "20",
       "--regroup", "--measured",
       "datasets/measurements/h100-sxm/models/vit_b16_embed.kernels.csv"},
      {"audit", "datasets/models/vit_b16_embed.xla_optimized.hlo.txt", "--budget", "20"},
      {"audit", "datasets/models/vit_b16_embed.xla_optimized.hlo.txt", "--budget", "20", "--set",
       "as-is", "--set", "sm_count=*2"},
      {"why-not", "wgmma", "--device", "h100", "--shape", "64,40,32", "--types", "s8,s8,s32"},
      {"layout", "upcast_4x", "--axes", "i=64,j=64", "--type", "s4", "--tiles", "--swizzle", "32"},
      {"layout", "@ wgmma(1, 1)", "--axes", "i=16,j=16", "--type", "bf16", "--owner", "5,13",
       "--swizzle", "32", "--warps", "4"},
      {"layout", "tests/programs/transposed_add.tile", "--let", "M=256", "--let", "N=256", "--let",
       "BM=64", "--let", "BN=64", "--let", "W=4"},
      {"layout", "tests/programs/transposed_add.tile", "--let", "M=256", "--let", "N=256", "--let",
       "BM=64", "--let", "BN=64", "--let", "W=4", "--check", "--all"},
      {"layout", "tests/cases/30-middle-axis-of-three.hlo.txt", "--plans", "2"},
      {"suggest", "copy1d", "n=65536", "dtype=f32", "--top", "1", "--layouts", "1"},
      {"suggest", "gemm", "m=1024", "n=3072", "k=768", "dtype=bf16", "--top", "2", "--pipeline",
       "4"},
      {"explore", "tests/cases/15-big-gemm-stages.hlo.txt", "--budget", "20", "--pipeline", "2",
       "--out", out("scheduled")},
      {"suggest", "copy1d", "n=65536", "dtype=f32", "--top", "1", "--device", "h100,l4"},
      {"select", "copy1d", "dtype=f32", "--over", "n=1..40"},
      {"devices"},
      {"calibrations"},
      {"families"},
      {"evaluate", copies, "--rows"},
      {"evaluate", copies, "--learning-curve", "--draws", "1", "--folds", "2"},
      {"evaluate", copies, "--ablation", "--folds", "2"},
      {"evaluate", "datasets/measurements/h100-sxm/tilewright-1/counters.csv", "--counters"},
      {"calibrate", "--transfer-to", "h200-sxm"},
      {"calibrate", copies, "--design", "2"},
      {"data", "list", copies},
      {"data", "show", copies, "--limit", "2"},
      {"data", "diff", copies, copies},
  };
  for (const std::vector<std::string> &command : commands)
    checkCommand(command);
  const Outcome cache = runTilewright({"cache", "--json"}, {"TILEWRIGHT_CACHE=" + out("cache")});
  check(cache.out, cache.commandLine);
  for (const char *part : {"devices", "calibrations"})
    for (const auto &file : fs::directory_iterator("datasets/" + std::string(part)))
      check(readBytes(file.path()), file.path(), false);
#ifdef TILEWRIGHT_HAS_CODEGEN
  std::vector<std::string> emit = {"emit",      "--target",  "sm_90", "--out",
                                   out("pack"), "--compare", "h100"};
  for (const auto &file : fs::directory_iterator(out("out/plans/000"))) {
    emit.push_back(file.path());
    check(readBytes(file.path()), file.path(), false);
  }
  std::sort(emit.begin() + 7, emit.end());
  emit.resize(8);
  checkCommand(emit);
  check(readBytes(out("pack/manifest.json")), "the pack", false);
  checkCommand({"check", out("pack"), "--max-events", "20000"});
  checkCommand({"emit", "--coverage", smallModel, "--target", "sm_80", "--no-assemble"});
  for (const auto &file : fs::directory_iterator(schemaFolder))
    EXPECT_TRUE(seen.contains(file.path().filename())) << file.path() << ": no document has it";
#endif
}

TEST(SchemaCheck, FindsWhatASchemaDoesNotAllow) {
  const Json schema = Json::parse(R"({"type": "object", "required": ["a"], "properties": {
    "a": {"type": ["integer", "null"]}, "b": {"enum": ["x", "y"]}, "c": {"type": "array", "items":
    {"anyOf": [{"type": "string"}, {"const": 1}]}}, "d": {"additionalProperties":
    {"type": "number"}}}})");
  const std::pair<const char *, const char *> cases[] = {
      {R"({"a": 1, "b": "x", "c": ["s", 1], "d": {"any": 2.5}})", ""},
      {R"({"a": null})", ""},
      {R"({})", "has no \"a\""},
      {R"([])", "not of type"},
      {R"({"a": 1.5})", "/a: "},
      {R"({"a": 1, "b": "z"})", "/b: "},
      {R"({"a": 1, "c": [2]})", "/c/0: "},
      {R"({"a": 1, "d": {"any": "no"}})", "/d/any: "},
      {R"({"a": 1, "e": 1})", "/e: is not in the schema"},
  };
  for (const auto &[text, problem] : cases) {
    const std::string found = problemOf(Json::parse(text), schema, "");
    EXPECT_TRUE(*problem ? found.find(problem) != std::string::npos : found.empty())
        << text << ": " << found;
  }
  EXPECT_NE(problemOf(1, Json::parse(R"({"minimum": 0})"), "").find("not checked"),
            std::string::npos);
}

} // namespace tilewright::test
