// What compilers made of plans, against what was expected of them before.
#pragma once

#include "codegen/pack.h"
#include "costmodel/estimate.h"
#include "tools/tilewright/command.h"

namespace tilewright::cli {

struct CompileFacts {
  std::string name;
  CodeChoice code;
  int64_t registers = 0, spillBytes = 0; ///< a thread
  int64_t sharedBytes = 0;               ///< a block
  /// Expected of such code; negative where there are no figures for such a kernel.
  double expectedRegisters = -1, expectedSharedBytes = -1;
  std::vector<ResourcePart> registerParts, sharedParts; ///< what they are made of
  std::string note;                                     ///< what differs from the plan, and why
  std::string reason;                                   ///< why it has none

  bool isSharedAsExpected() const {
    return reason.empty() && static_cast<double>(sharedBytes) == expectedSharedBytes;
  }
  /// |registers - expected| / registers; negative without figures.
  double registerDeviation() const;
};

/// One for each kernel that has a cubin. Specs and kernels correspond by position.
std::vector<CompileFacts> compileFacts(std::span<const KernelSpec> specs,
                                       std::span<const EmittedKernel> kernels,
                                       const Device &device);

/// Median of the kernels' register deviations; negative for none with figures.
double medianRegisterDeviation(std::span<const CompileFacts> facts);

Json toJson(std::span<const CompileFacts> facts);
/// All kernels; under those that are off, what the figures are made of.
void printTable(std::span<const CompileFacts> facts);

} // namespace tilewright::cli
