#include "codegen/copying_warps.h"

#include "analysis/support/checked.h"
#include "analysis/tiling/resources.h"

#include <algorithm>

namespace tilewright {

namespace {
constexpr int64_t registersPerSm = 65536;

/// Registers a thread when `warps` share an SM evenly: each quarter of it has the same number of
/// warps, rounded up.
int64_t evenShare(int64_t warps) {
  return std::min<int64_t>(255, registersPerSm / (ceilDiv(warps, int64_t(4)) * 128) / 8 * 8);
}
} // namespace

CopyingWarps CopyingWarps::beside(int64_t multiplying, int64_t registers) {
  CopyingWarps result;
  result.evenRegisters = evenShare(multiplying + 1);
  if (registers > result.evenRegisters) {
    // What the block is started with is all that there is to move.
    int64_t groups = multiplying / 4, pool = evenShare(multiplying + 4) * (groups + 1);
    int64_t moved = (pool - copyingWarpRegisters) / groups / 8 * 8;
    if (moved > result.evenRegisters && multiplying + 4 <= 32) {
      result.warps = 4;
      result.groupRegisters = std::min<int64_t>(moved, 240);
      result.evenRegisters = evenShare(multiplying + 4);
    }
  }
  return result;
}

void CopyingWarps::split(ValueEmitter &emitter, int64_t multiplying,
                         const std::function<void()> &copy,
                         const std::function<void(llvm::Value *group)> &multiply) const {
  KernelBuilder &k = emitter.builder();
  llvm::IRBuilder<> &b = k.b;
  llvm::Value *warp = k.uniform(b.CreateLShr(k.threadId(), 5));
  k.ifThenElse(
      b.CreateICmpSGE(warp, k.c32(multiplying)),
      [&] {
        ValueEmitter::Scope scope(emitter);
        if (groupRegisters)
          k.setMaxRegisters(copyingWarpRegisters, false);
        k.ifThen(b.CreateICmpEQ(k.threadId(), k.c32(multiplying * 32)), [&] {
          ValueEmitter::Scope inner(emitter);
          copy();
        });
      },
      [&] {
        ValueEmitter::Scope scope(emitter);
        if (groupRegisters)
          k.setMaxRegisters(groupRegisters, true);
        multiply(b.CreateLShr(warp, 2));
      });
}

void StageRing::init(KernelBuilder &k, int64_t warps) const {
  for (int64_t stage = 0; stage < stages; ++stage) {
    k.initBarrier(full(k, k.c32(stage)), 1);
    k.initBarrier(empty(k, k.c32(stage)), warps);
  }
}

llvm::Value *StageRing::full(KernelBuilder &k, llvm::Value *stage) const {
  return k.b.CreateAdd(k.b.CreateShl(stage, 3), k.c32(offset));
}

llvm::Value *StageRing::empty(KernelBuilder &k, llvm::Value *stage) const {
  return k.b.CreateAdd(k.b.CreateShl(stage, 3), k.c32(offset + stages * 8));
}

std::pair<llvm::Value *, llvm::Value *> StageRing::next(KernelBuilder &k, llvm::Value *stage,
                                                        llvm::Value *parity) const {
  llvm::IRBuilder<> &b = k.b;
  llvm::Value *following = b.CreateAdd(stage, k.c32(1));
  llvm::Value *isRound = b.CreateICmpEQ(following, k.c32(stages));
  return {b.CreateSelect(isRound, k.c32(0), following),
          b.CreateSelect(isRound, b.CreateXor(parity, k.c32(1)), parity)};
}

} // namespace tilewright
