// A time that no kernel can beat: the one bound that `explore` and `tile` give.
//
//   products   each at the peak of its own precision, one after the other, as they share the tensor
//              cores; of masked attention only those at which the mask leaves something
//   other work at the highest peak that the device has
//   bytes      that must be read and written, once
//
// The largest of the three. Only what must happen counts: ops of which the results need every
// element (not what is dead, sliced or looked up), arguments that are read whole, results that are
// written. A mask that is known only when the kernel runs leaves everything to be multiplied, and
// nothing for certain to be read.
#pragma once

#include "analysis/ir/graph.h"
#include "analysis/tiling/group.h"
#include "costmodel/estimate.h"

namespace tilewright {

/// What must be done, whoever does it.
struct NeededWork {
  struct Product {
    DType type = DType::F32; ///< as its operands are multiplied; f32 on tensor cores is TF32
    bool tensorCores = true; ///< false: they may not take part
    double flops = 0;
  };
  std::vector<Product> products;
  double otherFlops = 0;
  double readBytes = 0, writtenBytes = 0;
};

/// Of a computation: its parameters lie in memory, its results are written.
NeededWork neededWork(const Module &module, const Graph &graph);
/// Of a kernel: what it reads of others lies in memory, its roots are written.
NeededWork neededWork(const Module &module, const Graph &graph, const Group &group);

/// In ns. What L2 may hold where the cache is warm comes at L2's bandwidth, and what is written
/// may stay there. `withTensorCores` false: of kernels whose products are plain arithmetic.
double lowerBoundNs(const NeededWork &work, const Device &device, CacheState cache,
                    bool withTensorCores = true);

/// No plan of a kernel with this instruction, or a weaker one, is priced below: its bytes and
/// products at the rates that the calibration says are reached, with a launch.
double leastPriceNs(const NeededWork &work, const Device &device, const Parameters &parameters,
                    CacheState cache, Instruction strongest = Instruction::Wgmma);

} // namespace tilewright
