#include "analysis/support/checked.h"
#include "analysis/tiling/row_values.h"
#include "codegen/reduction_lowering.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace tilewright {

namespace {
constexpr int64_t slotBytes = 8; // of a partial result in shared memory
} // namespace

llvm::Expected<KernelModule> lowerReduction(const KernelSpec &spec, CodeMode mode) {
  return ReductionLowering(spec, mode).run();
}

llvm::Error ReductionLowering::collect() {
  const Graph &graph = spec.graph();
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Op &op = graph[OpId{i}];
    if (op.opcode != Opcode::Reduce)
      continue;
    if (op.shape.isTuple || op.operands.size() != 2)
      return makeError(DiagClass::Unsupported, "%{}: no code for a reduce of several operands",
                       op.name);
    if (!ScalarOps::isSupported(op.shape.dtype))
      return makeError(DiagClass::Unsupported, "%{}: no code for elements of type {}", op.name,
                       toString(op.shape.dtype));
    std::optional<Combiner> combiner;
    if (op.called.size() == 1)
      combiner = ScalarOps::inspectReducer(spec.module->graph(op.called[0].graph));
    if (!combiner)
      return makeError(DiagClass::Unsupported,
                       "%{}: its reducer is not one of add, multiply, minimum, maximum, and, or",
                       op.name);
    const Shape &input = graph[op.operands[0]].shape;
    Reduction reduction{OpId{i}, op.operands[0], op.operands[1], *combiner, {}, {}, {}, 1, 1, {},
                        {},      nullptr};
    reduction.dims = op.attrs.dimensions;
    std::sort(reduction.dims.begin(), reduction.dims.end());
    int64_t chunk = 1;
    for (size_t d = 0; d < reduction.dims.size(); ++d) {
      int64_t extent = input.dims[static_cast<size_t>(reduction.dims[d])];
      if (extent == 0)
        return makeError(DiagClass::Unsupported, "%{}: a reduction of nothing", op.name);
      reduction.extents.push_back(extent);
      reduction.length *= extent;
      chunk *= std::min(extent, spec.sequentialSize(op.name, static_cast<unsigned>(d), extent));
    }
    reduction.chunk = chunk;
    for (int64_t dim : input.minorToMajorOrDefault())
      if (auto at = std::find(reduction.dims.begin(), reduction.dims.end(), dim);
          at != reduction.dims.end())
        reduction.order.push_back(at - reduction.dims.begin());
    reductions.push_back(std::move(reduction));
  }
  // Reductions that walk the same columns share one parameter, which names one of them.
  auto hasOwnTile = [&](const Reduction &reduction) {
    return std::any_of(
        spec.sequential.begin(), spec.sequential.end(),
        [&](const KernelSpec::Sequential &tile) { return tile.op == graph[reduction.op].name; });
  };
  for (Reduction &reduction : reductions)
    for (const Reduction &other : reductions)
      if (!hasOwnTile(reduction) && hasOwnTile(other) && other.extents == reduction.extents)
        reduction.chunk = other.chunk;
  return llvm::Error::success();
}

/// Root dims are rows if they decide which element of a reduction is read.
llvm::Error ReductionLowering::findRows() {
  const Graph &graph = spec.graph();
  std::vector<OpId> results = resultsOf(graph);
  const Shape &root = graph[results[0]].shape;
  isRowDim.assign(root.rank(), false);
  // Traced in a throw-away lowering: the number of lanes depends on the result.
  Lowering probe(spec, CodeMode::Emulation, 1);
  Coordinates at;
  for (int64_t extent : root.dims)
    at.push_back(
        probe.emitter.variable(VarKind::Dim, "root", Interval::ofExtent(extent), probe.k.c32(0)));
  bool found = false;
  for (Reduction &reduction : reductions) {
    auto read = probe.emitter.readAt(results[0], at, reduction.op);
    if (!read)
      return read.takeError();
    if (!*read)
      continue;
    found = true;
    for (Expr coordinate : **read)
      for (VarId var : variablesOf(coordinate)) {
        bool isRoot = false;
        for (size_t d = 0; d < at.size(); ++d)
          if (at[d].variable() == var) {
            isRowDim[d] = true;
            isRoot = true;
          }
        if (!isRoot)
          return makeError(DiagClass::Unsupported,
                           "%{} is read at places that depend on another op's iteration: more "
                           "than one row is needed at a time",
                           graph[reduction.op].name);
      }
  }
  if (!found)
    return makeError(DiagClass::Unsupported, "%{} does not depend on any reduction",
                     graph[results[0]].name);
  for (size_t d = 0; d < isRowDim.size(); ++d)
    (isRowDim[d] ? rowDims : columnDims).push_back(d);
  return llvm::Error::success();
}

