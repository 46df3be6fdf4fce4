// Plans ranked again: by layouts, and what the best few lose against all; by pipeline settings.
#include "analysis/program/pass/of_plan.h"
#include "analysis/program/pipeline/plan_loops.h"
#include "analysis/solve/compiled.h"
#include "analysis/tiling/plan_text.h"
#include "tools/explore/plan_refinement.h"
#include "tools/explore/testing/explore.h"

namespace tilewright {
namespace {

/// Small spaces: a transpose, whose layouts matter, and a softmax.
const char *const transposed = R"(HloModule m
ENTRY e {
  x = f32[16,32]{1,0} parameter(0)
  y = f32[32,16]{1,0} parameter(1)
  t = f32[32,16]{1,0} transpose(x), dimensions={1,0}
  ROOT out = f32[32,16]{1,0} add(t, y)
})";
const char *const rowSums = R"(HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
ENTRY e {
  x = f32[4,8]{1,0} parameter(0)
  zero = f32[] constant(0)
  s = f32[4]{0} reduce(x, zero), dimensions={1}, to_apply=add
  w = f32[4,8]{1,0} broadcast(s), dimensions={0}
  ROOT out = f32[4,8]{1,0} subtract(x, w)
})";

std::vector<RankedPlan> allPlans(const char *text, const Device &device,
                                 const Calibration &calibration) {
  auto module = std::make_shared<const Module>(parseVerified(text));
  KernelPlans plans = llvm::cantFail(
      kernelPlans(module, llvm::cantFail(findKernel(*module, "")), device, calibration));
  std::vector<RankedPlan> all;
  constexpr size_t most = 3000; // spaces are smaller
  for (const KernelPlan &space : plans.spaces()) {
    CompiledSystem compiled =
        llvm::cantFail(CompiledSystem::compile(llvm::cantFail(systemOf(space, {}))));
    compiled.enumerate([&](std::span<const int64_t> values) {
      KernelPlan plan = space;
      plan.values.assign(values.begin(), values.end());
      if (auto estimate = plans.price(plan))
        all.push_back({std::move(plan), std::move(*estimate)});
      else
        llvm::consumeError(estimate.takeError());
      return all.size() <= most;
    });
  }
  EXPECT_LE(all.size(), most);
  std::stable_sort(all.begin(), all.end(), [](const RankedPlan &a, const RankedPlan &b) {
    return a.estimate.timeNs < b.estimate.timeNs;
  });
  return all;
}

TEST(PlanRefinement, FewPlansLoseLittleAgainstAll) {
  const Device device = llvm::cantFail(loadDevice("h100-sxm"));
  const Calibration calibration = llvm::cantFail(defaultCalibration(device));
  for (const char *text : {transposed, rowSums}) {
    const std::vector<RankedPlan> plans = allPlans(text, device, calibration);
    ASSERT_GT(plans.size(), 50u);
    const std::vector<RefinedPlan> all =
        PlanRefiner(device, calibration, {.layouts = plans.size()}).rank(plans);
    const std::vector<RefinedPlan> few =
        PlanRefiner(device, calibration, {.layouts = 8}).rank(plans);
    ASSERT_FALSE(few.empty());
    EXPECT_LT(few.size(), all.size());
    size_t compared = 0;
    for (const RefinedPlan &rank : all) {
      const LayoutSaving &layouts = *rank.saving.layouts;
      compared += layouts.refusal.empty();
      if (!layouts.refusal.empty())
        continue;
      EXPECT_LE(layouts.inferred, layouts.given) << planText(rank.plan.plan);
      EXPECT_LE(layouts.floor, layouts.inferred) << planText(rank.plan.plan);
      EXPECT_GE(rank.timeNs(), rank.plan.estimate.rooflineNs * (1 - 1e-9));
    }
    EXPECT_GT(compared, all.size() / 2);
    const double loss = few.front().timeNs() / all.front().timeNs() - 1;
    EXPECT_GE(loss, 0);
    EXPECT_LE(loss, 0.05) << planText(few.front().plan.plan) << " against "
                          << planText(all.front().plan.plan);
    std::printf("%zu plans, %zu compared, %zu asked for: loss %.3f %%\n", all.size(), compared,
                few.size(), 100 * loss);
  }
}

