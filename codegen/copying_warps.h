// Warps that only copy, beside warpgroups that multiply.
//
// Stage s has two barriers: full[s] ends a phase when its copies have landed, empty[s] when every
// multiplying warp is done with what it held. The copying thread goes round the stages, waiting
// for empty; warpgroups go round behind it, waiting for full.
//
// The copying warp comes after the others, so that thread ids of the multiplying warps are those
// of a kernel without it. Where those need more registers than an even share leaves them, it has
// three idle warps beside it: a whole warpgroup can give its registers to the others (setmaxnreg).
#pragma once

#include "codegen/value_emitter.h"

namespace tilewright {

struct CopyingWarps {
  int64_t warps = 1;
  int64_t groupRegisters = 0; ///< a thread of the others, once moved; 0: they are not
  int64_t evenRegisters = 0;  ///< a thread has when it starts

  /// What to have beside `multiplying` warps whose threads need so many registers; what does not
  /// fit is left to the caller to find: available() is then less.
  static CopyingWarps beside(int64_t multiplying, int64_t registers);
  int64_t available() const { return groupRegisters ? groupRegisters : evenRegisters; }

  /// Parts the block: `copy` by the first thread after those of the `multiplying` warps, `multiply`
  /// by these, which it tells the number of their warpgroup.
  void split(ValueEmitter &emitter, int64_t multiplying, const std::function<void()> &copy,
             const std::function<void(llvm::Value *group)> &multiply) const;
};

/// The barriers of a ring of stages in shared memory: 16 bytes a stage from `offset` on.
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

} // namespace tilewright
