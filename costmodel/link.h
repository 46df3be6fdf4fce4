// The link between devices, where a description has one.
#pragma once

#include "costmodel/device.h"

#include <optional>

namespace tilewright {

struct DeviceLink {
  double bandwidth = 0; ///< B/ns that a device sends while it receives as much
  double latencyNs = 0; ///< of one step of a collective
};

/// Nothing without `link_bandwidth`. A latency that is not given is that of NCCL between devices of
/// one machine, 2 us.
std::optional<DeviceLink> linkOf(const Device &device);

} // namespace tilewright
