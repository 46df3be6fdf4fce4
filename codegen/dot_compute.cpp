// The arithmetic of a dot's K step, and its results.
#include "analysis/support/checked.h"
#include "codegen/dot_lowering.h"

#include <algorithm>

namespace tilewright {

/// Fragment layouts: PTX ISA, "Matrix fragments for mma.m16n8k16"; sums are [row block][column
/// block][4]. Every ldmatrix lane l gives the address of row l mod 8 of matrix l / 8.
Values DotLowering::computeMma(llvm::Value *stageOffset, Values sums) {
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  int64_t rowBlocks = rowsOfWarp / 16, columnBlocks = columnsOfWarp / 8;
  llvm::Value *warp = b.CreateLShr(k.threadId(), 5);
  // Warps that are left over do the work of another and store nothing.
  llvm::Value *warpRow = b.CreateURem(warp, k.c32(warpRows));
  llvm::Value *warpColumn = b.CreateURem(b.CreateUDiv(warp, k.c32(warpRows)), k.c32(warpColumns));
  auto plus = [&](llvm::Value *x, llvm::Value *y) { return b.CreateAdd(x, y, "", true, true); };
  llvm::Value *firstRow = b.CreateMul(warpRow, k.c32(rowsOfWarp));
  llvm::Value *firstColumn = b.CreateMul(warpColumn, k.c32(columnsOfWarp));

  for (int64_t kBlock = 0; kBlock < kPadded / 16; ++kBlock) {
    std::vector<Values> a, bFragments;
    for (int64_t i = 0; i < rowBlocks; ++i)
      a.push_back(lhs.loadLeft(k, stageOffset, plus(firstRow, k.c32(i * 16)), kBlock));
    for (int64_t j = 0; j < columnBlocks; j += 2) {
      bool isPair = j + 1 < columnBlocks;
      Values loaded =
          rhs.loadRight(k, stageOffset, plus(firstColumn, k.c32(j * 8)), kBlock, isPair);
      bFragments.push_back({loaded[0], loaded[1]});
      if (isPair)
        bFragments.push_back({loaded[2], loaded[3]});
    }
    for (int64_t i = 0; i < rowBlocks; ++i)
      for (int64_t step = 0; step < columnBlocks; ++step) {
        // Back and forth, so that consecutive instructions share a fragment.
        int64_t j = i % 2 ? columnBlocks - 1 - step : step;
        auto sum = sums.begin() + (i * columnBlocks + j) * 4;
        Values next = k.mma(inputType, a[static_cast<size_t>(i)],
                            bFragments[static_cast<size_t>(j)], Values(sum, sum + 4));
        std::copy(next.begin(), next.end(), sum);
      }
  }
  return sums;
}

Values DotLowering::computeFma(llvm::Value *stageOffset, Values sums) {
  ScalarOps &ops = lowering->emitter.scalars();
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  llvm::Type *type = ops.memoryType(sumType);
  auto bytes = static_cast<int64_t>(type->getPrimitiveSizeInBits() / 8);
  llvm::Value *column = b.CreateURem(k.threadId(), k.c32(threadColumns));
  llvm::Value *row = b.CreateUDiv(k.threadId(), k.c32(threadColumns));
  // Threads past the end of the tile read its last element and store nothing.
  auto positions = [&](llvm::Value *first, int64_t count, int64_t step, int64_t size,
                       int64_t offset) {
    Values result;
    for (int64_t i = 0; i < count; ++i) {
      llvm::Value *position = b.CreateAdd(first, k.c32(i * step));
      if ((i + 1) * step > size)
        position = k.intrinsic(llvm::Intrinsic::smin, {k.i32}, {position, k.c32(size - 1)});
      result.push_back(b.CreateAdd(b.CreateMul(position, k.c32(bytes)),
                                   b.CreateAdd(stageOffset, k.c32(offset))));
    }
    return result;
  };
  Values left = positions(row, rowsOfThread, threadRows, lhs.columns, lhs.offset);
  Values right = positions(column, columnsOfThread, threadColumns, rhs.columns, rhs.offset);
  bool isFloating = isFloat(sumType);
  return k.forLoop(
      k.c32(0), k.c32(kStep), k.c32(1), sums,
      [&](llvm::Value *kAt, const Values &before) -> Values {
        auto load = [&](const Values &bases, int64_t columns) {
          llvm::Value *line = b.CreateMul(kAt, k.c32(columns * bytes));
          Values result;
          for (llvm::Value *base : bases)
            result.push_back(ops.fromMemory(sumType, k.loadShared(type, b.CreateAdd(base, line),
                                                                  static_cast<unsigned>(bytes))));
          return result;
        };
        Values x = load(left, lhs.columns), y = load(right, rhs.columns), next = before;
        for (size_t i = 0; i < x.size(); ++i)
          for (size_t j = 0; j < y.size(); ++j) {
            llvm::Value *&sum = next[i * y.size() + j];
            if (isFloating)
              sum = k.intrinsic(llvm::Intrinsic::fma, {sum->getType()}, {x[i], y[j], sum});
            else
              sum = ops.combine(Combiner::Add, sumType, sum,
                                ops.combine(Combiner::Multiply, sumType, x[i], y[j]));
          }
        return next;
      });
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
  // Lane g·4 + t holds columns 2t and 2t + 1 of rows g and g + 8 of each block.
  emitter.setLanes(2);
  Expr lane = tid.mod(32), warp = tid.floorDiv(32);
  if (usesWgmma()) {
    // Blocks of 64 rows, 16 of each for a warp.
    Expr row = tid.floorDiv(128) * (rowBlocks * 64) + warp.mod(4) * 16 + lane.floorDiv(4);
    Expr column = lane.mod(4) * 2;
    int64_t eights = columnsOfBlock / 8;
    for (int64_t i = 0; i < rowBlocks; ++i)
      for (int64_t half = 0; half < 2; ++half)
        for (int64_t j = 0; j < columnBlocks * eights; ++j) {
          auto at =
              sums.begin() + ((i * columnBlocks + j / eights) * eights + j % eights) * 4 + half * 2;
          if (auto error = emitResult(row + (i * 64 + half * 8), column + j * 8 + emitter.lane(), 2,
                                      {}, Values(at, at + 2)))
            return error;
        }
    return llvm::Error::success();
  }
  Expr firstRow = warp.mod(warpRows) * rowsOfWarp + lane.floorDiv(4);
  Expr firstColumn = warp.floorDiv(warpRows).mod(warpColumns) * columnsOfWarp + lane.mod(4) * 2;
  Guard working{{warp, Interval::ofExtent(warpRows * warpColumns), 1, 0}};
  int64_t columnBlocks = columnsOfWarp / 8;
  for (int64_t i = 0; i < rowsOfWarp / 16; ++i)
    for (int64_t half = 0; half < 2; ++half)
      for (int64_t j = 0; j < columnBlocks; ++j) {
        auto at = sums.begin() + (i * columnBlocks + j) * 4 + half * 2;
        if (auto error =
                emitResult(firstRow + (i * 16 + half * 8), firstColumn + j * 8 + emitter.lane(), 2,
                           working, Values(at, at + 2)))
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
    emitter.store(lowering->outputBuffer(r), lowering->graph[id].shape, root, guard, *values);
  }
  return llvm::Error::success();
}

} // namespace tilewright
