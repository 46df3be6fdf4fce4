// What a refused choice exhausts of a device: needed, there, by whom, and the largest that fits.
#pragma once

#include "tools/tilewright/tile_output.h"

namespace tilewright::cli {

/// One exhausted resource: threads, registers of a role's threads, bytes of shared memory.
struct Exhausted {
  std::string resource; ///< rule of the constraint: "shared-memory"
  int64_t need = 0, have = 0;
  std::vector<std::pair<std::string, int64_t>> by; ///< all items; empty where it has none
};

/// The largest candidate of one parameter with which the choice, otherwise as it is, breaks no
/// constraint.
struct LargestFit {
  std::string parameter;
  int64_t value = 0;
};

struct Capacity {
  std::vector<Exhausted> exhausted;
  std::vector<LargestFit> fits; ///< stages first; empty where no one parameter is enough
};

/// Empty where the choice breaks no limit of the device, or leaves open what decides.
Capacity capacityOf(const TileReport &report, const TileSpaceAnswer &of);

/// One line for the instructions that have the same: "stages=4 or t1=128".
void printFits(const TileReport &report);

Json toJson(const Capacity &capacity);

} // namespace tilewright::cli
