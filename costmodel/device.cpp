#include "costmodel/device.h"

#include "costmodel/json_reader.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace tilewright {

namespace {

/// One number of a description: its key, unit and the range outside which it is a mistake.
struct Field {
  const char *key, *unit;
  double lowest, highest;
  double *target;
  bool optional = false;
};

llvm::Error readField(const JsonFile &file, const Field &field) {
  if (field.optional && !file.root().contains(field.key))
    return llvm::Error::success();
  auto entry = file.object(file.root(), field.key);
  if (!entry)
    return entry.takeError();
  auto value = file.number(*entry, "value");
  if (!value) {
    llvm::consumeError(value.takeError());
    return file.errorAt(field.key, fmt::format("'{}' needs a number 'value'", field.key));
  }
  auto unit = file.string(*entry, "unit");
  auto source = file.string(*entry, "source");
  if (!unit || !source) {
    llvm::consumeError(unit.takeError());
    llvm::consumeError(source.takeError());
    return file.errorAt(field.key, fmt::format("'{}' needs a 'unit' and a 'source'", field.key));
  }
  if (*unit != field.unit)
    return file.errorAt(field.key,
                        fmt::format("'{}' is in {}, expected {}", field.key, *unit, field.unit));
  if (source->empty())
    return file.errorAt(field.key, fmt::format("'{}' has an empty source", field.key));
  if (!(*value >= field.lowest && *value <= field.highest))
    return file.errorAt(field.key, fmt::format("'{}' is {} {}, plausible is {} to {}", field.key,
                                               *value, field.unit, field.lowest, field.highest));
  *field.target = *value;
  return llvm::Error::success();
}

/// Two ways to the same number must agree.
llvm::Error expectRatio(const JsonFile &file, const char *key, double stated, double derived,
                        double lowest, double highest, std::string_view from,
                        std::string_view unit) {
  double ratio = stated / derived;
  if (ratio >= lowest && ratio <= highest)
    return llvm::Error::success();
  return file.errorAt(
      key, fmt::format("'{}' is {:.4g} {}, but {} gives {:.4g}", key, stated, unit, from, derived));
}

/// The same physical limits as numbers, before they become integers.
struct LimitFields {
  double sharedPerSm = 0, sharedPerBlock = 0, sharedReserved = 0, registersPerSm = 0,
         registersPerThread = 0, threadsPerBlock = 0, warpsPerSm = 0, blocksPerSm = 0;
};

llvm::Error checkTogether(const JsonFile &file, const Device &d, const LimitFields &l,
                          double busWidth, double dataRate, double peakBf16, double peakF32) {
  if (auto e = expectRatio(file, "dram_bandwidth", d.dramBandwidth, busWidth / 8 * dataRate, 0.95,
                           1.05, "bus width and data rate", "GB/s"))
    return e;
  // A stated peak assumes a boost clock that may differ from the clock under load.
  if (auto e = expectRatio(file, "peak_bf16", peakBf16, d.peakFlops(DType::BF16, true) / 1e3, 0.8,
                           1.15, "sm_count x tensor_bf16 x sm_clock", "TFLOP/s"))
    return e;
  if (auto e = expectRatio(file, "peak_f32", peakF32, d.peakFlops(DType::F32, false) / 1e3, 0.8,
                           1.15, "sm_count x fma_per_clock x 2 x sm_clock", "TFLOP/s"))
    return e;
  if (d.l2Bandwidth < d.dramBandwidth)
    return file.errorAt("l2_bandwidth", fmt::format("'l2_bandwidth' {} GB/s is below DRAM's {}",
                                                    d.l2Bandwidth, d.dramBandwidth));
  double ports = d.smCount * 128 * d.smClock; // an SM takes at most 128 B per clock
  if (d.l2Bandwidth > ports)
    return file.errorAt("l2_bandwidth", fmt::format("'l2_bandwidth' {} GB/s is above the {:.0f} "
                                                    "that {} SMs can take",
                                                    d.l2Bandwidth, ports, d.smCount));
  if (d.l2Latency > d.dramLatency)
    return file.errorAt("l2_latency", fmt::format("'l2_latency' {} ns is above DRAM's {}",
                                                  d.l2Latency, d.dramLatency));
  if (l.sharedPerBlock + l.sharedReserved > l.sharedPerSm)
    return file.errorAt("shared_bytes_per_block",
                        fmt::format("a block may take {} + {} B of shared memory, but an SM has {}",
                                    l.sharedPerBlock, l.sharedReserved, l.sharedPerSm));
  if (l.threadsPerBlock > l.warpsPerSm * 32)
    return file.errorAt("threads_per_block", fmt::format("a block may have {} threads, but an SM "
                                                         "takes {} warps",
                                                         l.threadsPerBlock, l.warpsPerSm));
  return llvm::Error::success();
}

} // namespace

