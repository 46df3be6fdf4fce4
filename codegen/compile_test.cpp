// Kernels through the real assembler, where there is one: no spills, nothing serialised.
#include "codegen/attention_hlo.h"
#include "codegen/lower.h"
#include "codegen/matmul_hlo.h"
#include "codegen/nvptx.h"
#include "codegen/ptxas.h"

namespace tilewright {
namespace {

void expectCompiles(const KernelSpec &spec, const char *targetName) {
  auto toolchain = findToolchain(llvm::cantFail(findTarget(targetName)));
  if (!toolchain || !toolchain->ptxas) {
    if (!toolchain)
      llvm::consumeError(toolchain.takeError());
    GTEST_SKIP() << "no ptxas for " << targetName;
  }
  auto kernel = lowerKernel(spec, CodeMode::Device);
  ASSERT_TRUE(bool(kernel)) << takeDiag(kernel.takeError()).message;
  auto ptx = emitPtx(*kernel, toolchain->target, toolchain->version);
  ASSERT_TRUE(bool(ptx)) << takeDiag(ptx.takeError()).message;
  auto assembled = assemble(*toolchain->ptxas, toolchain->target, *ptx);
  ASSERT_TRUE(bool(assembled)) << takeDiag(assembled.takeError()).message;
  EXPECT_EQ(assembled->report.spillStoreBytes, 0) << spec.name << " for " << targetName;
  EXPECT_EQ(assembled->report.staticSharedBytes, 0);
  EXPECT_TRUE(assembled->report.warnings.empty()) << assembled->report.warnings[0];
}

TEST(Compile, MmaSync) {
  for (const char *target : {"sm_80", "sm_90a"})
    for (bool right : {true, false}) {
      expectCompiles(dotSpec(matmul(4096, 4096, 4096, true, right), {128, 128}, 32, 8, 4), target);
      expectCompiles(dotSpec(matmul(4096, 4096, 4096, true, right), {128, 256}, 32, 8, 3), target);
    }
}

TEST(Compile, Wgmma) {
  for (bool left : {true, false})
    for (bool right : {true, false})
      for (int64_t columns : {64, 128, 192, 256})
        expectCompiles(dotSpec(matmul(4096, 6144, 4096, left, right, "bf16", "bf16"),
                               {128, columns}, 64, 8, 4, Instruction::Wgmma, 8),
                       "sm_90a");
}

TEST(Compile, WgmmaOfEveryType) {
  for (auto [input, result] : {std::pair("f16", "f16"),
                               {"f8e4m3fn", "bf16"},
                               {"f8e5m2", "f32"},
                               {"s8", "s32"},
                               {"u8", "s32"},
                               {"f32", "f32"}})
    expectCompiles(dotSpec(matmul(4096, 4096, 4096, true, true, input, result), {128, 128}, 32, 8,
                           4, Instruction::Wgmma),
                   "sm_90a");
}

TEST(Compile, Splits) {
  KernelSpec spec = dotSpec(matmul(16, 4096, 4096, true, true), {16, 64}, 128, 4, 4);
  spec.schedule.splitK = 4;
  expectCompiles(spec, "sm_80");
  spec.schedule.instruction = Instruction::Wgmma;
  expectCompiles(spec, "sm_90a");
}

TEST(Compile, Chain) {
  std::string hlo = R"(HloModule m
ENTRY main {
  x = bf16[4096,128] parameter(0)
  w = bf16[4096,128] parameter(1)
  s = f32[4096,4096] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  t = f32[4096,4096] tanh(s)
  p = bf16[4096,4096] convert(t)
  u = bf16[4096,128] parameter(2)
  ROOT o = f32[4096,128] dot(p, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";
  KernelSpec spec = specFromHlo(hlo, {128, 128}, 8);
  spec.sequential = {{"o", 0, 64}};
  spec.schedule.stages = 2;
  spec.schedule.instruction = Instruction::MmaSync;
  for (const char *target : {"sm_80", "sm_90a"})
    expectCompiles(spec, target);
}

TEST(Compile, AttentionWithWgmma) {
  for (Mask mask : {Mask::None, Mask::Causal})
    for (auto [columns, keys, warps] : {std::tuple(128, 128, 8), {128, 64, 4}, {64, 64, 12}}) {
      KernelSpec spec = chainSpec(attention(8, 2048, 2048, columns, columns, mask, false),
                                  {1, 16 * warps, columns}, keys, warps, 2, Instruction::Wgmma);
      expectCompiles(spec, "sm_90a");
    }
}

} // namespace
} // namespace tilewright
