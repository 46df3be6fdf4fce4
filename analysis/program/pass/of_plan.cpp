#include "analysis/program/pass/of_plan.h"

#include "analysis/program/build/build.h"
#include "analysis/program/build/frame.h"
#include "analysis/program/pass/chunk.h"
#include "analysis/program/pass/clip.h"
#include "analysis/program/pass/copies.h"
#include "analysis/program/pass/element_program.h"
#include "analysis/program/pass/epilogue.h"
#include "analysis/program/pass/exponents.h"
#include "analysis/program/pass/hand_over.h"
#include "analysis/program/pass/layouts.h"
#include "analysis/program/pass/online.h"
#include "analysis/program/pass/pipeline.h"
#include "analysis/program/pass/quotients.h"
#include "analysis/program/pass/roles.h"
#include "analysis/program/pass/split.h"
#include "analysis/program/pass/stage.h"
#include "analysis/program/pass/unmask.h"
#include "analysis/program/pass/vectorise.h"
#include "analysis/program/verify.h"
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

llvm::Error addOnline(PlanProgram &out) {
  llvm::Expected<FusedProgram> fused = online(out.last());
  if (!fused)
    return addUnapplied(out, "online", fused.takeError());
  PlanStage made{"online", std::move(fused->program), {}};
  for (const NotFused &other : fused->others)
    made.reasons.push_back(fmt::format("{}: {}", other.loop, other.reason));
  out.stages.push_back(std::move(made));
  return llvm::Error::success();
}

