#include "analysis/import/import_file.h"
#include "analysis/import/testing/models.h"
#include "analysis/ir/inline.h"
#include "tools/explore/kernel_plans.h"
#include "tools/explore/testing/explore.h"
#include "tools/explore/tiled_work.h"

using namespace tilewright;

namespace {

struct TiledWorkSetting {
  Device device = llvm::cantFail(loadDevice("h100-sxm"));
  Calibration calibration = llvm::cantFail(defaultCalibration(device));

  bool canTakeLess(const Module &module, const KernelSource &source, double timeNs) const {
    const TiledKernel kernel = llvm::cantFail(tileKernel(module, source));
    return tilewright::canTakeLess(module, module.graph(source.graph), *kernel.tiled, device, {},
                                   timeNs);
  }
};

std::shared_ptr<const Module> inlined(const std::string &name) {
  for (const std::string &path : bundledModels())
    if (path.ends_with("/" + name + ".hlo.txt"))
      return std::make_shared<const Module>(
          llvm::cantFail(inlineCalls(llvm::cantFail(importFile(path)))));
  ADD_FAILURE() << "no model " << name;
  return std::make_shared<const Module>();
}

/// Kernels of a model's entry that have tiles.
std::vector<KernelSource> tiledKernels(const Module &module) {
  std::vector<KernelSource> kernels;
  for (const KernelGroup &group : groupSimply(module.entry()).kernels)
    if (auto source = kernelSource(module, module.entryId, group))
      kernels.push_back(std::move(*source));
    else
      llvm::consumeError(source.takeError());
  return kernels;
}

TEST(TiledWork, NoPlanIsFasterThanItsArithmetic) {
  const TiledWorkSetting setting;
  size_t seen = 0;
  for (const char *name : {"gpt2_block", "resnet50_bottleneck", "mlp_mixer_b16"}) {
    const auto module = inlined(name);
    for (const KernelSource &source : tiledKernels(*module)) {
      auto plans = kernelPlans(module, source, setting.device, setting.calibration);
      if (!plans) {
        llvm::consumeError(plans.takeError());
        continue;
      }
      PlanSearchOptions searching;
      searching.maxPriced = 60;
      searching.refinedTilings = 2;
      searching.isThorough = false;
      const PlanRanking ranking = llvm::cantFail(plans->search(searching));
      if (ranking.best.empty())
        continue;
      ++seen;
      const double timeNs = ranking.best.front().estimate.timeNs;
      EXPECT_TRUE(setting.canTakeLess(*module, source, timeNs)) << name << " " << source.name;
      EXPECT_TRUE(setting.canTakeLess(*module, source, 1e12)) << name << " " << source.name;
    }
  }
  EXPECT_GT(seen, 15u);
}

/// A row of sums is made by each CTA, of which there are 256 at least: what is read and written
/// once says nothing about that.
TEST(TiledWork, WhatEveryCtaMakesAgainCounts) {
  const TiledWorkSetting setting;
  const Module module = parseVerified(R"(HloModule m
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[4096,4096] parameter(0)
  y = f32[4096,4096] parameter(1)
  zero = f32[] constant(0)
  e = f32[4096,4096] exponential(x)
  sum = f32[] reduce(e, zero), dimensions={0,1}, to_apply=add
  all = f32[4096,4096] broadcast(sum), dimensions={}
  ROOT r = f32[4096,4096] multiply(y, all)
})");
  KernelGroup group;
  for (const char *name : {"e", "sum", "all", "r"})
    group.ops.push_back(module.entry().find(name));
  group.root = module.entry().root();
  const KernelSource source = llvm::cantFail(kernelSource(module, module.entryId, group));
  // 2^24 exponentials in each of 256 CTAs at 16 a clock and SM.
  const double leastNs =
      256.0 * (1 << 24) /
      (setting.device.sfuPerClock * setting.device.smCount * setting.device.smClock);
  EXPECT_TRUE(setting.canTakeLess(module, source, 1.01 * leastNs));
  EXPECT_FALSE(setting.canTakeLess(module, source, 0.99 * leastNs));
  EXPECT_LT(lowerBoundNs(neededWork(module, module.graph(source.graph), source.group),
                         setting.device, CacheState::Flushed),
            0.1 * leastNs);
}

TEST(TiledWork, KernelsOfTooManyVariantsAreRefused) {
  const TiledWorkSetting setting;
  const auto module = inlined("gpt2_block");
  const CandidatePlan candidates = CandidatePlan::standard();
  size_t refused = 0, priced = 0;
  for (const KernelSource &source : tiledKernels(*module)) {
    PlanOptions options;
    options.candidates = &candidates;
    options.maxProgramValues = 10;
    auto plans = kernelPlans(module, source, setting.device, setting.calibration, options);
    if (plans) { // of one variant, which takes no decision
      ++priced;
      continue;
    }
    const Diag diag = takeDiag(plans.takeError());
    EXPECT_EQ(diag.cls, DiagClass::Unsupported);
    refused += diag.message.starts_with("its code has too many variants to be tried");
  }
  EXPECT_GT(refused, 0u);
  EXPECT_GT(priced, 0u);
}

/// Programs of variants that no candidate takes say nothing about candidates.
TEST(TiledWork, VariantsWithoutCandidatesChangeNoSearch) {
  const TiledWorkSetting setting;
  const auto module = inlined("gpt2_block");
  PlanSearchOptions searching;
  searching.maxPriced = 60;
  searching.refinedTilings = 2;
  PlanOptions some;
  some.candidates = &searching.candidates;
  for (const KernelSource &source : tiledKernels(*module)) {
    auto all = kernelPlans(module, source, setting.device, setting.calibration);
    if (!all) {
      llvm::consumeError(all.takeError());
      continue;
    }
    const KernelPlans few =
        llvm::cantFail(kernelPlans(module, source, setting.device, setting.calibration, some));
    const PlanRanking a = llvm::cantFail(all->search(searching)),
                      b = llvm::cantFail(few.search(searching));
    EXPECT_EQ(a.feasible, b.feasible) << source.name;
    ASSERT_EQ(a.best.size(), b.best.size()) << source.name;
    for (size_t i = 0; i < a.best.size(); ++i) {
      EXPECT_EQ(a.best[i].plan.values, b.best[i].plan.values) << source.name;
      EXPECT_EQ(a.best[i].estimate.timeNs, b.best[i].estimate.timeNs) << source.name;
    }
  }
}

} // namespace
