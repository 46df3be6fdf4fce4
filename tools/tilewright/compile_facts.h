// Registers and shared memory of compiled kernels, against the estimates.
#pragma once

#include "codegen/pack.h"
#include "costmodel/estimate.h"
#include "tools/tilewright/command.h"

namespace tilewright::cli {

struct CompileFacts {
  std::string name;
  CodeChoice code;
  int64_t registers = 0, spillBytes = 0; ///< a thread
  int64_t sharedBytes = 0;               ///< a CTA
  /// Estimates; negative if there are none for such a kernel.
  double expectedRegisters = -1, expectedSharedBytes = -1;
  std::vector<ResourcePart> registerParts, sharedParts; ///< their items
  std::string note;                                     ///< how it differs from the plan, and why
  std::string reason;                                   ///< why there are no estimates

  bool isSharedAsExpected() const {
    return reason.empty() && static_cast<double>(sharedBytes) == expectedSharedBytes;
  }
  /// |registers - expected| / registers; negative without estimates.
  double registerDeviation() const;
};

/// One for each kernel that has a cubin. Specs and kernels correspond by position.
std::vector<CompileFacts> compileFacts(std::span<const KernelSpec> specs,
                                       std::span<const EmittedKernel> kernels,
                                       const Device &device);

/// Median of the kernels' register deviations; NaN if none has estimates.
double medianRegisterDeviation(std::span<const CompileFacts> facts);

Json toJson(std::span<const CompileFacts> facts);
/// Prints all kernels, with the items of those estimates that are off.
void printTable(std::span<const CompileFacts> facts);

} // namespace tilewright::cli
