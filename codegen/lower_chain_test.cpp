// Two dots in one kernel: attention and other chains.
#include "codegen/lower.h"
#include "codegen/testing/attention.h"

namespace tilewright {
namespace {

TEST(LowerChain, Attention) {
  for (bool isNormalisedFirst : {true, false})
    for (int64_t stages : {1, 2, 3}) {
      CheckOutcome outcome = expectPass(chainSpec(
          attention(2, 64, 96, 32, 32, Mask::None, isNormalisedFirst), {1, 32, 32}, 32, 2, stages));
      // Scores are made once, and every operand is read once for each tile of queries.
      EXPECT_EQ(outcome.counts.mmaInstructions, 2 * (64 / 16) * (96 / 8) * (32 / 16) * 2);
      EXPECT_EQ(outcome.counts.asyncCopyBytes, 2 * (64 + 2 * 96 * 2) * 32 * 2);
      EXPECT_EQ(outcome.counts.globalReadBytes, 0);
      EXPECT_EQ(outcome.counts.matrixLoadWavefronts, outcome.counts.matrixLoads);
    }
}

TEST(LowerChain, TailsAndOddSizes) {
  for (const char *type : {"bf16", "f16"}) {
    expectPass(
        chainSpec(attention(1, 40, 70, 24, 40, Mask::None, true, type), {1, 32, 40}, 32, 2, 2));
    expectPass(
        chainSpec(attention(2, 33, 29, 17, 9, Mask::None, true, type), {1, 16, 9}, 16, 1, 2));
    expectPass(
        chainSpec(attention(1, 37, 50, 16, 24, Mask::Added, false, type), {1, 32, 16}, 16, 1, 3));
  }
}

TEST(LowerChain, MasksEndTheLoop) {
  for (bool isNormalisedFirst : {true, false}) {
    CheckOutcome outcome = expectPass(chainSpec(
        attention(1, 128, 128, 16, 16, Mask::Causal, isNormalisedFirst), {1, 32, 16}, 32, 2, 2));
    // 1 + 2 + 3 + 4 of the 16 tiles.
    EXPECT_EQ(outcome.counts.mmaInstructions, 10 * 2 * 2 * (32 / 8));
    expectPass(chainSpec(attention(1, 100, 100, 16, 16, Mask::Causal, isNormalisedFirst),
                         {1, 48, 16}, 32, 3, 3));
    // Rows of which a whole step counts for nothing.
    outcome = expectPass(chainSpec(attention(1, 128, 128, 16, 16, Mask::Window, isNormalisedFirst),
                                   {1, 32, 16}, 16, 2, 2));
    EXPECT_LT(outcome.counts.mmaInstructions, 36 * 2 * 2 * (16 / 8));
  }
}

TEST(LowerChain, ProductsWithWorkInBetween) {
  KernelSpec spec = chainSpec(R"(HloModule m
ENTRY main {
  x = bf16[40,32] parameter(0)
  w = bf16[32,80] parameter(1)
  h = f32[40,80] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[80] parameter(2)
  bb = f32[40,80] broadcast(b), dimensions={1}
  s = f32[40,80] add(h, bb)
  t = f32[40,80] tanh(s)
  p = bf16[40,80] convert(t)
  u = bf16[80,24] parameter(3)
  o = f32[40,24] dot(p, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT n = bf16[40,24] convert(o)
})",
                              {32, 24}, 32, 2, 2);
  expectPass(spec);
  spec.schedule.instruction = Instruction::Wgmma;
  auto kernel = lowerKernel(spec, CodeMode::Device);
  ASSERT_TRUE(bool(kernel)) << takeDiag(kernel.takeError()).message;
  EXPECT_EQ(kernel->kind, "chain");
  EXPECT_EQ(kernel->notes[0],
            "mma.sync in place of wgmma: %h: m tile 32 must be a multiple of 64 for wgmma");
}

// P on the right, and scores whose rows are the keys.
TEST(LowerChain, TheOtherSides) {
  expectPass(chainSpec(R"(HloModule m
ENTRY main {
  q = f16[40,32] parameter(0)
  k = f16[64,32] parameter(1)
  s = f32[64,40] dot(k, q), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  a = f32[64,40] abs(s)
  p = f16[64,40] convert(a)
  v = f16[24,64] parameter(2)
  ROOT o = f32[24,40] dot(v, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})",
                       {24, 32}, 32, 2, 2));
}

// A decoding step: no rows for a matrix instruction.
TEST(LowerChain, OneQueryIsMadeByFma) {
  KernelSpec spec = chainSpec(attention(3, 1, 64, 32, 32), {1, 1, 32}, 16, 2, 2);
  auto kernel = lowerKernel(spec, CodeMode::Device);
  ASSERT_TRUE(bool(kernel)) << takeDiag(kernel.takeError()).message;
  ASSERT_EQ(kernel->notes.size(), 1u);
  EXPECT_NE(kernel->notes[0].find("fma in place of mma.sync"), std::string::npos)
      << kernel->notes[0];
  const CheckOutcome outcome = checkKernel(spec);
  EXPECT_EQ(outcome.status, CheckOutcome::Status::Pass) << outcome.reason;
}

TEST(LowerChain, RefusalsSayWhy) {
  auto reason = [](KernelSpec spec) {
    CheckOutcome outcome = checkKernel(spec);
    EXPECT_EQ(outcome.status, CheckOutcome::Status::Skipped);
    return outcome.reason;
  };
  EXPECT_NE(reason(chainSpec(attention(1, 256, 256, 64, 128), {1, 256, 128}, 256, 4, 2))
                .find("scores and sums a thread"),
            std::string::npos);
  EXPECT_NE(reason(chainSpec(attention(1, 64, 64, 32, 32), {1, 32, 32}, 24, 2, 2))
                .find("k tile 24 must be a multiple of 16 for mma.sync"),
            std::string::npos);
  // Of other types two dots are no chain, but fused.
  expectPass(
      chainSpec(attention(1, 32, 32, 32, 32, Mask::None, true, "f32"), {1, 32, 32}, 32, 4, 2));
  // A maximum that is used in another way can't be corrected afterwards.
  std::string hlo = attention(1, 32, 32, 32, 32);
  hlo.replace(hlo.find("subtract(scaled, tops)"), 22, "multiply(scaled, tops)");
  EXPECT_NE(reason(chainSpec(hlo, {1, 32, 32}, 16, 2, 2))
                .find("tile 16 must be the whole row of 32: %e depends on %top"),
            std::string::npos);
}

/// Two dots with `between`, which makes %n from %s, f32[rows, columns]; %sum is a sum over columns.
std::string between(int64_t rows, int64_t columns, const std::string &between) {
  auto lines = [&](std::string text) {
    std::string::size_type at;
    while ((at = text.find("$M")) != std::string::npos)
      text.replace(at, 2, fmt::format("f32[{},{}]", rows, columns));
    while ((at = text.find("$R")) != std::string::npos)
      text.replace(at, 2, fmt::format("f32[{}]", rows));
    return text;
  };
  return lines("HloModule m\n"
               "max { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
               " ROOT m = f32[] maximum(a, b) }\n"
               "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
               " ROOT s = f32[] add(a, b) }\n"
               "ENTRY main {\n" +
               fmt::format("  q = bf16[{},32] parameter(0)\n  k = bf16[{},32] parameter(1)\n"
                           "  v = bf16[{},24] parameter(2)\n",
                           rows, columns, columns) +
               "  s = $M dot(q, k), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
               "  zero = f32[] constant(0)\n  low = f32[] constant(-inf)\n" +
               between +
               fmt::format("  p = bf16[{},{}] convert(n)\n"
                           "  ROOT o = bf16[{},24] dot(p, v), lhs_contracting_dims={{1}}, "
                           "rhs_contracting_dims={{0}}\n}}\n",
                           rows, columns, rows));
}

const char *centred = R"(
  total = $R reduce(s, zero), dimensions={1}, to_apply=add
  totals = $M broadcast(total), dimensions={0}
  part = f32[] constant(0.02)
  parts = $M broadcast(part), dimensions={}
  mean = $M multiply(totals, parts)
  c = $M subtract(s, mean)
)";
const char *normalised = R"(
  square = $M multiply(c, c)
  spread = $R reduce(square, zero), dimensions={1}, to_apply=add
  spreads = $M broadcast(spread), dimensions={0}
  one = f32[] constant(1)
  ones = $M broadcast(one), dimensions={}
  safe = $M add(spreads, ones)
  root = $M rsqrt(safe)
  n = $M multiply(c, root)
)";
const char *mixed = R"(
  top = $R reduce(s, low), dimensions={1}, to_apply=max
  tops = $M broadcast(top), dimensions={0}
  below = $M subtract(s, tops)
  e = $M exponential(below)
  plain = $R reduce(s, zero), dimensions={1}, to_apply=add
  plains = $M broadcast(plain), dimensions={0}
  n = $M divide(e, plains)
)";

