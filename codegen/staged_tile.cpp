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
  llvm::Value *swizzle = b.CreateLShr(row, k.c32(swizzleShift()));
  if (isByWords()) // pairs of chunks are swapped
    swizzle =
        b.CreateShl(b.CreateAnd(swizzle, k.c32(std::max<int64_t>(swizzlePeriod() / 2, 1) - 1)), 1);
  else
    swizzle = b.CreateAnd(swizzle, k.c32(swizzlePeriod() - 1));
  llvm::Value *inRow = b.CreateShl(b.CreateXor(chunk, swizzle), 4);
  llvm::Value *rowStart = b.CreateMul(row, k.c32(columns * elementBytes), "", true, true);
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

/// PTX ISA, as above: lane g·4 + t holds row (column, of B) g + 8·acrossHalf at word t + 4·kHalf.
llvm::Value *StagedTile::loadWord(KernelBuilder &k, llvm::Value *stage, llvm::Value *across,
                                  int64_t acrossHalf, int64_t kHalf, int64_t kBlock) const {
  llvm::IRBuilder<> &b = k.b;
  llvm::Value *lane = b.CreateAnd(k.threadId(), k.c32(31));
  llvm::Value *group = b.CreateLShr(lane, 2), *inGroup = b.CreateAnd(lane, k.c32(3));
  // Lines four apart are swizzled alike: the constant part is added last, so that it is folded into
  // the load instruction and few addresses stay in registers.
  auto plus = [&](llvm::Value *x, llvm::Value *y) { return b.CreateAdd(x, y, "", true, true); };
  llvm::Value *position = plus(plus(across, group), k.c32(acrossHalf * 8));
  llvm::Value *chunk = chunkAddress(k, inGroup, b.CreateLShr(position, 2));
  llvm::Value *word = b.CreateShl(b.CreateAnd(position, k.c32(3)), 2, "", true, true);
  int64_t first = (kBlock * 2 + kHalf) * 4 * columns * elementBytes;
  return k.loadShared(k.i32, plus(plus(stage, plus(chunk, word)), k.c32(first)), 4);
}

Values StagedTile::loadLeft(KernelBuilder &k, llvm::Value *stage, llvm::Value *across,
                            int64_t kBlock) const {
  if (isByWords()) {
    Values words;
    for (int64_t i = 0; i < 4; ++i)
      words.push_back(loadWord(k, stage, across, i % 2, i / 2, kBlock));
    return words;
  }
  llvm::IRBuilder<> &b = k.b;
  llvm::Value *matrix = b.CreateLShr(b.CreateAnd(k.threadId(), k.c32(31)), 3);
  // Matrices in the order of a0 … a3: rows 0, rows 8, then the same at k + 8.
  llvm::Value *at =
      matrixAddress(k, across, b.CreateAnd(matrix, k.c32(1)), b.CreateLShr(matrix, 1), kBlock);
  return k.loadMatrix(b.CreateAdd(stage, at, "", true, true), 4, !isKMinor);
}

Values StagedTile::loadRight(KernelBuilder &k, llvm::Value *stage, llvm::Value *across,
                             int64_t kBlock, bool isPair) const {
  if (isByWords()) {
    Values words;
    for (int64_t i = 0; i < (isPair ? 4 : 2); ++i)
      words.push_back(loadWord(k, stage, across, i / 2, i % 2, kBlock));
    return words;
  }
  llvm::IRBuilder<> &b = k.b;
  llvm::Value *matrix = b.CreateLShr(b.CreateAnd(k.threadId(), k.c32(31)), 3);
  llvm::Value *at =
      matrixAddress(k, across, b.CreateLShr(matrix, 1), b.CreateAnd(matrix, k.c32(1)), kBlock);
  // mma takes B from [n][k] rows directly; [k][n] rows need the transposing load, as do [k][m] rows
  // for A.
  return k.loadMatrix(b.CreateAdd(stage, at, "", true, true), isPair ? 4 : 2, !isKMinor);
}