llvm::Error ReductionLowering::chooseThreads() {
  const Graph &graph = spec.graph();
  const Shape &root = graph[resultsOf(graph)[0]].shape;
  const Reduction &first = reductions[0];
  const Shape &input = graph[first.input].shape;
  int64_t columns = 1, longest = 1;
  for (size_t d : columnDims)
    columns *= spec.rootTile[d];
  alongRows = input.rank() == 0 || first.order.empty() ||
              first.dims[static_cast<size_t>(first.order[0])] == input.minorToMajorOrDefault()[0];

  // Lanes must divide every run of columns.
  int64_t common = 0;
  for (const Reduction &reduction : reductions) {
    longest = std::max(longest, reduction.length);
    if (!reduction.order.empty())
      common = std::gcd(common, reduction.extents[static_cast<size_t>(reduction.order[0])]);
  }
  if (columns > 1) {
    longest = std::max(longest, columns);
    auto minor = static_cast<size_t>(root.minorToMajorOrDefault()[0]);
    common =
        isRowDim[minor] ? 1 : std::gcd(common, std::gcd(root.dims[minor], spec.rootTile[minor]));
  }
  lanes = alongRows ? lanesFor(graph, common, common) : 1;

  int64_t threads = spec.schedule.warps * 32;
  for (size_t d : rowDims)
    rowsPerCta *= spec.rootTile[d];
  auto powerDividing = [&](int64_t most) {
    int64_t power = 1;
    while (threads % (power * 2) == 0 && power * 2 <= most)
      power *= 2;
    return power;
  };
  auto roundedUp = [](int64_t value) {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(value)));
  };
  if (alongRows) {
    int64_t wanted = roundedUp(ceilDiv(longest, lanes));
    threadsPerRow = powerDividing(wanted);
    while (threadsPerRow > std::min<int64_t>(32, wanted) && threads / threadsPerRow < rowsPerCta)
      threadsPerRow /= 2;
    rowsAtOnce = threads / threadsPerRow;
  } else {
    rowsAtOnce = powerDividing(roundedUp(rowsPerCta));
    threadsPerRow = threads / rowsAtOnce;
  }
  std::vector<OpId> ops;
  for (const Reduction &reduction : reductions)
    ops.push_back(reduction.op);
  const int64_t perColumn = heldPerColumn(
      graph, ops, resultsOf(graph), [&](OpId id) { return graph[id].opcode == Opcode::Parameter; });
  maxHeldValues =
      std::max<int64_t>(std::min(maxHeldRegisters, heldRegistersOfSm / threads) / perColumn, lanes);
  // Steps of the plan that leave threads idle are merged; a step with more values than a thread can
  // hold is split.
  for (Reduction &reduction : reductions) {
    int64_t least = threadsPerRow * lanes, most = threadsPerRow * (maxHeldValues / lanes) * lanes;
    if (reduction.length > most) // parts as equal as possible
      most = ceilDiv(ceilDiv(reduction.length, ceilDiv(reduction.length, most)), least) * least;
    reduction.chunk = std::clamp(reduction.chunk, std::min(least, reduction.length), most);
  }
  bool exchanges = alongRows ? threadsPerRow > 32 : threadsPerRow > 1;
  if (exchanges)
    sharedBytes =
        static_cast<int64_t>(reductions.size()) * slotBytes * (alongRows ? threads / 32 : threads);
  if (sharedBytes > maxSharedBytes)
    return makeError(DiagClass::Unsupported,
                     "{} reductions need {} bytes of shared memory, at most {} are allowed",
                     reductions.size(), sharedBytes, maxSharedBytes);
  return llvm::Error::success();
}

