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

struct CheckedKernels {
  size_t kernels = 0, passed = 0, fused = 0, better = 0;
};

CheckedKernels checkChosenKernels(std::initializer_list<const char *> names) {
  const Device device = llvm::cantFail(loadDevice("h100-sxm"));
  const Calibration calibration = priorCalibration(device);
  ExploreOptions options;
  options.isPartitioned = true;
  options.search.maxPriced = 50;
  CheckedKernels checked;
  for (const char *name : names) {
    const Module module =
        llvm::cantFail(importFile(fmt::format("datasets/models/{}.hlo.txt", name)));
    const ExploredModel model = llvm::cantFail(exploreModel(module, device, calibration, options));
    checked.better += model.totalTimeNs < model.greedyNs;
    for (const ExploredKernel &kernel : model.kernels) {
      const KernelPlan &plan = kernel.plans.front().plan;
      llvm::Expected<KernelModule> code = lowerPlan(plan, CodeMode::Device);
      EXPECT_TRUE(bool(code)) << name << " %" << kernel.name << ": "
                              << takeDiag(code.takeError()).message;
      const KernelSpec spec = llvm::cantFail(specOf(plan));
      CheckOutcome outcome = checkSmall(spec, 1 << 17);
      if (outcome.status == CheckOutcome::Status::Skipped) // no such tiles of so small a kernel
        outcome = checkSmall(spec, 1 << 24);
      EXPECT_NE(toString(outcome.status), "fail")
          << name << " %" << kernel.name << ": " << outcome.reason;
      if (outcome.status == CheckOutcome::Status::Skipped)
        std::cout << name << " %" << kernel.name << " is skipped: " << outcome.reason << "\n";
      ++checked.kernels;
      checked.passed += outcome.status == CheckOutcome::Status::Pass;
      checked.fused += kernel.ops.size() + kernel.recomputed.size() > 1;
    }
  }
  return checked;
}

} // namespace

TEST(ChosenKernels, AreRight) {
  const CheckedKernels checked = checkChosenKernels(
      {"resnet50_bottleneck", "dlrm", "mlp_mixer_b16", "bert_base_layer", "gpt2_block"});
  EXPECT_GE(checked.better, 4u); // or the kernels were the greedy ones
  EXPECT_GE(checked.fused, 10u);
  EXPECT_GE(checked.kernels, 20u);
  EXPECT_EQ(checked.passed, checked.kernels);
}

// Takes a while, so that only the soak test runs it.
TEST(ChosenKernels, DISABLED_OfATrainingStepAreRight) {
  const CheckedKernels checked = checkChosenKernels({"gpt2_block_train"});
  EXPECT_EQ(checked.better, 1u);
  EXPECT_GE(checked.fused, 15u);
  EXPECT_EQ(checked.passed, checked.kernels);
}
