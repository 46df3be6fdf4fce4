#include "tools/tilewright/compile_facts.h"

#include "analysis/tiling/resources.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tilewright::cli {

std::vector<CompileFacts> compileFacts(std::span<const KernelSpec> specs,
                                       std::span<const EmittedKernel> kernels, const Device &device,
                                       const Calibration &calibration) {
  std::vector<CompileFacts> result;
  for (size_t i = 0; i < kernels.size() && i < specs.size(); ++i) {
    const EmittedKernel &kernel = kernels[i];
    if (!kernel.assembly)
      continue;
    CompileFacts facts;
    facts.name = kernel.name;
    facts.registers = kernel.assembly->registers;
    facts.spillBytes = kernel.assembly->spillStoreBytes + kernel.assembly->spillLoadBytes;
    facts.sharedBytes = kernel.launch.sharedBytes + kernel.assembly->staticSharedBytes;
    auto plan = planOf(specs[i]);
    auto estimate = plan ? estimateTime(*plan, device, calibration)
                         : llvm::Expected<Estimate>(plan.takeError());
    if (!estimate) {
      facts.reason = takeDiag(estimate.takeError()).message;
    } else {
      // The lowering's own figure, where it has one, knows more than the cost model's.
      facts.expectedRegisters = kernel.expectedRegisters
                                    ? static_cast<double>(kernel.expectedRegisters)
                                    : estimate->resources.registers;
      Expr shared = resourcesOf(plan->ops(), *plan->tiled, kernel.code).sharedBytes;
      facts.expectedSharedBytes =
          static_cast<double>(evaluate(shared, plan->assignment()).value_or(-1));
    }
    result.push_back(std::move(facts));
  }
  return result;
}

double medianRegisterDeviation(std::span<const CompileFacts> facts) {
  std::vector<double> deviations;
  for (const CompileFacts &kernel : facts)
    if (kernel.expectedRegisters >= 0 && kernel.registers > 0)
      deviations.push_back(
          std::abs(static_cast<double>(kernel.registers) - kernel.expectedRegisters) /
          static_cast<double>(kernel.registers));
  if (deviations.empty())
    return -1;
  auto middle = deviations.begin() + static_cast<std::ptrdiff_t>(deviations.size() / 2);
  std::nth_element(deviations.begin(), middle, deviations.end());
  return *middle;
}

Json toJson(std::span<const CompileFacts> facts) {
  Json kernels = Json::array();
  for (const CompileFacts &kernel : facts) {
    Json entry{{"name", kernel.name},
               {"registers", kernel.registers},
               {"spill_bytes", kernel.spillBytes},
               {"shared_bytes", kernel.sharedBytes}};
    if (kernel.reason.empty()) {
      entry["expected_registers"] = kernel.expectedRegisters;
      entry["expected_shared_bytes"] = kernel.expectedSharedBytes;
    } else {
      entry["reason"] = kernel.reason;
    }
    kernels.push_back(std::move(entry));
  }
  Json result{{"kernels", kernels}};
  if (double median = medianRegisterDeviation(facts); median >= 0)
    result["median_register_deviation"] = median;
  return result;
}

void printTable(std::span<const CompileFacts> facts) {
  fmt::print("\n{:<40} {:>9} {:>9} {:>7} {:>9} {:>9}\n", "compiled", "registers", "expected",
             "spilled", "shared B", "expected");
  size_t same = 0, known = 0;
  for (const CompileFacts &kernel : facts) {
    if (!kernel.reason.empty()) {
      fmt::print("{:<40} {:>9} {:>9} {:>7} {:>9}  {}\n", kernel.name, kernel.registers, "-",
                 kernel.spillBytes, kernel.sharedBytes, kernel.reason);
      continue;
    }
    ++known;
    same += static_cast<double>(kernel.sharedBytes) == kernel.expectedSharedBytes;
    fmt::print("{:<40} {:>9} {:>9.0f} {:>7} {:>9} {:>9.0f}\n", kernel.name, kernel.registers,
               kernel.expectedRegisters, kernel.spillBytes, kernel.sharedBytes,
               kernel.expectedSharedBytes);
  }
  if (double median = medianRegisterDeviation(facts); median >= 0)
    fmt::print("registers deviate by {:.0f} % in the median; shared memory is as expected to the "
               "byte in {} of {} kernels\n",
               median * 100, same, known);
}

} // namespace tilewright::cli