TEST(LowerChain, WhatCantBeCorrectedTakesWholeRows) {
  struct Case {
    std::string hlo;
    const char *why;
  };
  for (const Case &c : {
           Case{between(40, 50, std::string(centred) + "  n = $M negate(c)\n"),
                "%p depends on %total"},
           Case{between(40, 50, std::string(centred) + normalised), "%square depends on %total"},
           Case{between(40, 50, mixed), "%s is not scaled"},
       }) {
    expectPass(chainSpec(c.hlo, {32, 24}, 50, 2, 2));
    CheckOutcome outcome = checkKernel(chainSpec(c.hlo, {32, 24}, 16, 2, 2));
    EXPECT_EQ(outcome.status, CheckOutcome::Status::Skipped);
    EXPECT_NE(outcome.reason.find(c.why), std::string::npos) << outcome.reason;
  }
}

/// Sums and differences of what is scaled by the maximum are scaled by it, too.
TEST(LowerChain, ScaledTermsAreCorrectedTogether) {
  const char *terms = R"(
  top = $R reduce(s, low), dimensions={1}, to_apply=max
  tops = $M broadcast(top), dimensions={0}
  below = $M subtract(s, tops)
  e = $M exponential(below)
  f = $M multiply(e, s)
  g = $M subtract(f, e)
  l = $R reduce(e, zero), dimensions={1}, to_apply=add
  ls = $M broadcast(l), dimensions={0}
  h = $M negate(g)
  n = $M divide(h, ls)
)";
  for (int64_t step : {16, 32, 50})
    expectPass(chainSpec(between(40, 50, terms), {32, 24}, step, 2, 2));
}

} // namespace
} // namespace tilewright
