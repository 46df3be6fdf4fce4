#include "tests/tilings/chosen_kernels.h"

#include "analysis/import/import_file.h"
#include "codegen/check.h"
#include "codegen/lower.h"
#include "codegen/shrink.h"
#include "tools/explore/explore.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <iostream>

namespace tilewright {

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

CheckedKernels checkChosenKernels(std::initializer_list<const char *> names) {
  const Device device = llvm::cantFail(loadDevice("h100-sxm"));
  const Calibration calibration = priorCalibration(device);
  ExploreOptions options;
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

} // namespace tilewright
