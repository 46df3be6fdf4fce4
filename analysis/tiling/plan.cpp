#include "analysis/tiling/plan.h"

namespace tilewright {

std::string_view toString(Instruction instruction) {
  switch (instruction) {
  case Instruction::Fma:
    return "fma";
  case Instruction::MmaSync:
    return "mma.sync";
  case Instruction::Wgmma:
    return "wgmma";
  }
  return "";
}

int64_t KernelPlan::value(std::string_view parameter, int64_t otherwise) const {
  std::optional<size_t> index = tiled->space.indexOf(parameter);
  return index && *index < values.size() ? values[*index] : otherwise;
}

Schedule KernelPlan::schedule() const {
  Schedule schedule;
  schedule.warps = value("warps", schedule.warps);
  schedule.stages = value("stages", schedule.stages);
  schedule.splitK = value("split_k", schedule.splitK);
  schedule.groupM = value("group_m", schedule.groupM);
  schedule.instruction = instruction;
  return schedule;
}

} // namespace tilewright
