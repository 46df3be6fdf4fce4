#include "tools/tilewright/layout_model.h"

#include "analysis/ir/inline.h"
#include "analysis/program/pass/of_plan.h"
#include "tools/explore/kernels.h"
#include "tools/tilewright/program_input.h"
#include "tools/tilewright/tile_choice.h"

namespace tilewright::cli {

bool isTileProgram(const std::string &text) {
  return isPlan(text) || text.starts_with("kernel ") || text.find("\nkernel ") != std::string::npos;
}

namespace {

/// Whole dims, one stage, no splits, but for what is chosen.
std::vector<int64_t> valuesOf(const TileSpace &space, const Choice &choice, int64_t warps) {
  std::vector<int64_t> values;
  for (size_t n = 0; n < space.parameters.size(); ++n) {
    const TileParameter &parameter = space.parameters[n];
    const bool isSchedule = parameter.role == TileParameter::Role::Schedule;
    values.push_back(choice[n]                   ? *choice[n]
                     : !isSchedule               ? parameter.largest()
                     : parameter.name == "warps" ? warps
                                                 : 1);
  }
  return values;
}

} // namespace

llvm::Expected<ModelPrograms> programsOfModel(const std::string &path, const ModelTile &options) {
  llvm::Expected<Module> read = readModel(path, options.choice);
  if (!read)
    return read.takeError();
  llvm::Expected<Module> inlined = inlineCalls(*read);
  if (!inlined)
    return inlined.takeError();
  llvm::Expected<KernelSource> source = findTiles(*inlined, options.root);
  if (!source)
    return source.takeError();
  llvm::Expected<TiledKernel> kernel = tileKernel(*inlined, *source);
  if (!kernel)
    return kernel.takeError();
  const TileSpace &space = kernel->tiled->space;
  llvm::Expected<Choice> choice = parseChoice(space, options.tile);
  if (!choice)
    return choice.takeError();
  KernelPlan plan;
  plan.name = source->name;
  plan.values = valuesOf(space, *choice, options.warps);
  plan.module = std::make_shared<const Module>(std::move(*inlined));
  plan.graph = source->graph;
  plan.context = kernel->context;
  plan.tiled = kernel->tiled;
  llvm::Expected<program::PlanProgram> made = program::programOfPlan(plan);
  if (!made)
    return made.takeError();
  llvm::Expected<program::Program> parts = program::concreteProgram(*made);
  if (!parts)
    return parts.takeError();
  llvm::Expected<program::Program> whole =
      program::substituteSizes(made->stages.front().program, made->sizes);
  if (!whole)
    return whole.takeError();
  program::inlineSingleSteps(*whole);
  return ModelPrograms{std::move(*whole), std::move(*parts)};
}

} // namespace tilewright::cli
