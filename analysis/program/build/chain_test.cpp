// Programs of groups with several dots, and of dots beside reductions.
#include "analysis/program/build/testing/chains.h"
#include "analysis/program/pass/of_plan.h"

#include <sstream>

using namespace tilewright;
using namespace tilewright::program;
using namespace tilewright::program::testing;

namespace {

/// At random tile sizes, from the group to the interpreter.
void runAtRandom(const std::string &text, Instruction instruction, int draws) {
  ChainKernel kernel(text);
  BuiltKernel built("kernel", kernel.module, kernel.plan);
  built.leastTolerance = chainTolerance(DType::F32);
  std::mt19937_64 random(7);
  for (int i = 0; i < draws && !::testing::Test::HasFailure(); ++i)
    EXPECT_EQ(built.check(kernel.draw(random, instruction), random(), instruction), "");
}

} // namespace

TEST(Chains, DotsOfFma) {
  for (const ChainText &chain : chainTexts())
    runAtRandom(chain.text, Instruction::Fma, 6);
}

TEST(Chains, AttentionOfFma) {
  for (Mask mask : {Mask::None, Mask::Causal, Mask::Added})
    for (bool isFirst : {true, false})
      runAtRandom(attention(2, 20, 24, 16, 12, mask, isFirst), Instruction::Fma, 3);
}

TEST(Chains, AttentionOfMatrixInstructions) {
  for (Mask mask : {Mask::None, Mask::Causal, Mask::Window, Mask::Added})
    for (bool isFirst : {true, false})
      runAtRandom(attention(2, 48, 40, 32, 24, mask, isFirst), Instruction::MmaSync, 4);
}

TEST(Chains, AttentionOfWarpgroups) {
  for (Mask mask : {Mask::None, Mask::Causal, Mask::Window, Mask::Added})
    for (bool isFirst : {true, false})
      runAtRandom(attention(2, 144, 40, 32, 24, mask, isFirst), Instruction::Wgmma, 3);
}

/// Operands that are computed of loads have no program by wgmma, which says so.
TEST(Chains, DotsOfWarpgroups) {
  std::map<std::string, std::string> reasons;
  for (const ChainText &chain : chainTexts()) {
    ChainKernel kernel(chain.text);
    BuiltKernel built(chain.name, kernel.module, kernel.plan);
    built.leastTolerance = chainTolerance(DType::F32);
    std::mt19937_64 random(7);
    for (int i = 0; i < 3 && !HasFailure(); ++i)
      reasons[chain.name] =
          built.check(kernel.draw(random, Instruction::Wgmma), random(), Instruction::Wgmma);
  }
  EXPECT_EQ(reasons["layers"], "");
  EXPECT_EQ(reasons["rightLayers"], "");
  EXPECT_EQ(reasons["scores"], "");
  EXPECT_EQ(reasons["gate"], "");
  EXPECT_EQ(reasons["scaled"], "%c: no program for dot: the right operand of wgmma is computed");
}

TEST(Chains, DotsOfMatrixInstructions) {
  for (const ChainText &chain : chainTexts())
    runAtRandom(chain.text, Instruction::MmaSync, 8);
}

namespace {

/// Keys in steps, online, for every fill of masks. `rows`: of a tile, with so many warps.
void runMasked(Instruction instruction, const std::vector<std::string> &types, int64_t rows = 16,
               int64_t warps = 1) {
  for (const char *fill : {"-1e4", "-1e9", "-2.38e38", "-3.4e38", "-inf"})
    for (const std::string &type : types)
      for (Mask mask : {Mask::Window, Mask::LeftPadding, Mask::Steep, Mask::Nothing}) {
        ChainKernel kernel(
            attention(1, 2 * rows, 2 * rows + 16, 16, 16, mask, fill[1] != '1', type, fill));
        BuiltKernel built(fill, kernel.module, kernel.plan);
        built.leastTolerance = 0x1p-6;
        for (int64_t step : {16, 32}) {
          std::vector<int64_t> values = kernel.plan.values;
          auto set = [&](const char *name, int64_t value) {
            if (auto at = kernel.plan.tiled->space.indexOf(name))
              values[*at] = value;
          };
          set("k0", step);
          set("t1", rows);
          set("warps", warps);
          EXPECT_EQ(built.check(values, 5, instruction), "");
          if (::testing::Test::HasFailure())
            return;
        }
        EXPECT_EQ(built.fusions, 2u);
        // Of masks with a finite fill, steps are left out where each row keeps a score alone.
        bool isNear = fill == std::string("-1e4"), isInfinite = fill == std::string("-inf");
        EXPECT_EQ(built.clips, (mask == Mask::Window ? !isNear : isInfinite) ? 2u : 0u)
            << fill << " " << int(mask);
        EXPECT_EQ(built.unmasked, 2u) << fill << " " << int(mask);
      }
}

} // namespace

