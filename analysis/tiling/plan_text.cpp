#include "analysis/tiling/plan_text.h"

#include "llvm/ADT/StringExtras.h"

namespace tilewright {

std::string planText(const KernelPlan &plan) {
  std::string text;
  for (size_t i = 0; i < plan.values.size(); ++i)
    text += fmt::format("{}={} ", plan.tiled->space.parameters[i].name, plan.values[i]);
  return text + fmt::format("instruction={}", toString(plan.instruction));
}

llvm::Expected<KernelPlan> planOfEntry(std::shared_ptr<const Module> module) {
  KernelPlan plan;
  plan.graph = module->entryId;
  plan.context = std::make_shared<ExprContext>();
  const Graph &graph = module->entry();
  std::vector<OpId> ops;
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (graph[OpId{i}].opcode != Opcode::Parameter && graph[OpId{i}].opcode != Opcode::Tuple)
      ops.push_back(OpId{i});
  auto group = makeGroup(graph, ops);
  if (!group)
    return group.takeError();
  auto tiled = tileGroup(graph, *group, *plan.context);
  if (!tiled)
    return tiled.takeError();
  plan.tiled = std::make_shared<const TiledGroup>(std::move(*tiled));
  plan.module = std::move(module);
  Schedule defaults;
  for (const TileParameter &parameter : plan.tiled->space.parameters)
    plan.values.push_back(parameter.role != TileParameter::Role::Schedule ? parameter.largest()
                          : parameter.name == "warps"                     ? defaults.warps
                                                                          : 1);
  return plan;
}

llvm::Error assignText(KernelPlan &plan, std::string_view text) {
  llvm::SmallVector<llvm::StringRef, 16> words;
  llvm::StringRef(text.data(), text.size()).split(words, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef word : words) {
    auto [name, value] = word.split('=');
    if (name == "instruction") {
      bool isKnown = false;
      for (Instruction each : {Instruction::Fma, Instruction::MmaSync, Instruction::Wgmma})
        if (std::string_view(value.data(), value.size()) == toString(each)) {
          plan.instruction = each;
          isKnown = true;
        }
      if (!isKnown)
        return makeError(DiagClass::BadInput, "instruction '{}' is not one of fma, mma.sync, wgmma",
                         value.take_front(40).str());
      continue;
    }
    if (name == "layouts")
      return makeError(DiagClass::Unsupported,
                       "layouts is '{}': the plan's file has its layouts, this text has a digest",
                       value.take_front(40).str());
    // Options of ProgramTurns that no code exists for.
    if (name == "tiles_per_program" && value == "1")
      continue;
    if (name == "tiles_per_program" || name == "order")
      return makeError(DiagClass::Unsupported, "{} is '{}': there is no code for {}", name.str(),
                       value.take_front(40).str(),
                       name == "order" ? "CTAs in an order of dims other than the root's"
                                       : "persistent CTAs, every CTA makes one tile");
    std::optional<size_t> index =
        plan.tiled->space.indexOf(std::string_view(name.data(), name.size()));
    int64_t number = 0;
    if (!index)
      return makeError(DiagClass::BadInput, "the kernel has no parameter '{}'",
                       name.take_front(40).str());
    int64_t largest = plan.tiled->space.parameters[*index].largest();
    if (value.getAsInteger(10, number) || number < 1 || number > largest)
      return makeError(DiagClass::BadInput, "parameter {} is '{}', allowed are 1 to {}", name.str(),
                       value.take_front(40).str(), largest);
    plan.values[*index] = number;
  }
  return llvm::Error::success();
}

} // namespace tilewright
