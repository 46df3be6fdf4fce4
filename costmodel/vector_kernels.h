// The parts of pricing that run on vectors, compiled for each width of vectors. Internal to the
// cost model.
//
// vector_kernels.inc is their one source. It is compiled once for each set of instructions, in a
// file of its own, because compilers take vector arithmetic apart before they look at what a single
// function may use.
#pragma once

#include "costmodel/estimate.h"
#include "costmodel/feature_batch.h"
#include "costmodel/feature_program.h"

#include <span>

namespace tilewright {

struct VectorKernels {
  /// The plans of one run, whose inputs are in the slots: a mask of `words` words each, one bit for
  /// each of the program's outputs.
  void (*makeMasks)(const FeatureProgram &program, size_t words, FeatureProgram::Slot *slots,
                    uint64_t *masks);
  /// Times of the plans of one run, whose inputs are in the slots. The program's outputs are the
  /// numbers `number` of `features`, by their place; the others are the same for all plans.
  void (*priceRun)(const FeatureProgram &program, std::span<const uint32_t> number,
                   FeaturesOf<Lanes> &features, const Device &device, const Parameters &parameters,
                   CacheState cache, FeatureProgram::Slot *slots, std::span<const uint32_t> plans,
                   std::span<double> timeNs);
  /// Times of the plans of blocks.
  void (*priceBlocks)(std::span<const FeatureBlock> blocks, const Device &device,
                      const Parameters &parameters, CacheState cache, std::span<double> timeNs);
};

/// For this processor.
const VectorKernels &vectorKernels();

namespace vector_kernels {
extern const VectorKernels baseline, avx2, avx512; ///< the others only where x86 is compiled for
} // namespace vector_kernels

} // namespace tilewright
