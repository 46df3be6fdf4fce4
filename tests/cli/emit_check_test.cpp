// explore → emit → check, as a user runs them: plans become kernels that compute the right thing.
#include "tests/cli/run_program.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

namespace tilewright::test {

namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

// No usual tile divides these dims.
const char *const elementwise = "HloModule ew\nENTRY e {\n"
                                "  x = f32[37,51] parameter(0)\n"
                                "  b = f32[37] parameter(1)\n"
                                "  w = f32[37,51] broadcast(b), dimensions={0}\n"
                                "  s = f32[37,51] add(x, w)\n"
                                "  ROOT t = f32[51,37] transpose(s), dimensions={1,0}\n}\n";

const char *const softmax = "HloModule softmax\n"
                            "max {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                            "  ROOT c = f32[] maximum(a, b)\n}\n"
                            "sum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                            "  ROOT c = f32[] add(a, b)\n}\n"
                            "ENTRY e {\n"
                            "  x = f32[13,77] parameter(0)\n"
                            "  low = f32[] constant(-inf)\n"
                            "  zero = f32[] constant(0)\n"
                            "  m = f32[13] reduce(x, low), dimensions={1}, to_apply=max\n"
                            "  mb = f32[13,77] broadcast(m), dimensions={0}\n"
                            "  d = f32[13,77] subtract(x, mb)\n"
                            "  p = f32[13,77] exponential(d)\n"
                            "  n = f32[13] reduce(p, zero), dimensions={1}, to_apply=sum\n"
                            "  nb = f32[13,77] broadcast(n), dimensions={0}\n"
                            "  ROOT y = f32[13,77] divide(p, nb)\n}\n";

const char *const dot = "HloModule dot\nENTRY e {\n"
                        "  a = bf16[70,100] parameter(0)\n"
                        "  b = bf16[100,50] parameter(1)\n"
                        "  bias = bf16[50] parameter(2)\n"
                        "  c = bf16[70,50] dot(a, b), lhs_contracting_dims={1}, "
                        "rhs_contracting_dims={0}\n"
                        "  w = bf16[70,50] broadcast(bias), dimensions={1}\n"
                        "  ROOT y = bf16[70,50] add(c, w)\n}\n";

class EmitCheck : public testing::Test {
protected:
  TemporaryFolder folder;

  /// Plan files of a model's kernels.
  std::vector<std::string> plansOf(const std::string &name, const std::string &hlo) {
    std::string model = folder.write(name + ".hlo.txt", hlo), out = folder / (name + ".out");
    Outcome outcome = runTilewright(
        {"explore", model, "--instruction", "mma.sync", "--budget", "200", "--out", out, "--json"});
    EXPECT_EQ(outcome.exitCode, 0) << outcome.describe();
    Json document = Json::parse(outcome.out, nullptr, false);
    std::vector<std::string> plans;
    if (document.is_discarded())
      return plans;
    EXPECT_TRUE(document["models"][0]["unsupported"].empty());
    for (const Json &kernel : document["models"][0]["kernels"]) {
      EXPECT_TRUE(kernel["plan_file"].is_string()) << kernel["name"];
      if (kernel["plan_file"].is_string())
        plans.push_back(out + "/" + kernel["plan_file"].get<std::string>());
    }
    EXPECT_FALSE(plans.empty());
    return plans;
  }

  Outcome emit(const std::vector<std::string> &plans, const std::string &pack,
               const std::vector<std::string> &more,
               const std::vector<std::string> &environment = {}) {
    std::vector<std::string> arguments = {"emit", "--out", folder / pack};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.end(), plans.begin(), plans.end());
    return runTilewright(arguments, environment);
  }

  void expectPasses(const std::string &pack) {
    Outcome outcome = runTilewright({"check", folder / pack, "--json"});
    ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
    Json document = Json::parse(outcome.out);
    ASSERT_FALSE(document["kernels"].empty());
    for (const Json &kernel : document["kernels"]) {
      EXPECT_EQ(kernel["status"], "pass") << kernel;
      EXPECT_EQ(kernel["blocks"], kernel["blocks_run"]) << kernel;
      EXPECT_LE(kernel["max_relative_error"].get<double>(), kernel["tolerance"].get<double>());
    }
  }

  std::string onlyFile(const std::string &pack, const std::string &extension) {
    for (const std::string &entry : folder.entries())
      if (entry.starts_with(pack + "/") && entry.ends_with(extension))
        return folder / entry;
    ADD_FAILURE() << "no " << extension << " in " << pack;
    return "";
  }

  /// A stand-in for an older assembler: says its release, and "assembles" anything.
  std::string fakePtxas(const std::string &release, const std::string &says = "") {
    fs::create_directories(folder / "bin");
    std::string path = folder.write(
        "bin/ptxas", "#!/bin/sh\n"
                     "case \"$*\" in *--version*) echo 'Cuda compilation tools, release " +
                         release + ", V" + release +
                         ".1'; exit 0;; esac\n"
                         "echo '" +
                         says +
                         "'\n"
                         "while [ $# -gt 0 ]; do [ \"$1\" = -o ] && echo cubin > \"$2\"; shift; "
                         "done\n");
    fs::permissions(path, fs::perms::owner_all);
    return "PATH=" + (folder / "bin") + ":" + getenv("PATH");
  }

  /// The number after ".version" and the name after ".target".
  std::pair<double, std::string> header(const std::string &pack) {
    std::string text = readBytes(onlyFile(pack, ".ptx"));
    std::smatch version, target;
    EXPECT_TRUE(std::regex_search(text, version, std::regex("\\.version ([0-9.]+)")));
    EXPECT_TRUE(std::regex_search(text, target, std::regex("\\.target ([a-z0-9_]+)")));
    return {std::stod(version[1]), target[1]};
  }
};

} // namespace

