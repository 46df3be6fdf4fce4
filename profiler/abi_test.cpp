// Our declarations against NVIDIA's headers. Built only where those are.
#include "profiler/cuda_abi.h"
#include "profiler/cupti_abi.h"

#include <cuda.h>
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <gtest/gtest.h>
#include <map>
#include <string>

namespace tilewright::profile {

static_assert(sizeof(cuda::TensorMap) == sizeof(CUtensorMap));
static_assert(alignof(cuda::TensorMap) >= alignof(CUtensorMap));
static_assert(sizeof(cuda::Uuid) == sizeof(CUuuid));
static_assert(cuda::outOfMemory == CUDA_ERROR_OUT_OF_MEMORY &&
              cuda::noDevice == CUDA_ERROR_NO_DEVICE);
static_assert(cuda::stubLibrary == CUDA_ERROR_STUB_LIBRARY &&
              cuda::notReady == CUDA_ERROR_NOT_READY);
static_assert(int(cuda::ClockRateKhz) == CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
static_assert(int(cuda::MultiprocessorCount) == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(int(cuda::MemoryClockRateKhz) == CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
static_assert(int(cuda::GlobalMemoryBusWidthBits) == CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
static_assert(int(cuda::L2CacheBytes) == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
static_assert(int(cuda::ComputeCapabilityMajor) == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(int(cuda::ComputeCapabilityMinor) == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(int(cuda::MaxSharedMemoryPerBlockOptin) ==
              CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
static_assert(int(cuda::MaxDynamicSharedSizeBytes) ==
              CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(int(cuda::NumRegs) == CU_FUNC_ATTRIBUTE_NUM_REGS);
static_assert(int(cuda::LocalSizeBytes) == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
static_assert(int(cuda::ErrorLogBuffer) == CU_JIT_ERROR_LOG_BUFFER);
static_assert(int(cuda::NonBlockingStream) == CU_STREAM_NON_BLOCKING);
static_assert(int(cuda::CaptureThreadLocal) == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);

static_assert(cupti::concurrentKernel == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
static_assert(cupti::insufficientPrivileges == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
static_assert(cupti::virtualizedInsufficientPrivileges ==
              CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
#define SAME_OFFSET(ours, theirs)                                                                  \
  static_assert(offsetof(cupti::KernelRecord, ours) == offsetof(CUpti_ActivityKernel9, theirs))
SAME_OFFSET(start, start);
SAME_OFFSET(end, end);
SAME_OFFSET(registersPerThread, registersPerThread);
SAME_OFFSET(gridX, gridX);
SAME_OFFSET(correlationId, correlationId);
SAME_OFFSET(name, name);

#pragma GCC diagnostic ignored "-Winvalid-offsetof" // members of a base, laid out as in C
#define SAME_MEMBER(block, ours, theirs, member)                                                   \
  static_assert(offsetof(cupti::block, ours) == offsetof(theirs##_Params, member))
SAME_MEMBER(Initialize, structSize, CUpti_Profiler_Initialize, structSize);
SAME_MEMBER(GetCounterAvailability, context, CUpti_Profiler_GetCounterAvailability, ctx);
SAME_MEMBER(GetCounterAvailability, imageSize, CUpti_Profiler_GetCounterAvailability,
            counterAvailabilityImageSize);
SAME_MEMBER(GetCounterAvailability, image, CUpti_Profiler_GetCounterAvailability,
            pCounterAvailabilityImage);
SAME_MEMBER(GetChipName, deviceIndex, CUpti_Device_GetChipName, deviceIndex);
SAME_MEMBER(GetChipName, chipName, CUpti_Device_GetChipName, pChipName);
SAME_MEMBER(HostInitialize, profilerType, CUpti_Profiler_Host_Initialize, profilerType);
SAME_MEMBER(HostInitialize, chipName, CUpti_Profiler_Host_Initialize, pChipName);
SAME_MEMBER(HostInitialize, availabilityImage, CUpti_Profiler_Host_Initialize,
            pCounterAvailabilityImage);
SAME_MEMBER(HostInitialize, host, CUpti_Profiler_Host_Initialize, pHostObject);
SAME_MEMBER(HostDeinitialize, host, CUpti_Profiler_Host_Deinitialize, pHostObject);
SAME_MEMBER(HostConfigAddMetrics, host, CUpti_Profiler_Host_ConfigAddMetrics, pHostObject);
SAME_MEMBER(HostConfigAddMetrics, names, CUpti_Profiler_Host_ConfigAddMetrics, ppMetricNames);
SAME_MEMBER(HostConfigAddMetrics, count, CUpti_Profiler_Host_ConfigAddMetrics, numMetrics);
SAME_MEMBER(HostGetConfigImageSize, host, CUpti_Profiler_Host_GetConfigImageSize, pHostObject);
SAME_MEMBER(HostGetConfigImageSize, size, CUpti_Profiler_Host_GetConfigImageSize, configImageSize);
SAME_MEMBER(HostGetConfigImage, host, CUpti_Profiler_Host_GetConfigImage, pHostObject);
SAME_MEMBER(HostGetConfigImage, size, CUpti_Profiler_Host_GetConfigImage, configImageSize);
SAME_MEMBER(HostGetConfigImage, image, CUpti_Profiler_Host_GetConfigImage, pConfigImage);
SAME_MEMBER(HostGetNumOfPasses, size, CUpti_Profiler_Host_GetNumOfPasses, configImageSize);
SAME_MEMBER(HostGetNumOfPasses, image, CUpti_Profiler_Host_GetNumOfPasses, pConfigImage);
SAME_MEMBER(HostGetNumOfPasses, passes, CUpti_Profiler_Host_GetNumOfPasses, numOfPasses);
SAME_MEMBER(HostEvaluate, host, CUpti_Profiler_Host_EvaluateToGpuValues, pHostObject);
SAME_MEMBER(HostEvaluate, counterData, CUpti_Profiler_Host_EvaluateToGpuValues, pCounterDataImage);
SAME_MEMBER(HostEvaluate, counterDataSize, CUpti_Profiler_Host_EvaluateToGpuValues,
            counterDataImageSize);
SAME_MEMBER(HostEvaluate, rangeIndex, CUpti_Profiler_Host_EvaluateToGpuValues, rangeIndex);
SAME_MEMBER(HostEvaluate, names, CUpti_Profiler_Host_EvaluateToGpuValues, ppMetricNames);
SAME_MEMBER(HostEvaluate, count, CUpti_Profiler_Host_EvaluateToGpuValues, numMetrics);
SAME_MEMBER(HostEvaluate, values, CUpti_Profiler_Host_EvaluateToGpuValues, pMetricValues);
SAME_MEMBER(RangeEnable, context, CUpti_RangeProfiler_Enable, ctx);
SAME_MEMBER(RangeEnable, profiler, CUpti_RangeProfiler_Enable, pRangeProfilerObject);
SAME_MEMBER(RangeDisable, profiler, CUpti_RangeProfiler_Disable, pRangeProfilerObject);
SAME_MEMBER(RangeSetConfig, profiler, CUpti_RangeProfiler_SetConfig, pRangeProfilerObject);
SAME_MEMBER(RangeSetConfig, configSize, CUpti_RangeProfiler_SetConfig, configSize);
SAME_MEMBER(RangeSetConfig, config, CUpti_RangeProfiler_SetConfig, pConfig);
SAME_MEMBER(RangeSetConfig, counterDataSize, CUpti_RangeProfiler_SetConfig, counterDataImageSize);
SAME_MEMBER(RangeSetConfig, counterData, CUpti_RangeProfiler_SetConfig, pCounterDataImage);
SAME_MEMBER(RangeSetConfig, range, CUpti_RangeProfiler_SetConfig, range);
SAME_MEMBER(RangeSetConfig, replayMode, CUpti_RangeProfiler_SetConfig, replayMode);
SAME_MEMBER(RangeSetConfig, maxRangesPerPass, CUpti_RangeProfiler_SetConfig, maxRangesPerPass);
SAME_MEMBER(RangeSetConfig, nestingLevels, CUpti_RangeProfiler_SetConfig, numNestingLevels);
SAME_MEMBER(RangeSetConfig, minNestingLevel, CUpti_RangeProfiler_SetConfig, minNestingLevel);
SAME_MEMBER(RangeSetConfig, passIndex, CUpti_RangeProfiler_SetConfig, passIndex);
SAME_MEMBER(RangeSetConfig, targetNestingLevel, CUpti_RangeProfiler_SetConfig, targetNestingLevel);
SAME_MEMBER(RangeStart, profiler, CUpti_RangeProfiler_Start, pRangeProfilerObject);
SAME_MEMBER(RangeStop, profiler, CUpti_RangeProfiler_Stop, pRangeProfilerObject);
SAME_MEMBER(RangeStop, passIndex, CUpti_RangeProfiler_Stop, passIndex);
SAME_MEMBER(RangeStop, targetNestingLevel, CUpti_RangeProfiler_Stop, targetNestingLevel);
SAME_MEMBER(RangeStop, allPassesSubmitted, CUpti_RangeProfiler_Stop, isAllPassSubmitted);
SAME_MEMBER(RangeDecode, profiler, CUpti_RangeProfiler_DecodeData, pRangeProfilerObject);
SAME_MEMBER(RangeDecode, dropped, CUpti_RangeProfiler_DecodeData, numOfRangeDropped);
SAME_MEMBER(RangeCounterDataSize, profiler, CUpti_RangeProfiler_GetCounterDataSize,
            pRangeProfilerObject);
SAME_MEMBER(RangeCounterDataSize, names, CUpti_RangeProfiler_GetCounterDataSize, pMetricNames);
SAME_MEMBER(RangeCounterDataSize, count, CUpti_RangeProfiler_GetCounterDataSize, numMetrics);
SAME_MEMBER(RangeCounterDataSize, maxRanges, CUpti_RangeProfiler_GetCounterDataSize,
            maxNumOfRanges);
SAME_MEMBER(RangeCounterDataSize, maxTreeNodes, CUpti_RangeProfiler_GetCounterDataSize,
            maxNumRangeTreeNodes);
SAME_MEMBER(RangeCounterDataSize, size, CUpti_RangeProfiler_GetCounterDataSize, counterDataSize);
SAME_MEMBER(RangeCounterDataInitialize, profiler, CUpti_RangeProfiler_CounterDataImage_Initialize,
            pRangeProfilerObject);
SAME_MEMBER(RangeCounterDataInitialize, size, CUpti_RangeProfiler_CounterDataImage_Initialize,
            counterDataSize);
SAME_MEMBER(RangeCounterDataInitialize, data, CUpti_RangeProfiler_CounterDataImage_Initialize,
            pCounterData);
SAME_MEMBER(RangeCounterDataInfo, data, CUpti_RangeProfiler_GetCounterDataInfo, pCounterDataImage);
SAME_MEMBER(RangeCounterDataInfo, size, CUpti_RangeProfiler_GetCounterDataInfo,
            counterDataImageSize);
SAME_MEMBER(RangeCounterDataInfo, ranges, CUpti_RangeProfiler_GetCounterDataInfo, numTotalRanges);

TEST(Abi, ParameterBlocksHaveTheSizesThatCuptiExpects) {
#define SAME_SIZE(member, entry, block, bytes) sizes[#entry] = bytes;
  std::map<std::string, size_t> sizes;
  TILEWRIGHT_CUPTI_PROFILER_FUNCTIONS(SAME_SIZE)
  std::map<std::string, size_t> expected = {
      {"cuptiProfilerInitialize", CUpti_Profiler_Initialize_Params_STRUCT_SIZE},
      {"cuptiProfilerGetCounterAvailability",
       CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE},
      {"cuptiDeviceGetChipName", CUpti_Device_GetChipName_Params_STRUCT_SIZE},
      {"cuptiProfilerHostInitialize", CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE},
      {"cuptiProfilerHostDeinitialize", CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE},
      {"cuptiProfilerHostConfigAddMetrics",
       CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE},
      {"cuptiProfilerHostGetConfigImageSize",
       CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE},
      {"cuptiProfilerHostGetConfigImage", CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE},
      {"cuptiProfilerHostGetNumOfPasses", CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE},
      {"cuptiProfilerHostEvaluateToGpuValues",
       CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE},
      {"cuptiRangeProfilerEnable", CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE},
      {"cuptiRangeProfilerDisable", CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE},
      {"cuptiRangeProfilerSetConfig", CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE},
      {"cuptiRangeProfilerStart", CUpti_RangeProfiler_Start_Params_STRUCT_SIZE},
      {"cuptiRangeProfilerStop", CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE},
      {"cuptiRangeProfilerDecodeData", CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE},
      {"cuptiRangeProfilerGetCounterDataSize",
       CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE},
      {"cuptiRangeProfilerCounterDataImageInitialize",
       CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE},
      {"cuptiRangeProfilerGetCounterDataInfo",
       CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE},
  };
  EXPECT_EQ(sizes, expected);
}

} // namespace tilewright::profile
