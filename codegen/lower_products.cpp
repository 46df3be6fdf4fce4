// Dots, convolutions and chains of two dots as products of tiles, alone or beside others: by the
// instruction that the plan asks for, or the next simpler one that takes its tiles.
#include "analysis/program/pass/resources.h"
#include "analysis/tiling/chain_constraints.h"
#include "analysis/tiling/code_constraints.h"
#include "codegen/lowering.h"

#include <algorithm>

namespace tilewright {

namespace {

constexpr int64_t maxSumsPerThread = 256;

/// Why an instruction does not take a plan's tiles; empty where it does.
std::string whyNotTaken(const KernelPlan &plan, CodeKind kind, Instruction instruction) {
  const Graph &graph = plan.ops();
  TiledGroup tiled = *plan.tiled;
  const size_t before = tiled.constraints.size();
  if (kind == CodeKind::Chain) {
    addChainConstraints(*plan.module, graph, tiled);
    addChainSearchConstraints(*plan.module, graph, tiled);
  }
  addInstructionConstraints(graph, tiled, instruction);
  if (kind == CodeKind::Chain)
    addCodeConstraints(graph, tiled);
  if (instruction == Instruction::Wgmma) // which shares registers out to the code's needs
    addKernelConstraints(*plan.module, graph, tiled, DeviceLimits(), instruction);
  const Assignment point = plan.assignment();
  for (size_t i = before; i < tiled.constraints.size(); ++i)
    if (tiled.constraints[i].formula.evaluate(point) != true)
      return tiled.constraints[i].describe(point);
  Resources resources =
      kernelResources(*plan.module, graph, *plan.tiled, instruction, DeviceLimits());
  std::optional<int64_t> sums = evaluate(resources.accumulatorRegistersPerThread, point);
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
  // A chain without rows for a matrix instruction is what other groups of dots are: by fma.
  const std::vector<OpId> ops = idsOf(spec.graph());
  const bool isByFma = kind == CodeKind::Chain && !hasCommonRows(spec.graph(), ops);
  if (kind == CodeKind::Chain && !isByFma) { // else never by fma
    ladder.pop_back();
    if (ladder.empty()) {
      ladder.push_back(Instruction::MmaSync);
      reasons = "two dots in one kernel take matrix instructions";
    }
  }
  for (Instruction instruction : ladder) {
    KernelSpec by = spec;
    by.schedule.instruction = instruction;
    if (instruction != asked)
      by.forgetProgram(); // it has the plan's own instruction
    llvm::Expected<KernelPlan> plan = planOf(by);
    if (!plan)
      return plan.takeError();
    // What tiles of several products may be is in their program.
    const CodeKind as = isByFma && instruction == Instruction::Fma ? CodeKind::Fused : kind;
    std::string why = as == CodeKind::Fused ? "" : whyNotTaken(*plan, kind, instruction);
    if (why.empty()) {
      llvm::Expected<KernelModule> kernel = lowerProgram(by, as, mode);
      if (kernel) {
        if (instruction != asked)
          kernel->notes.push_back(fmt::format("{} in place of {}: {}", toString(instruction),
                                              toString(asked), reasons));
        if (spec.recordsProgram() && !by.recordsProgram())
          kernel->notes.push_back(fmt::format(
              "without the plan's {}, which are of its own instruction", spec.recordedWords()));
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
