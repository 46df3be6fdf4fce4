// The time of a kernel in a sequence: by its features, under what L2 holds when it starts.
//
//   time = start + ‖ ‖ SM side, (missed + written back) / DRAM + kept / L2 ‖, dispatch ‖
//
// Where a single kernel is priced flushed, clean or warm (CacheState), here the bytes that miss and
// the dirty bytes that leave while it runs are those of the replay (l2_contents.h). Write-backs
// stream with the reads.
#pragma once

#include "costmodel/calibration.h"
#include "costmodel/features.h"
#include "costmodel/sequence/l2_contents.h"

namespace tilewright {

struct SequenceParameters {
  /// Of the launch that a kernel behind others saves: its code and constants are in L2 (a warm copy
  /// of 8 KiB takes 1.06 us where the fitted constants, of flushed caches, add up to 1.55).
  double warmStartNs = 350;
  L2Shares shares;
};

struct SequencedTime {
  double timeNs = 0;
  std::string limiter; ///< "DRAM", "issue", "dispatch", …
};

/// Of kernels that features describe.
SequencedTime timeInSequence(Features features, const CacheTraffic &traffic, const Device &device,
                             const Parameters &parameters, const SequenceParameters &sequence = {});

/// Of a library's product, whose SM side takes `smNs` after a flush (library_product.h).
SequencedTime libraryInSequence(double smNs, const CacheTraffic &traffic,
                                const Parameters &parameters,
                                const SequenceParameters &sequence = {});

/// Of kernels that go over memory one after the other, `bytes` in all, and have `leastNs` to do
/// besides.
SequencedTime passesInSequence(double kernels, double bytes, double leastNs,
                               const CacheTraffic &traffic, const Parameters &parameters,
                               const SequenceParameters &sequence = {});

/// Of a copy by the memory engine, which launches no kernel.
double copyTime(const CacheTraffic &traffic, const Parameters &parameters);

} // namespace tilewright
