// Dots and convolutions as products of tiles, alone or beside others: by the instruction that the
// plan asks for, or the next simpler one that takes its tiles.
#include "analysis/program/pass/resources.h"
#include "codegen/lowering.h"

#include <algorithm>

namespace tilewright {

namespace {

constexpr int64_t maxSumsPerThread = 256;

/// Why an instruction does not take a plan's tiles; empty where it does.
std::string whyNotTaken(const KernelPlan &plan, Instruction instruction) {
  const Graph &graph = plan.ops();
  TiledGroup tiled = *plan.tiled;
  const size_t before = tiled.constraints.size();
  addInstructionConstraints(graph, tiled, instruction);
  if (instruction == Instruction::Wgmma) // which shares registers out to the code's needs
    addKernelConstraints(*plan.module, graph, tiled, DeviceLimits(), instruction);
  for (size_t i = before; i < tiled.constraints.size(); ++i)
    if (tiled.constraints[i].formula.evaluate(plan.assignment()) == false)
      return tiled.constraints[i].describe(plan.assignment());
  Resources resources =
      kernelResources(*plan.module, graph, *plan.tiled, instruction, DeviceLimits());
  std::optional<int64_t> sums =
      evaluate(resources.accumulatorRegistersPerThread, plan.assignment());
  if (sums && *sums > maxSumsPerThread)
    return fmt::format("%{}: {} sums a thread, at most {} are allowed; use a smaller tile or more "
                       "warps",
                       graph[resources.accumulatorItems[0].op].name, *sums, maxSumsPerThread);
  return "";
}

} // namespace

llvm::Expected<KernelModule> lowerProducts(const KernelSpec &spec, CodeKind kind, CodeMode mode) {
  const Instruction asked = spec.schedule.instruction;
  std::vector<Instruction> ladder{Instruction::Wgmma, Instruction::MmaSync, Instruction::Fma};
  ladder.erase(ladder.begin(), std::find(ladder.begin(), ladder.end(), asked));
  std::optional<std::string> refusal;
  std::string reasons;
  for (Instruction instruction : ladder) {
    KernelSpec by = spec;
    by.schedule.instruction = instruction;
    llvm::Expected<KernelPlan> plan = planOf(by);
    if (!plan)
      return plan.takeError();
    // What tiles of several products may be is in their program.
    std::string why = kind == CodeKind::Dot ? whyNotTaken(*plan, instruction) : "";
    if (why.empty()) {
      llvm::Expected<KernelModule> kernel = lowerProgram(by, kind, mode);
      if (kernel) {
        if (instruction != asked)
          kernel->notes.push_back(fmt::format("{} in place of {}: {}", toString(instruction),
                                              toString(asked), reasons));
        return kernel;
      }
      Diag diag = takeDiag(kernel.takeError());
      if (diag.cls != DiagClass::Unsupported)
        return makeError(std::move(diag));
      why = std::move(diag.message);
    }
    reasons += (reasons.empty() ? "" : "; ") + why;
    refusal = refusal.value_or(why);
  }
  return makeError(DiagClass::Unsupported, "{}", *refusal);
}

} // namespace tilewright
