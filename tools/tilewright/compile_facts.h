// What compilers made of plans, against what was expected of them before.
#pragma once

#include "codegen/pack.h"
#include "costmodel/estimate.h"
#include "tools/tilewright/command.h"

namespace tilewright::cli {

struct CompileFacts {
  std::string name;
  int64_t registers = 0, spillBytes = 0; ///< a thread
  int64_t sharedBytes = 0;               ///< a block
  /// Expected; negative where the estimator has no figures for such a kernel.
  double expectedRegisters = -1, expectedSharedBytes = -1;
  std::string reason; ///< why it has none
};

/// One for each kernel that has a cubin. Specs and kernels correspond by position.
std::vector<CompileFacts> compileFacts(std::span<const KernelSpec> specs,
                                       std::span<const EmittedKernel> kernels, const Device &device,
                                       const Calibration &calibration);

/// Median of |measured - expected| / measured over kernels with figures; negative for none.
double medianRegisterDeviation(std::span<const CompileFacts> facts);

Json toJson(std::span<const CompileFacts> facts);
void printTable(std::span<const CompileFacts> facts);

} // namespace tilewright::cli
