// Clocks, power and temperature while kernels run, through NVML. Reads only.
#pragma once

#include "profiler/nvml_abi.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright::profile {

/// Samples since the last take(); values that NVML does not provide stay empty.
struct Readings {
  std::optional<double> smMegahertz, memoryMegahertz, watts, celsius; ///< medians
  std::string throttle; ///< why clocks were held down: "power cap", "thermal"; empty: they weren't
};

class Telemetry {
public:
  /// Opens NVML for the GPU of that uuid. Without NVML everything stays empty and `note` says why.
  static Telemetry open(const std::string &uuid, std::string &note);

  const std::string &driverVersion() const { return version; } ///< "580.159", or empty
  void sample();
  Readings take();

private:
  nvml::Functions functions;
  nvml::Device device = nullptr;
  std::string version;
  std::vector<double> smClocks, memoryClocks, powers, temperatures;
  uint64_t reasons = 0;
};

} // namespace tilewright::profile