/// Those that the schedule of the loop chooses, in the plan's own instruction.
TEST_F(EmitCheck, PlansWithTheirBestSettings) {
  std::vector<std::string> best;
  for (const std::string &plan : plansOf("dot", dot)) {
    best.push_back(folder / ("best" + std::to_string(best.size()) + ".json"));
    Outcome outcome = runTilewright({"program", plan, "--pipeline", "--out", best.back()});
    ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
    // What is written has nothing left to choose.
    Outcome again = runTilewright({"program", best.back(), "--pipeline", "--json"});
    ASSERT_EQ(again.exitCode, 0) << again.describe();
    for (const Json &loop : Json::parse(again.out)["loops"])
      EXPECT_EQ(loop["gain"], 1) << loop["best"];
  }
  ASSERT_FALSE(best.empty());
  Outcome outcome = emit(best, "pack", {"--target", "sm_90a"});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
  expectPasses("pack");
}

TEST_F(EmitCheck, CoverageOfWholeModels) {
  std::string first = folder.write("elementwise.hlo.txt", elementwise);
  std::string second = folder.write("softmax.hlo.txt", softmax);
  Outcome outcome = runTilewright(
      {"emit", "--coverage", "--target", "sm_80", "--target", "sm_90a", "--json", first, second});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
  Json document = Json::parse(outcome.out);
  EXPECT_EQ(document["schema"], "tilewright.coverage");
  ASSERT_EQ(document["models"].size(), 4u); // each for each target
  for (const Json &model : document["models"]) {
    EXPECT_FALSE(model["kernels"].empty());
    for (const Json &kernel : model["kernels"]) {
      EXPECT_EQ(kernel["problem"], "") << kernel;
      EXPECT_EQ(kernel["aligned"], "pass") << kernel;
      EXPECT_EQ(kernel["odd"], "pass") << kernel;
    }
  }
  outcome = runTilewright({"emit", "--coverage", "--target", "sm_80", first});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.describe();
  EXPECT_NE(outcome.out.find("elementwise.hlo.txt"), std::string::npos) << outcome.out;
}

TEST_F(EmitCheck, SpillsAreNotesOrRefusals) {
  std::vector<std::string> plans = plansOf("elementwise", elementwise);
  std::string path = fakePtxas("12.4", "    8 bytes stack frame, 12 bytes spill stores, 16 bytes "
                                       "spill loads\nptxas info : Used 40 registers");
  Outcome outcome = emit(plans, "noted", {"--json"}, {path});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
  Json document = Json::parse(outcome.out);
  EXPECT_EQ(document["kernels"][0]["cubin"], true);
  std::string note = document["kernels"][0]["note"];
  EXPECT_NE(note.find("spills 12 bytes to memory and 16 back at 40 registers; plan: tile"),
            std::string::npos)
      << note;
  outcome = emit(plans, "refused", {"--json", "--refuse-spills"}, {path});
  EXPECT_EQ(outcome.exitCode, 1) << outcome.describe();
  EXPECT_EQ(Json::parse(outcome.out)["kernels"][0]["emitted"], false);
  for (const std::string &entry : folder.entries())
    EXPECT_FALSE(entry.starts_with("refused/") && entry.ends_with(".cubin")) << entry;
}

TEST_F(EmitCheck, EveryStepCanBeDumped) {
  std::vector<std::string> plans = plansOf("softmax", softmax);
  std::string path = fakePtxas("12.4", "ptxas info : Used 40 registers");
  Outcome outcome = emit(plans, "pack", {"--dump", folder / "steps"}, {path});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
  EXPECT_NE(outcome.out.find("the newest that ptxas 12.4 knows"), std::string::npos);
  for (const char *ending :
       {".plan.json", ".tile.txt", ".ll", ".optimised.ll", ".ptx", ".ptxas.log"})
    EXPECT_FALSE(readBytes(onlyFile("steps", ending)).empty()) << ending;
  EXPECT_NE(readBytes(onlyFile("steps", ".ptxas.log")).find("Used 40"), std::string::npos);
}