llvm::Expected<KernelModule> ReductionLowering::run() && {
  if (auto error = collect())
    return error;
  if (auto error = findRows())
    return error;
  if (auto error = chooseThreads())
    return error;
  lowering = std::make_unique<Lowering>(spec, mode, lanes);
  ValueEmitter &emitter = lowering->emitter;
  KernelBuilder &k = lowering->k;
  const Shape &root = lowering->graph[lowering->results[0]].shape;
  auto grid = tileCount(root.dims, spec.rootTile);
  if (!grid)
    return grid.takeError();

  for (int64_t extent : root.dims)
    placeholders.push_back(
        emitter.variable(VarKind::Dim, "root", Interval::ofExtent(extent), k.c32(0)));
  for (Reduction &reduction : reductions) {
    auto at = emitter.readAt(lowering->results[0], placeholders, reduction.op);
    if (!at)
      return at.takeError();
    if (!*at) { // only another result reads it: its rows are found there, by position
      Coordinates rows;
      for (size_t d : rowDims)
        rows.push_back(placeholders[d]);
      if (lowering->graph[reduction.op].shape.rank() != rows.size())
        return makeError(DiagClass::Unsupported, "%{} has rows of another shape than %{}",
                         lowering->graph[reduction.op].name,
                         lowering->graph[reductions[0].op].name);
      reduction.rowAt = rows;
      continue;
    }
    reduction.rowAt = **at;
  }

  pids = lowering->decodeTiles(lowering->ctaVariable(*grid), root.dims, spec.rootTile);
  auto split = [&](int64_t divisor, bool quotient) {
    return emitter.simplify(quotient ? lowering->tid.floorDiv(divisor)
                                     : lowering->tid.mod(divisor));
  };
  auto asVariable = [&](Expr expr, const char *name, int64_t extent) {
    return extent == 1 ? emitter.constant(0)
                       : emitter.variable(VarKind::ProgramId, name, Interval::ofExtent(extent),
                                          emitter.index(expr));
  };
  member = asVariable(alongRows ? split(threadsPerRow, false) : split(rowsAtOnce, true), "member",
                      threadsPerRow);
  rowSlot = asVariable(alongRows ? split(threadsPerRow, true) : split(rowsAtOnce, false), "slot",
                       rowsAtOnce);
  emitter.setSupplier(
      [this](OpId op, const Coordinates &at, unsigned count) { return supply(op, at, count); });

  int64_t trips = ceilDiv(rowsPerCta, rowsAtOnce);
  llvm::Error error = llvm::Error::success();
  if (trips == 1) {
    error = emitRows(rowSlot);
  } else {
    k.forLoop(
        k.c32(0), k.c32(trips), k.c32(1), {}, [&](llvm::Value *counter, const Values &) -> Values {
          ValueEmitter::Scope scope(emitter);
          Expr trip = emitter.variable(VarKind::Step, "rows", Interval::ofExtent(trips), counter);
          error = emitRows(trip * rowsAtOnce + rowSlot);
          if (sharedBytes > 0) // the exchange area is reused
            k.barrier();
          return {};
        });
  }
  if (error)
    return error;
  return std::move(*lowering).finish({CodeKind::Reduction, Instruction::Fma}, *grid, sharedBytes);
}

Expr ReductionLowering::substituteRow(Expr expr) const {
  return substitute(expr, [&](VarId var) {
    for (size_t i = 0; i < rowDims.size(); ++i)
      if (placeholders[rowDims[i]].variable() == var)
        return rowCoordinates[i];
    return Expr();
  });
}

llvm::Error ReductionLowering::emitRows(Expr row) {
  ValueEmitter &emitter = lowering->emitter;
  const Shape &root = lowering->graph[lowering->results[0]].shape;
  std::vector<int64_t> box, order, extents;
  for (size_t d : rowDims) {
    box.push_back(spec.rootTile[d]);
    extents.push_back(root.dims[d]);
  }
  for (int64_t dim : root.minorToMajorOrDefault())
    if (auto at = std::find(rowDims.begin(), rowDims.end(), static_cast<size_t>(dim));
        at != rowDims.end())
      order.push_back(at - rowDims.begin());
  rowCoordinates = emitter.delinearize(row, box, order);
  for (size_t i = 0; i < rowDims.size(); ++i)
    rowCoordinates[i] =
        emitter.simplify(pids[rowDims[i]] * spec.rootTile[rowDims[i]] + rowCoordinates[i]);
  rowGuard = {{row, Interval::ofExtent(rowsPerCta), 1, 0}};
  emitter.addDomain(rowGuard, rowCoordinates, extents);
  for (Reduction &reduction : reductions) {
    reduction.at.clear();
    reduction.value = nullptr;
    for (Expr coordinate : reduction.rowAt)
      reduction.at.push_back(emitter.simplify(substituteRow(coordinate)));
  }
  for (size_t i = 0; i < reductions.size(); ++i)
    if (auto error = emitReduction(i))
      return error;
  return emitResults();
}

