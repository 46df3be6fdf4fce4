// One GPU: its context, memory and modules. Only reads the device's settings, never changes them.
#pragma once

#include "analysis/support/digest.h"
#include "profiler/driver.h"

#include <memory>
#include <span>

namespace tilewright::profile {

/// What the driver says about a device.
struct GpuInfo {
  std::string name, uuid; ///< "NVIDIA H100 80GB HBM3", "GPU-xxxxxxxx-…"
  std::string board() const { return boardOf(uuid); } ///< in files, where no UUID stands
  int major = 0, minor = 0;
  int multiprocessors = 0;
  double clockHz = 0;              ///< highest SM clock
  double memoryBytesPerSecond = 0; ///< of the data sheet: 2 transfers a clock over the whole bus
  uint64_t l2Bytes = 0;
  int maxSharedBytes = 0; ///< a CTA, at most
  int cudaVersion = 0;    ///< of the driver: 13000
};

/// Memory on the device, freed with the object.
class DeviceBuffer {
public:
  DeviceBuffer() = default;
  DeviceBuffer(const Driver &driver, cuda::Pointer address, uint64_t bytes)
      : driver(&driver), pointer(address), size(bytes) {}
  DeviceBuffer(DeviceBuffer &&other) noexcept { *this = std::move(other); }
  DeviceBuffer &operator=(DeviceBuffer &&other) noexcept;
  ~DeviceBuffer();

  cuda::Pointer address() const { return pointer; }
  uint64_t bytes() const { return size; }

private:
  const Driver *driver = nullptr;
  cuda::Pointer pointer = 0;
  uint64_t size = 0;
};

/// A kernel that is loaded.
struct LoadedFunction {
  cuda::Function function = nullptr;
  int registers = 0;
  int localBytes = 0;
  int ctasPerSm = 0; ///< at the CTA size and shared memory asked for
};

/// A loaded cubin or PTX, unloaded with the object.
class LoadedModule {
public:
  LoadedModule() = default;
  LoadedModule(const Driver &driver, cuda::Module module) : driver(&driver), module(module) {}
  LoadedModule(LoadedModule &&other) noexcept { *this = std::move(other); }
  LoadedModule &operator=(LoadedModule &&other) noexcept;
  ~LoadedModule();

  /// Finds a kernel and allows it that much dynamic shared memory.
  Result<LoadedFunction> function(const std::string &entry, int threads, int sharedBytes) const;

private:
  const Driver *driver = nullptr;
  cuda::Module module = nullptr;
};

struct LaunchGeometry {
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, sharedBytes = 0;
};

class Gpu {
public:
  /// Device number `ordinal` of the driver, with its primary context current on this thread.
  static Result<Gpu> open(int ordinal);

  const GpuInfo &info() const { return deviceInfo; }
  const Driver &driver() const { return *driverFunctions; }
  cuda::Context context() const { return primaryContext; }

  Result<DeviceBuffer> allocate(uint64_t bytes) const;
  uint64_t freeBytes() const;
  Status copyIn(const DeviceBuffer &to, std::span<const std::byte> from) const;
  Status copyOut(std::span<std::byte> to, const DeviceBuffer &from, uint64_t offset) const;
  Status fillBytes(const DeviceBuffer &buffer, unsigned char value) const;

  /// Loads a cubin, or PTX ending in a zero byte. What the driver's compiler says about PTX is in
  /// the message.
  Result<LoadedModule> load(std::span<const char> image) const;

  /// Enqueues a kernel: on the default stream, or into the graph that `stream` captures.
  Status launch(const LoadedFunction &function, const LaunchGeometry &geometry,
                std::span<void *> arguments, cuda::Stream stream = nullptr) const;

  /// Waits for all that was launched. A kernel that never ends is ended from outside, by the
  /// supervisor.
  Status wait() const;

private:
  std::shared_ptr<const Driver> driverFunctions;
  cuda::Context primaryContext = nullptr;
  cuda::Event done = nullptr;
  GpuInfo deviceInfo;
};

} // namespace tilewright::profile
