// What L2 holds when a kernel of a sequence starts, and what leaves it while it runs.
//
// Least recently used first, over pieces of 128 KiB (of
// models that move hundreds of GB, larger ones). All accesses of a kernel advance together,
// each in the order of its addresses; a write allocates without a fetch and makes the piece dirty;
// what falls out dirty is written back by the kernel that pushes it out. Real replacement is no
// strict LRU, hashing fills sets unevenly, and reads may stand in both partitions: the replay is
// repeated for five capacities between shares of the nominal size, and averaged.
#pragma once

#include "analysis/compiled/places.h"
#include "costmodel/device.h"

#include <span>

namespace tilewright {

/// Of one kernel, bytes.
struct CacheTraffic {
  double readBytes = 0, writtenBytes = 0; ///< touched, each once
  double missedBytes = 0;                 ///< of those read, that come from DRAM
  double writtenBackBytes = 0;            ///< dirty lines, of any kernel, that leave meanwhile
  std::vector<double> missedOf;           ///< missedBytes by access of the launch
};

/// Shares of L2 between which the five capacities lie.
struct L2Shares {
  double least = 0.5, most = 0.8;
};

/// By launch: of a whole run behind another one, as a training or decoding loop does, the mean over
/// its trips where it is in a loop. A loop's first trip and a later one are replayed.
std::vector<CacheTraffic> replay(std::span<const Launch> launches,
                                 const std::vector<ScheduleItem> &items, const Device &device,
                                 const L2Shares &shares = {});

} // namespace tilewright
