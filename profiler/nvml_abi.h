// The part of NVML that the runner calls, as it stands in libnvidia-ml.so.1. It only reads.
// Names and values: NVML API reference (nvml.h), stable since driver 450.
#pragma once

#include <cstdint>

namespace tilewright::profile::nvml {

using Status = int; ///< nvmlReturn_t, 0: success
using Device = void *;

enum ClockType : int { SmClock = 1, MemoryClock = 2 };
constexpr int gpuTemperature = 0;

/// X(member, symbol, arguments)
#define TILEWRIGHT_NVML_FUNCTIONS(X)                                                               \
  X(init, nvmlInit_v2, ())                                                                         \
  X(driverVersion, nvmlSystemGetDriverVersion, (char *text, unsigned length))                      \
  X(deviceByUuid, nvmlDeviceGetHandleByUUID, (const char *uuid, Device *device))                   \
  X(clockInfo, nvmlDeviceGetClockInfo, (Device device, int type, unsigned *megahertz))             \
  X(powerUsage, nvmlDeviceGetPowerUsage, (Device device, unsigned *milliwatts))                    \
  X(temperature, nvmlDeviceGetTemperature, (Device device, int sensor, unsigned *celsius))         \
  X(throttleReasons, nvmlDeviceGetCurrentClocksThrottleReasons, (Device device, uint64_t * reasons))

/// A function that this NVML does not have stays null.
struct Functions {
#define TILEWRIGHT_MEMBER(member, entry, arguments) Status(*member) arguments = nullptr;
  TILEWRIGHT_NVML_FUNCTIONS(TILEWRIGHT_MEMBER)
#undef TILEWRIGHT_MEMBER
};

/// nvmlClocksThrottleReason* bits that mean that the clock is held below what was asked for.
constexpr uint64_t softwarePowerCap = 0x4, hardwareSlowdown = 0x8, softwareThermal = 0x20,
                   hardwareThermal = 0x40, hardwarePowerBrake = 0x80;

} // namespace tilewright::profile::nvml
