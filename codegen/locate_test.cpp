// Faults of known place: a kernel is made of one graph and checked against another, in which one op
// differs.
#include "codegen/kernel_mutation.h"
#include "codegen/locate.h"
#include "codegen/lower.h"
#include "codegen/testing/attention.h"
#include "codegen/testing/matmul.h"

#include <algorithm>

namespace tilewright {
namespace {

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

CheckOutcome outcomeOf(KernelSpec spec, const std::string &faulty) {
  KernelSpec other = spec;
  other.module = specFromHlo(faulty, spec.rootTile).module;
  auto kernel = lowerKernel(other, CodeMode::Traced);
  EXPECT_TRUE(bool(kernel)) << takeDiag(kernel.takeError()).message;
  return checkKernel(spec, std::move(*kernel), {});
}

/// With `from` replaced by `to` the kernel must first go wrong at %op.
void expectLocated(const KernelSpec &spec, const std::string &hlo, const std::string &from,
                   const std::string &to, const std::string &op) {
  CheckOutcome outcome = outcomeOf(spec, replaced(hlo, from, to));
  EXPECT_EQ(outcome.status, CheckOutcome::Status::Fail) << from;
  EXPECT_EQ(outcome.firstWrong.substr(0, op.size() + 2), "%" + op + "[") << outcome.reason;
  EXPECT_NE(outcome.reason.find("first wrong: %" + op), std::string::npos) << outcome.reason;
}

TEST(Locate, Elementwise) {
  std::string hlo = R"(HloModule m
ENTRY main {
  a = f32[40,24] parameter(0)
  b = f32[24] parameter(1)
  c = f32[40,24] multiply(a, a)
  bb = f32[40,24] broadcast(b), dimensions={1}
  d = f32[40,24] add(c, bb)
  t = f32[24,40] transpose(d), dimensions={1,0}
  e = f32[24,40] exponential(t)
  f = f32[24,32] slice(e), slice={[0:24], [4:36]}
  ROOT g = f32[24,32] negate(f)
})";
  KernelSpec spec = specFromHlo(hlo, {8, 16});
  expectLocated(spec, hlo, "multiply(a, a)", "add(a, a)", "c");
  expectLocated(spec, hlo, "add(c, bb)", "subtract(c, bb)", "d");
  expectLocated(spec, hlo, "exponential(t)", "negate(t)", "e");
  expectLocated(spec, hlo, "[4:36]", "[5:37]", "f");
  expectLocated(spec, hlo, "negate(f)", "abs(f)", "g");
}

constexpr const char *norm = R"(HloModule m
add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y) }
ENTRY main {
  a = bf16[24,100] parameter(0)
  c = f32[24,100] convert(a)
  q = f32[24,100] multiply(c, c)
  zero = f32[] constant(0)
  sum = f32[24] reduce(q, zero), dimensions={1}, to_apply=add
  r = f32[24] rsqrt(sum)
  rr = f32[24,100] broadcast(r), dimensions={0}
  ROOT n = f32[24,100] multiply(c, rr)
})";

TEST(Locate, Reductions) {
  KernelSpec spec = specFromHlo(norm, {2, 100});
  expectLocated(spec, norm, "multiply(c, c)", "add(c, c)", "q");
  expectLocated(spec, norm, "rsqrt(sum)", "sqrt(sum)", "r");
  expectLocated(spec, norm, "s = f32[] add(x, y)", "s = f32[] maximum(x, y)", "sum");
  expectLocated(spec, norm, "multiply(c, rr)", "add(c, rr)", "n");
}

TEST(Locate, Products) {
  std::string hlo = R"(HloModule m
ENTRY main {
  x = bf16[40,48] parameter(0)
  y = bf16[48,48] parameter(1)
  u = bf16[40,48] negate(x)
  d = f32[40,48] dot(u, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[40,48] tanh(d)
  ROOT o = bf16[40,48] convert(t)
})";
  for (Instruction instruction : {Instruction::Fma, Instruction::MmaSync}) {
    KernelSpec spec = specFromHlo(hlo, {32, 16});
    spec.schedule.instruction = instruction;
    spec.schedule.stages = 2;
    expectLocated(spec, hlo, "negate(x)", "abs(x)", "u");
    expectLocated(spec, hlo, "rhs_contracting_dims={0}", "rhs_contracting_dims={1}", "d");
    expectLocated(spec, hlo, "tanh(d)", "abs(d)", "t");
  }
}

// The values of a row that is not whole yet are no faults, and what comes before them can be wrong.
TEST(Locate, Attention) {
  std::string hlo = attention(2, 64, 96, 32, 32, Mask::Added, false);
  KernelSpec spec = chainSpec(hlo, {1, 32, 32}, 32, 2, 2);
  EXPECT_EQ(outcomeOf(spec, hlo).firstWrong, "");
  EXPECT_GT(outcomeOf(spec, hlo).valuesSeen, 2 * 64 * 96);
  expectLocated(spec, hlo, "add(scaled, bias)", "subtract(scaled, bias)", "biased");
  expectLocated(spec, hlo, "divide(o, divisors)", "multiply(o, divisors)", "mean");
}

// Steps have the same numbers in the code for a device, whose list of steps is what people read.
TEST(Locate, StepsOfWarpgroups) {
  for (const KernelSpec &spec :
       {dotSpec(matmul(128, 64, 128, true, false), {128, 64}, 64, 4, 3, Instruction::Wgmma),
        chainSpec(attention(1, 64, 128, 64, 64), {1, 64, 64}, 64, 4, 2, Instruction::Wgmma)}) {
    auto device = lowerKernel(spec, CodeMode::Device), traced = lowerKernel(spec, CodeMode::Traced);
    ASSERT_TRUE(device && traced);
    EXPECT_EQ(device->steps, traced->steps);
    EXPECT_NE(std::find(device->steps.begin(), device->steps.end(), "wgmma"), device->steps.end());
    CheckOutcome outcome = checkKernel(spec, std::move(*traced), {});
    EXPECT_EQ(outcome.status, CheckOutcome::Status::Pass) << outcome.reason;
    EXPECT_EQ(outcome.firstWrong, "");
    EXPECT_GT(outcome.valuesSeen, 0);
  }
}

TEST(Locate, BrokenRulesNameTheStep) {
  // Sums of rows by several warps, which exchange through shared memory.
  std::string rows = norm;
  for (size_t at; (at = rows.find("100")) != std::string::npos;)
    rows.replace(at, 3, "2048");
  KernelSpec spec = specFromHlo(rows, {1, 2048}, 4);
  size_t removed = 0;
  CheckOutcome outcome =
      checkKernel(spec,
                  withoutCalls(llvm::cantFail(lowerKernel(spec, CodeMode::Traced)), "twEmuBarrier",
                               std::nullopt, removed),
                  {});
  ASSERT_GT(removed, 0u);
  EXPECT_EQ(outcome.status, CheckOutcome::Status::Fail);
  EXPECT_NE(outcome.reason.find(" (load from shared memory)"), std::string::npos) << outcome.reason;
}

} // namespace
} // namespace tilewright
