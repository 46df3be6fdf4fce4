#include "tools/tilewright/plan_options.h"

#include "tools/tilewright/command_line.h"

namespace tilewright::cli {

PlanOptions PlanChoices::options() const {
  PlanOptions result;
  if (cache == "flushed")
    result.cache = CacheState::Flushed;
  else if (cache == "clean")
    result.cache = CacheState::Clean;
  for (Instruction each : {Instruction::Fma, Instruction::MmaSync, Instruction::Wgmma})
    if (instruction == toString(each))
      result.instruction = each;
  return result;
}

llvm::Expected<Calibration> PlanChoices::calibrationOf(const Device &device) const {
  return calibrationFor(device, calibration, dataFolder("calibrations"));
}

void addPlanChoices(CLI::App &command, PlanChoices &choices) {
  choices.calibrationOption =
      command.add_option("--calibration", choices.calibration,
                         "Calibration name or JSON file (default: the device's, else priors)");
  choices.cacheOption =
      command.add_option("--cache", choices.cache, "What L2 holds at the start of a single kernel")
          ->capture_default_str()
          ->check(CLI::IsMember({"warm", "clean", "flushed"}));
  choices.instructionOption =
      command
          .add_option("--instruction", choices.instruction,
                      "Instruction of all dots; auto: the fastest of those that they can take")
          ->capture_default_str()
          ->check(CLI::IsMember({"auto", "fma", "mma.sync", "wgmma"}));
}

} // namespace tilewright::cli
