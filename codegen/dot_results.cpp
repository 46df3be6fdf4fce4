// The epilogue of a dot: from accumulator registers through fused ops to memory.
//
// A lane of a matrix instruction holds pairs of neighbours scattered over the tile. Stored
// directly, they would not coalesce (pieces of 8 or 16 bytes), and the epilogue would be unrolled
// for each pair. So the sums are rounded to the dot's type and staged in the shared memory of the
// operand stages, which is free by then; all threads then loop over the tile with vectors along the
// result's fastest dim. A tile that doesn't fit takes several passes.
//
//   line of shared memory   a row of the tile (a column, where the result is transposed), padded
//                           so that eight lines of fragments lie in different banks
#include "analysis/support/checked.h"
#include "analysis/tiling/element_work.h"
#include "codegen/dot_lowering.h"

#include <algorithm>

namespace tilewright {

namespace {
constexpr int64_t maxVectorBytes = 16;
constexpr int64_t maxVectorsUnrolled = 4; // vectors of a thread in flight at once
constexpr int64_t maxPending = 256;       // scalar operations in those vectors
} // namespace

/// The tile between the sums and the results. The tile's rows are those of `parts` warps (or
/// warpgroups), one below the other; each has `units` units of `unitRows` rows.
struct DotLowering::Exchange {
  DType type = DType::F32;
  int64_t elementBytes = 4;
  bool isTransposed = false; ///< lines are columns of the tile
  unsigned lanes = 1;        ///< width of a thread's vector along a line
  int64_t parts = 1, units = 1, unitRows = 8, columns = 8;
  int64_t unitsAtOnce = 1;

