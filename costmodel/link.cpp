#include "costmodel/link.h"

namespace tilewright {

std::optional<DeviceLink> linkOf(const Device &device) {
  DeviceLink link{0, 2000};
  for (const DeviceNumber &number : device.numbers) {
    if (number.key == "link_bandwidth")
      link.bandwidth = number.value;
    if (number.key == "link_latency")
      link.latencyNs = number.value;
  }
  return link.bandwidth > 0 ? std::optional(link) : std::nullopt;
}

} // namespace tilewright
