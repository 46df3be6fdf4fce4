// The vectorised parts of pricing, compiled for each vector width. Internal to the cost model.
//
// Their one source, vector_kernels.inc, is compiled once for each instruction set, in a file of its
// own: with per-function targets, compilers split vector arithmetic into scalars before they see a
// function's target.
#pragma once

#include "costmodel/estimate.h"
#include "costmodel/feature_batch.h"
#include "costmodel/feature_program.h"

#include <span>

namespace tilewright {

struct VectorKernels {
  const char *name; ///< of the set of instructions: avx512, avx2, baseline
  /// The program on the inputs in the slots.
  void (*run)(const FeatureProgram &program, FeatureProgram::Slot *slots);
  /// The plans of one run, whose inputs are in the slots: a mask of `words` words each, one bit for
  /// each of the program's outputs.
  void (*makeMasks)(const FeatureProgram &program, size_t words, FeatureProgram::Slot *slots,
                    uint64_t *masks);
  /// Times of the plans of one run, whose inputs are in the slots. The program's outputs are the
  /// numbers `number` of `features`, by their place; the others are the same for all plans.
  void (*priceRun)(const FeatureProgram &program, std::span<const uint32_t> number,
                   FeaturesOf<LaneArray> &features, const Device &device,
                   const Parameters &parameters, CacheState cache, FeatureProgram::Slot *slots,
                   std::span<const uint32_t> plans, std::span<double> timeNs);
  /// Times of the plans in the blocks.
  void (*priceBlocks)(std::span<const FeatureBlock> blocks, const Device &device,
                      const Parameters &parameters, CacheState cache, std::span<double> timeNs);
};

/// Those that this processor runs, the best first; all give the same bits.
std::span<const VectorKernels *const> supportedVectorKernels();
/// The best for this processor, or the one that the environment's TILEWRIGHT_VECTORS names.
const VectorKernels &vectorKernels();

namespace vector_kernels {
extern const VectorKernels baseline, avx2, avx512; ///< avx2 and avx512 exist on x86 only
} // namespace vector_kernels

} // namespace tilewright
