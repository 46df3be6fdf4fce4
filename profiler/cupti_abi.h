// The part of CUPTI that the runner calls, as exported by libcupti.so.12 and .13.
//
// Names, values and layouts: CUPTI reference (cupti_activity.h, cupti_profiler_host.h,
// cupti_range_profiler.h of CUDA 12.6 and 13.0). Every parameter block starts with its own size,
// counted to the end of its last member, by which CUPTI distinguishes versions. `abi_test.cpp`
// compares all of this with the headers where the build machine has them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewright::profile::cupti {

using Status = int; ///< CUptiResult
constexpr Status success = 0, insufficientPrivileges = 35, virtualizedInsufficientPrivileges = 40;
constexpr int concurrentKernel = 10; ///< CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
constexpr int serialKernel = 3;      ///< CUPTI_ACTIVITY_KIND_KERNEL

/// The head of CUpti_ActivityKernel4 to 10 (CUDA 9 to 13); later versions only add at the end.
struct __attribute__((packed)) __attribute__((aligned(8))) KernelRecord {
  int32_t kind;
  uint8_t cacheConfig;
  uint8_t sharedMemoryConfig;
  uint16_t registersPerThread;
  int32_t partitionedCacheRequested, partitionedCacheExecuted;
  uint64_t start, end; ///< ns on the device's clock; both 0 when not known
  uint64_t completed;
  uint32_t deviceId, contextId, streamId;
  int32_t gridX, gridY, gridZ, blockX, blockY, blockZ;
  int32_t staticSharedMemory, dynamicSharedMemory;
  uint32_t localMemoryPerThread, localMemoryTotal;
  uint32_t correlationId;
  int64_t gridId;
  const char *name;
};

using BufferRequested = void (*)(uint8_t **buffer, size_t *size, size_t *maxRecords);
using BufferCompleted = void (*)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                 size_t validSize);

/// X(member, symbol, arguments)
#define TILEWRIGHT_CUPTI_ACTIVITY_FUNCTIONS(X)                                                     \
  X(getVersion, cuptiGetVersion, (uint32_t * version))                                             \
  X(getResultString, cuptiGetResultString, (Status status, const char **text))                     \
  X(activityRegisterCallbacks, cuptiActivityRegisterCallbacks,                                     \
    (BufferRequested requested, BufferCompleted completed))                                        \
  X(activityEnable, cuptiActivityEnable, (int kind))                                               \
  X(activityDisable, cuptiActivityDisable, (int kind))                                             \
  X(activityFlushAll, cuptiActivityFlushAll, (uint32_t flag))                                      \
  X(activityGetNextRecord, cuptiActivityGetNextRecord,                                             \
    (uint8_t * buffer, size_t validSize, void **record))

struct ActivityFunctions {
#define TILEWRIGHT_MEMBER(member, entry, arguments) Status(*member) arguments = nullptr;
  TILEWRIGHT_CUPTI_ACTIVITY_FUNCTIONS(TILEWRIGHT_MEMBER)
#undef TILEWRIGHT_MEMBER
};

