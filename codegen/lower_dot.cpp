#include "analysis/support/checked.h"
#include "analysis/tiling/matrix_product.h"
#include "analysis/tiling/resources.h"
#include "codegen/dot_lowering.h"

#include <algorithm>
#include <bit>

namespace tilewright {

namespace {

constexpr int64_t maxSumsPerThread = 256;

} // namespace

llvm::Expected<KernelModule> lowerDot(const KernelSpec &spec, CodeMode mode) {
  // Falls back to the next simpler instruction where one can't take the dot.
  Instruction asked = spec.schedule.instruction;
  std::vector<Instruction> ladder{Instruction::Wgmma, Instruction::MmaSync, Instruction::Fma};
  ladder.erase(ladder.begin(), std::find(ladder.begin(), ladder.end(), asked));
  std::optional<Diag> refusal;
  std::string reasons;
  for (Instruction instruction : ladder) {
    DotLowering lowering(spec, instruction, mode);
    auto kernel = lowering.run();
    if (kernel) {
      if (instruction != asked)
        kernel->notes.push_back(
            fmt::format("{} in place of {}: {}", toString(instruction), toString(asked), reasons));
      return kernel;
    }
    Diag diag = takeDiag(kernel.takeError());
    bool goesOn = lowering.needsOtherInstruction();
    reasons += (reasons.empty() ? "" : "; ") + diag.message;
    if (!refusal)
      refusal = std::move(diag);
    if (!goesOn)
      break;
  }
  return makeError(std::move(*refusal));
}

/// Finds the dot, its types, and the side of each root dim.
llvm::Error DotLowering::analyse() {
  const Graph &graph = spec.graph();
  for (OpId id : idsOf(graph))
    if (graph[id].opcode == Opcode::Dot || graph[id].opcode == Opcode::Convolution)
      dot = id; // the only one: kindOfCode()
  const Op &op = graph[dot];
  lhs.op = op.operands[0];
  rhs.op = op.operands[1];
  lhs.side = Side::Rows;
  rhs.side = Side::Columns;
  DType lhsType = graph[lhs.op].shape.dtype, rhsType = graph[rhs.op].shape.dtype;
  DType type = op.shape.dtype;
  for (DType each : {lhsType, rhsType, type})
    if (!ScalarOps::isSupported(each))
      return makeError(DiagClass::Unsupported, "%{}: no code for elements of type {}", op.name,
                       toString(each));
  sumType = isFloat(type) && type != DType::F64 ? DType::F32 : type;
  lhs.type = rhs.type = sumType;
  if (usesMma() || usesWgmma()) {
    if (std::string why = whyNoMatrixProduct(graph, op, instruction); !why.empty()) {
      isWrongInstruction = true;
      return makeError(DiagClass::Unsupported, "%{}: {} {}", op.name, toString(instruction), why);
    }
    lhs.type = lhsType;
    rhs.type = rhsType;
    if (lhsType == DType::F32)
      products = tf32Products(graph, op);
  }
  auto found = sidesOfRoot(spec, dot);
  if (!found)
    return found.takeError();
  sides = std::move(*found);
  dotSides = sidesOfResult(graph, dot);
  return isConvolution() ? analyseConvolution() : llvm::Error::success();
}

llvm::Error DotLowering::chooseTiles() {
  const Graph &graph = spec.graph();
  const Op &op = graph[dot];
  if (!isConvolution())
    kExtents = contractedExtents(graph, dot);
  for (size_t d = 0; d < kExtents.size(); ++d) {
    int64_t extent = kExtents[d];
    if (extent == 0)
      return makeError(DiagClass::Unsupported, "%{}: a contraction of nothing", op.name);
    kTotal *= extent;
    if (!isConvolution())
      kStep *= std::min(extent, spec.sequentialSize(op.name, static_cast<unsigned>(d),
                                                    std::min<int64_t>(extent, 32)));
  }
  if (isConvolution())
    kStep = std::min(kTotal, packedConvolutionStep(op, graph[op.operands[1]].shape)
                                 .value_or(spec.sequentialSize(op.name, 0, 32)));
  kTiles = ceilDiv(kTotal, kStep);
  int64_t rows = side(Side::Rows).size, columns = side(Side::Columns).size;
  constexpr int64_t maxEdge = 1 << 16;
  if (rows > maxEdge || columns > maxEdge || kStep > maxEdge)
    return makeError(DiagClass::Unsupported, "%{}: a tile of {} x {} x {}, at most {} each",
                     op.name, rows, columns, kStep, maxEdge);

  if (usesWgmma()) {
    if (auto error = chooseWarpgroups(rows, columns))
      return error;
    return planSplits();
  }
  int64_t elementBytes, sums;
  int64_t threads = spec.schedule.warps * 32;
  if (usesMma()) {
    // Tiles are padded to whole fragments; the padding is zeros and is not stored.
    elementBytes = inputBits() / 8;
    kPadded = roundUp(kStep, 32 / elementBytes);
    int64_t best = -1, paddedRows = roundUp(rows, 16), paddedColumns = roundUp(columns, 8);
    for (int64_t r = 1; r <= spec.schedule.warps; ++r)
      for (int64_t c = 1; r * c <= spec.schedule.warps; ++c) {
        if (paddedRows % (16 * r) != 0 || paddedColumns % (8 * c) != 0)
          continue;
        // Prefer the most busy warps, then the fewest operand loads a warp.
        int64_t score = r * c * maxEdge * 4 - (paddedRows / r + paddedColumns / c);
        if (best >= 0 && score <= best)
          continue;
        best = score;
        warpRows = r;
        warpColumns = c;
      }
    rowsOfWarp = paddedRows / warpRows;
    columnsOfWarp = paddedColumns / warpColumns;
    sums = rowsOfWarp / 16 * (columnsOfWarp / 8) * 4;
    rows = paddedRows;
    columns = paddedColumns;
  } else {
    kPadded = kStep;
    int64_t best = INT64_MAX;
    for (int64_t c = 1; c <= threads; c *= 2) {
      if (threads % c != 0)
        continue;
      int64_t cost = ceilDiv(rows, threads / c) * ceilDiv(columns, c) * 64 +
                     ceilDiv(rows, threads / c) + ceilDiv(columns, c);
      if (cost > best)
        continue;
      best = cost;
      threadColumns = c;
    }
    threadRows = threads / threadColumns;
    rowsOfThread = ceilDiv(rows, threadRows);
    columnsOfThread = ceilDiv(columns, threadColumns);
    sums = rowsOfThread * columnsOfThread;
    elementBytes = sumType == DType::Pred ? 1 : bitWidth(sumType) / 8;
  }
  sumsPerThread = sums;
  if (sums > maxSumsPerThread)
    return makeError(DiagClass::Unsupported,
                     "%{}: a tile of {} x {} over {} warps is {} sums a thread, at most {} are "
                     "allowed; use a smaller tile or more warps",
                     op.name, rows, columns, spec.schedule.warps, sums, maxSumsPerThread);
  lhs.bytes = roundUp(rows * kPadded * elementBytes, 128);
  rhs.bytes = roundUp(columns * kPadded * elementBytes, 128);
  rhs.offset = lhs.bytes;
  stageBytes = lhs.bytes + rhs.bytes;
  if (stageBytes > maxSharedBytes / spec.schedule.stages)
    return makeError(DiagClass::Unsupported,
                     "%{}: {} stages of {} bytes are more than the {} bytes of shared memory that "
                     "a CTA may have",
                     op.name, spec.schedule.stages, stageBytes, maxSharedBytes);
  return planSplits();
}

llvm::Expected<KernelModule> DotLowering::run() {
  if (auto error = analyse())
    return error;
  if (auto error = chooseTiles())
    return error;
  const Graph &graph = spec.graph();
  const Shape &root = graph[resultsOf(graph)[0]].shape;
  auto grid = tileCount(root.dims, spec.rootTile);
  if (!grid)
    return grid.takeError();
  auto ctas = checkedMul(*grid, spec.schedule.splitK);
  if (!ctas || *ctas > INT32_MAX)
    return makeError(DiagClass::Unsupported, "a grid of more than {} CTAs", INT32_MAX);

  lowering = std::make_unique<Lowering>(spec, mode, 16, extras);
  ValueEmitter &emitter = lowering->emitter;
  KernelBuilder &k = lowering->k;
  for (int64_t extent : root.dims)
    placeholders.push_back(
        emitter.variable(VarKind::Dim, "root", Interval::ofExtent(extent), k.c32(0)));
  auto at = emitter.readAt(lowering->results[0], placeholders, dot);
  if (!at)
    return at.takeError();
  dotAt = **at;
  if (isConvolution())
    if (auto error = planConvolution())
      return error;
  for (size_t i = 0; i < dotAt.size(); ++i) {
    Interval range = emitter.range(dotAt[i]);
    mayMiss.push_back(range.lo < 0 || range.hi >= graph[dot].shape.dims[i]);
  }

  // The splits of a tile have consecutive CTAs, so that they run concurrently.
  Expr cta = lowering->ctaVariable(*ctas);
  splitOfCta = emitter.simplify(cta.mod(spec.schedule.splitK));
  cta = tileOfCta = emitter.simplify(cta.floorDiv(spec.schedule.splitK));
  firstStep = k.c32(0);
  endStep = k.c32(kTiles);
  if (spec.schedule.splitK > 1) {
    firstStep = k.b.CreateTrunc(emitter.index(splitOfCta * splitTiles), k.i32);
    endStep = k.intrinsic(llvm::Intrinsic::smin, {k.i32},
                          {k.b.CreateAdd(firstStep, k.c32(splitTiles)), endStep});
  }
  auto [rowTile, columnTile] = rasterizeTiles(emitter, cta, side(Side::Rows).tiles,
                                              side(Side::Columns).tiles, spec.schedule.groupM);
  int64_t planes = side(Side::Rows).tiles * side(Side::Columns).tiles;
  side(Side::Batch).pids = lowering->decodeTiles(emitter.simplify(cta.floorDiv(planes)),
                                                 side(Side::Batch).extents, side(Side::Batch).tile);
  side(Side::Rows).pids =
      lowering->decodeTiles(rowTile, side(Side::Rows).extents, side(Side::Rows).tile);
  side(Side::Columns).pids =
      lowering->decodeTiles(columnTile, side(Side::Columns).extents, side(Side::Columns).tile);
  emitter.setSupplier([this](OpId op, const Coordinates &place,
                             unsigned count) -> llvm::Expected<std::optional<Values>> {
    if (op != dot)
      return std::nullopt;
    for (size_t i = 0; i < place.size(); ++i)
      if (!lowering->emitter.simplify(place[i] - currentDot[i]).isConstant(0))
        return makeError(DiagClass::Unsupported, "%{} is needed at other places than its own",
                         lowering->graph[op].name);
    return Values(currentSums.begin(), currentSums.begin() + count);
  });

  int64_t batches = side(Side::Batch).size;
  batchPosition = emitter.constant(0);
  if (usesWgmma())
    if (auto problem = planTensorOperands())
      return problem;
  llvm::Error error = llvm::Error::success();
  if (usesWgmma()) {
    error = emitWarpgroupProgram();
  } else if (batches == 1) {
    error = emitProgram(emitter.constant(0));
  } else {
    k.forLoop(k.c32(0), k.c32(batches), k.c32(1), {},
              [&](llvm::Value *counter, const Values &) -> Values {
                ValueEmitter::Scope scope(emitter);
                error = emitProgram(
                    emitter.variable(VarKind::Step, "batch", Interval::ofExtent(batches), counter));
                k.barrier(); // shared memory is used again
                return {};
              });
  }
  if (error)
    return error;
  int64_t barrierBytes = usesWgmma() ? ring.bytes() : 0;
  KernelModule kernel = std::move(*lowering).finish(
      {CodeKind::Dot, instruction}, *ctas, stageBytes * spec.schedule.stages + barrierBytes);
  if (isConvolution())
    kernel.kind = "convolution";
  kernel.tensorMaps = std::move(tensorMaps);
  if (usesWgmma())
    kernel.target = "sm_90a";
  if (usesMma() && isFloat(lhs.type) && inputBits() == 8) {
    kernel.oldestArchitecture = 89; // PTX ISA, mma: .e4m3 and .e5m2
    kernel.oldestPtx = {8, 4};
  }
  kernel.ctasTogether = spec.schedule.splitK;
  return kernel;
}

llvm::Error DotLowering::emitProgram(Expr batch) {
  ValueEmitter &emitter = lowering->emitter;
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  batchPosition = batch;
  emitter.setLanes(8);
  auto kTile = [&](llvm::Value *counter) {
    return emitter.variable(VarKind::Step, "k", Interval::ofExtent(kTiles), counter);
  };
  chooseOrientation(lhs, emitter.constant(0));
  chooseOrientation(rhs, emitter.constant(0));

  auto sumCount = static_cast<size_t>(sumsPerThread);
  Values carried(sumCount, emitter.scalars().constant(sumType, int64_t(0)));
  auto compute = [&](llvm::Value *stage, Values sums) {
    return usesMma() ? computeMma(stage, std::move(sums)) : computeFma(stage, std::move(sums));
  };
  llvm::Error error = llvm::Error::success();
  int64_t stages = spec.schedule.stages;
  if (stages == 1) {
    carried = k.forLoop(firstStep, endStep, k.c32(1), carried,
                        [&](llvm::Value *counter, const Values &sums) -> Values {
                          ValueEmitter::Scope scope(emitter);
                          error = loadStage(kTile(counter), k.c32(0));
                          k.copyAsyncCommit();
                          k.copyAsyncWait(0);
                          k.barrier();
                          Values next = compute(k.c32(0), sums);
                          k.barrier();
                          return next;
                        });
  } else {
    for (int64_t stage = 0; stage < stages - 1 && !error; ++stage) {
      ValueEmitter::Scope scope(emitter);
      llvm::Value *to = k.c32(stage * stageBytes);
      if (spec.schedule.splitK > 1) {
        llvm::Value *step = b.CreateAdd(firstStep, k.c32(stage));
        k.ifThen(b.CreateICmpSLT(step, endStep), [&] {
          ValueEmitter::Scope branch(emitter);
          error = loadStage(kTile(step), to);
        });
      } else if (stage < kTiles) {
        error = loadStage(emitter.constant(stage), to);
      }
      k.copyAsyncCommit();
    }
    if (error)
      return error;
    // Carried beside the sums: offsets of the stages to read and to fill.
    carried.push_back(k.c32(0));
    carried.push_back(k.c32((stages - 1) * stageBytes));
    carried = k.forLoop(
        firstStep, endStep, k.c32(1), carried,
        [&](llvm::Value *counter, const Values &before) -> Values {
          ValueEmitter::Scope scope(emitter);
          llvm::Value *read = before[sumCount], *fill = before[sumCount + 1];
          k.copyAsyncWait(static_cast<unsigned>(stages - 2));
          k.barrier();
          llvm::Value *next = b.CreateAdd(counter, k.c32(stages - 1));
          k.ifThen(b.CreateICmpSLT(next, endStep), [&] {
            ValueEmitter::Scope branch(emitter);
            error = loadStage(kTile(next), fill);
          });
          k.copyAsyncCommit();
          Values sums = compute(read, Values(before.begin(), before.begin() + sumCount));
          for (llvm::Value *offset : {read, fill}) {
            llvm::Value *advanced = b.CreateAdd(offset, k.c32(stageBytes));
            sums.push_back(b.CreateSelect(b.CreateICmpEQ(advanced, k.c32(stages * stageBytes)),
                                          k.c32(0), advanced));
          }
          return sums;
        });
    carried.resize(sumCount);
  }
  if (error)
    return error;
  return spec.schedule.splitK > 1 ? emitSplitResults(carried) : emitResults(carried);
}

Coordinates DotLowering::dotCoordinates(const Coordinates &root) const {
  return replacePlaceholders(lowering->emitter, dotAt, placeholders, root);
}

} // namespace tilewright