const char *const product = R"(HloModule m
ENTRY e {
  a = bf16[1024,768]{1,0} parameter(0)
  b = bf16[768,3072]{1,0} parameter(1)
  ROOT c = bf16[1024,3072]{1,0} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";

class PipelineRefinement : public ::testing::Test {
protected:
  const Device device = llvm::cantFail(loadDevice("h100-sxm"));
  const Calibration calibration = llvm::cantFail(defaultCalibration(device));

  /// The best plans of a product, by whichever instruction.
  std::vector<RankedPlan> bestPlans() {
    auto module = std::make_shared<const Module>(parseVerified(product));
    KernelPlans plans = llvm::cantFail(
        kernelPlans(module, llvm::cantFail(findKernel(*module, "")), device, calibration));
    return llvm::cantFail(plans.search({.top = 64, .maxPriced = 1000})).best;
  }
};

TEST_F(PipelineRefinement, OtherSettingsAreFasterAndLeaveNothing) {
  const std::vector<RankedPlan> plans = bestPlans();
  const std::vector<RefinedPlan> ranks =
      PlanRefiner(device, calibration, {.pipelines = plans.size()}).rank(plans);
  ASSERT_EQ(ranks.size(), plans.size());
  PipelineSavings savings(device, calibration);
  size_t taken = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const RefinedPlan &rank = ranks[i];
    SCOPED_TRACE(planText(rank.plan.plan));
    EXPECT_FALSE(rank.saving.layouts);
    EXPECT_LE(ranks[i > 0 ? i - 1 : 0].timeNs(), rank.timeNs());
    const PipelineSaving &saving = *rank.saving.pipeline;
    EXPECT_EQ(saving.refusal, "");
    ASSERT_EQ(saving.loops.size(), 1u);
    const PipelineSaving::Loop &loop = saving.loops[0];
    EXPECT_EQ(loop.best.slots, loop.given.slots);
    EXPECT_EQ(loop.best.isProduced, loop.given.isProduced);
    EXPECT_EQ(saving.areTaken(), loop.bestClocks < loop.givenClocks);
    EXPECT_EQ(saving.areTaken(), loop.best != loop.given);
    EXPECT_GE(rank.timeNs(), rank.plan.estimate.rooflineNs * (1 - 1e-9));
    // No more than the loop's part.
    EXPECT_LE(saving.gainNs, rank.plan.estimate.timeNs *
                                 (1 - double(loop.bestClocks) / double(loop.givenClocks)) *
                                 (1 + 1e-9));
    if (!saving.areTaken())
      continue;
    ++taken;
    program::PlanProgram with = llvm::cantFail(program::programOfPlan(rank.plan.plan));
    llvm::cantFail(pipeline::addPlanLoops(with, saving.settings));
    const PipelineSaving again = savings.of(rank.plan, with);
    EXPECT_FALSE(again.areTaken());
    ASSERT_EQ(again.loops.size(), 1u);
    EXPECT_EQ(again.loops[0].given, loop.best);
    EXPECT_EQ(again.loops[0].givenClocks, loop.bestClocks);
  }
  EXPECT_GT(taken, 0u);
  EXPECT_LT(taken, ranks.size());
}

/// Both are asked for; each looks at as many plans of a variant as it is to.
TEST_F(PipelineRefinement, StandsBesideLayouts) {
  std::vector<RankedPlan> plans = bestPlans();
  const size_t before = plans.size();
  PlanRefiner refiner(device, calibration, {.layouts = 1, .pipelines = 3});
  size_t layouts = 0, pipelines = 0;
  for (const RefinedPlan &rank : refiner.rank(plans)) {
    layouts += rank.saving.layouts.has_value();
    pipelines += rank.saving.pipeline.has_value();
  }
  EXPECT_GT(layouts, 0u);
  EXPECT_GT(pipelines, layouts);
  EXPECT_LE(pipelines, 3 * layouts);
  const std::vector<PlanSaving> savings = refiner.reorder(plans, before);
  ASSERT_EQ(savings.size(), before); // none is lost
  for (const PlanSaving &saving : savings) {
    EXPECT_TRUE(saving.layouts);
    EXPECT_TRUE(saving.pipeline);
  }
}

} // namespace
} // namespace tilewright