/// Parameter blocks of the range profiler. `structSize` and `reserved` start each of them.
struct Block {
  size_t structSize = 0;
  void *reserved = nullptr;
};
struct Initialize : Block {};
struct GetCounterAvailability : Block {
  void *context = nullptr;
  size_t imageSize = 0;
  uint8_t *image = nullptr;
};
struct GetChipName : Block {
  size_t deviceIndex = 0;
  const char *chipName = nullptr;
};
struct HostInitialize : Block {
  int profilerType = 0; ///< 0: range profiler
  const char *chipName = nullptr;
  const uint8_t *availabilityImage = nullptr;
  void *host = nullptr;
};
struct HostDeinitialize : Block {
  void *host = nullptr;
};
struct HostConfigAddMetrics : Block {
  void *host = nullptr;
  const char **names = nullptr;
  size_t count = 0;
};
struct HostGetConfigImageSize : Block {
  void *host = nullptr;
  size_t size = 0;
};
struct HostGetConfigImage : Block {
  void *host = nullptr;
  size_t size = 0;
  uint8_t *image = nullptr;
};
struct HostGetNumOfPasses : Block {
  size_t size = 0;
  uint8_t *image = nullptr;
  size_t passes = 0;
};
struct HostEvaluate : Block {
  void *host = nullptr;
  const uint8_t *counterData = nullptr;
  size_t counterDataSize = 0;
  size_t rangeIndex = 0;
  const char **names = nullptr;
  size_t count = 0;
  double *values = nullptr;
};
struct RangeEnable : Block {
  void *context = nullptr;
  void *profiler = nullptr;
};
struct RangeProfilerBlock : Block {
  void *profiler = nullptr;
};
struct RangeDisable : RangeProfilerBlock {};
struct RangeStart : RangeProfilerBlock {};
struct RangeStop : RangeProfilerBlock {
  size_t passIndex = 0;
  size_t targetNestingLevel = 0;
  uint8_t allPassesSubmitted = 0;
};
struct RangeDecode : RangeProfilerBlock {
  size_t dropped = 0;
};
struct RangeCounterDataSize : RangeProfilerBlock {
  const char **names = nullptr;
  size_t count = 0;
  size_t maxRanges = 0;
  uint32_t maxTreeNodes = 0;
  size_t size = 0;
};
struct RangeCounterDataInitialize : RangeProfilerBlock {
  size_t size = 0;
  uint8_t *data = nullptr;
};
struct RangeSetConfig : RangeProfilerBlock {
  size_t configSize = 0;
  const uint8_t *config = nullptr;
  size_t counterDataSize = 0;
  uint8_t *counterData = nullptr;
  int range = 1;      ///< CUPTI_AutoRange: one range a kernel
  int replayMode = 2; ///< CUPTI_KernelReplay: all passes inside one launch
  size_t maxRangesPerPass = 1;
  uint16_t nestingLevels = 1, minNestingLevel = 1;
  size_t passIndex = 0;
  uint16_t targetNestingLevel = 1;
};
struct RangeCounterDataInfo : Block {
  const uint8_t *data = nullptr;
  size_t size = 0;
  size_t ranges = 0;
};

/// X(member, symbol, parameter block, size up to the end of its last member)
#define TILEWRIGHT_CUPTI_PROFILER_FUNCTIONS(X)                                                     \
  X(profilerInitialize, cuptiProfilerInitialize, Initialize, 16)                                   \
  X(getCounterAvailability, cuptiProfilerGetCounterAvailability, GetCounterAvailability, 40)       \
  X(getChipName, cuptiDeviceGetChipName, GetChipName, 32)                                          \
  X(hostInitialize, cuptiProfilerHostInitialize, HostInitialize, 48)                               \
  X(hostDeinitialize, cuptiProfilerHostDeinitialize, HostDeinitialize, 24)                         \
  X(hostConfigAddMetrics, cuptiProfilerHostConfigAddMetrics, HostConfigAddMetrics, 40)             \
  X(hostGetConfigImageSize, cuptiProfilerHostGetConfigImageSize, HostGetConfigImageSize, 32)       \
  X(hostGetConfigImage, cuptiProfilerHostGetConfigImage, HostGetConfigImage, 40)                   \
  X(hostGetNumOfPasses, cuptiProfilerHostGetNumOfPasses, HostGetNumOfPasses, 40)                   \
  X(hostEvaluate, cuptiProfilerHostEvaluateToGpuValues, HostEvaluate, 72)                          \
  X(rangeEnable, cuptiRangeProfilerEnable, RangeEnable, 32)                                        \
  X(rangeDisable, cuptiRangeProfilerDisable, RangeDisable, 24)                                     \
  X(rangeSetConfig, cuptiRangeProfilerSetConfig, RangeSetConfig, 90)                               \
  X(rangeStart, cuptiRangeProfilerStart, RangeStart, 24)                                           \
  X(rangeStop, cuptiRangeProfilerStop, RangeStop, 41)                                              \
  X(rangeDecode, cuptiRangeProfilerDecodeData, RangeDecode, 32)                                    \
  X(rangeCounterDataSize, cuptiRangeProfilerGetCounterDataSize, RangeCounterDataSize, 64)          \
  X(rangeCounterDataInitialize, cuptiRangeProfilerCounterDataImageInitialize,                      \
    RangeCounterDataInitialize, 40)                                                                \
  X(rangeCounterDataInfo, cuptiRangeProfilerGetCounterDataInfo, RangeCounterDataInfo, 40)

} // namespace tilewright::profile::cupti
