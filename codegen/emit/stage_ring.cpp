#include "codegen/emit/stage_ring.h"

namespace tilewright::emit {

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

} // namespace tilewright::emit
