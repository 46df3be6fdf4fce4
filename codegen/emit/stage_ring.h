// The barriers of a ring of stages in shared memory, 16 bytes a stage.
//
// Stage s has two: full[s] ends a phase when its copies have landed, empty[s] when every consumer
// warp is done with what it held. The producer thread walks the ring of stages, waiting for empty;
// consumer warpgroups follow, waiting for full.
#pragma once

#include "codegen/kernel_builder.h"

namespace tilewright::emit {

struct StageRing {
  int64_t stages = 1, offset = 0;

  int64_t bytes() const { return stages * 16; }
  void init(KernelBuilder &k, int64_t warps) const;
  llvm::Value *full(KernelBuilder &k, llvm::Value *stage) const;
  llvm::Value *empty(KernelBuilder &k, llvm::Value *stage) const;
  /// The next stage and the parity of its phase.
  std::pair<llvm::Value *, llvm::Value *> next(KernelBuilder &k, llvm::Value *stage,
                                               llvm::Value *parity) const;
};

} // namespace tilewright::emit