double Device::tensorFlopsPerClock(DType type) const {
  switch (type) {
  case DType::BF16:
    return tensorBf16;
  case DType::F16:
    return tensorF16;
  case DType::F32:
    return tensorTf32;
  case DType::F64:
    return tensorF64;
  case DType::F8E4M3FN:
  case DType::F8E5M2:
    return tensorF8;
  case DType::F4E2M1FN:
    return tensorF4;
  case DType::S8:
  case DType::U8:
    return tensorS8;
  default:
    return 0;
  }
}

double Device::peakFlops(DType type, bool tensor) const {
  double perClock = tensor ? tensorFlopsPerClock(type) : 0;
  if (perClock == 0)
    perClock = 2 * (type == DType::F64 ? f64FmaPerClock : fmaPerClock);
  return perClock * smCount * smClock;
}

llvm::Expected<Device> parseDevice(std::string name, std::string text) {
  auto file = JsonFile::parse(std::move(name), std::move(text));
  if (!file)
    return file.takeError();
  if (auto error = file->expectSchema("tilewright.device", 1))
    return error;
  Device d;
  auto deviceName = file->string(file->root(), "name");
  if (!deviceName)
    return deviceName.takeError();
  d.name = *deviceName;
  auto capability = file->string(file->root(), "compute_capability");
  if (!capability)
    return capability.takeError();
  d.computeCapability = *capability;

  LimitFields l;
  double busWidth = 0, dataRate = 0, peakBf16 = 0, peakF32 = 0, warpgroup = 0;
  const char *perSm = "FLOP/clk/SM";
  const Field fields[] = {
      {"sm_count", "1", 1, 1024, &d.smCount},
      {"sm_clock", "GHz", 0.2, 5, &d.smClock},
      {"dram_bandwidth", "GB/s", 10, 100000, &d.dramBandwidth},
      {"dram_efficiency", "1", 0.3, 1, &d.dramEfficiency, true},
      {"dram_bus_width", "bit", 32, 65536, &busWidth},
      {"dram_data_rate", "Gbit/s", 0.5, 100, &dataRate},
      {"dram_bytes", "B", 1e8, 1e13, &d.dramBytes},
      {"l2_bytes", "B", 1e5, 1e10, &d.l2Bytes},
      {"l2_bandwidth", "GB/s", 50, 200000, &d.l2Bandwidth},
      {"shared_bytes_per_sm", "B", 16384, 4e6, &l.sharedPerSm},
      {"shared_bytes_per_block", "B", 16384, 4e6, &l.sharedPerBlock},
      {"shared_bytes_reserved_per_block", "B", 0, 65536, &l.sharedReserved},
      {"registers_per_sm", "1", 16384, 4e6, &l.registersPerSm},
      {"registers_per_thread", "1", 32, 1024, &l.registersPerThread},
      {"threads_per_block", "1", 256, 4096, &l.threadsPerBlock},
      {"warps_per_sm", "1", 16, 256, &l.warpsPerSm},
      {"blocks_per_sm", "1", 4, 256, &l.blocksPerSm},
      {"schedulers_per_sm", "1", 1, 16, &d.schedulersPerSm},
      {"shared_bytes_per_clock", "B/clk/SM", 32, 1024, &d.sharedBytesPerClock},
      {"fma_per_clock", "1/clk/SM", 16, 1024, &d.fmaPerClock},
      {"f64_fma_per_clock", "1/clk/SM", 1, 512, &d.f64FmaPerClock},
      {"sfu_per_clock", "1/clk/SM", 1, 256, &d.sfuPerClock},
      {"tensor_bf16", perSm, 64, 1e6, &d.tensorBf16},
      {"tensor_f16", perSm, 64, 1e6, &d.tensorF16},
      {"tensor_tf32", perSm, 32, 1e6, &d.tensorTf32, true},
      {"tensor_f8", perSm, 64, 1e6, &d.tensorF8, true},
      {"tensor_f4", perSm, 64, 1e6, &d.tensorF4, true},
      {"tensor_s8", perSm, 64, 1e6, &d.tensorS8, true},
      {"tensor_f64", perSm, 4, 1e6, &d.tensorF64, true},
      {"peak_bf16", "TFLOP/s", 1, 1e5, &peakBf16},
      {"peak_f32", "TFLOP/s", 0.5, 1e4, &peakF32},
      {"warpgroup_mma", "1", 0, 1, &warpgroup},
      {"mma_sync_rate", "1", 0.05, 1, &d.mmaSyncRate},
      {"l2_latency", "ns", 20, 2000, &d.l2Latency},
      {"dram_latency", "ns", 50, 5000, &d.dramLatency},
      {"launch_overhead", "ns", 10, 1e5, &d.launchOverhead},
      {"cta_dispatch", "ns", 0.01, 100, &d.ctaDispatch},
      {"memory_streams", "1", 1, 1024, &d.memoryStreams, true},
  };
  for (const Field &field : fields)
    if (auto error = readField(*file, field))
      return error;
  d.warpgroupMma = warpgroup != 0;
  if (d.memoryStreams == 0)
    d.memoryStreams = d.smCount;
  if (auto error = checkTogether(*file, d, l, busWidth, dataRate, peakBf16, peakF32))
    return error;

  auto whole = [](double value) { return static_cast<int64_t>(value); };
  d.limits.sharedBytesPerSm = whole(l.sharedPerSm);
  d.limits.sharedBytesPerBlock = whole(l.sharedPerBlock);
  d.limits.sharedBytesReservedPerBlock = whole(l.sharedReserved);
  d.limits.registersPerSm = whole(l.registersPerSm);
  d.limits.registersPerThread = whole(l.registersPerThread);
  d.limits.threadsPerBlock = whole(l.threadsPerBlock);
  d.limits.warpsPerSm = whole(l.warpsPerSm);
  d.limits.blocksPerSm = whole(l.blocksPerSm);
  return d;
}

llvm::Expected<Device> loadDevice(const std::string &nameOrPath, const std::string &folder) {
  std::string path = nameOrPath;
  if (!nameOrPath.ends_with(".json")) {
    std::vector<std::string> known = deviceNames(folder), matching;
    for (const std::string &name : known)
      if (name == nameOrPath || name.starts_with(nameOrPath + "-"))
        matching.push_back(name);
    if (std::binary_search(known.begin(), known.end(), nameOrPath))
      matching = {nameOrPath};
    if (matching.size() != 1)
      return makeError(DiagClass::BadInput, "no device '{}'; known: {}; or give a .json file",
                       nameOrPath, fmt::join(known, ", "));
    path = folder + "/" + matching.front() + ".json";
  }
  auto text = readFile(path, 16ull << 20);
  if (!text)
    return text.takeError();
  return parseDevice(path, std::move(*text));
}

std::vector<std::string> deviceNames(const std::string &folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error))
    if (it->path().extension() == ".json")
      names.push_back(it->path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

} // namespace tilewright
