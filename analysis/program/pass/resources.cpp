#include "analysis/program/pass/resources.h"

#include "analysis/affine/simplify.h"
#include "analysis/affine/transfer.h"
#include "analysis/program/fold.h"
#include "analysis/program/pass/of_plan.h"

#include <fmt/format.h>

namespace tilewright {

namespace {

using program::Program;

/// An amount of a program over the parameters of its group, sizes of the same names.
Expr overParameters(const Program &program, Expr amount, const TiledGroup &group) {
  return transferred(amount, group.space.parameters.front().size.context(), [&](VarId var) {
    const std::string &name = program.context->info(var).name;
    return group.space.parameters[*group.space.indexOf(name == "W" ? "warps" : name)].size;
  });
}

/// Shared memory of the variants, item by item.
std::vector<ResourceItem> sharedItems(const Module &module, const Graph &graph,
                                      const TiledGroup &group) {
  llvm::Expected<std::vector<program::GroupProgram>> programs =
      program::programsOf(module, graph, group);
  if (!programs) { // it has no code either, which says why
    llvm::consumeError(programs.takeError());
    return {};
  }
  ExprContext &context = group.space.parameters.front().size.context();
  std::map<std::string, Expr> items; // a reduction may be over several axes, or not at all
  for (const program::GroupProgram &each : *programs)
    for (const program::SharedItem &item : program::foldsOf(each.program).shared) {
      Expr bytes = overParameters(each.program, each.program.resolved(item.bytes), group);
      Expr &sum = items.try_emplace(item.name, context.constant(0)).first->second;
      sum = select(each.when, bytes, sum);
    }
  Simplifier simplifier(context, group.bounds());
  std::vector<ResourceItem> result;
  for (auto &[name, bytes] : items)
    if (Expr simple = simplifier.simplify(bytes); !simple.isConstant(0))
      result.push_back({group.group.roots.back(), name, simple});
  return result;
}

} // namespace

Resources kernelResources(const Module &module, const Graph &graph, const TiledGroup &group,
                          const CodeChoice &code, const DeviceLimits &limits) {
  Resources resources = resourcesByKind(graph, group, code, limits);
  if (code.kind != CodeKind::Reduction)
    return resources;
  if (!group.programItems)
    group.programItems =
        std::make_shared<const std::vector<ResourceItem>>(sharedItems(module, graph, group));
  for (const ResourceItem &item : *group.programItems) {
    resources.sharedItems.push_back(item);
    resources.sharedBytes = resources.sharedBytes + item.amount;
  }
  return resources;
}

Resources kernelResources(const Module &module, const Graph &graph, const TiledGroup &group,
                          Instruction instruction, const DeviceLimits &limits) {
  return kernelResources(module, graph, group, codeOf(graph, group, instruction), limits);
}

void addKernelConstraints(const Module &module, const Graph &graph, TiledGroup &group,
                          const DeviceLimits &limits, Instruction instruction) {
  const CodeChoice code = codeOf(graph, group, instruction);
  addResourceConstraints(graph, group, limits, code,
                         kernelResources(module, graph, group, code, limits));
}

} // namespace tilewright
