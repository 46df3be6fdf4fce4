#include "analysis/program/pass/of_plan.h"

#include "analysis/program/build/build.h"
#include "analysis/program/pass/chunk.h"
#include "analysis/program/pass/pipeline.h"
#include "analysis/program/pass/stage.h"
#include "analysis/program/pass/vectorise.h"
#include "analysis/support/diag.h"
#include "analysis/tiling/element_work.h"
#include "analysis/tiling/resources.h"

#include <fmt/format.h>

namespace tilewright::program {

namespace {

/// A pass that does not apply leaves the program as it is, with its reason.
llvm::Error addUnapplied(PlanProgram &out, std::string pass, llvm::Error error) {
  Diag diag = takeDiag(std::move(error));
  if (diag.cls != DiagClass::Unsupported)
    return makeError(std::move(diag));
  out.stages.push_back({std::move(pass), out.last(), {std::move(diag.message)}});
  return llvm::Error::success();
}

llvm::Error addStaged(PlanProgram &out) {
  llvm::Expected<StagedProgram> staged = stage(out.last(), out.sizes);
  if (!staged)
    return addUnapplied(out, "stage", staged.takeError());
  PlanStage made{"stage", std::move(staged->program), {}};
  for (const NotStaged &other : staged->others)
    made.reasons.push_back(fmt::format("{}: {}", other.load, other.reason));
  out.stages.push_back(std::move(made));
  return llvm::Error::success();
}

/// Elements that a thread of an elementwise kernel has at once: vectors of 16 bytes of the widest
/// type, fewer and smaller the more work each takes, one where it takes a loop.
ChunkSize chunkSizeOf(const KernelPlan &plan) {
  const Graph &graph = plan.ops();
  const Group &group = plan.tiled->group;
  int64_t widest = 8;
  for (const std::vector<OpId> *ids : {&group.inputs, &group.roots})
    for (OpId id : *ids)
      if (!graph[id].shape.isTuple && graph[id].shape.rank() > 0)
        widest = std::max<int64_t>(widest, bitWidth(graph[id].shape.dtype));
  ChunkSize size;
  size.vector = std::min(
      std::max<int64_t>(128 / widest, leastLanes(graph, group.roots)),
      std::max<int64_t>(maxLanes(graph, group.ops, group.inputs), leastLanes(graph, group.roots)));
  const int64_t pending = pendingElements(graph, group.ops, group.inputs);
  size.elements = size.vector * std::clamp<int64_t>(pending / size.vector, 1, maxPendingVectors);
  return size;
}

llvm::Error addChunked(PlanProgram &out, const ChunkSize &size) {
  llvm::Expected<Program> parts = chunk(out.last(), size);
  if (!parts)
    return addUnapplied(out, "chunk", parts.takeError());
  out.stages.push_back({"chunk", std::move(*parts), {}});
  return llvm::Error::success();
}

llvm::Error addVectorised(PlanProgram &out, int64_t mostLanes) {
  llvm::Expected<VectorisedProgram> wide = vectorise(out.last(), mostLanes);
  if (!wide)
    return addUnapplied(out, "vectorise", wide.takeError());
  PlanStage made{"vectorise", std::move(wide->program), {}};
  for (const VectorLimit &limit : wide->limits)
    made.reasons.push_back(
        fmt::format("{}: vectors of {}: {}", limit.access, limit.lanes, limit.reason));
  out.stages.push_back(std::move(made));
  return llvm::Error::success();
}

llvm::Error addPipelined(PlanProgram &out) {
  llvm::Expected<Program> ahead = pipeline(out.last());
  if (!ahead)
    return addUnapplied(out, "pipeline", ahead.takeError());
  out.stages.push_back({"pipeline", std::move(*ahead), {}});
  return llvm::Error::success();
}

} // namespace

llvm::Expected<PlanProgram> programOfPlan(const KernelPlan &plan, bool isByLoops) {
  if (const int64_t splits = plan.value("split_k"); splits != 1)
    return makeError(DiagClass::Unsupported, "no program for a sum that {} CTAs share yet", splits);
  llvm::Expected<Variant> variant =
      variantOf(plan.ops(), *plan.tiled, plan.values, plan.instruction, isByLoops);
  if (!variant)
    return variant.takeError();
  llvm::Expected<Program> built = buildProgram(*plan.module, plan.ops(), *plan.tiled, *variant);
  if (!built)
    return built.takeError();
  PlanProgram out;
  out.stages.push_back({"build", std::move(*built), {}});
  out.sizes = sizesOf(out.last(), *plan.tiled, plan.values);
  const bool isElementwise =
      isByLoops || kindOfCode(plan.ops(), *plan.tiled).kind == CodeKind::Elementwise;
  const ChunkSize size = chunkSizeOf(plan);
  if (llvm::Error error = addChunked(out, size))
    return error;
  if (llvm::Error error = addStaged(out))
    return error;
  if (llvm::Error error = addVectorised(out, isElementwise ? size.vector : 128))
    return error;
  if (llvm::Error error = addPipelined(out))
    return error;
  out.sizes = sizesOf(out.last(), *plan.tiled, plan.values);
  return out;
}

llvm::Expected<Program> concreteProgram(const PlanProgram &plan) {
  llvm::Expected<Program> program = substituteSizes(plan.last(), plan.sizes);
  if (program)
    inlineSingleSteps(*program);
  return program;
}

} // namespace tilewright::program