llvm::Error addClipped(PlanProgram &out, const KernelPlan &plan) {
  llvm::Expected<ClippedProgram> clipped = clip(out.last(), *plan.tiled, plan.values);
  if (!clipped)
    return addUnapplied(out, "clip", clipped.takeError());
  PlanStage made{"clip", std::move(clipped->program), {}};
  for (const NotClipped &other : clipped->others)
    made.reasons.push_back(fmt::format("{}: {}", other.loop, other.reason));
  out.stages.push_back(std::move(made));
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
ChunkSize chunkSizeOf(const Graph &graph, const Group &group) {
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

/// Neighbours that a thread may hold: of sums by fma not so many that other threads have none.
int64_t mostLanesOf(const KernelPlan &plan, CodeKind kind) {
  constexpr int64_t any = 128;
  if (kind != CodeKind::Dot || plan.instruction != Instruction::Fma)
    return any;
  int64_t sums = 1;
  for (size_t i = 0; i < plan.values.size(); ++i)
    if (plan.tiled->space.parameters[i].role == TileParameter::Role::Parallel)
      sums = std::min(sums * plan.values[i], int64_t(1) << 30);
  int64_t lanes = 1;
  while (lanes < any && sums >= plan.value("warps") * 32 * lanes * 2)
    lanes *= 2;
  return lanes;
}

/// Elements that a thread of a dot's epilogue has at once.
ChunkSize epilogueSizeOf(const KernelPlan &plan) {
  constexpr int64_t mostWork = 256, mostVectors = 4; // scalar operations in flight
  ChunkSize size = chunkSizeOf(plan.ops(), plan.tiled->group);
  const int64_t work = workPerElement(plan.ops(), plan.tiled->group.ops) * size.vector;
  size.elements = size.vector * std::clamp<int64_t>(mostWork / work, 1, mostVectors);
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

/// A pass that says nothing but its program.
llvm::Error addPlain(PlanProgram &out, const char *name, llvm::Expected<Program> made) {
  if (!made)
    return addUnapplied(out, name, made.takeError());
  out.stages.push_back({name, std::move(*made), {}});
  return llvm::Error::success();
}

llvm::Error addAsync(PlanProgram &out) {
  llvm::Expected<AsyncProgram> async = copyAsync(out.last());
  if (!async)
    return addUnapplied(out, "cp.async", async.takeError());
  PlanStage made{"cp.async", std::move(async->program), {}};
  for (const NotAsync &other : async->others)
    made.reasons.push_back(fmt::format("{}: {}", other.copy, other.reason));
  out.stages.push_back(std::move(made));
  return llvm::Error::success();
}

/// Is there a dot, one of this way if it is said?
bool hasDotBy(const Program &program, std::optional<DotWay> way = std::nullopt) {
  bool isFound = false;
  forEachOp(program.body, [&](const Op &op, const LoopNest &) {
    const auto *dot = op.as<DotOp>();
    isFound = isFound || (dot && (!way || dot->way == *way));
  });
  return isFound;
}

/// Do threads share rows along memory?
bool isAlongRows(const Program &program) {
  bool isFound = false;
  forEachOp(program.body, [&](const Op &op, const LoopNest &) {
    const LayoutSpec *spec = layoutOf(op);
    isFound =
        isFound ||
        (spec && (spec->family == LayoutFamily::Rows || spec->family == LayoutFamily::Columns));
  });
  return isFound;
}

/// CTAs share a sum, as the plan says.
llvm::Error addSplit(PlanProgram &out) {
  llvm::Expected<Program> parts = split(out.last());
  if (!parts)
    return parts.takeError();
  out.stages.push_back({"split", std::move(*parts), {}});
  return llvm::Error::success();
}

/// Are there values that other threads may need than those that hold them? Of one dot, and of a
/// chain with its fragments, there are none.
bool mayHandOver(CodeKind kind) { return kind == CodeKind::Fused || kind == CodeKind::Reduction; }

/// Operands of wgmma come by a producer, and in no other way.
llvm::Error addProduced(PlanProgram &out) {
  llvm::Expected<Program> produced = produce(out.last());
  if (!produced)
    return produced.takeError();
  out.stages.push_back({"producer", std::move(*produced), {}});
  return llvm::Error::success();
}

/// How operands of dots come to them, and which CTAs share a sum.
llvm::Error addDotPasses(PlanProgram &out, const KernelPlan &plan) {
  if (!hasDotBy(out.last()))
    return addPlain(out, "pipeline", pipeline(out.last()));
  if (plan.value("split_k") > 1)
    if (llvm::Error error = addSplit(out))
      return error;
  if (plan.value("group_m") > 1)
    if (llvm::Error error = addPlain(out, "group", groupRows(out.last())))
      return error;
  SizeValues sizes = sizesOf(out.last(), *plan.tiled, plan.values);
  if (llvm::Error error = addPlain(out, "banks", spreadOverBanks(out.last(), sizes)))
    return error;
  if (plan.instruction == Instruction::Wgmma && hasDotBy(out.last(), DotWay::Wgmma))
    return addProduced(out);
  if (llvm::Error error = addAsync(out))
    return error;
  return addPlain(out, "pipeline", pipeline(out.last()));
}

/// What loops of dots and reductions do in a step.
llvm::Error addLoopPasses(PlanProgram &out, const KernelPlan &plan) {
  if (llvm::Error error = addClipped(out, plan))
    return error;
  if (llvm::Error error = addPlain(out, "exponents", quickExponents(out.last())))
    return error;
  if (llvm::Error error = addPlain(out, "quotients", quickQuotients(out.last())))
    return error;
  return addPlain(out, "unmask", unmask(out.last()));
}

/// Values of tiles with different columns are held alike along their rows; others have no program.
llvm::Error expectHeld(const Graph &graph, const TiledGroup &group, const Program &program) {
  constexpr unsigned holders = 8;
  for (const Violation &violation : verify(program).violations)
    if (violation.rule == holders)
      return makeError(DiagClass::Unsupported, "%{}: no program: {}",
                       graph[group.group.roots.back()].name, violation.message);
  return llvm::Error::success();
}

/// Tiles that instructions and copies take are those that the search accepts.
llvm::Error checkInstructions(const PlanProgram &out) {
  if (!hasDotBy(out.last(), DotWay::MmaSync) && !hasDotBy(out.last(), DotWay::Wgmma))
    return llvm::Error::success();
  llvm::Expected<Program> concrete = substituteSizes(out.last(), out.sizes);
  if (!concrete)
    return concrete.takeError();
  constexpr unsigned shapeOfInstruction = 9, shapeOfCopy = 10;
  for (const Violation &violation : verify(*concrete).violations)
    if (violation.rule == shapeOfInstruction || violation.rule == shapeOfCopy)
      return makeError(DiagClass::Unsupported, "no program of these tiles: {}", violation.message);
  return llvm::Error::success();
}

} // namespace

/// Rows are made as many at a time as threads have, but those that CTAs share all at once; rows
/// that lie across memory are held one a thread.
static llvm::Error addReductionPasses(PlanProgram &out, bool isSplit) {
  if (!isSplit)
    if (llvm::Error error = addChunked(out, ChunkSize()))
      return error;
  if (llvm::Error error = addVectorised(out, isAlongRows(out.last()) ? 128 : 1))
    return error;
  return isSplit ? addSplit(out) : llvm::Error::success();
}

llvm::Expected<PlanProgram> programOfPlan(const KernelPlan &plan, bool isByLoops) {
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
  const CodeKind kind = kindOfCode(plan.ops(), *plan.tiled).kind;
  const bool isElementwise = isByLoops || kind == CodeKind::Elementwise;
  if (!isElementwise && mayHandOver(kind))
    if (llvm::Error error = addPlain(out, "hand over", handOver(out.last())))
      return error;
  if (hasDotBy(out.last()) && kind != CodeKind::Dot)
    if (llvm::Error error = expectHeld(plan.ops(), *plan.tiled, out.last()))
      return error;
  // Kernels of reductions alone are priced, and traced, a pass over the row for each.
  if (!isElementwise && !hasDotBy(out.last())) {
    if (llvm::Error error = addReductionPasses(out, plan.value("split_k") > 1))
      return error;
    out.sizes = sizesOf(out.last(), *plan.tiled, plan.values);
    return out;
  }
  if (!isElementwise)
    if (llvm::Error error = addOnline(out))
      return error;
  if (hasDotBy(out.last()) && kind != CodeKind::Dot) // one dot's sum goes over all
    if (llvm::Error error = addLoopPasses(out, plan))
      return error;
  const ChunkSize size = chunkSizeOf(plan.ops(), plan.tiled->group);
  if (llvm::Error error = addChunked(out, size))
    return error;
  if (llvm::Error error = addStaged(out))
    return error;
  if (llvm::Error error = addDotPasses(out, plan))
    return error;
  if (hasDotBy(out.last(), DotWay::MmaSync) || hasDotBy(out.last(), DotWay::Wgmma)) {
    SizeValues sizes = sizesOf(out.last(), *plan.tiled, plan.values);
    if (llvm::Error error = addPlain(
            out, "epilogue", epilogueThroughShared(out.last(), sizes, epilogueSizeOf(plan))))
      return error;
  }
  if (llvm::Error error = addVectorised(out, isElementwise ? size.vector : mostLanesOf(plan, kind)))
    return error;
  out.sizes = sizesOf(out.last(), *plan.tiled, plan.values);
  if (llvm::Error error = checkInstructions(out))
    return error;
  return out;
}

/// The passes after which neither buffers nor what is held of tiles change, for all sizes of a
/// variant at once.
static llvm::Error addPassesOfVariant(PlanProgram &out, const Graph &graph, const TiledGroup &group,
                                      bool isSplit) {
  if (mayHandOver(kindOfCode(graph, group).kind))
    if (llvm::Error error = addPlain(out, "hand over", handOver(out.last())))
      return error;
  if (!hasDotBy(out.last()))
    return addReductionPasses(out, isSplit);
  constexpr int64_t anyLanes = 128;
  if (llvm::Error error = addOnline(out))
    return error;
  if (llvm::Error error = addChunked(out, chunkSizeOf(graph, group.group)))
    return error;
  if (llvm::Error error = addStaged(out))
    return error;
  if (hasDotBy(out.last(), DotWay::Wgmma)) {
    if (llvm::Error error = addProduced(out))
      return error;
  } else if (llvm::Error error = addPlain(out, "pipeline", pipeline(out.last()))) {
    return error;
  }
  return addVectorised(out, anyLanes);
}

llvm::Expected<std::vector<GroupProgram>> programsOf(const Module &module, const Graph &graph,
                                                     const TiledGroup &group,
                                                     Instruction instruction,
                                                     llvm::function_ref<bool(Expr)> isAsked) {
  llvm::Expected<Frame> frame = frameOf(graph, group, false);
  if (!frame)
    return frame.takeError();
  // Rows that CTAs share are variants of their own.
  const TileParameter &splits = *group.space.find("split_k");
  const bool isOfRows = kindOfCode(graph, group).kind == CodeKind::Reduction;
  std::vector<std::pair<VariantCase, bool>> cases;
  for (VariantCase &each : variantsOf(graph, group, *frame, instruction)) {
    if (!isOfRows || splits.largest() <= 1) {
      cases.emplace_back(std::move(each), false);
      continue;
    }
    ExprContext &context = splits.size.context();
    const Expr never = context.constant(0), isSplit = splits.size.isAtLeast(context.constant(2));
    cases.emplace_back(VariantCase{each.variant, select(isSplit, never, each.when)}, false);
    cases.emplace_back(VariantCase{each.variant, select(isSplit, each.when, never)}, true);
  }
  std::vector<GroupProgram> programs;
  for (const auto &[each, isSplit] : cases) {
    if (isAsked && !isAsked(each.when))
      continue;
    GroupProgram made{{}, each.when, ""};
    PlanProgram out;
    llvm::Expected<Program> built = buildProgram(module, graph, group, each.variant, *frame);
    llvm::Error error = built.takeError();
    if (!error) {
      out.stages.push_back({"build", std::move(*built), {}});
      error = addPassesOfVariant(out, graph, group, isSplit);
    }
    if (error) {
      Diag diag = takeDiag(std::move(error));
      if (diag.cls != DiagClass::Unsupported)
        return makeError(std::move(diag));
      made.refusal = std::move(diag.message);
    } else {
      made.program = std::move(out.stages.back().program);
    }
    programs.push_back(std::move(made));
  }
  return programs;
}

llvm::Expected<Program> programOfElements(const Module &module, const Graph &graph,
                                          const TiledGroup &group) {
  Variant variant;
  variant.isWhole.assign(group.space.parameters.size(), false);
  variant.isByLoops = true;
  llvm::Expected<Program> built = buildProgram(module, graph, group, variant);
  if (!built)
    return built.takeError();
  PlanProgram out;
  out.stages.push_back({"build", std::move(*built), {}});
  const ChunkSize size = chunkSizeOf(graph, group.group);
  if (llvm::Error error = addChunked(out, size))
    return error;
  if (llvm::Error error = addStaged(out))
    return error;
  if (llvm::Error error = addVectorised(out, size.vector))
    return error;
  return std::move(out.stages.back().program);
}

llvm::Expected<Program> concreteProgram(const PlanProgram &plan) {
  llvm::Expected<Program> program = substituteSizes(plan.last(), plan.lastSizes());
  if (program)
    inlineSingleSteps(*program);
  return program;
}

} // namespace tilewright::program
