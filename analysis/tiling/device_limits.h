// A device's hard limits, which constraints check.
#pragma once

#include <cstdint>

namespace tilewright {

struct DeviceLimits {
  int64_t sharedBytesPerCta = 232448; ///< opt-in maximum
  int64_t sharedBytesPerSm = 233472;
  int64_t sharedBytesReservedPerCta = 1024;
  int64_t registersPerSm = 65536;
  int64_t registersPerThread = 255;
  int64_t threadsPerCta = 1024;
  int64_t warpsPerSm = 64;
  int64_t ctasPerSm = 32;
  int64_t gridX = 2147483647, gridY = 65535, gridZ = 65535;
};

} // namespace tilewright
