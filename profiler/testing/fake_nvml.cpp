// libnvidia-ml.so.1 as the tests load it: see fake_gpu.h.
#include "profiler/nvml_abi.h"
#include "profiler/testing/fake_gpu.h"

#include <cstring>

using namespace tilewright::profile;

extern "C" fake::FakeGpu *tilewright_fake_gpu();

extern "C" {

int nvmlInit_v2() {
  if (int status = tilewright_fake_gpu()->call(__func__))
    return status;
  return tilewright_fake_gpu()->at("nvml");
}
int nvmlSystemGetDriverVersion(char *text, unsigned length) {
  if (int status = tilewright_fake_gpu()->call(__func__))
    return status;
  std::strncpy(text, "580.00", length);
  return 0;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) {
  if (int status = tilewright_fake_gpu()->call(__func__))
    return status;
  *device = tilewright_fake_gpu();
  return std::strncmp(uuid, "GPU-", 4) == 0 ? 0 : 6;
}
int nvmlDeviceGetClockInfo(void *, int type, unsigned *megahertz) {
  if (int status = tilewright_fake_gpu()->call(__func__))
    return status;
  *megahertz = type == nvml::SmClock ? 1980 : 2619;
  return 0;
}
int nvmlDeviceGetPowerUsage(void *, unsigned *milliwatts) {
  if (int status = tilewright_fake_gpu()->call(__func__))
    return status;
  *milliwatts = 350'500;
  return 0;
}
int nvmlDeviceGetTemperature(void *, int, unsigned *celsius) {
  if (int status = tilewright_fake_gpu()->call(__func__))
    return status;
  *celsius = 41;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void *, uint64_t *reasons) {
  if (int status = tilewright_fake_gpu()->call(__func__))
    return status;
  *reasons =
      tilewright_fake_gpu()->setting("throttle", "no") == "power" ? nvml::softwarePowerCap : 0;
  return 0;
}

} // extern "C"
