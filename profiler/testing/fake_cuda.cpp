// libcuda.so.1 as the tests load it: see fake_gpu.h.
#include "profiler/testing/fake_gpu.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

using namespace tilewright::profile;

namespace {
struct FakeFunction {
  const PackKernel *kernel;
};
struct FakeEvent {
  double ns = 0;
};
/// Launches with copies of their arguments, as the driver keeps them.
struct FakeGraph {
  struct Node {
    const PackKernel *kernel;
    std::array<unsigned, 3> grid, block;
    std::vector<std::array<std::byte, 128>> arguments;
  };
  std::vector<Node> nodes;
};
struct FakeStream {
  FakeGraph *capturing = nullptr;
};
fake::FakeGpu &gpu() { return fake::FakeGpu::instance(); }
int architecture() { return std::atoi(gpu().setting("sm", "90").c_str()); }
} // namespace

extern "C" {

int cuInit(unsigned) {
  if (int status = gpu().call(__func__))
    return status;
  return gpu().at("init");
}
int cuDriverGetVersion(int *version) {
  if (int status = gpu().call(__func__))
    return status;
  *version = 13000;
  return 0;
}
int cuDeviceGetCount(int *count) {
  if (int status = gpu().call(__func__))
    return status;
  *count = std::atoi(gpu().setting("devices", "1").c_str());
  return gpu().at("device-count");
}
int cuDeviceGet(int *device, int ordinal) {
  if (int status = gpu().call(__func__))
    return status;
  *device = ordinal;
  return 0;
}
int cuDeviceGetName(char *name, int length, int) {
  if (int status = gpu().call(__func__))
    return status;
  std::strncpy(name, "Stand-in GPU", static_cast<size_t>(length));
  return 0;
}
int cuDeviceGetUuid(cuda::Uuid *uuid, int device) {
  if (int status = gpu().call(__func__))
    return status;
  std::memset(uuid->bytes, 0xa0 + std::atoi(gpu().setting("board", "0").c_str()) + device,
              sizeof uuid->bytes);
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
  if (int status = gpu().call(__func__))
    return status;
  switch (attribute) {
  case cuda::WarpSize:
    *value = 32;
    return 0;
  case cuda::ClockRateKhz:
    *value = 1'980'000;
    return 0;
  case cuda::MultiprocessorCount:
    *value = 132;
    return 0;
  case cuda::MemoryClockRateKhz:
    *value = 2'619'000;
    return 0;
  case cuda::GlobalMemoryBusWidthBits:
    *value = 5120;
    return 0;
  case cuda::L2CacheBytes:
    *value = 50 << 20;
    return 0;
  case cuda::ComputeCapabilityMajor:
    *value = architecture() / 10;
    return 0;
  case cuda::ComputeCapabilityMinor:
    *value = architecture() % 10;
    return 0;
  case cuda::MaxSharedMemoryPerBlockOptin:
    *value = 232448;
    return 0;
  default:
    return 1; // the runner asks for nothing else
  }
}
int cuDevicePrimaryCtxRetain(void **context, int) {
  if (int status = gpu().call(__func__))
    return status;
  *context = &gpu();
  return 0;
}
int cuCtxSetCurrent(void *) {
  if (int status = gpu().call(__func__))
    return status;
  return 0;
}
int cuMemGetInfo_v2(size_t *free, size_t *total) {
  if (int status = gpu().call(__func__))
    return status;
  *total = gpu().totalBytes();
  *free = *total - gpu().usedBytes();
  return 0;
}
int cuMemAlloc_v2(unsigned long long *pointer, size_t bytes) {
  if (int status = gpu().call(__func__))
    return status;
  int status = gpu().at("alloc");
  return status ? status : gpu().allocate(pointer, bytes);
}
int cuMemFree_v2(unsigned long long pointer) {
  if (int status = gpu().call(__func__))
    return status;
  return gpu().release(pointer);
}
int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes) {
  if (int status = gpu().call(__func__))
    return status;
  if (int status = gpu().at("copy-in"))
    return status;
  if (!gpu().isAllocated(to, bytes))
    return 1;
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes) {
  if (int status = gpu().call(__func__))
    return status;
  if (int status = gpu().at("copy-out"))
    return status;
  if (!gpu().isAllocated(from, bytes))
    return 1;
  std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
  return 0;
}
int cuMemsetD8Async(unsigned long long to, unsigned char value, size_t count, void *) {
  if (int status = gpu().call(__func__))
    return status;
  if (int status = gpu().at("fill"))
    return status;
  if (!gpu().isAllocated(to, count))
    return 1;
  std::memset(reinterpret_cast<void *>(to), value, count);
  return 0;
}
int cuMemsetD32Async(unsigned long long to, unsigned, size_t count, void *) {
  if (int status = gpu().call(__func__))
    return status;
  if (int status = gpu().at("fill"))
    return status;
  if (!gpu().isAllocated(to, 4 * count))
    return 1;
  gpu().pass(static_cast<double>(4 * count) / 3e3); // it only overwrites L2: nothing is written
  return 0;
}
int cuModuleLoadDataEx(void **module, const void *, unsigned options, int *names, void **values) {
  if (int status = gpu().call(__func__))
    return status;
  int status = gpu().at("load");
  for (unsigned i = 0; status && i < options; ++i)
    if (names[i] == cuda::ErrorLogBuffer)
      std::strcpy(static_cast<char *>(values[i]), "no kernel image of that kind");
  *module = &gpu();
  return status;
}
int cuModuleUnload(void *) {
  if (int status = gpu().call(__func__))
    return status;
  return 0;
}
int cuModuleGetFunction(void **function, void *, const char *name) {
  if (int status = gpu().call(__func__))
    return status;
  const PackKernel *kernel = gpu().findKernel(name);
  if (int status = gpu().at("function"))
    return status;
  if (!kernel)
    return 500;                         // CUDA_ERROR_NOT_FOUND
  *function = new FakeFunction{kernel}; // as long as the module: the process
  return 0;
}
int cuFuncSetAttribute(void *, int attribute, int) {
  if (int status = gpu().call(__func__))
    return status;
  return attribute == cuda::MaxDynamicSharedSizeBytes ? 0 : 1;
}
int cuFuncGetAttribute(int *value, int attribute, void *) {
  if (int status = gpu().call(__func__))
    return status;
  *value = attribute == cuda::NumRegs ? 42 : 0;
  return 0;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *, int threads, size_t) {
  if (int status = gpu().call(__func__))
    return status;
  *blocks = 2048 / threads;
  return 0;
}
int cuLaunchKernel(void *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                   unsigned blockY, unsigned blockZ, unsigned, void *stream, void **parameters,
                   void **) {
  if (int status = gpu().call(__func__))
    return status;
  if (int status = gpu().at("launch"))
    return status;
  const PackKernel &kernel = *static_cast<FakeFunction *>(function)->kernel;
  unsigned grid[] = {gridX, gridY, gridZ}, block[] = {blockX, blockY, blockZ};
  if (!stream)
    return gpu().launch(kernel, grid, block, parameters);
  auto *capturing = static_cast<FakeStream *>(stream)->capturing;
  if (!capturing)
    return 1; // the runner launches on other streams for that alone
  FakeGraph::Node node{&kernel, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, {}};
  size_t pointers = kernel.parameters.size() + kernel.workspaces.size();
  for (size_t i = 0; i < pointers + kernel.tensorMaps.size(); ++i)
    std::memcpy(node.arguments.emplace_back().data(), parameters[i],
                i < pointers ? sizeof(cuda::Pointer) : sizeof(cuda::TensorMap));
  capturing->nodes.push_back(std::move(node));
  return 0;
}
int cuStreamCreate(void **stream, unsigned flags) {
  if (int status = gpu().call(__func__))
    return status;
  if (int status = gpu().at("stream"))
    return status;
  *stream = new FakeStream;
  return flags == cuda::NonBlockingStream ? 0 : 1;
}
int cuStreamDestroy_v2(void *stream) {
  if (int status = gpu().call(__func__))
    return status;
  delete static_cast<FakeStream *>(stream);
  return 0;
}
int cuStreamBeginCapture_v2(void *stream, int mode) {
  if (int status = gpu().call(__func__))
    return status;
  if (int status = gpu().at("capture"))
    return status;
  static_cast<FakeStream *>(stream)->capturing = new FakeGraph;
  return mode == cuda::CaptureThreadLocal ? 0 : 1;
}
int cuStreamEndCapture(void *stream, void **graph) {
  if (int status = gpu().call(__func__))
    return status;
  *graph = std::exchange(static_cast<FakeStream *>(stream)->capturing, nullptr);
  return gpu().at("end-capture");
}
int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long) {
  if (int status = gpu().call(__func__))
    return status;
  if (int status = gpu().at("instantiate"))
    return status;
  *executable = new FakeGraph(*static_cast<FakeGraph *>(graph));
  return 0;
}
int cuGraphLaunch(void *executable, void *) {
  if (int status = gpu().call(__func__))
    return status;
  if (int status = gpu().at("graph-launch"))
    return status;
  for (FakeGraph::Node &node : static_cast<FakeGraph *>(executable)->nodes) {
    std::vector<void *> arguments;
    for (auto &argument : node.arguments)
      arguments.push_back(argument.data());
    if (int status = gpu().launch(*node.kernel, node.grid.data(), node.block.data(),
                                  arguments.data(), fake::FakeGpu::graphGapNs))
      return status;
  }
  return 0;
}
int cuGraphExecDestroy(void *executable) {
  if (int status = gpu().call(__func__))
    return status;
  delete static_cast<FakeGraph *>(executable);
  return 0;
}
int cuGraphDestroy(void *graph) {
  if (int status = gpu().call(__func__))
    return status;
  delete static_cast<FakeGraph *>(graph);
  return 0;
}
int cuEventCreate(void **event, unsigned) {
  if (int status = gpu().call(__func__))
    return status;
  *event = new FakeEvent;
  return 0;
}
int cuEventRecord(void *event, void *) {
  if (int status = gpu().call(__func__))
    return status;
  static_cast<FakeEvent *>(event)->ns = static_cast<double>(gpu().nowNs());
  return 0;
}
int cuEventQuery(void *) {
  if (int status = gpu().call(__func__))
    return status;
  if (int status = gpu().at("query"))
    return status;
  return gpu().isHanging ? cuda::notReady : 0;
}
int cuEventElapsedTime(float *milliseconds, void *from, void *to) {
  if (int status = gpu().call(__func__))
    return status;
  *milliseconds = static_cast<float>(
      (static_cast<FakeEvent *>(to)->ns - static_cast<FakeEvent *>(from)->ns) / 1e6);
  return 0;
}
int cuGetErrorName(int status, const char **name) {
  if (int status = gpu().call(__func__))
    return status;
  *name = status == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : status == 100 ? "CUDA_ERROR_NO_DEVICE"
          : status == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
          : status == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : status == 719 ? "CUDA_ERROR_LAUNCH_FAILED"
                          : nullptr;
  return *name ? 0 : 1;
}
int cuGetErrorString(int, const char **text) {
  if (int status = gpu().call(__func__))
    return status;
  *text = "as the stand-in was told";
  return 0;
}
int cuTensorMapEncodeTiled(cuda::TensorMap *map, int, uint32_t rank, void *address,
                           const uint64_t *, const uint64_t *strides, const uint32_t *,
                           const uint32_t *, int, int, int, int) {
  if (int status = gpu().call(__func__))
    return status;
  // What the driver checks, too (CUDA Driver API reference).
  if (reinterpret_cast<uintptr_t>(address) % 16 != 0)
    return 1;
  for (uint32_t d = 0; d + 1 < rank; ++d)
    if (strides[d] % 16 != 0)
      return 1;
  map->opaque[0] = reinterpret_cast<uintptr_t>(address);
  return 0;
}

// For the other libraries of the stand-in.
fake::FakeGpu *tilewright_fake_gpu() { return &gpu(); }

} // extern "C"
