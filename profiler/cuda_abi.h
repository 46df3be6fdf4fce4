// The part of the CUDA driver API that the runner calls, as exported by libcuda.so.1.
//
// Declared here so that no CUDA header is needed to build. Names, values and signatures: CUDA
// Driver API reference (cuda.h), stable since CUDA 11; where a function has a `_v2` symbol, that
// one. `abi_test.cpp` compares them with cuda.h where the build machine has it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewright::profile::cuda {

using Status = int; ///< CUresult
using Device = int;
using Pointer = unsigned long long; ///< CUdeviceptr
using Context = void *;
using Module = void *;
using Function = void *;
using Stream = void *;
using Event = void *;
using Graph = void *;
using GraphExec = void *;

constexpr Status success = 0, outOfMemory = 2, noDevice = 100, noBinaryForGpu = 209, notReady = 600,
                 stubLibrary = 34;

enum DeviceAttribute : int {
  WarpSize = 10,
  ClockRateKhz = 13,
  MultiprocessorCount = 16,
  MemoryClockRateKhz = 36,
  GlobalMemoryBusWidthBits = 37,
  L2CacheBytes = 38,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  MaxSharedMemoryPerBlockOptin = 97,
};

enum FunctionAttribute : int {
  LocalSizeBytes = 3,
  NumRegs = 4,
  MaxDynamicSharedSizeBytes = 8,
};

enum StreamFlag : unsigned { NonBlockingStream = 1 };
enum CaptureMode : int { CaptureThreadLocal = 1 };

enum JitOption : int { ErrorLogBuffer = 5, ErrorLogBufferSizeBytes = 6 };

struct Uuid {
  unsigned char bytes[16];
};

/// CUtensorMap: opaque, copied by value into the kernel's parameters. CUDA 13 wants 128 bytes of
/// alignment, 12 wants 64.
struct alignas(128) TensorMap {
  uint64_t opaque[16];
};

/// X(member, symbol, arguments)
#define TILEWRIGHT_CUDA_FUNCTIONS(X)                                                               \
  X(init, cuInit, (unsigned flags))                                                                \
  X(driverGetVersion, cuDriverGetVersion, (int *version))                                          \
  X(deviceGetCount, cuDeviceGetCount, (int *count))                                                \
  X(deviceGet, cuDeviceGet, (Device * device, int ordinal))                                        \
  X(deviceGetName, cuDeviceGetName, (char *name, int length, Device device))                       \
  X(deviceGetUuid, cuDeviceGetUuid, (Uuid * uuid, Device device))                                  \
  X(deviceGetAttribute, cuDeviceGetAttribute, (int *value, int attribute, Device device))          \
  X(primaryCtxRetain, cuDevicePrimaryCtxRetain, (Context * context, Device device))                \
  X(ctxSetCurrent, cuCtxSetCurrent, (Context context))                                             \
  X(memGetInfo, cuMemGetInfo_v2, (size_t * free, size_t * total))                                  \
  X(memAlloc, cuMemAlloc_v2, (Pointer * pointer, size_t bytes))                                    \
  X(memFree, cuMemFree_v2, (Pointer pointer))                                                      \
  X(memcpyHtoD, cuMemcpyHtoD_v2, (Pointer to, const void *from, size_t bytes))                     \
  X(memcpyDtoH, cuMemcpyDtoH_v2, (void *to, Pointer from, size_t bytes))                           \
  X(memsetD8Async, cuMemsetD8Async,                                                                \
    (Pointer to, unsigned char value, size_t count, Stream stream))                                \
  X(memsetD32Async, cuMemsetD32Async, (Pointer to, unsigned value, size_t count, Stream stream))   \
  X(moduleLoadDataEx, cuModuleLoadDataEx,                                                          \
    (Module * module, const void *image, unsigned options, int *names, void **values))             \
  X(moduleUnload, cuModuleUnload, (Module module))                                                 \
  X(moduleGetFunction, cuModuleGetFunction,                                                        \
    (Function * function, Module module, const char *name))                                        \
  X(funcSetAttribute, cuFuncSetAttribute, (Function function, int attribute, int value))           \
  X(funcGetAttribute, cuFuncGetAttribute, (int *value, int attribute, Function function))          \
  X(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor,                                        \
    (int *blocks, Function function, int threads, size_t sharedBytes))                             \
  X(launchKernel, cuLaunchKernel,                                                                  \
    (Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,           \
     unsigned blockY, unsigned blockZ, unsigned sharedBytes, Stream stream, void **parameters,     \
     void **extra))                                                                                \
  X(streamCreate, cuStreamCreate, (Stream * stream, unsigned flags))                               \
  X(streamDestroy, cuStreamDestroy_v2, (Stream stream))                                            \
  X(streamBeginCapture, cuStreamBeginCapture_v2, (Stream stream, int mode))                        \
  X(streamEndCapture, cuStreamEndCapture, (Stream stream, Graph * graph))                          \
  X(graphInstantiate, cuGraphInstantiateWithFlags,                                                 \
    (GraphExec * executable, Graph graph, unsigned long long flags))                               \
  X(graphLaunch, cuGraphLaunch, (GraphExec executable, Stream stream))                             \
  X(graphExecDestroy, cuGraphExecDestroy, (GraphExec executable))                                  \
  X(graphDestroy, cuGraphDestroy, (Graph graph))                                                   \
  X(eventCreate, cuEventCreate, (Event * event, unsigned flags))                                   \
  X(eventRecord, cuEventRecord, (Event event, Stream stream))                                      \
  X(eventQuery, cuEventQuery, (Event event))                                                       \
  X(eventElapsedTime, cuEventElapsedTime, (float *milliseconds, Event from, Event to))             \
  X(getErrorName, cuGetErrorName, (Status status, const char **name))                              \
  X(getErrorString, cuGetErrorString, (Status status, const char **text))

/// The functions, null until they are loaded.
struct Functions {
#define TILEWRIGHT_MEMBER(member, entry, arguments) Status(*member) arguments = nullptr;
  TILEWRIGHT_CUDA_FUNCTIONS(TILEWRIGHT_MEMBER)
#undef TILEWRIGHT_MEMBER
};

/// In drivers since CUDA 12; only kernels that copy tensors need it.
using TensorMapEncodeTiled = Status (*)(TensorMap *map, int type, uint32_t rank, void *address,
                                        const uint64_t *dims, const uint64_t *strides,
                                        const uint32_t *box, const uint32_t *elementStrides,
                                        int interleave, int swizzle, int l2Promotion, int fill);

} // namespace tilewright::profile::cuda
