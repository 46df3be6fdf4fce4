// libcupti.so.13 as the tests load it: see fake_gpu.h.
#include "profiler/cupti_abi.h"
#include "profiler/testing/fake_gpu.h"

#include <cstdlib>
#include <cstring>

using namespace tilewright::profile;

extern "C" fake::FakeGpu *tilewright_fake_gpu();

namespace {

cupti::BufferRequested requested = nullptr;
cupti::BufferCompleted completed = nullptr;
fake::FakeGpu &gpu() { return *tilewright_fake_gpu(); }

constexpr uint8_t configImage[] = {7, 7, 7}, availabilityImage[] = {1, 2, 3, 4};
struct CounterData {
  double lastKernelNs = 0;
  size_t ranges = 0;
};
CounterData counted;
size_t launchedAtStart = 0;
uint8_t *counterData = nullptr;

} // namespace

extern "C" {

int cuptiGetVersion(uint32_t *version) {
  if (int status = gpu().call(__func__))
    return status;
  *version = 130001;
  return 0;
}
int cuptiGetResultString(int status, const char **text) {
  if (int status = gpu().call(__func__))
    return status;
  *text = status == 35 ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR_UNKNOWN";
  return 0;
}
int cuptiActivityRegisterCallbacks(cupti::BufferRequested request,
                                   cupti::BufferCompleted complete) {
  if (int status = gpu().call(__func__))
    return status;
  requested = request;
  completed = complete;
  return 0;
}
int cuptiActivityEnable(int kind) {
  if (int status = gpu().call(__func__))
    return status;
  if (int status = gpu().at("activity"))
    return status;
  gpu().isRecording = kind == cupti::concurrentKernel;
  gpu().records.clear();
  return 0;
}
int cuptiActivityDisable(int) {
  if (int status = gpu().call(__func__))
    return status;
  gpu().isRecording = false;
  return 0;
}
int cuptiActivityFlushAll(uint32_t) {
  if (int status = gpu().call(__func__))
    return status;
  uint8_t *buffer = nullptr;
  size_t size = 0, most = 0, used = 0;
  for (const fake::KernelInterval &interval : gpu().records) {
    if (buffer && used + sizeof(cupti::KernelRecord) > size) {
      completed(nullptr, 0, buffer, size, used);
      buffer = nullptr;
    }
    if (!buffer) {
      requested(&buffer, &size, &most);
      used = 0;
    }
    cupti::KernelRecord record{};
    record.kind = cupti::concurrentKernel;
    record.start = interval.startNs;
    record.end = interval.endNs;
    std::memcpy(buffer + used, &record, sizeof record);
    used += sizeof record;
  }
  if (buffer)
    completed(nullptr, 0, buffer, size, used);
  gpu().records.clear();
  return 0;
}
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record) {
  if (int status = gpu().call(__func__))
    return status;
  uint8_t *next = *record ? static_cast<uint8_t *>(*record) + sizeof(cupti::KernelRecord) : buffer;
  if (next + sizeof(cupti::KernelRecord) > buffer + valid)
    return 12; // CUPTI_ERROR_MAX_LIMIT_REACHED
  *record = next;
  return 0;
}

