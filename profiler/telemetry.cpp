#include "profiler/telemetry.h"

#include "analysis/support/median.h"
#include "profiler/library.h"
#include "profiler/statistics.h"

namespace tilewright::profile {

Telemetry Telemetry::open(const std::string &uuid, std::string &note) {
  Telemetry result;
  Library library = Library::open({"libnvidia-ml.so.1", "libnvidia-ml.so"});
  if (!library.isOpen()) {
    note = "no NVML: " + library.error() + "; clocks and power are not recorded";
    return result;
  }
#define TILEWRIGHT_LOAD(member, entry, arguments)                                                  \
  result.functions.member =                                                                        \
      reinterpret_cast<decltype(result.functions.member)>(library.symbol(#entry));
  TILEWRIGHT_NVML_FUNCTIONS(TILEWRIGHT_LOAD)
#undef TILEWRIGHT_LOAD
  const nvml::Functions &f = result.functions;
  if (!f.init || f.init() != 0 || !f.deviceByUuid ||
      f.deviceByUuid(uuid.c_str(), &result.device) != 0) {
    result.device = nullptr;
    note = "NVML does not find " + uuid + "; clocks and power are not recorded";
    return result;
  }
  char text[96] = {};
  if (f.driverVersion && f.driverVersion(text, sizeof text - 1) == 0)
    result.version = text;
  return result;
}

void Telemetry::sample() {
  if (!device)
    return;
  unsigned value = 0;
  uint64_t bits = 0;
  if (functions.clockInfo && functions.clockInfo(device, nvml::SmClock, &value) == 0)
    smClocks.push_back(value);
  if (functions.clockInfo && functions.clockInfo(device, nvml::MemoryClock, &value) == 0)
    memoryClocks.push_back(value);
  if (functions.powerUsage && functions.powerUsage(device, &value) == 0)
    powers.push_back(value / 1e3);
  if (functions.temperature && functions.temperature(device, nvml::gpuTemperature, &value) == 0)
    temperatures.push_back(value);
  if (functions.throttleReasons && functions.throttleReasons(device, &bits) == 0)
    reasons |= bits;
}

Readings Telemetry::take() {
  Readings result;
  auto middle = [](std::vector<double> &values) -> std::optional<double> {
    if (values.empty())
      return std::nullopt;
    double value = medianOf(values);
    values.clear();
    return value;
  };
  result.smMegahertz = middle(smClocks);
  result.memoryMegahertz = middle(memoryClocks);
  result.watts = middle(powers);
  result.celsius = middle(temperatures);
  auto add = [&](uint64_t mask, const char *text) {
    if (reasons & mask)
      result.throttle += (result.throttle.empty() ? "" : "; ") + std::string(text);
  };
  add(nvml::softwarePowerCap, "power cap");
  add(nvml::softwareThermal | nvml::hardwareThermal, "thermal");
  add(nvml::hardwareSlowdown | nvml::hardwarePowerBrake, "slowdown");
  reasons = 0;
  return result;
}

} // namespace tilewright::profile
