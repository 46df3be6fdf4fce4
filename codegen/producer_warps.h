// Producer warps beside the consumer warpgroups of a wgmma kernel.
//
// Stage s has two barriers: full[s] ends a phase when its copies have landed, empty[s] when every
// consumer warp is done with what it held. The producer thread walks the ring of stages, waiting
// for empty; consumer warpgroups follow, waiting for full.
//
// The producer warp has the highest thread ids, so that those of the consumer warps are as in a
// kernel without it. Where consumers need more registers than an even share, three idle warps
// complete the producer's warpgroup: a whole warpgroup can release its registers to the others
// (setmaxnreg).
#pragma once

#include "codegen/value_emitter.h"

namespace tilewright {

struct ProducerWarps {
  int64_t warps = 1;
  int64_t groupRegisters = 0; ///< registers a consumer thread has after the move; 0: none are moved
  int64_t evenRegisters = 0;  ///< registers every thread has at launch

  /// The producer warps beside `consumers` warps whose threads need `registers` registers. If they
  /// don't fit, available() is less than `registers`, which the caller checks.
  static ProducerWarps beside(int64_t consumers, int64_t registers);
  int64_t available() const { return groupRegisters ? groupRegisters : evenRegisters; }

  /// Specialises the warps: the first producer thread runs `copy`; consumer warps run `multiply`,
  /// which gets the number of their warpgroup.
  void split(ValueEmitter &emitter, int64_t consumers, const std::function<void()> &copy,
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