namespace {

/// Values of the tile's operand in memory's form, with zeros where `guard` fails.
llvm::Expected<Values> stagedValues(Lowering &lowering, const StagedTile &tile, DType type,
                                    const Coordinates &at, const Guard &guard, const Guard &exists,
                                    unsigned lanes) {
  ScalarOps &ops = lowering.emitter.scalars();
  Guard all = guard;
  all.insert(all.end(), exists.begin(), exists.end());
  auto values = lowering.emitter.values(tile.op, at, all, lanes);
  if (!values)
    return values.takeError();
  for (unsigned lane = 0; lane < lanes; ++lane) {
    llvm::Value *&value = (*values)[lane];
    value = ops.convert(lowering.graph[tile.op].shape.dtype, type, value);
    if (llvm::Value *valid = lowering.emitter.holdsAtLane(guard, lane))
      value = lowering.k.b.CreateSelect(valid, value, ops.constant(type, int64_t(0)));
    value = ops.toMemory(type, value);
  }
  return values;
}

/// Runs `body` for rounds 0 … rounds - 1. Copies through registers stay a loop: unrolled, they
/// would spill beside the accumulators.
llvm::Error forRounds(Lowering &lowering, int64_t rounds, bool isFree,
                      const std::function<llvm::Error(Expr round)> &body) {
  constexpr int64_t maxUnrolled = 2;
  ValueEmitter &emitter = lowering.emitter;
  KernelBuilder &k = lowering.k;
  if (isFree || rounds <= maxUnrolled) {
    for (int64_t round = 0; round < rounds; ++round)
      if (auto error = body(emitter.constant(round)))
        return error;
    return llvm::Error::success();
  }
  llvm::Error error = llvm::Error::success();
  k.forLoop(
      k.c32(0), k.c32(rounds), k.c32(1), {},
      [&](llvm::Value *counter, const Values &) -> Values {
        ValueEmitter::Scope scope(emitter);
        error = body(emitter.variable(VarKind::Step, "fill", Interval::ofExtent(rounds), counter));
        return {};
      },
      KernelBuilder::Unrolling::Never);
  return error;
}

/// A tile of bytes that is transposed on its way to shared memory. A thread takes runs of `lanes`
/// bytes of four neighbours along K, and stores `lanes` words of four. Neighbouring threads take
/// two runs (a sector), then the next along K, so that a warp's words lie in few lines.
llvm::Error loadTransposedTile(Lowering &lowering, const StagedTile &tile, DType type,
                               const StagedPlace &place, llvm::Value *stageOffset) {
  ValueEmitter &emitter = lowering.emitter;
  KernelBuilder &k = lowering.k;
  llvm::IRBuilder<> &b = k.b;
  constexpr int64_t quad = 4;
  const unsigned lanes = tile.rows % 16 == 0 ? 16 : 8;
  emitter.setLanes(lanes);
  int64_t runs = tile.rows / lanes, quads = tile.columns / quad, total = runs * quads;
  int64_t together = runs % 2 == 0 ? 2 : 1;
  auto load = [&](Expr round) -> llvm::Error {
    Expr item = emitter.simplify(round * lowering.threads + lowering.tid);
    Guard exists{{item, Interval::ofExtent(total), 1, 0}};
    Expr run = emitter.simplify(item.mod(together) + item.floorDiv(together * quads) * together);
    Expr first = emitter.simplify(item.floorDiv(together).mod(quads) * quad);
    std::vector<Values> bytes;
    for (int64_t i = 0; i < quad; ++i) {
      auto [at, guard] = place(emitter.simplify(run * int64_t(lanes) + emitter.lane()),
                               emitter.simplify(first + i));
      auto values = stagedValues(lowering, tile, type, at, guard, exists, lanes);
      if (!values)
        return values.takeError();
      bytes.push_back(std::move(*values));
    }
    auto narrow = [&](Expr expr) { return b.CreateTrunc(emitter.index(expr), k.i32); };
    llvm::Value *chunk = narrow(emitter.simplify(first.floorDiv(tile.chunkElements())));
    llvm::Value *inChunk =
        b.CreateAdd(stageOffset, narrow(emitter.simplify(first.mod(tile.chunkElements()))));
    Values words, addresses;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      llvm::Value *word = k.c32(0);
      for (size_t i = 0; i < quad; ++i)
        word = b.CreateOr(word, b.CreateShl(b.CreateZExt(bytes[i][lane], k.i32), 8 * i));
      words.push_back(word);
      llvm::Value *line = narrow(emitter.simplify(run * int64_t(lanes) + int64_t(lane)));
      addresses.push_back(b.CreateAdd(tile.chunkAddress(k, line, chunk), inChunk));
    }
    auto store = [&] {
      for (size_t lane = 0; lane < lanes; ++lane)
        k.storeShared(words[lane], addresses[lane], 4);
    };
    if (llvm::Value *condition = emitter.holds(exists))
      k.ifThen(condition, store);
    else
      store();
    return llvm::Error::success();
  };
  return forRounds(lowering, (total + lowering.threads - 1) / lowering.threads, false, load);
}

} // namespace

llvm::Error loadStagedTile(Lowering &lowering, const StagedTile &tile, DType type,
                           const StagedPlace &place, llvm::Value *stageOffset) {
  if (tile.isTransposed)
    return loadTransposedTile(lowering, tile, type, place, stageOffset);
  ValueEmitter &emitter = lowering.emitter;
  ScalarOps &ops = emitter.scalars();
  KernelBuilder &k = lowering.k;
  llvm::IRBuilder<> &b = k.b;
  DType given = lowering.graph[tile.op].shape.dtype;
  const auto lanes = static_cast<unsigned>(tile.chunkElements());
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
  auto load = [&](Expr round) -> llvm::Error {
    Expr item = emitter.simplify(round * lowering.threads + lowering.tid);
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
      llvm::Value *byteOffset =
          b.CreateMul(b.CreateSExtOrTrunc(offset, k.i64), k.c64(tile.elementBytes));
      whereItExists([&] { k.copyAsync16(address, direct->buffer, byteOffset, valid); });
      return llvm::Error::success();
    }
    auto values = stagedValues(lowering, tile, type, at, guard, exists, lanes);
    if (!values)
      return values.takeError();
    llvm::Value *chunk =
        llvm::PoisonValue::get(llvm::FixedVectorType::get(ops.memoryType(type), lanes));
    for (unsigned lane = 0; lane < lanes; ++lane)
      chunk = b.CreateInsertElement(chunk, (*values)[lane], lane);
    whereItExists([&] { k.storeShared(chunk, address, 16); });
    return llvm::Error::success();
  };
  auto [line, run] = split(lowering.tid);
  auto [at, guard] = placeOf(line, run);
  return forRounds(lowering, (total + lowering.threads - 1) / lowering.threads,
                   directly(at, guard).has_value(), load);
}

} // namespace tilewright