  int64_t rowsOfPart() const { return unitsAtOnce * unitRows; } ///< in a pass
  int64_t rows() const { return parts * rowsOfPart(); }
  int64_t lines() const { return isTransposed ? columns : rows(); }
  int64_t length() const { return isTransposed ? rows() : columns; }
  /// Eight lines are an odd multiple of a fragment's width apart.
  int64_t pitch() const { return (length() + (length() / 8 % 2 == 0 ? 8 : 0)) * elementBytes; }
};

/// Empty if not even one unit of rows fits.
std::optional<DotLowering::Exchange> DotLowering::planExchange() const {
  const Graph &graph = lowering->graph;
  Exchange exchange;
  DType type = graph[dot].shape.dtype;
  exchange.type = bitWidth(type) >= 16 ? type : sumType;
  exchange.elementBytes = bitWidth(exchange.type) / 8;
  exchange.parts = usesWgmma() ? groupRows : warpRows;
  exchange.unitRows = usesWgmma() ? 64 : 8;
  exchange.units = usesWgmma() ? rowBlocks : rowsOfWarp / 8;
  exchange.columns = usesWgmma() ? paddedColumns : columnsOfWarp * warpColumns;

  // Vectors run along the result's fastest dim if it is the fastest of one side.
  const Shape &root = graph[lowering->results[0]].shape;
  auto fastest = [&](const std::vector<int64_t> &order, auto dimOf) -> std::optional<size_t> {
    for (int64_t i : order)
      if (size_t dim = dimOf(i); spec.rootTile[dim] > 1)
        return dim;
    return std::nullopt;
  };
  auto ofRoot = fastest(root.minorToMajorOrDefault(), [](int64_t i) { return size_t(i); });
  auto ofSide = [&](Side which) {
    return fastest(side(which).order, [&](int64_t i) { return side(which).dims[size_t(i)]; });
  };
  exchange.isTransposed = ofRoot && ofSide(Side::Rows) == ofRoot;
  if (ofRoot && (exchange.isTransposed || ofSide(Side::Columns) == ofRoot))
    exchange.lanes = std::min(lanesFor(graph, root.dims[*ofRoot], spec.rootTile[*ofRoot]),
                              static_cast<unsigned>(maxVectorBytes / exchange.elementBytes));

  for (int64_t passes = 1; passes <= exchange.units; ++passes) {
    exchange.unitsAtOnce = exchange.units / passes;
    if (exchange.units % passes == 0 &&
        exchange.lines() * exchange.pitch() <= stageBytes * spec.schedule.stages)
      return exchange;
  }
  return std::nullopt;
}

/// PTX ISA, "Matrix fragments": lane g·4 + t holds columns 2t and 2t + 1 of rows g and g + 8 of
/// each block of 16 rows; the rows and columns that `use` gets are those of g = t = 0.
llvm::Error DotLowering::forPairs(const Values &sums, const PairBody &use) const {
  int64_t blocks = usesWgmma() ? rowBlocks : rowsOfWarp / 16;
  int64_t eights = (usesWgmma() ? columnsOfGroup() : columnsOfWarp) / 8;
  for (int64_t i = 0; i < blocks; ++i)
    for (int64_t half = 0; half < 2; ++half)
      for (int64_t j = 0; j < eights; ++j) {
        auto at = sums.begin() + (i * eights + j) * 4 + half * 2;
        if (auto error = use(i * (usesWgmma() ? 64 : 16) + half * 8, j * 8, Values(at, at + 2)))
          return error;
      }
  return llvm::Error::success();
}

llvm::Error DotLowering::emitResults(const Values &sums) {
  ValueEmitter &emitter = lowering->emitter;
  Expr tid = lowering->tid;
  if (instruction == Instruction::Fma) {
    emitter.setLanes(1);
    for (int64_t i = 0; i < rowsOfThread; ++i)
      for (int64_t j = 0; j < columnsOfThread; ++j) {
        Expr row = tid.floorDiv(threadColumns) + i * threadRows;
        Expr column = tid.mod(threadColumns) + j * threadColumns;
        if (auto error = emitResult(row, column, 1, {},
                                    {sums[static_cast<size_t>(i * columnsOfThread + j)]}))
          return error;
      }
    return llvm::Error::success();
  }
  if (auto exchange = planExchange())
    return emitExchange(*exchange, sums);
  emitter.setLanes(2);
  Expr lane = tid.mod(32), warp = tid.floorDiv(32);
  Expr firstRow = lane.floorDiv(4), firstColumn = lane.mod(4) * 2 + emitter.lane();
  Guard working;
  if (usesWgmma()) {
    Expr group = tid.floorDiv(128);
    firstRow = firstRow + group.mod(groupRows) * (rowBlocks * 64) + warp.mod(4) * 16;
    firstColumn = firstColumn + group.floorDiv(groupRows) * columnsOfGroup();
  } else {
    firstRow = firstRow + warp.mod(warpRows) * rowsOfWarp;
    firstColumn = firstColumn + warp.floorDiv(warpRows).mod(warpColumns) * columnsOfWarp;
    working = {{warp, Interval::ofExtent(warpRows * warpColumns), 1, 0}};
  }
  return forPairs(sums, [&](int64_t row, int64_t column, const Values &pair) {
    return emitResult(firstRow + row, firstColumn + column, 2, working, pair);
  });
}

llvm::Error DotLowering::emitExchange(const Exchange &exchange, const Values &sums) {
  ValueEmitter &emitter = lowering->emitter;
  KernelBuilder &k = lowering->k;
  int64_t vectors = exchange.rows() * exchange.columns / exchange.lanes;
  int64_t rounds = ceilDiv(vectors, lowering->threads);
  int64_t atOnce = std::clamp<int64_t>(
      maxPending / (workPerElement(lowering->graph, idsOf(lowering->graph)) * exchange.lanes), 1,
      std::min(maxVectorsUnrolled, rounds));
  int64_t passes = exchange.units / exchange.unitsAtOnce, trips = ceilDiv(rounds, atOnce);
  llvm::Error error = llvm::Error::success();
  for (int64_t pass = 0; pass < passes && !error; ++pass) {
    ctaBarrier(); // the stages, or the previous pass's sums, are no longer read
    storeSums(exchange, pass, sums);
    ctaBarrier();
    emitter.setLanes(exchange.lanes);
    if (trips == 1) {
      ValueEmitter::Scope scope(emitter);
      error = loadSums(exchange, pass, lowering->tid, rounds);
      continue;
    }
    k.forLoop(
        k.c32(0), k.c32(trips), k.c32(1), {},
        [&](llvm::Value *counter, const Values &) -> Values {
          ValueEmitter::Scope scope(emitter);
          Expr trip = emitter.variable(VarKind::Step, "trip", Interval::ofExtent(trips), counter);
          error =
              loadSums(exchange, pass, trip * (lowering->threads * atOnce) + lowering->tid, atOnce);
          return {};
        },
        KernelBuilder::Unrolling::Never);
  }
  return error;
}

/// Leaves the sums of a pass in shared memory.
void DotLowering::storeSums(const Exchange &exchange, int64_t pass, const Values &sums) {
  ScalarOps &ops = lowering->emitter.scalars();
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  llvm::Value *lane = b.CreateAnd(k.threadId(), k.c32(31)), *warp = b.CreateLShr(k.threadId(), 5);
  llvm::Value *row = b.CreateLShr(lane, 2);
  llvm::Value *column = b.CreateShl(b.CreateAnd(lane, k.c32(3)), 1);
  llvm::Value *part;
  if (usesWgmma()) {
    llvm::Value *group = b.CreateLShr(warp, 2);
    part = b.CreateURem(group, k.c32(groupRows));
    column = b.CreateAdd(
        column, b.CreateMul(b.CreateUDiv(group, k.c32(groupRows)), k.c32(columnsOfGroup())));
    row = b.CreateAdd(row, b.CreateShl(b.CreateAnd(warp, k.c32(3)), 4));
  } else {
    part = b.CreateURem(warp, k.c32(warpRows));
    column =
        b.CreateAdd(column, b.CreateMul(b.CreateUDiv(warp, k.c32(warpRows)), k.c32(columnsOfWarp)));
  }
  row = b.CreateAdd(row, b.CreateMul(part, k.c32(exchange.rowsOfPart())));
  int64_t bytes = exchange.elementBytes;
  int64_t rowStep = exchange.isTransposed ? bytes : exchange.pitch();
  int64_t columnStep = exchange.isTransposed ? exchange.pitch() : bytes;
  llvm::Value *base =
      b.CreateAdd(b.CreateMul(row, k.c32(rowStep)), b.CreateMul(column, k.c32(columnStep)));
  int64_t firstRow = pass * exchange.rowsOfPart();
  auto store = [&] {
    llvm::cantFail(forPairs(sums, [&](int64_t pairRow, int64_t pairColumn, const Values &pair) {
      if (pairRow < firstRow || pairRow >= firstRow + exchange.rowsOfPart())
        return llvm::Error::success();
      Values rounded, bits;
      for (llvm::Value *sum : pair)
        rounded.push_back(ops.round(lowering->graph[dot].shape.dtype, sum));
      for (llvm::Value *sum : rounded)
        bits.push_back(ops.toMemory(exchange.type, sum));
      auto at = [&](int64_t i) {
        return b.CreateAdd(base,
                           k.c32((pairRow - firstRow) * rowStep + (pairColumn + i) * columnStep));
      };
      if (exchange.isTransposed) {
        for (int64_t i : {0, 1})
          k.storeShared(bits[static_cast<size_t>(i)], at(i), static_cast<unsigned>(bytes));
        return llvm::Error::success();
      }
      llvm::Value *both = llvm::PoisonValue::get(llvm::FixedVectorType::get(bits[0]->getType(), 2));
      for (unsigned i : {0u, 1u})
        both = b.CreateInsertElement(both, bits[i], i);
      if (k.isRounded(exchange.type, rounded[0]) && k.isRounded(exchange.type, rounded[1]))
        both = k.pack16(exchange.type, rounded[0], rounded[1]);
      k.storeShared(both, at(0), static_cast<unsigned>(2 * bytes));
      return llvm::Error::success();
    }));
  };
  if (!usesWgmma() && warpRows * warpColumns < spec.schedule.warps)
    k.ifThen(b.CreateICmpULT(warp, k.c32(warpRows * warpColumns)), store);
  else
    store();
}

/// Results of vectors first, first + threads, … (`count` of them) of a pass.
llvm::Error DotLowering::loadSums(const Exchange &exchange, int64_t pass, Expr first,
                                  int64_t count) {
  ValueEmitter &emitter = lowering->emitter;
  ScalarOps &ops = emitter.scalars();
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  int64_t lanes = exchange.lanes, runs = exchange.length() / lanes, bytes = exchange.elementBytes;
  struct Vector {
    Expr line, run;
    Guard exists;
    Values sums;
  };
  std::vector<Vector> vectors;
  for (int64_t i = 0; i < count; ++i) {
    Expr position = emitter.simplify(first + i * lowering->threads);
    Vector vector;
    vector.exists = {{position, Interval::ofExtent(exchange.lines() * runs), 1, 0}};
    vector.line = emitter.simplify(position.floorDiv(runs));
    vector.run = emitter.simplify(position.mod(runs) * lanes);
    llvm::Value *at = emitter.index(vector.line * exchange.pitch() + vector.run * bytes);
    if (llvm::Value *exists = emitter.holds(vector.exists))
      at = b.CreateSelect(exists, at, llvm::ConstantInt::get(at->getType(), 0));
    llvm::Type *element = ops.memoryType(exchange.type);
    llvm::Value *loaded = k.loadShared(
        lanes == 1 ? element : llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes)),
        b.CreateTrunc(at, k.i32), static_cast<unsigned>(lanes * bytes));
    for (int64_t lane = 0; lane < lanes; ++lane)
      vector.sums.push_back(ops.fromMemory(
          exchange.type,
          lanes == 1 ? loaded : b.CreateExtractElement(loaded, static_cast<uint64_t>(lane))));
    vectors.push_back(std::move(vector));
  }
  for (const Vector &vector : vectors) {
    Expr along = lanes > 1 ? vector.run + emitter.lane() : vector.run;
    Expr row = exchange.isTransposed ? along : vector.line;
    Expr column = exchange.isTransposed ? vector.line : along;
    if (exchange.unitsAtOnce < exchange.units) {
      int64_t rows = exchange.rowsOfPart();
      row = row.floorDiv(rows) * (exchange.units * exchange.unitRows) + row.mod(rows) + pass * rows;
    }
    if (auto error = emitResult(row, column, exchange.lanes, vector.exists, vector.sums))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error DotLowering::emitResult(Expr row, Expr column, unsigned lanes, const Guard &extra,
                                    const Values &sums) {
  ValueEmitter &emitter = lowering->emitter;
  const RootSide &rows = side(Side::Rows), &columns = side(Side::Columns),
                 &batch = side(Side::Batch);
  row = emitter.simplify(row);
  column = emitter.simplify(column);
  Coordinates root(placeholders.size(), emitter.constant(0));
  Guard guard = extra;
  guard.push_back({row, Interval::ofExtent(rows.size), 1, 0});
  guard.push_back({column, Interval::ofExtent(columns.size), 1, 0});
  auto place = [&](const RootSide &mine, Expr position) {
    Coordinates own = mine.coordinates(emitter, position);
    emitter.addDomain(guard, own, mine.extents);
    for (size_t i = 0; i < own.size(); ++i)
      root[mine.dims[i]] = own[i];
  };
  place(batch, batchPosition);
  place(rows, row);
  place(columns, column);

  DType type = lowering->graph[dot].shape.dtype;
  currentDot = dotCoordinates(root);
  currentSums.clear();
  for (llvm::Value *sum : sums)
    currentSums.push_back(emitter.scalars().round(type, sum));
  for (size_t r = 0; r < lowering->results.size(); ++r) {
    OpId id = lowering->results[r];
    auto values = emitter.values(id, root, guard, lanes);
    if (!values)
      return values.takeError();
    if (auto error = emitter.store(lowering->outputBuffer(r), lowering->graph[id].shape, root,
                                   guard, *values))
      return error;
  }
  return llvm::Error::success();
}

} // namespace tilewright
