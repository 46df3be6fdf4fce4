// The options that decide which plans there are and what they cost, the same for every command
// that prices plans.
#pragma once

#include "costmodel/calibration.h"
#include "tools/explore/kernel_plans.h"
#include "tools/tilewright/command.h"

namespace tilewright::cli {

struct PlanChoices {
  std::string calibration, cache = "warm", instruction = "auto";
  CLI::Option *calibrationOption = nullptr, *cacheOption = nullptr, *instructionOption = nullptr;

  PlanOptions options() const;
  /// The one asked for, else the device's, else priors.
  llvm::Expected<Calibration> calibrationOf(const Device &device) const;
};

/// Adds --calibration, --cache and --instruction.
void addPlanChoices(CLI::App &command, PlanChoices &choices);

} // namespace tilewright::cli
