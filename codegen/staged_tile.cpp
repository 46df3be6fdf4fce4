#include "codegen/staged_tile.h"

#include <algorithm>
#include <bit>

namespace tilewright {

int64_t StagedTile::swizzlePeriod() const {
  int64_t count = chunks();
  return std::min<int64_t>(8, count & -count);
}

int64_t StagedTile::swizzleShift() const {
  return std::countr_zero(static_cast<uint64_t>(8 / swizzlePeriod()));
}

llvm::Value *StagedTile::chunkAddress(KernelBuilder &k, llvm::Value *row,
                                      llvm::Value *chunk) const {
  llvm::IRBuilder<> &b = k.b;
  llvm::Value *swizzle =
      b.CreateAnd(b.CreateLShr(row, k.c32(swizzleShift())), k.c32(swizzlePeriod() - 1));
  llvm::Value *inRow = b.CreateShl(b.CreateXor(chunk, swizzle), 4);
  llvm::Value *rowStart = b.CreateMul(row, k.c32(columns * 2), "", true, true);
  return b.CreateAdd(b.CreateAdd(rowStart, inRow, "", true, true), k.c32(offset), "", true, true);
}

llvm::Value *StagedTile::matrixAddress(KernelBuilder &k, llvm::Value *across,
                                       llvm::Value *acrossHalf, llvm::Value *kHalf,
                                       int64_t kBlock) const {
  llvm::IRBuilder<> &b = k.b;
  auto plus = [&](llvm::Value *x, llvm::Value *y) { return b.CreateAdd(x, y, "", true, true); };
  llvm::Value *inMatrix = b.CreateAnd(k.threadId(), k.c32(7));
  llvm::Value *row, *chunk;
  if (isKMinor) {
    row = plus(plus(across, b.CreateShl(acrossHalf, 3)), inMatrix);
    chunk = plus(kHalf, k.c32(kBlock * 2));
  } else {
    row = plus(plus(b.CreateShl(kHalf, 3), inMatrix), k.c32(kBlock * 16));
    chunk = plus(b.CreateLShr(across, 3), acrossHalf);
  }
  return chunkAddress(k, row, chunk);
}

Values StagedTile::loadLeft(KernelBuilder &k, llvm::Value *stage, llvm::Value *across,
                            int64_t kBlock) const {
  llvm::IRBuilder<> &b = k.b;
  llvm::Value *matrix = b.CreateLShr(b.CreateAnd(k.threadId(), k.c32(31)), 3);
  // Matrices in the order of a0 … a3: rows 0, rows 8, then the same at k + 8.
  llvm::Value *at =
      matrixAddress(k, across, b.CreateAnd(matrix, k.c32(1)), b.CreateLShr(matrix, 1), kBlock);
  return k.loadMatrix(b.CreateAdd(stage, at, "", true, true), 4, !isKMinor);
}

Values StagedTile::loadRight(KernelBuilder &k, llvm::Value *stage, llvm::Value *across,
                             int64_t kBlock, bool isPair) const {
  llvm::IRBuilder<> &b = k.b;
  llvm::Value *matrix = b.CreateLShr(b.CreateAnd(k.threadId(), k.c32(31)), 3);
  llvm::Value *at =
      matrixAddress(k, across, b.CreateLShr(matrix, 1), b.CreateAnd(matrix, k.c32(1)), kBlock);
  // A matrix of [n][k] rows is what mma wants of B as it is; [k][n] rows need the transposing
  // load, just as [k][m] rows do for A.
  return k.loadMatrix(b.CreateAdd(stage, at, "", true, true), isPair ? 4 : 2, !isKMinor);
}

llvm::Error loadStagedTile(Lowering &lowering, const StagedTile &tile, DType type,
                           const StagedPlace &place, llvm::Value *stageOffset) {
  ValueEmitter &emitter = lowering.emitter;
  ScalarOps &ops = emitter.scalars();
  KernelBuilder &k = lowering.k;
  llvm::IRBuilder<> &b = k.b;
  DType given = lowering.graph[tile.op].shape.dtype;
  constexpr unsigned lanes = 8; // a chunk
  emitter.setLanes(lanes);
  int64_t runs = tile.columns / lanes, total = runs * tile.rows;
  auto split = [&](Expr item) {
    return std::pair(emitter.simplify(item.floorDiv(runs)), emitter.simplify(item.mod(runs)));
  };
  auto placeOf = [&](Expr line, Expr run) {
    return place(line, emitter.simplify(run * int64_t(lanes) + emitter.lane()));
  };
  auto directly = [&](const Coordinates &at, const Guard &guard) {
    return given == type ? emitter.directAccess(tile.op, at, guard, lanes) : std::nullopt;
  };
  auto load = [&](Expr item) -> llvm::Error {
    Guard exists{{item, Interval::ofExtent(total), 1, 0}};
    auto [line, run] = split(item);
    auto [at, guard] = placeOf(line, run);
    auto narrow = [&](Expr expr) { return b.CreateTrunc(emitter.index(expr), k.i32); };
    llvm::Value *address =
        b.CreateAdd(stageOffset, tile.chunkAddress(k, narrow(line), narrow(run)), "", true, true);
    auto whereItExists = [&](const std::function<void()> &body) {
      if (llvm::Value *condition = emitter.holds(exists))
        k.ifThen(condition, body);
      else
        body();
    };
    if (auto direct = directly(at, guard)) {
      llvm::Value *valid = emitter.holds(direct->guard);
      llvm::Value *offset = emitter.index(direct->offset);
      if (valid)
        offset = b.CreateSelect(valid, offset, llvm::ConstantInt::get(emitter.indexType(), 0));
      llvm::Value *byteOffset = b.CreateMul(b.CreateSExtOrTrunc(offset, k.i64), k.c64(2));
      whereItExists([&] { k.copyAsync16(address, direct->buffer, byteOffset, valid); });
      return llvm::Error::success();
    }
    Guard all = guard;
    all.insert(all.end(), exists.begin(), exists.end());
    auto values = emitter.values(tile.op, at, all, lanes);
    if (!values)
      return values.takeError();
    llvm::Value *chunk = llvm::PoisonValue::get(llvm::FixedVectorType::get(k.i16, lanes));
    for (unsigned lane = 0; lane < lanes; ++lane) {
      llvm::Value *value = ops.convert(given, type, (*values)[lane]);
      if (llvm::Value *valid = emitter.holdsAtLane(guard, lane))
        value = b.CreateSelect(valid, value, ops.constant(type, int64_t(0)));
      chunk = b.CreateInsertElement(chunk, ops.toMemory(type, value), lane);
    }
    whereItExists([&] { k.storeShared(chunk, address, 16); });
    return llvm::Error::success();
  };
  int64_t rounds = (total + lowering.threads - 1) / lowering.threads;
  auto [line, run] = split(lowering.tid);
  auto [at, guard] = placeOf(line, run);
  // What goes through registers, address by address, is a loop: beside the sums of a product,
  // many at once would spill.
  constexpr int64_t maxUnrolled = 2;
  if (rounds <= maxUnrolled || directly(at, guard)) {
    for (int64_t round = 0; round < rounds; ++round)
      if (auto error = load(emitter.simplify(lowering.tid + round * lowering.threads)))
        return error;
    return llvm::Error::success();
  }
  llvm::Error error = llvm::Error::success();
  k.forLoop(
      k.c32(0), k.c32(rounds), k.c32(1), {},
      [&](llvm::Value *counter, const Values &) -> Values {
        ValueEmitter::Scope scope(emitter);
        Expr round = emitter.variable(VarKind::Step, "fill", Interval::ofExtent(rounds), counter);
        error = load(emitter.simplify(round * lowering.threads + lowering.tid));
        return {};
      },
      KernelBuilder::Unrolling::Never);
  return error;
}

} // namespace tilewright
