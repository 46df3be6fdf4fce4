// Two dots in one kernel with wgmma: numbers, traffic, masks, refusals, and what the emulator
// notices when a step of the protocol is left out.
#include "codegen/attention_hlo.h"
#include "codegen/kernel_mutation.h"
#include "codegen/lower.h"

namespace tilewright {
namespace {

KernelSpec wgmmaChain(const std::string &hlo, std::vector<int64_t> tile, int64_t keyStep,
                      int64_t warps, int64_t stages) {
  return chainSpec(hlo, std::move(tile), keyStep, warps, stages, Instruction::Wgmma);
}

/// Passes, and by wgmma.
CheckOutcome expectWgmma(const KernelSpec &spec) {
  auto kernel = lowerKernel(spec, CodeMode::Device);
  EXPECT_TRUE(bool(kernel)) << (kernel ? "" : takeDiag(kernel.takeError()).message);
  if (kernel) {
    EXPECT_TRUE(kernel->notes.empty()) << kernel->notes[0];
    EXPECT_EQ(kernel->target, "sm_90a");
  }
  CheckOutcome outcome = expectPass(spec);
  EXPECT_GT(outcome.counts.warpgroupProducts, 0);
  EXPECT_EQ(outcome.counts.mmaInstructions, 0);
  return outcome;
}

TEST(LowerChainWgmma, Attention) {
  for (bool isNormalisedFirst : {true, false})
    for (int64_t stages : {1, 2, 3})
      for (int64_t warps : {4, 8}) {
        CheckOutcome outcome =
            expectWgmma(wgmmaChain(attention(2, 256, 192, 32, 48, Mask::None, isNormalisedFirst),
                                   {1, 16 * warps, 48}, 64, warps, stages));
        // Rows of 64, and in all of them each key once: scores, and products with values.
        EXPECT_EQ(outcome.counts.warpgroupProducts, 2 * (256 / 64) * (3 * 32 / 16 + 192 / 16));
        EXPECT_EQ(outcome.counts.tensorCopyBytes,
                  2 * (256 * 32 + 256 / (16 * warps) * 192 * (32 + 48)) * 2);
        EXPECT_EQ(outcome.counts.globalReadBytes, 0);
      }
}

TEST(LowerChainWgmma, TailsAndOddSizes) {
  for (const char *type : {"bf16", "f16"}) {
    expectWgmma(
        wgmmaChain(attention(1, 100, 70, 24, 40, Mask::None, true, type), {1, 64, 40}, 32, 4, 2));
    expectWgmma(
        wgmmaChain(attention(2, 129, 29, 16, 16, Mask::None, true, type), {1, 128, 16}, 32, 8, 1));
    expectWgmma(wgmmaChain(attention(1, 130, 50, 64, 24, Mask::Added, false, type), {1, 128, 16},
                           16, 8, 3));
    // Fewer rows than the warpgroups have, and several blocks of rows each.
    expectWgmma(
        wgmmaChain(attention(1, 70, 50, 16, 24, Mask::Causal, false, type), {1, 48, 24}, 48, 8, 2));
    expectWgmma(
        wgmmaChain(attention(2, 200, 90, 32, 32, Mask::None, true, type), {1, 128, 32}, 32, 4, 2));
  }
}

TEST(LowerChainWgmma, MasksEndTheLoop) {
  for (bool isNormalisedFirst : {true, false}) {
    CheckOutcome outcome = expectWgmma(wgmmaChain(
        attention(1, 256, 256, 16, 16, Mask::Causal, isNormalisedFirst), {1, 64, 16}, 64, 4, 2));
    // 1 + 2 + 3 + 4 of the 16 tiles.
    EXPECT_EQ(outcome.counts.warpgroupProducts, 10 * (1 + 64 / 16));
    expectWgmma(wgmmaChain(attention(1, 200, 200, 16, 16, Mask::Causal, isNormalisedFirst),
                           {1, 128, 16}, 32, 8, 3));
    // Rows of which a whole step counts for nothing.
    outcome = expectWgmma(wgmmaChain(
        attention(1, 256, 256, 16, 16, Mask::Window, isNormalisedFirst), {1, 64, 16}, 16, 4, 2));
    EXPECT_LT(outcome.counts.warpgroupProducts, 136 * 2);
  }
}

TEST(LowerChainWgmma, ProductsWithWorkInBetween) {
  expectWgmma(wgmmaChain(R"(HloModule m
ENTRY main {
  x = bf16[80,32] parameter(0)
  w = bf16[32,80] parameter(1)
  h = f32[80,80] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[80] parameter(2)
  bb = f32[80,80] broadcast(b), dimensions={1}
  s = f32[80,80] add(h, bb)
  t = f32[80,80] tanh(s)
  p = bf16[80,80] convert(t)
  u = bf16[80,24] parameter(3)
  o = f32[80,24] dot(p, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT n = bf16[80,24] convert(o)
})",
                         {64, 24}, 32, 4, 2));
}

} // namespace
} // namespace tilewright
