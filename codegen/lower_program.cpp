// Groups whose code is that of a tile program.
#include "analysis/program/fold.h"
#include "analysis/program/pass/edit.h"
#include "analysis/program/pass/of_plan.h"
#include "codegen/emit/emit.h"
#include "codegen/lowering.h"

namespace tilewright {

namespace {

/// A parameter that nothing of the kernel reads.
program::TensorInfo unread(const program::Program &program, const Op &parameter, size_t number) {
  program::TensorInfo tensor;
  tensor.name = program::freeName(program, fmt::format("unread{}", number));
  tensor.type = parameter.shape.dtype;
  tensor.dims = {program.number(1)};
  return tensor;
}

/// Tensors in the order of the kernel's parameters: the graph's, then its results.
llvm::Error orderTensors(program::Program &program, const KernelPlan &plan) {
  const Graph &graph = plan.ops();
  const Group &group = plan.tiled->group;
  std::vector<OpId> wanted = graph.parameters(), have = group.inputs;
  for (OpId id : resultsOf(graph))
    wanted.push_back(id);
  have.insert(have.end(), group.roots.begin(), group.roots.end());
  if (have == wanted)
    return llvm::Error::success();
  std::vector<uint32_t> place(program.tensors.size(), UINT32_MAX);
  std::vector<program::TensorInfo> tensors;
  size_t unreadCount = 0;
  for (OpId id : wanted) {
    auto at = static_cast<size_t>(std::find(have.begin(), have.end(), id) - have.begin());
    if (at == have.size() && graph[id].opcode == Opcode::Parameter) {
      tensors.push_back(unread(program, graph[id], unreadCount++));
      continue;
    }
    if (at == have.size() || place[at] != UINT32_MAX)
      return makeError(DiagClass::Unsupported, "%{}: no program for a result that stands twice",
                       graph[id].name);
    place[at] = static_cast<uint32_t>(tensors.size());
    tensors.push_back(program.tensors[at]);
  }
  if (tensors.size() != program.tensors.size() + unreadCount)
    return makeError(DiagClass::Unsupported, "no program for a result that is no output");
  program.tensors = std::move(tensors);
  renumberTensors(program, place);
  return llvm::Error::success();
}

/// Tiles that are live at once are held by threads.
llvm::Error expectRegisters(const program::Program &program) {
  const DeviceLimits limits;
  for (const program::RoleRegisters &role : program::foldsOf(program).registers)
    if (std::optional<int64_t> words = evaluate(program.resolved(role.words), Assignment());
        words && *words > limits.registersPerThread)
      return makeError(DiagClass::Unsupported,
                       "{} registers a thread for tiles, of at most {}; use smaller tiles or more "
                       "warps",
                       *words, limits.registersPerThread);
  return llvm::Error::success();
}

} // namespace

llvm::Expected<KernelModule> lowerProgram(const KernelSpec &spec, CodeKind kind, CodeMode mode,
                                          bool isByLoops) {
  llvm::Expected<KernelPlan> plan = planOf(spec);
  if (!plan)
    return plan.takeError();
  llvm::Expected<program::PlanProgram> built = program::programOfPlan(*plan, isByLoops);
  if (!built)
    return built.takeError();
  if (!isByLoops) // a program of another kind, in which those are nobody's
    if (llvm::Error error = addRecorded(*built, spec))
      return error;
  llvm::Expected<program::Program> numbers = concreteProgram(*built);
  if (!numbers)
    return numbers.takeError();
  if (llvm::Error error = orderTensors(*numbers, *plan))
    return error;
  if (kind == CodeKind::Fused)
    if (llvm::Error error = expectRegisters(*numbers))
      return error;
  numbers->name = symbolOf(spec.name);
  const Graph &graph = spec.graph();
  llvm::Expected<KernelModule> kernel = emitProgram(*numbers, mode, &graph);
  if (!kernel)
    return kernel;
  kernel->kind = toString(kind);
  if (kind == CodeKind::Dot)
    for (OpId id : idsOf(graph))
      if (graph[id].opcode == Opcode::Convolution)
        kernel->kind = "convolution";
  kernel->code = {kind, plan->instruction};
  if (isByLoops && spec.recordsProgram())
    kernel->notes.push_back(fmt::format("without the plan's {}, which are of a program of tiles",
                                        spec.recordedWords()));
  kernel->parameters.clear();
  for (OpId id : graph.parameters())
    kernel->parameters.push_back({graph[id].name, graph[id].shape, false});
  for (OpId id : resultsOf(graph))
    kernel->parameters.push_back({graph[id].name, graph[id].shape, true});
  return kernel;
}

} // namespace tilewright
