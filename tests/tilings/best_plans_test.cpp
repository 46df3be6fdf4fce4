// The best plans of a kernel are different kernels: no two of them have the same code and launch.
#include "codegen/lower.h"
#include "tests/tilings/bundled_kernels.h"
#include "tools/explore/kernel_plans.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>

using namespace tilewright;

namespace {

/// All that runs: the launch, what TMA copies, and the code.
std::string whatRuns(const KernelModule &code) {
  std::string text = fmt::format("grid {} threads {} shared {}\n", code.launch.grid,
                                 code.launch.threads, code.launch.sharedBytes);
  for (const TensorMap &map : code.tensorMaps)
    text += fmt::format("map {} {} {}\n", map.parameter, fmt::join(map.box, "x"), map.swizzleBytes);
  std::string ir = code.llvmText();
  for (size_t at = ir.find(code.entry); at != std::string::npos; at = ir.find(code.entry, at))
    ir.replace(at, code.entry.size(), "k");
  return text + ir;
}

struct Compared {
  size_t kernels = 0, plans = 0;
};

void expectDifferent(const BundledKernel &kernel, const Device &device,
                     const Calibration &calibration, Compared &compared) {
  SCOPED_TRACE(kernel.name);
  llvm::Expected<KernelPlans> plans =
      kernelPlans(kernel.module, kernel.source, device, calibration);
  if (!plans) { // reported by others
    llvm::consumeError(plans.takeError());
    return;
  }
  const PlanRanking ranking = llvm::cantFail(plans->search({.top = 6, .maxPriced = 100}));
  std::map<std::string, std::string> seen; ///< what runs, and the plan's values
  for (const RankedPlan &each : ranking.best) {
    llvm::Expected<KernelModule> code = lowerPlan(each.plan, CodeMode::Device);
    if (!code) {
      llvm::consumeError(code.takeError());
      continue;
    }
    const std::string values =
        fmt::format("{} {}", fmt::join(each.plan.values, ","), toString(each.plan.instruction));
    auto [first, isNew] = seen.emplace(whatRuns(*code), values);
    EXPECT_TRUE(isNew) << first->second << " and " << values << " run the same";
    ++compared.plans;
  }
  compared.kernels += seen.size() > 1;
}

} // namespace

TEST(BestPlans, AreDifferentKernels) {
  const Device device = llvm::cantFail(loadDevice("h100-sxm"));
  const Calibration calibration = llvm::cantFail(defaultCalibration(device));
  Compared compared;
  for (const BundledKernel &kernel : llvm::cantFail(bundledKernels()))
    for (const char *model : {"dlrm.hlo", "efficientnet_mbconv.hlo", "vit_b16_embed.hlo",
                              "gpt2_block.hlo", "resnet50_stem.xla"})
      if (kernel.name.find(model) != std::string::npos)
        expectDifferent(kernel, device, calibration, compared);
  EXPECT_GT(compared.kernels, 30u);
  EXPECT_GT(compared.plans, 150u);
}
