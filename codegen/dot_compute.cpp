// The arithmetic of a dot's K step.
#include "analysis/support/checked.h"
#include "codegen/dot_lowering.h"

#include <algorithm>

namespace tilewright {

namespace {
/// The words of a fragment of f32, and what TF32 leaves out of them. Infinities and NaNs are 0 in
/// both: they count in the product of the whole words alone.
struct Tf32Parts {
  Values taken, rest;
};

Tf32Parts partsOf(KernelBuilder &k, const Values &words) {
  llvm::IRBuilder<> &b = k.b;
  constexpr int64_t tf32Bits = -0x2000; // all but the low 13
  Tf32Parts parts;
  for (llvm::Value *word : words) {
    llvm::Value *taken = b.CreateBitCast(b.CreateAnd(word, k.c32(tf32Bits)), k.f32);
    llvm::Value *rest = b.CreateFSub(b.CreateBitCast(word, k.f32), taken);
    llvm::Value *isFinite = b.CreateFCmpORD(rest, rest);
    parts.taken.push_back(b.CreateSelect(isFinite, word, k.c32(0)));
    parts.rest.push_back(b.CreateBitCast(b.CreateSelect(isFinite, rest, k.cf(0)), k.i32));
  }
  return parts;
}
} // namespace

/// The sums of a 16x8 block with the products of two fragments.
Values DotLowering::multiply(const Values &left, const Values &right, Values sums) {
  KernelBuilder &k = lowering->k;
  const MatrixTypes types(lhs.type, rhs.type);
  if (products > 1) { // the small ones first
    Tf32Parts a = partsOf(k, left), b = partsOf(k, right);
    sums = k.mma(types, a.rest, b.taken, sums);
    sums = k.mma(types, a.taken, b.rest, sums);
  }
  return k.mma(types, left, right, sums);
}

/// Fragment layouts: see staged_tile.h; sums are [row block][column block][4]. Every ldmatrix lane
/// l gives the address of row l mod 8 of matrix l / 8.
Values DotLowering::computeMma(llvm::Value *stageOffset, Values sums) {
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  int64_t rowBlocks = rowsOfWarp / 16, columnBlocks = columnsOfWarp / 8;
  int64_t kBlocks = kPadded * lhs.elementBytes / 32;
  llvm::Value *warp = b.CreateLShr(k.threadId(), 5);
  // Surplus warps repeat the work of another warp and store nothing.
  llvm::Value *warpRow = b.CreateURem(warp, k.c32(warpRows));
  llvm::Value *warpColumn = b.CreateURem(b.CreateUDiv(warp, k.c32(warpRows)), k.c32(warpColumns));
  auto plus = [&](llvm::Value *x, llvm::Value *y) { return b.CreateAdd(x, y, "", true, true); };
  llvm::Value *firstRow = b.CreateMul(warpRow, k.c32(rowsOfWarp));
  llvm::Value *firstColumn = b.CreateMul(warpColumn, k.c32(columnsOfWarp));

  for (int64_t kBlock = 0; kBlock < kBlocks; ++kBlock) {
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
        // Boustrophedon order, so that consecutive instructions share a fragment.
        int64_t j = i % 2 ? columnBlocks - 1 - step : step;
        auto sum = sums.begin() + (i * columnBlocks + j) * 4;
        Values next = multiply(a[static_cast<size_t>(i)], bFragments[static_cast<size_t>(j)],
                               Values(sum, sum + 4));
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

} // namespace tilewright
