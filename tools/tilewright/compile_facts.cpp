#include "tools/tilewright/compile_facts.h"

#include "analysis/program/pass/resources.h"
#include "analysis/support/median.h"
#include "tools/tilewright/resource_parts.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace tilewright::cli {

namespace {

/// A kernel whose register estimate is off by more than this is itemised in the table.
constexpr double notableDeviation = 0.15;

double sumOf(const std::vector<ResourcePart> &parts) {
  double sum = 0;
  for (const ResourcePart &part : parts)
    sum += part.amount;
  return sum;
}

void expect(const KernelPlan &plan, const DeviceLimits &limits, CompileFacts &facts) {
  const Resources resources =
      kernelResources(*plan.module, plan.ops(), *plan.tiled, facts.code, limits);
  facts.registerParts = partsOf(resources.registerItems, plan.assignment());
  facts.sharedParts = partsOf(resources.sharedItems, plan.assignment());
  facts.expectedSharedBytes = sumOf(facts.sharedParts);
  // Registers beyond the limit of a thread of such a CTA are spilled.
  const int64_t threads = evaluate(resources.threads, plan.assignment()).value_or(1);
  const int64_t most = std::min(limits.registersPerThread, limits.registersPerSm / threads);
  facts.expectedRegisters = std::min(sumOf(facts.registerParts), static_cast<double>(most));
}

/// "dot with wgmma", "reduction".
std::string kindOf(const CompileFacts &kernel) {
  std::string kind(toString(kernel.code.kind));
  if (hasProducts(kernel.code.kind))
    kind += fmt::format(" with {}", toString(kernel.code.instruction));
  return kind;
}

} // namespace

double CompileFacts::registerDeviation() const {
  if (expectedRegisters < 0 || registers <= 0)
    return -1;
  return std::abs(static_cast<double>(registers) - expectedRegisters) /
         static_cast<double>(registers);
}

std::vector<CompileFacts> compileFacts(std::span<const KernelSpec> specs,
                                       std::span<const EmittedKernel> kernels,
                                       const Device &device) {
  std::vector<CompileFacts> result;
  for (size_t i = 0; i < kernels.size() && i < specs.size(); ++i) {
    const EmittedKernel &kernel = kernels[i];
    if (!kernel.assembly)
      continue;
    CompileFacts facts;
    facts.name = kernel.name;
    facts.code = kernel.code;
    facts.note = kernel.note;
    facts.registers = kernel.assembly->registers;
    facts.spillBytes = kernel.assembly->spillStoreBytes + kernel.assembly->spillLoadBytes;
    facts.sharedBytes = kernel.launch.sharedBytes + kernel.assembly->staticSharedBytes;
    if (auto plan = planOf(specs[i]))
      expect(*plan, device.limits, facts);
    else
      facts.reason = takeDiag(plan.takeError()).message;
    result.push_back(std::move(facts));
  }
  return result;
}

double medianRegisterDeviation(std::span<const CompileFacts> facts) {
  std::vector<double> deviations;
  for (const CompileFacts &kernel : facts)
    if (double deviation = kernel.registerDeviation(); deviation >= 0)
      deviations.push_back(deviation);
  return medianOf(std::move(deviations));
}

Json toJson(std::span<const CompileFacts> facts) {
  Json kernels = Json::array();
  for (const CompileFacts &kernel : facts) {
    Json entry{{"name", kernel.name},
               {"kind", toString(kernel.code.kind)},
               {"instruction", toString(kernel.code.instruction)},
               {"registers", kernel.registers},
               {"spill_bytes", kernel.spillBytes},
               {"shared_bytes", kernel.sharedBytes}};
    if (kernel.reason.empty()) {
      entry["expected_registers"] = kernel.expectedRegisters;
      entry["expected_shared_bytes"] = kernel.expectedSharedBytes;
      entry["register_items"] = partsJson(kernel.registerParts);
      entry["shared_items"] = partsJson(kernel.sharedParts);
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
  say("\n{:<40} {:>9} {:>9} {:>7} {:>9} {:>9}\n", "compiled", "registers", "expected", "spilled",
      "shared B", "expected");
  size_t same = 0, known = 0;
  std::map<std::string, std::vector<double>> deviations;
  for (const CompileFacts &kernel : facts) {
    if (!kernel.reason.empty()) {
      say("{:<40} {:>9} {:>9} {:>7} {:>9}  {}\n", kernel.name, kernel.registers, "-",
          kernel.spillBytes, kernel.sharedBytes, kernel.reason);
      continue;
    }
    ++known;
    same += kernel.isSharedAsExpected();
    if (double deviation = kernel.registerDeviation(); deviation >= 0)
      deviations[kindOf(kernel)].push_back(deviation);
    say("{:<40} {:>9} {:>9.0f} {:>7} {:>9} {:>9.0f}\n", kernel.name, kernel.registers,
        kernel.expectedRegisters, kernel.spillBytes, kernel.sharedBytes,
        kernel.expectedSharedBytes);
    if (kernel.registerDeviation() > notableDeviation)
      say("  registers of {}: {}\n", kindOf(kernel), partsText(kernel.registerParts));
    if (!kernel.isSharedAsExpected())
      say("  shared memory of {}: {}{}\n", kindOf(kernel), partsText(kernel.sharedParts),
          kernel.note.empty() ? "" : "; " + kernel.note);
  }
  for (const auto &[kind, values] : deviations)
    say("{:<40} {:>4} kernels, registers deviate by {:.0f} % in the median\n", kind, values.size(),
        medianOf(values) * 100);
  if (double median = medianRegisterDeviation(facts); median >= 0)
    say("registers deviate by {:.0f} % in the median; shared memory is as expected to the "
        "byte in {} of {} kernels\n",
        median * 100, same, known);
}

} // namespace tilewright::cli
