// Two dots in one kernel with wgmma: numbers, traffic, masks, refusals, and what the emulator
// notices when a step of the protocol is left out.
#include "codegen/kernel_mutation.h"
#include "codegen/lower.h"
#include "codegen/testing/attention.h"

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
    // All keys at once, and several blocks of rows each.
    expectWgmma(
        wgmmaChain(attention(1, 70, 50, 16, 24, Mask::Causal, false, type), {1, 64, 24}, 50, 4, 2));
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

TEST(LowerChainWgmma, HeadDims) {
  for (int64_t columns : {64, 128})
    for (const char *type : {"bf16", "f16"})
      expectWgmma(wgmmaChain(attention(1, 128, 128, columns, columns, Mask::Causal, false, type),
                             {1, 128, columns}, 64, 8, 2));
}

/// Keys and values of a head serve several heads of queries.
TEST(LowerChainWgmma, GroupsOfQueries) {
  expectWgmma(wgmmaChain(R"(HloModule m
max { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT m = f32[] maximum(a, b) }
add { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT s = f32[] add(a, b) }
ENTRY main {
  q = f16[2,3,100,32] parameter(0)
  k = f16[2,96,32] parameter(1)
  v = f16[2,96,48] parameter(2)
  s = f32[2,3,100,96] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={3}, rhs_contracting_dims={2}
  low = f32[] constant(-inf)
  top = f32[2,3,100] reduce(s, low), dimensions={3}, to_apply=max
  tops = f32[2,3,100,96] broadcast(top), dimensions={0,1,2}
  below = f32[2,3,100,96] subtract(s, tops)
  e = f32[2,3,100,96] exponential(below)
  zero = f32[] constant(0)
  total = f32[2,3,100] reduce(e, zero), dimensions={3}, to_apply=add
  totals = f32[2,3,100,96] broadcast(total), dimensions={0,1,2}
  n = f32[2,3,100,96] divide(e, totals)
  p = f16[2,3,100,96] convert(n)
  ROOT o = f16[2,3,100,48] dot(p, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={3}, rhs_contracting_dims={1}
})",
                         {1, 1, 64, 48}, 32, 4, 2));
}

/// Slots that both products read are given back behind the second one.
TEST(LowerChainWgmma, KeysThatAreValues) {
  std::string hlo = attention(1, 128, 192, 32, 32, Mask::Window, false, "bf16", "-1e9");
  hlo.replace(hlo.find("  v = bf16[1,192,32] parameter(2)"), 33, "");
  hlo.replace(hlo.find("dot(p, v)"), 9, "dot(p, k)");
  for (int64_t stages : {1, 2, 3}) {
    CheckOutcome outcome = expectWgmma(wgmmaChain(hlo, {1, 64, 32}, 32, 4, stages));
    EXPECT_LT(outcome.counts.tensorCopyBytes, (128 + 2 * 2 * 192) * 32 * 2);
  }
}

/// Products with values run beside the softmax of the next step: both are started before either is
/// waited for.
TEST(LowerChainWgmma, StepsOverlap) {
  KernelSpec spec = wgmmaChain(attention(1, 64, 256, 32, 48), {1, 64, 48}, 64, 4, 2);
  KernelModule kernel = llvm::cantFail(lowerKernel(spec, CodeMode::Device));
  std::string order;
  for (const std::string &step : kernel.steps) {
    char kind = step.find("wgmma") != std::string::npos ? '*' : ' ';
    kind = step.find("wait for products") != std::string::npos ? 'w' : kind;
    kind = step.find("fence of products") != std::string::npos ? 'f' : kind;
    if (kind != ' ' && (kind != '*' || order.empty() || order.back() != '*'))
      order += kind;
  }
  EXPECT_EQ(order, "f*w"
                   "f*f*ww"
                   "f*w");
}

TEST(LowerChainWgmma, WhatItCanNotTakeSaysWhy) {
  auto note = [](const KernelSpec &spec) {
    auto kernel = lowerKernel(spec, CodeMode::Device);
    EXPECT_TRUE(bool(kernel)) << takeDiag(kernel.takeError()).message;
    expectPass(spec);
    return kernel && !kernel->notes.empty() ? kernel->notes[0] : "";
  };
  // Rows of 34 bytes can't be copied by the accelerator.
  EXPECT_EQ(note(wgmmaChain(attention(1, 64, 64, 17, 16), {1, 64, 16}, 32, 4, 2)),
            "mma.sync in place of wgmma: %s: operand %q of bf16[1,64,17] can't be copied by TMA: "
            "the stride of dim 1, 34 bytes, is not a positive multiple of 16; mma.sync takes it");
  std::string hlo = attention(1, 64, 64, 16, 16);
  hlo.replace(hlo.find("k = bf16[1,64,16] parameter(1)"), 30,
              "kf = f32[1,64,16] parameter(1)\n  k = bf16[1,64,16] convert(kf)");
  EXPECT_EQ(
      note(wgmmaChain(hlo, {1, 64, 16}, 32, 4, 2)),
      "mma.sync in place of wgmma: %s: operand %k of bf16[1,64,16] can't be copied by TMA: %k "
      "is computed, not read from memory; mma.sync takes it");
}

/// What the emulator says when calls of a function are left out.
std::string without(const char *function, std::optional<size_t> which = std::nullopt) {
  KernelSpec spec = wgmmaChain(attention(1, 64, 256, 16, 16), {1, 64, 16}, 32, 4, 2);
  KernelModule kernel = llvm::cantFail(lowerKernel(spec, CodeMode::Emulation));
  size_t removed = 0;
  kernel = withoutCalls(std::move(kernel), function, which, removed);
  EXPECT_GT(removed, 0u) << function;
  CheckOutcome outcome = checkKernel(spec, std::move(kernel), {});
  EXPECT_NE(outcome.status, CheckOutcome::Status::Pass) << function << " " << which.value_or(99);
  return outcome.reason;
}

TEST(LowerChainWgmma, EveryStepOfTheProtocolIsMissed) {
  // The producer thread's waits for stages of keys and of values, then those for what it copied:
  // queries, first keys; next keys, values in the loop. (The wait that never happens, and the one
  // for the last values, come after.)
  for (size_t wait : {0, 1, 2, 3, 4, 5})
    without("twEmuWaitBarrier", wait);
  for (size_t arrival : {0, 1, 2, 3, 4, 5}) // announcements, then stages given back
    without("twEmuArrive", arrival);
  for (size_t wait : {0, 1, 2, 3}) // for scores, outputs
    without("twEmuWarpgroupWait", wait);
  without("twEmuWarpgroupFence");
  without("twEmuWarpgroupCommit");
  without("twEmuFenceBarrierInit");
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
