#include "profiler/gpu.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

namespace tilewright::profile {

DeviceBuffer &DeviceBuffer::operator=(DeviceBuffer &&other) noexcept {
  std::swap(driver, other.driver);
  std::swap(pointer, other.pointer);
  std::swap(size, other.size);
  return *this;
}

DeviceBuffer::~DeviceBuffer() {
  if (driver && pointer)
    driver->memFree(pointer);
}

LoadedModule &LoadedModule::operator=(LoadedModule &&other) noexcept {
  std::swap(driver, other.driver);
  std::swap(module, other.module);
  return *this;
}

LoadedModule::~LoadedModule() {
  if (driver && module)
    driver->moduleUnload(module);
}

Result<LoadedFunction> LoadedModule::function(const std::string &entry, int threads,
                                              int sharedBytes) const {
  LoadedFunction result;
  if (cuda::Status status = driver->moduleGetFunction(&result.function, module, entry.c_str()))
    return driver->failure(status, "no kernel " + entry);
  // Above 48 KiB the driver wants to be asked.
  constexpr int unasked = 48 * 1024;
  if (sharedBytes > unasked)
    if (cuda::Status status =
            driver->funcSetAttribute(result.function, cuda::MaxDynamicSharedSizeBytes, sharedBytes))
      return driver->failure(status,
                             std::to_string(sharedBytes) + " bytes of shared memory are refused");
  driver->funcGetAttribute(&result.registers, cuda::NumRegs, result.function);
  driver->funcGetAttribute(&result.localBytes, cuda::LocalSizeBytes, result.function);
  driver->occupancy(&result.ctasPerSm, result.function, threads, static_cast<size_t>(sharedBytes));
  return result;
}

Result<Gpu> Gpu::open(int ordinal) {
  Result<Driver> driver = Driver::open();
  if (!driver)
    return driver.failure();
  Gpu gpu;
  gpu.driverFunctions = std::make_shared<const Driver>(*driver);
  const Driver &cu = gpu.driver();
  int count = 0;
  cuda::Device device = 0;
  if (cuda::Status status = cu.deviceGetCount(&count))
    return Failure{FailureKind::NoGpu, "can't count the GPUs: " + cu.describe(status)};
  if (count == 0)
    return Failure{FailureKind::NoGpu, "the NVIDIA driver finds no GPU; check nvidia-smi and "
                                       "CUDA_VISIBLE_DEVICES"};
  if (ordinal >= count)
    return Failure{FailureKind::NoGpu, "no GPU number " + std::to_string(ordinal) + ", there are " +
                                           std::to_string(count)};
  if (cuda::Status status = cu.deviceGet(&device, ordinal))
    return Failure{FailureKind::NoGpu, "can't get the GPU: " + cu.describe(status)};
  char name[256] = {};
  cu.deviceGetName(name, sizeof name - 1, device);
  cuda::Uuid uuid{};
  cu.deviceGetUuid(&uuid, device);
  char text[64] = "GPU-";
  size_t at = 4;
  for (int i = 0; i < 16; ++i)
    at += static_cast<size_t>(
        std::snprintf(text + at, sizeof text - at,
                      i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid.bytes[i]));
  auto attribute = [&](int which) {
    int value = 0;
    cu.deviceGetAttribute(&value, which, device);
    return value;
  };
  GpuInfo &info = gpu.deviceInfo;
  info.name = name;
  info.uuid = text;
  info.major = attribute(cuda::ComputeCapabilityMajor);
  info.minor = attribute(cuda::ComputeCapabilityMinor);
  info.multiprocessors = attribute(cuda::MultiprocessorCount);
  info.clockHz = 1e3 * attribute(cuda::ClockRateKhz);
  info.memoryBytesPerSecond =
      1e3 * attribute(cuda::MemoryClockRateKhz) * 2 * attribute(cuda::GlobalMemoryBusWidthBits) / 8;
  info.l2Bytes = static_cast<uint64_t>(std::max(0, attribute(cuda::L2CacheBytes)));
  info.maxSharedBytes = attribute(cuda::MaxSharedMemoryPerBlockOptin);
  info.cudaVersion = cu.version;
  if (cuda::Status status = cu.primaryCtxRetain(&gpu.primaryContext, device))
    return Failure{FailureKind::NoGpu, "can't open " + info.name + ": " + cu.describe(status)};
  if (cuda::Status status = cu.ctxSetCurrent(gpu.primaryContext))
    return Failure{FailureKind::NoGpu, "can't open " + info.name + ": " + cu.describe(status)};
  if (cuda::Status status = cu.eventCreate(&gpu.done, 0))
    return Failure{FailureKind::NoGpu, "can't open " + info.name + ": " + cu.describe(status)};
  return gpu;
}

Result<DeviceBuffer> Gpu::allocate(uint64_t bytes) const {
  cuda::Pointer pointer = 0;
  if (cuda::Status status = driver().memAlloc(&pointer, std::max<uint64_t>(bytes, 1)))
    return driver().failure(status,
                            "can't allocate " + std::to_string(bytes) + " bytes on the device");
  return DeviceBuffer(driver(), pointer, bytes);
}

uint64_t Gpu::freeBytes() const {
  size_t free = 0, total = 0;
  driver().memGetInfo(&free, &total);
  return free;
}

Status Gpu::copyIn(const DeviceBuffer &to, std::span<const std::byte> from) const {
  if (from.empty())
    return fine();
  if (cuda::Status status = driver().memcpyHtoD(to.address(), from.data(), from.size()))
    return driver().failure(status, "can't copy to the device");
  return fine();
}

Status Gpu::copyOut(std::span<std::byte> to, const DeviceBuffer &from, uint64_t offset) const {
  if (to.empty())
    return fine();
  if (cuda::Status status = driver().memcpyDtoH(to.data(), from.address() + offset, to.size()))
    return driver().failure(status, "can't copy from the device");
  return fine();
}

Status Gpu::fillBytes(const DeviceBuffer &buffer, unsigned char value) const {
  if (buffer.bytes() == 0)
    return fine();
  if (cuda::Status status =
          driver().memsetD8Async(buffer.address(), value, buffer.bytes(), nullptr))
    return driver().failure(status, "can't fill memory on the device");
  return fine();
}

Result<LoadedModule> Gpu::load(std::span<const char> image) const {
  std::string log(8192, '\0');
  int options[] = {cuda::ErrorLogBuffer, cuda::ErrorLogBufferSizeBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(static_cast<uintptr_t>(log.size()))};
  cuda::Module module = nullptr;
  if (cuda::Status status =
          driver().moduleLoadDataEx(&module, image.data(), std::size(options), options, values)) {
    Failure failure = driver().failure(status, "the code does not load");
    log.resize(log.find('\0') == std::string::npos ? log.size() : log.find('\0'));
    std::replace(log.begin(), log.end(), '\n', ' ');
    if (!log.empty())
      failure.message += ": " + log.substr(0, 300);
    return failure;
  }
  return LoadedModule(driver(), module);
}

Status Gpu::launch(const LoadedFunction &function, const LaunchGeometry &g,
                   std::span<void *> arguments, cuda::Stream stream) const {
  if (cuda::Status status = driver().launchKernel(function.function, g.grid[0], g.grid[1],
                                                  g.grid[2], g.block[0], g.block[1], g.block[2],
                                                  g.sharedBytes, stream, arguments.data(), nullptr))
    return driver().failure(status, "the launch is refused");
  return fine();
}

Status Gpu::wait() const {
  if (cuda::Status status = driver().eventRecord(done, nullptr))
    return driver().failure(status, "the kernel failed");
  for (unsigned polls = 0;; ++polls) {
    cuda::Status status = driver().eventQuery(done);
    if (status == cuda::success)
      return fine();
    if (status != cuda::notReady)
      return driver().failure(status, "the kernel failed");
    if (polls > 1000) { // about a millisecond of polling, then give the core away
      timespec pause{0, 50'000};
      nanosleep(&pause, nullptr);
    }
  }
}

} // namespace tilewright::profile
