// Plan files and manifests of packs.
#include "codegen/lower.h"
#include "codegen/pack_maker.h"
#include "codegen/pack_manifest.h"
#include "profiler/pack_reader.h"
#include "tests/fuzz/mutant_formats.h"

namespace tilewright::test {

namespace {

const char *scaled = R"({"schema": "tilewright.plan", "schema_version": 1, "name": "scaled",
  "plan": {"root_tile": [8, 4], "sequential": [], "warps": 1, "stages": 1, "split_k": 1,
           "group_m": 1, "instruction": "fma"},
  "hlo": "HloModule scaled\n\nENTRY %main {\n  %x = f32[8,4]{1,0} parameter(0)\n  %i = s32[8,4]{1,0} parameter(1)\n  %f = f32[8,4]{1,0} convert(%i)\n  ROOT %y = f32[8,4]{1,0} multiply(%x, %f)\n}\n"})";

const char *product = R"({"schema": "tilewright.plan", "schema_version": 1, "name": "product",
  "plan": {"root_tile": [16, 16], "sequential": [{"op": "d", "dim": 0, "size": 16}], "warps": 1,
           "stages": 2, "split_k": 1, "group_m": 1, "instruction": "mma.sync"},
  "hlo": "HloModule product\n\nENTRY %main {\n  %a = bf16[16,32]{1,0} parameter(0)\n  %b = bf16[32,16]{1,0} parameter(1)\n  ROOT %d = f32[16,16]{1,0} dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n"})";

/// Products with settings of their loops.
const char *ahead = R"({"schema": "tilewright.plan", "schema_version": 1, "name": "ahead",
  "plan": {"root_tile": [16, 16], "sequential": [{"op": "d", "dim": 0, "size": 16}], "warps": 1,
           "stages": 3, "split_k": 1, "group_m": 1, "instruction": "mma.sync",
           "loops": [{"loop": "t", "ahead": 1}]},
  "hlo": "HloModule ahead\n\nENTRY %main {\n  %a = bf16[16,48]{1,0} parameter(0)\n  %b = bf16[48,16]{1,0} parameter(1)\n  ROOT %d = f32[16,16]{1,0} dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n"})";

const char *inFlight = R"({"schema": "tilewright.plan", "schema_version": 1, "name": "in_flight",
  "plan": {"root_tile": [64, 16], "sequential": [{"op": "d", "dim": 0, "size": 32}], "warps": 4,
           "stages": 2, "split_k": 1, "group_m": 1, "instruction": "wgmma",
           "loops": [{"loop": "t", "wait": 0}]},
  "hlo": "HloModule in_flight\n\nENTRY %main {\n  %a = bf16[64,64]{1,0} parameter(0)\n  %b = bf16[64,16]{1,0} parameter(1)\n  ROOT %d = f32[64,16]{1,0} dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n"})";

const std::vector<std::string> words = {"{",
                                        "}",
                                        "[",
                                        "]",
                                        ",",
                                        ":",
                                        "\"",
                                        "null",
                                        "true",
                                        "1e999",
                                        "\\n",
                                        "\\u0000",
                                        "\\ud800",
                                        "\"plan\":",
                                        "\"loops\":[",
                                        "{\"loop\":\"t\",\"wait\":1}",
                                        "\"hlo\":",
                                        "\"kernels\":[",
                                        "\"files\":{",
                                        "\"grid\":[1,1,1]",
                                        "ROOT ",
                                        " parameter(2)",
                                        "f32[8,4]{1,0}",
                                        "[[[[[[[[",
                                        "{\"a\":{\"a\":{\"a\":",
                                        "../",
                                        "/"};

} // namespace

MutantFormat planFormat() {
  // What is read is lowered, too: a plan may be any numbers that the file can say.
  auto read = [](const std::string &text) -> llvm::Error {
    auto spec = parsePlan("m.json", text);
    if (!spec)
      return spec.takeError();
    auto kernel = lowerKernel(*spec, CodeMode::Device);
    return kernel ? llvm::Error::success() : kernel.takeError();
  };
  return {"plan", {scaled, product, ahead, inFlight}, words, read};
}

MutantFormat packFormat() {
  auto target = findTarget("sm_80");
  PackMaker maker({llvm::cantFail(std::move(target)), newestLlvmPtx(), std::nullopt, ""}, {});
  for (const char *plan : {scaled, product, ahead})
    llvm::cantFail(maker.add(llvm::cantFail(parsePlan("plan", plan))));
  auto read = [](const std::string &text) -> llvm::Error {
    profile::Result<profile::Pack> pack = profile::parsePack("m.json", text);
    auto manifest = parseManifest("m.json", text);
    if (!manifest)
      return manifest.takeError();
    if (!pack)
      return makeError(DiagClass::BadInput, "{}", pack.failure().message);
    return llvm::Error::success();
  };
  return {"pack", {printManifest(maker.manifest())}, words, read};
}

} // namespace tilewright::test