TEST(Chains, MaskedRowsOnline) { runMasked(Instruction::MmaSync, {"f16", "bf16"}); }

TEST(Chains, MaskedRowsOfWarpgroups) { runMasked(Instruction::Wgmma, {"bf16"}, 64, 4); }

/// Of later rows, which see more keys, CTAs come first.
TEST(Chains, ClippedLoops) {
  auto textOf = [](Mask mask) {
    ChainKernel kernel(attention(2, 48, 48, 16, 16, mask));
    KernelPlan plan = kernel.plan;
    plan.instruction = Instruction::MmaSync;
    for (size_t i = 0; i < plan.values.size(); ++i) {
      const TileParameter &parameter = plan.tiled->space.parameters[i];
      bool isSchedule = parameter.role == TileParameter::Role::Schedule;
      plan.values[i] = isSchedule || parameter.name == "t0" ? 1 : 16;
    }
    auto built = programOfPlan(plan);
    EXPECT_TRUE(bool(built)) << (built ? "" : takeDiag(built.takeError()).str());
    std::string text;
    for (const PlanStage &stage : built->stages)
      if (stage.name == "clip")
        text = stage.reasons.empty() ? printProgram(stage.program) : stage.reasons[0];
    std::istringstream lines(text);
    std::string shown;
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("grid") || line.starts_with("axis") || line.starts_with("for"))
        shown += line + "\n";
    return shown.empty() ? text : shown;
  };
  EXPECT_EQ(textOf(Mask::Causal),
            R"(grid r < cdiv(48, t1), p < 2
axis i < t1 at t1 * (cdiv(48, t1) - 1 - r) of 48, j < 16, l < k0 at k0 * t of 48, m < 16
for t < min(min(t1 + t1 * (cdiv(48, t1) - 1 - r) - 1, 47) // k0 + 1, cdiv(48, k0))
)");
  EXPECT_EQ(textOf(Mask::Window),
            R"(grid p < 2, r < cdiv(48, t1)
axis i < t1 at t1 * r of 48, j < 16, l < k0 at k0 * (max(cdiv(t1 * r - 18, k0) - 1, 0) + t) of 48, m < 16
for t < max(-max(cdiv(t1 * r - 18, k0) - 1, 0) + min(min(t1 + t1 * r - 1, 47) // k0 + 1, cdiv(48, k0)), 0)
)");
  EXPECT_EQ(textOf(Mask::None), "o: all steps of loops have an effect");
}

TEST(Chains, AttentionIsOneLoop) {
  ChainKernel kernel(attention(1, 48, 40, 32, 16, Mask::Causal));
  std::vector<int64_t> values = kernel.plan.values;
  for (const char *name : {"t1", "k0"})
    values[*kernel.plan.tiled->space.indexOf(name)] = 16;
  values[*kernel.plan.tiled->space.indexOf("warps")] = 1;
  auto variant =
      variantOf(kernel.module->entry(), *kernel.plan.tiled, values, Instruction::MmaSync);
  ASSERT_TRUE(bool(variant));
  auto built = buildProgram(*kernel.module, kernel.module->entry(), *kernel.plan.tiled, *variant);
  ASSERT_TRUE(bool(built)) << takeDiag(built.takeError()).str();
  auto fused = online(*built);
  ASSERT_TRUE(bool(fused)) << takeDiag(fused.takeError()).str();
  EXPECT_EQ(fused->fused, 2u);
  EXPECT_TRUE(fused->others.empty());
  EXPECT_EQ(
      printProgram(fused->program),
      R"(kernel o(q: bf16[1, 48, 32], k: bf16[1, 40, 32], v: bf16[1, 40, 16]) -> o: bf16[1, 48, 16]
warps W
grid p < cdiv(48, t1)
axis i < t1 at t1 * p of 48, j < 16, l < k0 at k0 * t of 40, m < 32
shared A: bf16[i,m]
ring C: bf16[l,m]
ring E: bf16[l,j]
copy A <- q[0, i, m] via regs
a = full 0 f32[i,j] @ mma(W, 1)
b = full -inf f32[i] @ mma(W, 1) of i,l
c = full 0 f32[i] @ mma(W, 1) of i,l
for t < cdiv(40, k0)
  issue
    copy C <- k[0, l, m] via regs
    copy E <- v[0, l, j] via regs
  d = dot(A, C) over m mma.sync @ mma(W, 1)
  e = map where(i >= l, d * 0.7, -inf)
  f = reduce max where(l < 40, e, -inf) over l
  g = map max(b, f)
  h = map max(g, lowest)
  n = map exp(e - h)
  x = reduce add where(l < 40, n, 0) over l
  y = map exp(max(b, lowest) - h)
  c = map c * y + x
  a = map a * y
  a += dot(bf16(where(l < 40, n, 0)), E) over l mma.sync
  b = map g
z = map c * exp(max(b, lowest) - b)
a1 = map a / z
store o[0, i, j] = bf16(a1)
)");
}
