#include "profiler/plausibility.h"

#include <algorithm>

namespace tilewright::profile {

const char *toString(Regime regime) {
  switch (regime) {
  case Regime::Cold:
    return "cold";
  case Regime::Warm:
    return "warm";
  default:
    return "graph";
  }
}

double peakOpsPerClock(int major, int minor, DType type, bool onTensorCores) {
  unsigned bits = bitWidth(type);
  if (!onTensorCores) {
    // Two operations a lane and clock; 128 lanes of f32, twice that for packed 16-bit types.
    if (type == DType::F64)
      return (major == 8 && minor != 0) || major == 12 ? 4 : 128;
    return bits <= 16 ? 512 : 256;
  }
  double half = 0; // 16-bit operands
  switch (major) {
  case 7:
    half = 1024;
    break;
  case 8:
    half = minor == 0 ? 2048 : 1024;
    break;
  case 9:
    half = 4096;
    break;
  default:
    half = 16384; // 10.x, with room
  }
  if (type == DType::F64)
    return half / 16;
  if (bits >= 32)
    return half / 2; // TF32
  return bits >= 16 ? half : bits >= 8 ? 2 * half : 4 * half;
}

double leastTimeNs(const PackKernel &kernel, const GpuInfo &gpu, Regime regime) {
  if (!kernel.work)
    return 0;
  const PackWork &work = *kernel.work;
  double seconds = 0;
  if (double rate = gpu.clockHz * gpu.multiprocessors *
                    peakOpsPerClock(gpu.major, gpu.minor, work.type, work.onTensorCores);
      rate > 0)
    seconds = work.flops / rate;
  if (gpu.memoryBytesPerSecond > 0) {
    auto l2 = static_cast<double>(gpu.l2Bytes);
    double bytes = regime == Regime::Cold ? work.readBytes + std::max(0.0, work.writeBytes - l2)
                                          : std::max(0.0, work.readBytes + work.writeBytes - l2);
    seconds = std::max(seconds, bytes / gpu.memoryBytesPerSecond);
  }
  return 1e9 * seconds;
}

} // namespace tilewright::profile