TEST_F(EmitCheck, CoverageSaysWhatHasNoCode) {
  std::string model =
      folder.write("model.hlo.txt", "HloModule m\nENTRY e {\n"
                                    "  x = f32[33] parameter(0)\n"
                                    "  r = u32[33] parameter(1)\n"
                                    "  ROOT y = s8[33] stochastic-convert(x, r)\n}\n");
  Outcome outcome = runTilewright({"emit", "--coverage", "--json", model});
  ASSERT_EQ(outcome.exitCode, 1) << outcome.describe();
  Json kernel = Json::parse(outcome.out)["models"][0]["kernels"][0];
  EXPECT_EQ(kernel["emitted"], false);
  EXPECT_NE(kernel["problem"].get<std::string>().find("no program for stochastic-convert"),
            std::string::npos);
}

TEST_F(EmitCheck, KernelsOfThreeKindsPassOnEveryTarget) {
  const std::pair<const char *, const char *> models[] = {
      {"elementwise", elementwise}, {"softmax", softmax}, {"dot", dot}};
  for (const auto &[name, hlo] : models) {
    std::vector<std::string> plans = plansOf(name, hlo);
    for (const char *target : {"sm_80", "sm_90", "sm_90a"}) {
      SCOPED_TRACE(std::string(name) + " " + target);
      std::string pack = std::string(name) + "." + target;
      Outcome outcome = emit(plans, pack, {"--target", target, "--no-assemble", "--json"});
      ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
      const Json document = Json::parse(outcome.out);
      for (const Json &kernel : document["kernels"])
        EXPECT_TRUE(kernel["emitted"].get<bool>()) << kernel;
      EXPECT_EQ(header(pack).second, target);
      expectPasses(pack);
    }
  }
}

TEST_F(EmitCheck, MicrobenchmarksAreKernelsLikeAnyOther) {
  std::string pack = folder / "micro";
  Outcome outcome = runTilewright(
      {"emit", "--microbenchmarks", "--no-assemble", "--target", "sm_80", "--out", pack, "--json"});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
  std::set<std::string> properties;
  const Json document = Json::parse(outcome.out),
             manifest = Json::parse(readBytes(pack + "/manifest.json"));
  for (const Json &kernel : document["kernels"]) {
    EXPECT_TRUE(kernel["emitted"].get<bool>()) << kernel;
    std::string name = kernel["name"].get<std::string>();
    properties.insert(name.substr(0, name.find('_')));
  }
  EXPECT_EQ(properties,
            (std::set<std::string>{"launch", "copy", "write", "read", "chase", "fma", "exp",
                                   "rsqrt", "tanh", "select", "convert", "divide", "shuffle",
                                   "exchange", "loop", "grid", "bank", "stride"}));
  // At 2.5 TB/s and 20 TFLOP/s, with the runner's defaults, and 70 us for each flush of L2.
  double seconds = 0;
  for (const Json &kernel : manifest["kernels"]) {
    const Json &work = kernel["work"];
    double ns =
        5000 +
        std::max((work["read_bytes"].get<double>() + work["write_bytes"].get<double>()) / 2500,
                 work["flops"].get<double>() / 20e3);
    seconds += 23 * (2 * ns + 70e3) / 1e9;
  }
  EXPECT_LT(seconds, 60);
  // Plans and the suite exclude each other, and one of them is needed.
  EXPECT_EQ(runTilewright({"emit", "--microbenchmarks", "x.json", "--out", pack}).exitCode, 2);
  EXPECT_EQ(runTilewright({"emit", "--out", pack}).exitCode, 2);
}

TEST_F(EmitCheck, SamePlansSameBytes) {
  std::vector<std::string> plans = plansOf("dot", dot);
  ASSERT_EQ(emit(plans, "a", {"--no-assemble"}).exitCode, 0);
  ASSERT_EQ(emit(plans, "b", {"--no-assemble"}).exitCode, 0);
  for (const char *extension : {".ll", ".ptx", "manifest.json"})
    EXPECT_EQ(readBytes(onlyFile("a", extension)), readBytes(onlyFile("b", extension)));
  // A pack in the place of a pack is replaced; nothing else is.
  EXPECT_EQ(emit(plans, "a", {"--no-assemble"}).exitCode, 0);
  fs::create_directories(folder / "mine");
  folder.write("mine/notes.txt", "keep me");
  Outcome refused = emit(plans, "mine", {"--no-assemble"});
  EXPECT_EQ(refused.exitCode, 2) << refused.describe();
  EXPECT_EQ(readBytes(folder / "mine/notes.txt"), "keep me");
}