llvm::Expected<std::optional<Values>> ReductionLowering::supply(OpId op, const Coordinates &at,
                                                                unsigned count) {
  for (const Reduction &reduction : reductions) {
    if (reduction.op != op)
      continue;
    if (at != reduction.at || !reduction.value)
      return makeError(DiagClass::Unsupported, "%{} is needed for other rows than the one at hand",
                       lowering->graph[op].name);
    return Values(count, reduction.value);
  }
  return std::nullopt;
}

llvm::Error ReductionLowering::forColumns(const Columns &columns, Values &carried,
                                          const ColumnBody &body) {
  ValueEmitter &emitter = lowering->emitter;
  KernelBuilder &k = lowering->k;
  int64_t vectors = ceilDiv(columns.count, lanes), inChunk = ceilDiv(columns.chunk, lanes);
  int64_t rounds = ceilDiv(inChunk, threadsPerRow);
  auto emitChunk = [&](Expr firstVector, bool isWhole, Values &through) -> llvm::Error {
    for (int64_t round = 0; round < rounds; ++round) {
      Expr within = emitter.simplify(member + round * threadsPerRow);
      Expr vector = emitter.simplify(firstVector + within);
      Guard guard = rowGuard;
      guard.push_back({vector, Interval::ofExtent(vectors), 1, 0});
      if (!isWhole)
        guard.push_back({within, Interval::ofExtent(inChunk), 1, 0});
      Expr column = lanes > 1 ? vector * lanes + emitter.lane() : vector;
      if (auto error =
              body(emitter.delinearize(column, columns.extents, columns.order), guard, through))
        return error;
    }
    return llvm::Error::success();
  };
  if (columns.chunk >= columns.count)
    return emitChunk(emitter.constant(0), true, carried);
  int64_t chunks = ceilDiv(vectors, inChunk);
  llvm::Error error = llvm::Error::success();
  carried = k.forLoop(k.c32(0), k.c32(chunks), k.c32(1), carried,
                      [&](llvm::Value *counter, const Values &before) -> Values {
                        ValueEmitter::Scope scope(emitter);
                        Expr chunk = emitter.variable(VarKind::Step, "chunk",
                                                      Interval::ofExtent(chunks), counter);
                        Values through = before;
                        error = emitChunk(chunk * inChunk, false, through);
                        return through;
                      });
  return error;
}

llvm::Error ReductionLowering::emitReduction(size_t index) {
  Reduction &reduction = reductions[index];
  ValueEmitter &emitter = lowering->emitter;
  ScalarOps &ops = emitter.scalars();
  llvm::IRBuilder<> &b = lowering->k.b;
  const Op &op = lowering->graph[reduction.op];
  DType type = op.shape.dtype;

  Values partial(lanes, ops.identity(reduction.combiner, type));
  Columns columns{reduction.extents, reduction.order, reduction.length, reduction.chunk};
  auto error =
      forColumns(columns, partial,
                 [&](const Coordinates &column, const Guard &there, Values &sums) -> llvm::Error {
                   Guard guard = there;
                   addRowDomain(reduction, guard);
                   Coordinates at = inputCoordinates(reduction, column);
                   auto value = emitter.values(reduction.input, at, guard, lanes);
                   if (!value)
                     return value.takeError();
                   llvm::Value *counts = emitter.holds(guard);
                   DType from = lowering->graph[reduction.input].shape.dtype;
                   for (unsigned lane = 0; lane < lanes; ++lane) {
                     llvm::Value *element = ops.convert(from, type, (*value)[lane]);
                     if (counts)
                       element =
                           b.CreateSelect(counts, element, ops.identity(reduction.combiner, type));
                     sums[lane] = ops.combine(reduction.combiner, type, sums[lane], element);
                   }
                   for (size_t r = 0; index == 0 && r < lowering->results.size(); ++r)
                     if (OpId id = lowering->results[r]; isOfInput(id) && !needsReductions(id))
                       if (auto problem = storeOfInput(r, at, guard))
                         return problem;
                   return llvm::Error::success();
                 });
  if (error)
    return error;
  llvm::Value *sum = partial[0];
  for (unsigned lane = 1; lane < lanes; ++lane)
    sum = ops.combine(reduction.combiner, type, sum, partial[lane]);
  sum = combineThreads(index, sum);
  auto init = emitter.values(reduction.init, {}, {}, 1);
  if (!init)
    return init.takeError();
  reduction.value = ops.round(type, ops.combine(reduction.combiner, type, (*init)[0], sum));
  return llvm::Error::success();
}

