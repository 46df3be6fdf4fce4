// Analysis and tiling of back-to-back dots, and which way their code is made.
#include "analysis/support/checked.h"
#include "analysis/tiling/carried_state.h"
#include "analysis/tiling/chain_constraints.h"
#include "analysis/tiling/code_constraints.h"
#include "analysis/tiling/resources.h"
#include "codegen/chain_lowering.h"

#include <algorithm>
#include <limits>

namespace tilewright {

bool ChainLowering::dependsOn(OpId op, OpId other) const {
  std::vector<OpId> work{op};
  std::vector<bool> seen(spec.graph().size());
  while (!work.empty()) {
    OpId at = work.back();
    work.pop_back();
    if (at == other)
      return true;
    if (at < other || seen[at.index])
      continue; // operands come before users
    seen[at.index] = true;
    for (OpId operand : spec.graph()[at].operands)
      work.push_back(operand);
  }
  return false;
}

llvm::Error ChainLowering::analyse() {
  const Graph &graph = spec.graph();
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (graph[OpId{i}].opcode == Opcode::Dot)
      (first.isValid() ? second : first) = OpId{i};
  const Op &one = graph[first], &two = graph[second];
  bool isRight = dependsOn(two.operands[1], first);
  isScoresLeft = dependsOn(two.operands[0], first);
  if (isScoresLeft == isRight)
    return makeError(DiagClass::Unsupported, "%{}: both operands depend on %{}", two.name,
                     one.name);
  scores = two.operands[isScoresLeft ? 0 : 1];
  values = two.operands[isScoresLeft ? 1 : 0];
  if (two.attrs.dot.lhsContracting.size() != 1)
    return makeError(DiagClass::Unsupported, "%{}: {} contracted dims behind %{}, one is allowed",
                     two.name, two.attrs.dot.lhsContracting.size(), one.name);
  type = graph[values].shape.dtype;
  for (OpId op : {scores, one.operands[0], one.operands[1], values})
    if (graph[op].shape.dtype != type || (type != DType::F16 && type != DType::BF16))
      return makeError(DiagClass::Unsupported,
                       "%{}: two dots in one kernel take f16 or bf16 operands all alike, not {}",
                       graph[op].name, toString(graph[op].shape.dtype));
  for (OpId op : {first, second})
    if (graph[op].shape.dtype != DType::F32 && graph[op].shape.dtype != type)
      return makeError(DiagClass::Unsupported, "%{}: no code for sums of type {}", graph[op].name,
                       toString(graph[op].shape.dtype));
  if (spec.schedule.splitK != 1)
    return makeError(DiagClass::Unsupported, "%{}: no code for split_k {} behind %{}", two.name,
                     spec.schedule.splitK, one.name);
  auto found = sidesOfRoot(spec, second);
  if (!found)
    return found.takeError();
  sides = std::move(*found);
  if (!isScoresLeft)
    std::swap(sides[1], sides[2]);
  if (sides[0].size != 1)
    return makeError(DiagClass::Unsupported, "%{}: a tile of {} batches, one is allowed", two.name,
                     sides[0].size);
  keyCount = contractedExtents(graph, second)[0];
  for (int64_t extent : contractedExtents(graph, first))
    depth *= extent;
  if (keyCount == 0 || depth == 0)
    return makeError(DiagClass::Unsupported, "%{}: a contraction of nothing", two.name);
  return collectReductions();
}

llvm::Error ChainLowering::collectReductions() {
  const Graph &graph = spec.graph();
  std::vector<OpId> ops;
  for (uint32_t i = 0; i < graph.size(); ++i)
    ops.push_back(OpId{i});
  auto state = carriedState(*spec.module, graph, ops, first, second);
  if (!state)
    return state.takeError();
  for (const CarriedReduction &carried : state->reductions)
    reductions.push_back({carried.op,
                          graph[carried.op].operands[0],
                          carried.isMaximum ? Combiner::Maximum : Combiner::Add,
                          carried.dim,
                          {},
                          graph[carried.op].shape.dtype,
                          carried.start});
  shift = state->shift;
  divisor = state->divisor;
  whyNotOnline = state->whyNotOnline;
  if (whyNotOnline.empty())
    findFactor();
  return llvm::Error::success();
}

/// True if the maximum is that of c·S (masked with -inf or not), exponentials subtract it from c·S,
/// and c·S has no other use.
void ChainLowering::findFactor() {
  const Graph &graph = spec.graph();
  if (!shift || withoutMovement(graph, *shift) != reductions[0].op ||
      reductions[0].start != -std::numeric_limits<double>::infinity())
    return;
  auto usersOf = [&](OpId op) {
    std::vector<OpId> users;
    for (uint32_t i = 0; i < graph.size(); ++i)
      for (OpId operand : graph[OpId{i}].operands)
        if (operand == op)
          users.push_back(OpId{i});
    return users;
  };
  OpId masked = reductions[0].input;
  for (OpId user : usersOf(masked)) {
    const Op &op = graph[user];
    bool isExponent = op.opcode == Opcode::Subtract && op.operands[1] == *shift;
    if (user != reductions[0].op && !isExponent)
      return;
    for (OpId next : usersOf(user))
      if (isExponent &&
          (graph[next].opcode != Opcode::Exp || graph[next].shape.dtype != DType::F32))
        return;
  }
  for (const Op &op : graph.all()) // no other exponential subtracts the shift
    if (op.opcode == Opcode::Subtract && op.operands[1] == *shift && op.operands[0] != masked)
      return;
  for (;;) {
    const Op &op = graph[masked];
    if (op.shape.dtype != DType::F32)
      return;
    if (op.opcode == Opcode::Select && scalarConstant(graph, op.operands[2]).value_or(0) ==
                                           -std::numeric_limits<double>::infinity()) {
      masked = op.operands[1];
    } else if (op.opcode == Opcode::Multiply || op.opcode == Opcode::Divide) {
      bool isDivision = op.opcode == Opcode::Divide;
      std::optional<double> left = scalarConstant(graph, op.operands[0]),
                            right = scalarConstant(graph, op.operands[1]);
      double constant = right ? *right : left && !isDivision ? *left : 0;
      // Products and quotients of usual scores stay in the range of floats.
      if (!(constant >= 1e-6 && constant <= 1e6))
        return;
      scaling = masked;
      unscaled = op.operands[right ? 0 : 1];
      factor = isDivision ? 1 / constant : constant;
      return;
    } else {
      return;
    }
    if (usersOf(masked).size() != 1)
      return;
  }
}

llvm::Error ChainLowering::chooseTiles() {
  const Graph &graph = spec.graph();
  const std::string &name = graph[second].name;
  keyStep = spec.sequentialSize(name, 0, 0);
  for (const Reduction &reduction : reductions)
    if (keyStep == 0)
      keyStep = spec.sequentialSize(graph[reduction.op].name, 0, 0);
  keyStep = std::min(keyCount, keyStep == 0 ? 64 : keyStep);
  keyPadded = roundUp(keyStep, 16);
  keySteps = ceilDiv(keyCount, keyStep);
  if (keySteps > 1 && !whyNotOnline.empty())
    return makeError(DiagClass::Unsupported,
                     "%{}: a step of {} of {} columns is not the whole row, and {}", name, keyStep,
                     keyCount, whyNotOnline);
  if (!whyNotOnline.empty()) { // reductions are complete: nothing is corrected later
    shift.reset();
    divisor.reset();
  }
  depthPadded = roundUp(depth, 16);
  int64_t warps = spec.schedule.warps;
  // Blocks of 16 rows of each warp; those of a warpgroup are 64 rows together.
  rowsOfWarp = roundUp(sides[1].size, 16 * warps) / warps;
  columnsPadded = roundUp(sides[2].size, 16);
  constexpr int64_t maxEdge = 1 << 14;
  if (sides[1].size > maxEdge || sides[2].size > maxEdge || keyStep > maxEdge || depth > maxEdge)
    return makeError(DiagClass::Unsupported,
                     "%{}: tiles of {} x {} x {} behind {}, at most {} each", name, sides[1].size,
                     sides[2].size, keyStep, depth, maxEdge);
  return chooseWarpgroups();
}

llvm::Error ChainLowering::checkSharedBytes() const {
  if (sharedBytes() > maxSharedBytes)
    return makeError(DiagClass::Unsupported,
                     "%{}: {} bytes and {} stages of {} are more than the {} bytes of shared "
                     "memory that a CTA may have",
                     spec.graph()[second].name, queryBytes, spec.schedule.stages, stageBytes,
                     maxSharedBytes);
  return llvm::Error::success();
}

/// Shared-memory layout: Q, the stages, barriers.
int64_t ChainLowering::sharedBytes() const {
  return queryBytes + stageBytes * spec.schedule.stages + keyRing.bytes() + valueRing.bytes() + 8;
}

/// Coordinates over placeholders at which the root reads the second dot, P reads the first, and
/// reductions are read.
llvm::Error ChainLowering::locate() {
  const Graph &graph = spec.graph();
  ValueEmitter &emitter = lowering->emitter;
  llvm::Value *unused = lowering->k.c32(0);
  auto fresh = [&](const Shape &shape, const char *name) {
    Coordinates result;
    for (int64_t extent : shape.dims)
      result.push_back(emitter.variable(VarKind::Dim, name, Interval::ofExtent(extent), unused));
    return result;
  };
  placeholders = fresh(graph[lowering->results[0]].shape, "root");
  auto at = emitter.readAt(lowering->results[0], placeholders, second);
  if (!at)
    return at.takeError();
  secondAt = **at;
  for (size_t i = 0; i < secondAt.size(); ++i) {
    Interval range = emitter.range(secondAt[i]);
    if (range.lo < 0 || range.hi >= graph[second].shape.dims[i])
      return makeError(DiagClass::Unsupported, "%{}: the result goes beyond %{}",
                       graph[lowering->results[0]].name, graph[second].name);
  }
  scoresPlaceholders = fresh(graph[scores].shape, "scores");
  for (const Reduction &reduction : reductions)
    closed.push_back(reduction.op);
  auto place = emitter.readAt(scores, scoresPlaceholders, first, closed);
  if (!place)
    return place.takeError();
  if (!*place)
    return makeError(DiagClass::Internal, "%{} does not read %{}", graph[scores].name,
                     graph[first].name);
  firstPlace = **place;
  const DotDims &dims = graph[second].attrs.dot;
  auto keyDim = static_cast<size_t>(isScoresLeft ? dims.lhsContracting[0] : dims.rhsContracting[0]);
  VarId key =
      scoresPlaceholders[keyDim].isVariable() ? scoresPlaceholders[keyDim].variable() : VarId{};
  // Find the operand of the first dot that runs along the keys, and the one along the rows.
  const DotDims &inner = graph[first].attrs.dot;
  size_t batches = inner.lhsBatch.size();
  size_t rows =
      graph[graph[first].operands[0]].shape.rank() - batches - inner.lhsContracting.size();
  bool inBatch = false, inRows = false, inColumns = false;
  for (size_t i = 0; i < firstPlace.size(); ++i)
    for (VarId var : variablesOf(firstPlace[i]))
      if (var == key)
        (i < batches ? inBatch : i < batches + rows ? inRows : inColumns) = true;
  if (inBatch || inRows == inColumns)
    return makeError(DiagClass::Unsupported, "%{}: its contracted dim is not one side of %{} alone",
                     graph[second].name, graph[first].name);
  isQueriesLeft = inColumns;
  queries = graph[first].operands[isQueriesLeft ? 0 : 1];
  keys = graph[first].operands[isQueriesLeft ? 1 : 0];
  for (Reduction &reduction : reductions) {
    auto read = emitter.readAt(scores, scoresPlaceholders, reduction.op, closed);
    if (!read)
      return read.takeError();
    reduction.at.clear();
    if (*read) {
      reduction.at = **read;
    } else { // read by the epilogue only: the same rows, without the dim of the keys
      if (graph[reduction.op].shape.rank() + 1 != scoresPlaceholders.size())
        return makeError(DiagClass::Unsupported,
                         "%{} must have the dims of %{} without the contracted one",
                         graph[reduction.op].name, graph[scores].name);
      for (size_t i = 0; i < scoresPlaceholders.size(); ++i)
        if (i != keyDim)
          reduction.at.push_back(scoresPlaceholders[i]);
    }
    for (Expr coordinate : reduction.at)
      for (VarId var : variablesOf(coordinate))
        if (var == key)
          return makeError(DiagClass::Unsupported, "%{} is read along the keys",
                           graph[reduction.op].name);
    // Its input, with the keys along the reduced dim, must be P's element at the same place.
    Coordinates input = reduction.at;
    input.insert(input.begin() + static_cast<std::ptrdiff_t>(reduction.dim),
                 scoresPlaceholders[keyDim]);
    auto inner = emitter.readAt(reduction.input, input, first, closed);
    if (!inner)
      return inner.takeError();
    if (graph[reduction.input].shape.dims[reduction.dim] != keyCount || !*inner ||
        **inner != firstPlace)
      return makeError(DiagClass::Unsupported, "%{} does not reduce over the keys of %{}",
                       graph[reduction.op].name, graph[second].name);
  }
  return llvm::Error::success();
}

llvm::Expected<KernelModule> ChainLowering::run() {
  if (auto error = analyse())
    return error;
  if (auto error = chooseTiles())
    return error;
  const Graph &graph = spec.graph();
  const Shape &root = graph[resultsOf(graph)[0]].shape;
  for (OpId id : resultsOf(graph))
    if (graph[id].shape.dims != root.dims)
      return makeError(DiagClass::Unsupported,
                       "%{}: as a result beside a dot its shape {} should be {}", graph[id].name,
                       graph[id].shape.str(false), root.str(false));
  auto grid = tileCount(root.dims, spec.rootTile);
  if (!grid)
    return grid.takeError();
  lowering = std::make_unique<Lowering>(spec, mode, 8, extras);
  if (auto error = locate())
    return error;
  findMasks();
  analyseSteps();
  placeCta();
  if (auto error = emitWarpgroupProgram())
    return error;
  KernelModule kernel =
      std::move(*lowering).finish({CodeKind::Chain, Instruction::Wgmma}, *grid, sharedBytes());
  kernel.target = "sm_90a";
  for (const TensorOperand *operand : {&queryTensor, &keyTensor, &valueTensor})
    kernel.tensorMaps.push_back(operand->map);
  return kernel;
}

/// The kernel of the chain's tile program, by mma.sync: of plans that the search takes, whose
/// resources are known.
static llvm::Expected<KernelModule> lowerByMmaSync(KernelSpec spec, CodeMode mode) {
  spec.schedule.instruction = Instruction::MmaSync;
  llvm::Expected<KernelPlan> plan = planOf(spec);
  if (!plan)
    return plan.takeError();
  TiledGroup tiled = *plan->tiled;
  tiled.constraints.clear();
  addChainConstraints(*spec.module, spec.graph(), tiled);
  addChainSearchConstraints(*spec.module, spec.graph(), tiled);
  addInstructionConstraints(spec.graph(), tiled, Instruction::MmaSync);
  addCodeConstraints(spec.graph(), tiled);
  const Assignment point = plan->assignment();
  for (const Constraint &constraint : tiled.constraints)
    if (constraint.formula.evaluate(point) != true)
      return makeError(DiagClass::Unsupported, "{}", constraint.describe(point));
  return lowerProgram(spec, CodeKind::Chain, mode);
}

llvm::Expected<KernelModule> lowerChain(const KernelSpec &spec, CodeMode mode) {
  Instruction asked = spec.schedule.instruction;
  std::string reason = "two dots in one kernel take matrix instructions";
  if (asked == Instruction::Wgmma) {
    auto kernel = ChainLowering(spec, mode).run();
    if (kernel)
      return kernel;
    Diag diag = takeDiag(kernel.takeError());
    if (diag.cls != DiagClass::Unsupported)
      return makeError(std::move(diag));
    reason = diag.message;
  }
  auto kernel = lowerByMmaSync(spec, mode);
  if (kernel && asked != Instruction::MmaSync)
    kernel->notes.push_back(fmt::format("mma.sync in place of {}: {}", toString(asked), reason));
  return kernel;
}

} // namespace tilewright