TEST_F(EmitCheck, PtxIsNoNewerThanTheAssembler) {
  std::vector<std::string> plans = plansOf("elementwise", elementwise);
  const std::pair<const char *, double> releases[] = {{"11.8", 7.8}, {"12.0", 8.0}, {"12.4", 8.4}};
  for (const auto &[release, newest] : releases) {
    std::string pack = std::string("pack") + release;
    Outcome outcome = emit(plans, pack, {"--target", "sm_86"}, {fakePtxas(release)});
    ASSERT_EQ(outcome.exitCode, 0) << outcome.describe();
    auto [version, target] = header(pack);
    EXPECT_LE(version, newest) << release;
    EXPECT_GE(version, 7.1) << "sm_86 came with PTX 7.1";
    EXPECT_EQ(target, "sm_86");
  }
  // No version that both the target and the assembler know: refused, and no pack.
  Outcome outcome = emit(plans, "none", {"--target", "sm_100a"}, {fakePtxas("12.4")});
  EXPECT_NE(outcome.exitCode, 0) << outcome.describe();
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("error: "), std::string::npos);
  EXPECT_FALSE(fs::exists(folder / "none"));
}

TEST_F(EmitCheck, UnknownTargetsAreRefused) {
  std::vector<std::string> plans = plansOf("elementwise", elementwise);
  for (const char *target : {"sm_42", "h100", "", "sm_90 "}) {
    Outcome outcome = emit(plans, "pack", {"--target", target});
    EXPECT_EQ(outcome.exitCode, 2) << outcome.describe();
    EXPECT_EQ(outcome.out, "");
    EXPECT_FALSE(fs::exists(folder / "pack"));
  }
}

TEST_F(EmitCheck, ATamperedPackNeverPasses) {
  std::vector<std::string> plans = plansOf("elementwise", elementwise);
  ASSERT_EQ(emit(plans, "pack", {"--no-assemble"}).exitCode, 0);
  std::string code = onlyFile("pack", ".ll"), manifest = folder / "pack/manifest.json";
  const std::string goodCode = readBytes(code), goodManifest = readBytes(manifest);
  auto write = [](const std::string &path, const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  };

  // Other code than the plan's: the answer is "no".
  std::string changed = goodCode;
  size_t add = changed.find("fadd");
  ASSERT_NE(add, std::string::npos);
  write(code, changed.replace(add, 4, "fsub"));
  Outcome outcome = runTilewright({"check", folder / "pack"});
  EXPECT_EQ(outcome.exitCode, 1) << outcome.describe();
  fs::remove(code);
  outcome = runTilewright({"check", folder / "pack"});
  EXPECT_TRUE(outcome.exitCode == 1 || outcome.exitCode == 2) << outcome.describe();
  write(code, goodCode);

  // A manifest that was damaged: cut at many places, or a field of another kind.
  for (size_t keep = 0; keep < goodManifest.size(); keep += goodManifest.size() / 20) {
    write(manifest, goodManifest.substr(0, keep));
    outcome = runTilewright({"check", folder / "pack"});
    EXPECT_EQ(outcome.exitCode, 2) << outcome.describe();
    EXPECT_EQ(outcome.out, "");
  }
  const Json good = Json::parse(goodManifest);
  for (const auto &[name, value] : good["kernels"][0].items())
    for (const Json &other :
         {Json(), Json(-1), Json("x"), Json::array({Json::array()}), Json::object(), Json(1e300)}) {
      Json document = good;
      document["kernels"][0][name] = other;
      write(manifest, document.dump());
      outcome = runTilewright({"check", folder / "pack"});
      EXPECT_TRUE(outcome.exitCode >= 0 && outcome.exitCode <= 2) << name << outcome.describe();
    }
  write(manifest, goodManifest);
  expectPasses("pack");
}

TEST_F(EmitCheck, DamagedPlansAreRefused) {
  std::vector<std::string> plans = plansOf("elementwise", elementwise);
  const std::string good = readBytes(plans.front());
  std::string plan = folder / "plan.json";
  for (size_t keep = 0; keep < good.size(); keep += good.size() / 20) {
    folder.write("plan.json", good.substr(0, keep));
    Outcome outcome = emit({plan}, "pack", {"--no-assemble"});
    EXPECT_EQ(outcome.exitCode, 2) << outcome.describe();
    EXPECT_EQ(outcome.out, "");
    EXPECT_FALSE(fs::exists(folder / "pack"));
  }
}

} // namespace tilewright::test