llvm::Value *ReductionLowering::combineThreads(size_t index, llvm::Value *partial) {
  const Reduction &reduction = reductions[index];
  ValueEmitter &emitter = lowering->emitter;
  ScalarOps &ops = emitter.scalars();
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  DType type = lowering->graph[reduction.op].shape.dtype;
  auto combined = [&](llvm::Value *x, llvm::Value *y) {
    return ops.combine(reduction.combiner, type, x, y);
  };
  if (alongRows)
    for (int64_t mask = 1; mask < std::min<int64_t>(threadsPerRow, 32); mask *= 2)
      partial = combined(partial, k.shuffleXor(partial, static_cast<unsigned>(mask)));
  if (alongRows ? threadsPerRow <= 32 : threadsPerRow == 1)
    return partial;

  // Through shared memory: slot [part][row] of this reduction's own area. Floats of less than 64
  // bits are f32 here; pred takes a byte.
  int64_t parts = alongRows ? threadsPerRow / 32 : threadsPerRow;
  int64_t area = static_cast<int64_t>(index) * parts * rowsAtOnce * slotBytes;
  bool isPred = type == DType::Pred;
  auto address = [&](Expr part) {
    return b.CreateTrunc(emitter.index((part * rowsAtOnce + rowSlot) * slotBytes + area), k.i32);
  };
  Expr mine = alongRows ? member.floorDiv(32) : member;
  llvm::Value *stored = isPred ? b.CreateZExt(partial, k.i8) : partial;
  unsigned align = static_cast<unsigned>(stored->getType()->getPrimitiveSizeInBits() / 8);
  llvm::Value *own = address(mine);
  if (alongRows)
    k.ifThen(b.CreateICmpEQ(b.CreateAnd(k.threadId(), k.c32(31)), k.c32(0)),
             [&] { k.storeShared(stored, own, align); });
  else
    k.storeShared(stored, own, align);
  k.barrier();
  auto load = [&](llvm::Value *offset) {
    llvm::Value *value = k.loadShared(stored->getType(), offset, align);
    return isPred ? b.CreateTrunc(value, k.i1) : value;
  };
  // All threads add up the parts in the same order, so that all get the same value.
  constexpr int64_t maxUnrolled = 32;
  if (parts <= maxUnrolled) {
    llvm::Value *sum = load(address(emitter.constant(0)));
    for (int64_t part = 1; part < parts; ++part)
      sum = combined(sum, load(address(emitter.constant(part))));
    return sum;
  }
  llvm::Value *start = address(emitter.constant(0));
  Values sum = k.forLoop(k.c32(1), k.c32(parts), k.c32(1), {load(start)},
                         [&](llvm::Value *part, const Values &before) -> Values {
                           llvm::Value *offset =
                               b.CreateAdd(start, b.CreateMul(part, k.c32(rowsAtOnce * slotBytes)));
                           return {combined(before[0], load(offset))};
                         });
  return sum[0];
}

Coordinates ReductionLowering::inputCoordinates(const Reduction &reduction,
                                                const Coordinates &column) const {
  Coordinates at(lowering->graph[reduction.input].shape.rank());
  for (size_t i = 0; i < reduction.dims.size(); ++i)
    at[static_cast<size_t>(reduction.dims[i])] = column[i];
  size_t kept = 0;
  for (Expr &coordinate : at)
    if (!coordinate)
      coordinate = reduction.at[kept++];
  return at;
}

void ReductionLowering::addRowDomain(const Reduction &reduction, Guard &guard) {
  ValueEmitter &emitter = lowering->emitter;
  const Shape &shape = lowering->graph[reduction.op].shape;
  for (size_t i = 0; i < reduction.rowAt.size(); ++i)
    if (Interval range = emitter.range(reduction.rowAt[i]);
        range.lo < 0 || range.hi >= shape.dims[i])
      emitter.addDomain(guard, {reduction.at[i]}, {shape.dims[i]});
}

} // namespace tilewright
