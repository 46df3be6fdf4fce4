// Kernels through the real assembler, where there is one: no spills, nothing serialised.
#include "codegen/compile.h"
#include "codegen/lower.h"
#include "codegen/testing/attention.h"
#include "codegen/testing/matmul.h"

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
  auto compiled = compileKernel(*kernel, *toolchain);
  ASSERT_TRUE(bool(compiled)) << takeDiag(compiled.takeError()).message;
  const std::optional<Assembled> &assembled = compiled->assembled;
  ASSERT_TRUE(assembled) << compiled->assemblyError;
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

/// What targets share with older ones: copies that are under way, shuffles, mma.sync.
TEST(Compile, EveryTargetThatLlvmKnows) {
  std::string softmax = R"(HloModule m
max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = f32[] maximum(a, b) }
ENTRY main {
  x = f32[64,1024] parameter(0)
  low = f32[] constant(-inf)
  m = f32[64] reduce(x, low), dimensions={1}, to_apply=max
  mb = f32[64,1024] broadcast(m), dimensions={0}
  d = f32[64,1024] subtract(x, mb)
  ROOT e = f32[64,1024] exponential(d)
})";
  for (const std::string &target : targetNames()) {
    expectCompiles(specFromHlo(softmax, {4, 1024}, 4), target.c_str());
    expectCompiles(dotSpec(matmul(512, 512, 512, true, false), {128, 128}, 32, 4, 3),
                   target.c_str());
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

/// A product whose result goes through a gelu before it is stored.
std::string withGelu(int64_t m, int64_t n, int64_t k) {
  std::string hlo = matmul(m, n, k, true, false, "bf16", "bf16");
  hlo.replace(hlo.find("ROOT d"), 6, "d");
  hlo.erase(hlo.rfind('}'));
  return hlo + fmt::format(R"(  bias = bf16[{1}] parameter(2)
  bb = bf16[{0},{1}] broadcast(bias), dimensions={{1}}
  x = bf16[{0},{1}] add(d, bb)
  x2 = bf16[{0},{1}] multiply(x, x)
  x3 = bf16[{0},{1}] multiply(x2, x)
  y = bf16[{0},{1}] add(x, x3)
  t = bf16[{0},{1}] tanh(y)
  ROOT g = bf16[{0},{1}] multiply(x, t)
}}
)",
                           m, n);
}

// As many sums as a thread can hold, and an epilogue of a hundred instructions for each.
TEST(Compile, LongEpiloguesOfLargeTiles) {
  for (int64_t stages : {1, 3, 5})
    expectCompiles(dotSpec(withGelu(4096, 3072, 768), {128, 128}, 32, 4, stages), "sm_80");
  expectCompiles(dotSpec(withGelu(4096, 3072, 768), {64, 384}, 16, 4, 5, Instruction::Wgmma),
                 "sm_90a");
  expectCompiles(dotSpec(withGelu(4096, 3072, 768), {128, 256}, 64, 8, 4, Instruction::Wgmma),
                 "sm_90a");
}

TEST(Compile, Convolutions) {
  auto spec = [](const char *hlo, std::vector<int64_t> tile, int64_t features) {
    KernelSpec result = dotSpec(hlo, std::move(tile), features, 4, 3);
    return result;
  };
  for (const char *target : {"sm_80", "sm_90a"}) {
    expectCompiles(spec(R"(HloModule m
ENTRY main {
  x = bf16[64,28,28,128] parameter(0)
  k = bf16[3,3,128,128] parameter(1)
  ROOT d = bf16[64,28,28,128] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
})",
                        {4, 4, 8, 128}, 32),
                   target);
    // Few features: elements are found one by one, beside 112 sums.
    expectCompiles(spec(R"(HloModule m
ENTRY main {
  x = bf16[64,224,224,3] parameter(0)
  k = bf16[7,7,3,64] parameter(1)
  ROOT d = bf16[64,112,112,64] convolution(x, k), window={size=7x7 stride=2x2 pad=2_3x2_3}, dim_labels=b01f_01io->b01f
})",
                        {1, 2, 112, 64}, 3),
                   target);
  }
}

// Conversions that only some targets have an instruction for; vectors of 16 bytes on all of them.
TEST(Compile, NarrowTypesOnEveryTarget) {
  for (const char *target : {"sm_80", "sm_86", "sm_89", "sm_90"})
    for (auto [from, to] : {std::pair("s8", "bf16"),
                            {"u8", "bf16"},
                            {"s8", "f16"},
                            {"bf16", "s8"},
                            {"f8e4m3fn", "bf16"},
                            {"f32", "bf16"}}) {
      std::string hlo = fmt::format(R"(HloModule m
ENTRY main {{
  q = {0}[4096] parameter(0)
  scale = {1}[4096] parameter(1)
  v = {1}[4096] convert(q)
  ROOT out = {1}[4096] multiply(v, scale)
}})",
                                    from, to);
      KernelSpec spec = specFromHlo(hlo, {1024}, 4);
      expectCompiles(spec, target);
      expectPass(spec);
    }
}

// With small CTAs ptxas would rather spill than have fewer CTAs on a multiprocessor.
TEST(Compile, SmallCtasKeepTheirRegisters) {
  KernelSpec spec = specFromHlo(R"(HloModule m
ENTRY main {
  x = bf16[8,1024,768] parameter(0)
  a = f32[8,1024,768] parameter(1)
  b = f32[8,1024,768] parameter(2)
  row = f32[8,1024] parameter(3)
  sum = f32[8,1024,768] add(a, b)
  rows = f32[8,1024,768] broadcast(row), dimensions={0,1}
  all = f32[8,1024,768] add(sum, rows)
  narrow = bf16[8,1024,768] convert(all)
  ROOT out = bf16[8,1024,768] add(x, narrow)
})",
                                {1, 4, 256}, 2);
  for (const char *target : {"sm_80", "sm_90", "sm_90a"})
    expectCompiles(spec, target);
}

// A tile that no thread could hold at once is streamed in vectors.
TEST(Compile, LargeTilesAreStreamed) {
  KernelSpec spec = specFromHlo(R"(HloModule m
ENTRY main {
  x = bf16[64,8192] parameter(0)
  ROOT y = f32[64,8192] convert(x)
})",
                                {64, 8192}, 8);
  expectCompiles(spec, "sm_90");
  auto kernel = llvm::cantFail(lowerKernel(spec, CodeMode::Device));
  EXPECT_EQ(kernel.launch.grid, 1);
  std::string ir = kernel.llvmText();
  EXPECT_NE(ir.find("store <4 x float>"), std::string::npos);
  EXPECT_EQ(ir.find("store float"), std::string::npos);
  expectPass(spec);
}

} // namespace
} // namespace tilewright