int cuptiProfilerInitialize(cupti::Initialize *) {
  if (int status = gpu().call(__func__))
    return status;
  return 0;
}
int cuptiDeviceGetChipName(cupti::GetChipName *block) {
  if (int status = gpu().call(__func__))
    return status;
  block->chipName = "GH100";
  return 0;
}
int cuptiProfilerGetCounterAvailability(cupti::GetCounterAvailability *block) {
  if (int status = gpu().call(__func__))
    return status;
  if (!block->image)
    block->imageSize = sizeof availabilityImage;
  else
    std::memcpy(block->image, availabilityImage, sizeof availabilityImage);
  return 0;
}
int cuptiProfilerHostInitialize(cupti::HostInitialize *block) {
  if (int status = gpu().call(__func__))
    return status;
  block->host = new std::vector<std::string>;
  return std::strcmp(block->chipName, "GH100") == 0 ? 0 : 1;
}
int cuptiProfilerHostDeinitialize(cupti::HostDeinitialize *block) {
  if (int status = gpu().call(__func__))
    return status;
  delete static_cast<std::vector<std::string> *>(block->host);
  return 0;
}
int cuptiProfilerHostConfigAddMetrics(cupti::HostConfigAddMetrics *block) {
  if (int status = gpu().call(__func__))
    return status;
  auto &names = *static_cast<std::vector<std::string> *>(block->host);
  for (size_t i = 0; i < block->count; ++i) {
    if (block->names[i] == gpu().setting("unknown", ""))
      return 1;
    names.push_back(block->names[i]);
  }
  return 0;
}
int cuptiProfilerHostGetConfigImageSize(cupti::HostGetConfigImageSize *block) {
  if (int status = gpu().call(__func__))
    return status;
  block->size = sizeof configImage;
  return 0;
}
int cuptiProfilerHostGetConfigImage(cupti::HostGetConfigImage *block) {
  if (int status = gpu().call(__func__))
    return status;
  std::memcpy(block->image, configImage, sizeof configImage);
  return 0;
}
int cuptiProfilerHostGetNumOfPasses(cupti::HostGetNumOfPasses *block) {
  if (int status = gpu().call(__func__))
    return status;
  block->passes = 4;
  return std::memcmp(block->image, configImage, sizeof configImage) != 0;
}
int cuptiRangeProfilerEnable(cupti::RangeEnable *block) {
  if (int status = gpu().call(__func__))
    return status;
  block->profiler = &gpu();
  return gpu().at("counters");
}
int cuptiRangeProfilerDisable(cupti::RangeDisable *) {
  if (int status = gpu().call(__func__))
    return status;
  return 0;
}
int cuptiRangeProfilerGetCounterDataSize(cupti::RangeCounterDataSize *block) {
  if (int status = gpu().call(__func__))
    return status;
  block->size = sizeof(CounterData);
  return 0;
}
int cuptiRangeProfilerCounterDataImageInitialize(cupti::RangeCounterDataInitialize *block) {
  if (int status = gpu().call(__func__))
    return status;
  std::memset(block->data, 0, block->size);
  return 0;
}
int cuptiRangeProfilerSetConfig(cupti::RangeSetConfig *block) {
  if (int status = gpu().call(__func__))
    return status;
  counterData = block->counterData;
  bool isRight = block->range == 1 && block->replayMode == 2 && block->nestingLevels == 1 &&
                 block->counterDataSize == sizeof(CounterData);
  return isRight ? 0 : 1;
}
int cuptiRangeProfilerStart(cupti::RangeStart *) {
  if (int status = gpu().call(__func__))
    return status;
  launchedAtStart = gpu().kernelsLaunched;
  return 0;
}
int cuptiRangeProfilerStop(cupti::RangeStop *block) {
  if (int status = gpu().call(__func__))
    return status;
  block->allPassesSubmitted = 1;
  return 0;
}
int cuptiRangeProfilerDecodeData(cupti::RangeDecode *block) {
  if (int status = gpu().call(__func__))
    return status;
  counted = {gpu().lastKernelNs, gpu().kernelsLaunched - launchedAtStart};
  std::memcpy(counterData, &counted, sizeof counted);
  block->dropped = 0;
  return 0;
}
int cuptiRangeProfilerGetCounterDataInfo(cupti::RangeCounterDataInfo *block) {
  if (int status = gpu().call(__func__))
    return status;
  CounterData read;
  std::memcpy(&read, block->data, sizeof read);
  block->ranges = read.ranges;
  return 0;
}
int cuptiProfilerHostEvaluateToGpuValues(cupti::HostEvaluate *block) {
  if (int status = gpu().call(__func__))
    return status;
  CounterData read;
  std::memcpy(&read, block->counterData, sizeof read);
  for (size_t i = 0; i < block->count; ++i)
    block->values[i] = std::strcmp(block->names[i], "gpu__time_duration.sum") == 0
                           ? read.lastKernelNs
                           : static_cast<double>(100 + i);
  return 0;
}

} // extern "C"
