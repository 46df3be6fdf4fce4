// Kernels that are chosen together have code, and it is right: of networks, each kernel with the
// plan that it was chosen with, over smaller tensors on the emulator.
#include "analysis/import/import_file.h"
#include "codegen/check.h"
#include "codegen/lower.h"
#include "codegen/shrink.h"
#include "tools/explore/explore.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <iostream>

using namespace tilewright;

namespace {

CheckOutcome checkSmall(const KernelSpec &spec, uint64_t maxWork) {
  llvm::Expected<KernelSpec> small = shrinkSpec(spec, ShrunkSizes::Aligned, maxWork);
  if (!small) {
    ADD_FAILURE() << takeDiag(small.takeError()).message;
    return {};
  }
  return checkKernel(*small, {.maxEvents = 1 << 20});
}

} // namespace

TEST(ChosenKernels, AreRight) {
  const Device device = llvm::cantFail(loadDevice("h100-sxm"));
  const Calibration calibration = priorCalibration(device);
  ExploreOptions options;
  options.isPartitioned = true;
  options.search.maxPriced = 50;
  size_t kernels = 0, passed = 0, fused = 0, better = 0;
  for (const char *name :
       {"resnet50_bottleneck", "dlrm", "mlp_mixer_b16", "bert_base_layer", "gpt2_block"}) {
    auto module = importFile(fmt::format("datasets/models/{}.hlo.txt", name));
    ASSERT_TRUE(bool(module)) << takeDiag(module.takeError()).str();
    auto model = exploreModel(*module, device, calibration, options);
    ASSERT_TRUE(bool(model)) << takeDiag(model.takeError()).str();
    better += model->totalTimeNs < model->greedyNs;
    for (const ExploredKernel &kernel : model->kernels) {
      const KernelPlan &plan = kernel.plans.front().plan;
      llvm::Expected<KernelModule> code = lowerPlan(plan, CodeMode::Device);
      EXPECT_TRUE(bool(code)) << name << " %" << kernel.name << ": "
                              << takeDiag(code.takeError()).message;
      llvm::Expected<KernelSpec> spec = specOf(plan);
      ASSERT_TRUE(bool(spec)) << takeDiag(spec.takeError()).message;
      CheckOutcome outcome = checkSmall(*spec, 1 << 17);
      if (outcome.status == CheckOutcome::Status::Skipped) // no such tiles of so small a kernel
        outcome = checkSmall(*spec, 1 << 24);
      EXPECT_NE(toString(outcome.status), "fail")
          << name << " %" << kernel.name << ": " << outcome.reason;
      if (outcome.status == CheckOutcome::Status::Skipped)
        std::cout << name << " %" << kernel.name << " is skipped: " << outcome.reason << "\n";
      ++kernels;
      passed += outcome.status == CheckOutcome::Status::Pass;
      fused += kernel.ops.size() + kernel.recomputed.size() > 1;
    }
  }
  EXPECT_GE(better, 4u); // or the kernels were the greedy ones
  EXPECT_GE(fused, 10u);
  EXPECT_GE(kernels, 20u);
  EXPECT_EQ(passed, kernels);
}
