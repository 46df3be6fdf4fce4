#include "analysis/import/import_file.h"
#include "analysis/ir/cpu_module.h"

#include <gtest/gtest.h>

using namespace tilewright;

namespace {

std::optional<CpuSign> signOf(const std::string &text) {
  const Module module =
      llvm::cantFail(importBuffer(std::make_shared<const SourceBuffer>("text", text)));
  return cpuSign(module);
}

/// The sign of an entry with one custom call or fusion that has these attributes.
std::string whatIn(const std::string &op) {
  const std::optional<CpuSign> sign =
      signOf("HloModule m\nfused {\n  p = f32[4] parameter(0)\n  ROOT n = f32[4] negate(p)\n}\n"
             "ENTRY main {\n  x = f32[4] parameter(0)\n  ROOT r = f32[4] " +
             op + "\n}\n");
  return sign ? sign->what : "";
}

} // namespace

TEST(CpuModule, CompiledModulesAreRecognised) {
  for (const char *file :
       {"tests/import/proto/layer_cpu.hlo.txt", "tests/import/proto/layer_cpu.hlo.pb"}) {
    const Module module = llvm::cantFail(importFile(file));
    const std::optional<CpuSign> sign = cpuSign(module);
    ASSERT_TRUE(sign) << file;
    EXPECT_TRUE(sign->isCompiled);
    EXPECT_EQ(sign->what, "a fusion of kind __ynn_fusion");
    EXPECT_EQ(module.graph(sign->graph).op(sign->op).name, "ynn_fusion");
  }
}

TEST(CpuModule, SignsByOp) {
  EXPECT_EQ(whatIn("fusion(x), kind=kLoop, calls=fused, "
                   "backend_config={\"outer_dimension_partitions\":[\"8\"]}"),
            "outer_dimension_partitions, by which its threads share an op");
  EXPECT_EQ(whatIn("call(x), to_apply=fused, frontend_attributes={xla_cpu_small_call=\"true\"}"),
            "an attribute xla_cpu_*");
  EXPECT_EQ(whatIn("custom-call(x), custom_call_target=\"lapack_spotrf_ffi\""),
            "a call of lapack_spotrf_ffi");
  EXPECT_EQ(whatIn("custom-call(x), custom_call_target=\"__onednn$softmax\""),
            "a call of __onednn$softmax");
}

// A compiler's sign outweighs one of lowering that stands before it.
TEST(CpuModule, TheCompilersSignCountsMore) {
  const std::optional<CpuSign> sign =
      signOf("HloModule m\nfused {\n  p = f32[4] parameter(0)\n  ROOT n = f32[4] negate(p)\n}\n"
             "ENTRY main {\n  x = f32[4] parameter(0)\n"
             "  c = f32[4] custom-call(x), custom_call_target=\"lapack_sgetrf\"\n"
             "  ROOT f = f32[4] fusion(c), kind=kLoop, calls=fused, "
             "backend_config={\"outer_dimension_partitions\":[]}\n}\n");
  ASSERT_TRUE(sign);
  EXPECT_TRUE(sign->isCompiled);
}

TEST(CpuModule, RolledRandomNumbers) {
  const std::optional<CpuSign> sign =
      signOf("HloModule m\nENTRY main {\n  ROOT c = u32[4] constant({13, 15, 26, 6})\n}\n");
  ASSERT_TRUE(sign);
  EXPECT_FALSE(sign->isCompiled);
  EXPECT_NE(sign->note().find("lowered for a CPU"), std::string::npos);
  EXPECT_FALSE(
      signOf("HloModule m\nENTRY main {\n  ROOT c = u32[4] constant({13, 15, 26, 7})\n}\n"));
}

TEST(CpuModule, ModulesOfOthersHaveNone) {
  EXPECT_EQ(whatIn("custom-call(x), custom_call_target=\"cusolver_potrf_ffi\""), "");
  EXPECT_EQ(whatIn("fusion(x), kind=kCustom, calls=fused, "
                   "backend_config={\"fusion_backend_config\":{\"kind\":\"__triton\"}}"),
            "");
  EXPECT_FALSE(cpuSign(llvm::cantFail(importFile("tests/import/proto/layer.hlo.txt"))));
}
