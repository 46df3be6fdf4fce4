#include "codegen/producer_warps.h"

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

ProducerWarps ProducerWarps::beside(int64_t consumers, int64_t registers) {
  ProducerWarps result;
  result.evenRegisters = evenShare(consumers + 1);
  if (registers > result.evenRegisters) {
    // Only registers that the CTA was launched with can move.
    int64_t groups = consumers / 4, pool = evenShare(consumers + 4) * (groups + 1);
    int64_t moved = (pool - copyingWarpRegisters) / groups / 8 * 8;
    if (moved > result.evenRegisters && consumers + 4 <= 32) {
      result.warps = 4;
      result.groupRegisters = std::min<int64_t>(moved, 240);
      result.evenRegisters = evenShare(consumers + 4);
    }
  }
  return result;
}

void ProducerWarps::split(ValueEmitter &emitter, int64_t consumers,
                          const std::function<void()> &copy,
                          const std::function<void(llvm::Value *group)> &multiply) const {
  KernelBuilder &k = emitter.builder();
  llvm::IRBuilder<> &b = k.b;
  llvm::Value *warp = k.uniform(b.CreateLShr(k.threadId(), 5));
  k.ifThenElse(
      b.CreateICmpSGE(warp, k.c32(consumers)),
      [&] {
        ValueEmitter::Scope scope(emitter);
        if (groupRegisters)
          k.setMaxRegisters(copyingWarpRegisters, false);
        k.ifThen(b.CreateICmpEQ(k.threadId(), k.c32(consumers * 32)), [&] {
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
