// What-if: a device with some numbers of its description changed.
//
// A change is FIELD=VALUE or FIELD=*FACTOR, several separated by commas:
//   dram_bandwidth=*2,sm_count=144
// Numbers that follow from others are changed along, unless they are set themselves: the data rate
// with the bandwidth, the peaks with SM count, clock and units, and so on (docs/formats.md). The
// result is checked as every description is: numbers that contradict each other are refused.
#pragma once

#include "costmodel/device.h"

#include <optional>

namespace tilewright {

/// A number of a description that was changed.
struct ChangedNumber {
  std::string key, unit;
  std::optional<double> before; ///< nothing where the description had none
  double after = 0;
  std::string follows; ///< the number that it was changed along with; empty: it was asked for
  /// "dram_data_rate 5.23 -> 10.5 Gbit/s, follows dram_bandwidth"
  std::string str() const;
};

struct ChangedDevice {
  Device device;    ///< its name has the changes: "h100-sxm.dram_bandwidth-x2"
  std::string base; ///< the name before
  std::vector<ChangedNumber> changes;
};

/// `loadDevice(nameOrPath, folder)` with changes; "" and "as-is" change nothing. BadInput also for
/// what is no change, an unknown field (the nearest is suggested), and a result that is no
/// consistent description.
llvm::Expected<ChangedDevice> loadDeviceWith(const std::string &nameOrPath,
                                             const std::string &folder, const std::string &changes);

} // namespace tilewright
