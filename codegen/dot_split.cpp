// Split-K: several CTAs compute partial sums of one tile, and the last one to finish adds them up.
//
// Each CTA writes its sums to a workspace, passes a fence and increments a counter. The one that
// finds all others counted reads the sums of all CTAs in the order of the splits, so that the
// result does not depend on which was last, and continues with the epilogue.
#include "analysis/support/checked.h"
#include "analysis/tiling/resources.h"
#include "codegen/dot_lowering.h"

namespace tilewright {

namespace {
constexpr int64_t vectorBytes = 16;
}

llvm::Error DotLowering::planSplits() {
  int64_t splits = spec.schedule.splitK;
  splitTiles = ceilDiv(kTiles, splits);
  if (splits == 1)
    return llvm::Error::success();
  int64_t width = isFloat(sumType) && sumType != DType::F64 ? 4 : bitWidth(sumType) / 8;
  int64_t tiles = side(Side::Rows).tiles * side(Side::Columns).tiles * side(Side::Batch).tiles *
                  side(Side::Batch).size;
  partialBytes =
      ceilDiv(sumsPerThread * width, vectorBytes) * vectorBytes * spec.schedule.warps * 32;
  auto slots = checkedMul(tiles, splits);
  auto bytes = slots ? checkedMul(*slots, partialBytes) : std::nullopt;
  if (!bytes || *bytes > maxPartialSumBytes)
    return makeError(DiagClass::Unsupported,
                     "%{}: the partial sums of {} tiles split in {} are more than {} bytes",
                     spec.graph()[dot].name, tiles, splits, maxPartialSumBytes);
  extras.workspaces = {{"partial sums", *bytes, false}, {"arrival counters", tiles * 4, true}};
  return llvm::Error::success();
}

llvm::Error DotLowering::emitSplitResults(const Values &sums) {
  ValueEmitter &emitter = lowering->emitter;
  ScalarOps &ops = emitter.scalars();
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  int64_t splits = spec.schedule.splitK, threads = lowering->threads;
  llvm::Type *type = ops.memoryType(sumType);
  auto width = static_cast<int64_t>(type->getPrimitiveSizeInBits().getFixedValue() / 8);
  auto lanes = static_cast<size_t>(vectorBytes / width);
  auto *vector = llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes));
  unsigned partials = lowering->workspaceBuffer(0), counters = lowering->workspaceBuffer(1);

  auto wide = [&](Expr expr) { return b.CreateZExtOrTrunc(emitter.index(expr), k.i64); };
  llvm::Value *tile =
      b.CreateAdd(b.CreateMul(wide(tileOfCta), k.c64(side(Side::Batch).size)), wide(batchPosition));
  llvm::Value *firstSlot = b.CreateMul(tile, k.c64(splits));
  llvm::Value *mine = b.CreateMul(b.CreateZExt(k.threadId(), k.i64), k.c64(vectorBytes));
  auto address = [&](llvm::Value *split, size_t group) {
    llvm::Value *slot = b.CreateMul(b.CreateAdd(firstSlot, split), k.c64(partialBytes));
    return b.CreateAdd(b.CreateAdd(slot, mine),
                       k.c64(static_cast<int64_t>(group) * threads * vectorBytes));
  };
  for (size_t first = 0; first < sums.size(); first += lanes) {
    llvm::Value *packed = llvm::Constant::getNullValue(vector);
    for (size_t i = 0; i < lanes && first + i < sums.size(); ++i)
      packed = b.CreateInsertElement(packed, ops.toMemory(sumType, sums[first + i]), i);
    k.storeGlobal(packed, partials, address(wide(splitOfCta), first / lanes), vectorBytes);
  }
  k.fenceGlobal();
  ctaBarrier();
  llvm::Value *isFirst = b.CreateICmpEQ(k.threadId(), k.c32(0));
  llvm::Value *counter = b.CreateMul(tile, k.c64(4));
  // The stages are free: their memory broadcasts the count to all threads.
  k.ifThen(isFirst, [&] {
    llvm::Value *before = k.atomicAdd(counters, counter, k.c32(1));
    k.storeShared(before, k.c32(0), 4);
  });
  ctaBarrier();
  llvm::Value *before = k.loadShared(k.i32, k.c32(0), 4);
  llvm::Error error = llvm::Error::success();
  k.ifThen(b.CreateICmpEQ(before, k.c32(splits - 1)), [&] {
    ValueEmitter::Scope scope(emitter);
    k.fenceGlobal();
    Values zeros(sums.size(), ops.constant(sumType, int64_t(0)));
    Values total = k.forLoop(
        k.c32(0), k.c32(splits), k.c32(1), zeros,
        [&](llvm::Value *split, const Values &before) -> Values {
          Values next = before;
          for (size_t first = 0; first < sums.size(); first += lanes) {
            llvm::Value *packed = k.loadGlobal(
                vector, partials, address(b.CreateZExt(split, k.i64), first / lanes), vectorBytes);
            for (size_t i = 0; i < lanes && first + i < sums.size(); ++i)
              next[first + i] =
                  ops.combine(Combiner::Add, sumType, next[first + i],
                              ops.fromMemory(sumType, b.CreateExtractElement(packed, i)));
          }
          return next;
        });
    k.ifThen(isFirst, [&] { k.storeGlobal(k.c32(0), counters, counter, 4); });
    error = emitResults(total);
  });
  return error;
}

/// A barrier of the consumer threads.
void DotLowering::ctaBarrier() {
  if (usesWgmma()) // the producer warp has left
    lowering->k.barrier(1, lowering->threads);
  else
    lowering->k.barrier();
}

} // namespace tilewright
