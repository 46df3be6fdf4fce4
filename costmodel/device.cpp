#include "costmodel/device.h"

#include "analysis/support/digest.h"
#include "analysis/support/printable.h"
#include "costmodel/json_reader.h"
#include "costmodel/named_files.h"

#include <algorithm>
#include <cmath>

namespace tilewright {

namespace {

namespace description {

enum Traits : unsigned { None = 0, Optional = 1, Whole = 2, Check = 4, Apart = 8 };
constexpr Traits operator|(Traits a, Traits b) { return Traits(unsigned(a) | unsigned(b)); }

/// One number of a description: key, unit, and plausible range.
struct Field {
  std::string_view key, unit;
  double lowest, highest;
  Traits traits;
  std::string_view meaning;
};

constexpr Field fields[] = {
#define TILEWRIGHT_DEVICE_FIELD(target, key, unit, lowest, highest, traits, meaning)               \
  {key, unit, lowest, highest, traits, meaning},
#include "costmodel/device_fields.def"
};

} // namespace description

/// Reads a field, or nothing where it may be missing and is.
llvm::Expected<std::optional<DeviceNumber>> readField(const JsonFile &file,
                                                      const description::Field &field) {
  using namespace description;
  const std::string key(field.key);
  if ((field.traits & Optional) && !file.root().contains(key))
    return std::nullopt;
  auto entry = file.object(file.root(), key);
  if (!entry)
    return entry.takeError();
  constexpr std::string_view known[] = {"value", "unit", "source", "sigma_ln"};
  if (auto error = file.expectKeys(*entry, known, key))
    return error;
  auto value = file.number(*entry, "value");
  if (!value) {
    llvm::consumeError(value.takeError());
    return file.errorAt(key, fmt::format("'{}' needs a number 'value'", key));
  }
  auto unit = file.string(*entry, "unit");
  auto source = file.string(*entry, "source");
  if (!unit || !source) {
    llvm::consumeError(unit.takeError());
    llvm::consumeError(source.takeError());
    return file.errorAt(key, fmt::format("'{}' needs a 'unit' and a 'source'", key));
  }
  if (*unit != field.unit)
    return file.errorAt(key, fmt::format("'{}' is in {}, expected {}", key, *unit, field.unit));
  if (source->empty())
    return file.errorAt(key, fmt::format("'{}' has an empty source", key));
  if (!(*value >= field.lowest && *value <= field.highest))
    return file.errorAt(key, fmt::format("'{}' is {} {}, plausible is {} to {}", key, *value,
                                         field.unit, field.lowest, field.highest));
  if ((field.traits & Whole) && *value != std::floor(*value))
    return file.errorAt(key, fmt::format("'{}' is {}, expected a whole number", key, *value));
  return DeviceNumber{field.key, field.unit, field.meaning, *value, std::move(*source)};
}

/// Two derivations of the same number must agree.
llvm::Error expectRatio(const JsonFile &file, const char *key, double stated, double derived,
                        double lowest, double highest, std::string_view from,
                        std::string_view unit) {
  double ratio = stated / derived;
  if (ratio >= lowest && ratio <= highest)
    return llvm::Error::success();
  return file.errorAt(
      key, fmt::format("'{}' is {:.4g} {}, but {} gives {:.4g}", key, stated, unit, from, derived));
}

llvm::Error checkTogether(const JsonFile &file, const Device &d, double busWidth, double dataRate,
                          double peakBf16, double peakF32) {
  const DeviceLimits &l = d.limits;
  if (auto e = expectRatio(file, "dram_bandwidth", d.dramBandwidth, busWidth / 8 * dataRate, 0.95,
                           1.05, "bus width and data rate", "GB/s"))
    return e;
  if (d.smClock > d.boostClock)
    return file.errorAt("sustained_clock",
                        fmt::format("'sustained_clock' {} GHz is above the {} of 'sm_clock'",
                                    d.smClock, d.boostClock));
  // A data sheet's peak may assume another clock, by some per cent; those of the bundled
  // descriptions are of the clock that is priced (device_test.cpp).
  constexpr double least = 0.9, most = 1.1;
  const std::string_view clock = d.smClock < d.boostClock ? "sustained_clock" : "sm_clock";
  if (auto e = expectRatio(file, "peak_bf16", peakBf16, d.peakFlops(DType::BF16, true) / 1e3, least,
                           most, fmt::format("sm_count x tensor_bf16 x {}", clock), "TFLOP/s"))
    return e;
  if (auto e =
          expectRatio(file, "peak_f32", peakF32, d.peakFlops(DType::F32, false) / 1e3, least, most,
                      fmt::format("sm_count x fma_per_clock x 2 x {}", clock), "TFLOP/s"))
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
  if (l.sharedBytesPerCta + l.sharedBytesReservedPerCta > l.sharedBytesPerSm)
    return file.errorAt("shared_bytes_per_block",
                        fmt::format("a CTA may take {} + {} B of shared memory, but an SM has {}",
                                    l.sharedBytesPerCta, l.sharedBytesReservedPerCta,
                                    l.sharedBytesPerSm));
  if (l.threadsPerCta > l.warpsPerSm * 32)
    return file.errorAt("threads_per_block", fmt::format("a CTA may have {} threads, but an SM "
                                                         "takes {} warps",
                                                         l.threadsPerCta, l.warpsPerSm));
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

bool Device::hasTcgen05() const {
  return computeCapability.starts_with("10.") || computeCapability.starts_with("11.");
}

namespace {

/// "9.0": a number of one or two digits, a point, a digit.
bool isCapability(std::string_view text) {
  auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
  const size_t point = text.find('.');
  return (point == 1 || point == 2) && text.size() == point + 2 &&
         std::all_of(text.begin(), text.end(), [&](char c) { return c == '.' || isDigit(c); }) &&
         std::count(text.begin(), text.end(), '.') == 1;
}

llvm::Error readTexts(const JsonFile &file, Device &d) {
  auto name = file.string(file.root(), "name");
  if (!name)
    return name.takeError();
  if (!isPlainName(*name))
    return file.errorAt("name", fmt::format("'name' is '{}', expected up to {} letters, digits, "
                                            "'.', '_' and '-', a letter or digit first",
                                            excerpt(*name), mostOfAName));
  d.name = *name;
  auto capability = file.string(file.root(), "compute_capability");
  if (!capability)
    return capability.takeError();
  if (!isCapability(*capability))
    return file.errorAt(
        "compute_capability",
        fmt::format("'compute_capability' is '{}', expected a form as 9.0", excerpt(*capability)));
  d.computeCapability = *capability;
  if (!file.root().contains("driver_names"))
    return llvm::Error::success();
  auto names = file.strings(file.root(), "driver_names");
  if (!names)
    return names.takeError();
  d.driverNames = std::move(*names);
  return llvm::Error::success();
}

/// The spread of the sustained clock, where the file gives one.
llvm::Error readClockSpread(const JsonFile &file, Device &d) {
  auto entry = file.root().find("sustained_clock");
  if (entry == file.root().end() || !entry->contains("sigma_ln"))
    return llvm::Error::success();
  auto sigma = file.number(*entry, "sigma_ln");
  if (!sigma)
    return sigma.takeError();
  if (!(*sigma >= 0 && *sigma <= 1))
    return file.errorAt("sigma_ln", fmt::format("'sigma_ln' is {}, plausible is 0 to 1", *sigma));
  d.clockSigmaLn = *sigma;
  return llvm::Error::success();
}

} // namespace

llvm::Expected<Device> parseDevice(std::string name, std::string text) {
  auto file = JsonFile::parse(std::move(name), std::move(text));
  if (!file)
    return file.takeError();
  if (auto error = file->expectSchema("tilewright.device", 1))
    return error;
  std::vector<std::string_view> known = {"schema", "schema_version", "name", "compute_capability",
                                         "driver_names"};
  for (const description::Field &field : description::fields)
    known.push_back(field.key);
  if (auto error = file->expectKeys(file->root(), known, "a device"))
    return error;
  Device d;
  if (auto error = readTexts(*file, d))
    return error;
  if (auto error = readClockSpread(*file, d))
    return error;

  Digest digest;
  digest.add(d.computeCapability);
  std::vector<double> values;
  for (const description::Field &field : description::fields) {
    auto number = readField(*file, field);
    if (!number)
      return number.takeError();
    values.push_back(*number ? (*number)->value : 0);
    if (!*number)
      continue;
    if (!(field.traits & (description::Check | description::Apart))) {
      digest.add(field.key);
      digest.add(fmt::format("{}", (*number)->value));
    }
    d.numbers.push_back(std::move(**number));
  }
  d.digest = digest.str();

  DeviceLimits &l = d.limits;
  double busWidth = 0, dataRate = 0, peakBf16 = 0, peakF32 = 0;
  bool warpgroup = false;
  double linkBandwidth = 0, linkLatency = 0; // read from d.numbers (link.h)
  const double efficiency = d.dramEfficiency;
  size_t at = 0;
  auto assign = [&](auto &target) {
    target = static_cast<std::remove_reference_t<decltype(target)>>(values[at++]);
  };
#define TILEWRIGHT_DEVICE_FIELD(target, key, unit, lowest, highest, traits, meaning) assign(target);
#include "costmodel/device_fields.def"
  d.warpgroupMma = warpgroup;
  if (d.smClock == 0)
    d.smClock = d.boostClock;
  if (d.dramEfficiency == 0)
    d.dramEfficiency = efficiency;
  if (d.memoryStreams == 0)
    d.memoryStreams = d.smCount;
  if (auto error = checkTogether(*file, d, busWidth, dataRate, peakBf16, peakF32))
    return error;
  return d;
}

std::vector<DeviceNote> notesOf(const Device &device) {
  std::vector<DeviceNote> notes;
  if (device.hasTcgen05())
    notes.push_back(
        {"unmodelled-instruction",
         fmt::format("{} multiplies matrices by tcgen05, which is not modelled: dots are "
                     "priced by mma.sync at {:.0f} % of the tensor peak, and those that "
                     "it limits may take as little as {:.0f} % of their price",
                     device.name, 100 * device.mmaSyncRate, 100 * device.mmaSyncRate)});
  if (device.smClock < device.boostClock)
    notes.push_back(
        {"clock-under-load",
         fmt::format("{} is priced at the {:.3g} GHz that it holds when busy{}, not at the {:.3g} "
                     "of its data sheet: {:.3g} TFLOP/s of bf16 and {:.3g} of f32",
                     device.name, device.smClock,
                     device.clockSigmaLn > 0
                         ? fmt::format(" (± {:.0f} %)", 100 * std::expm1(device.clockSigmaLn))
                         : "",
                     device.boostClock, device.peakFlops(DType::BF16, true) / 1e3,
                     device.peakFlops(DType::F32, false) / 1e3)});
  return notes;
}

llvm::Expected<Device> loadDevice(const std::string &nameOrPath, const std::string &folder) {
  auto path = findNamed("device", nameOrPath, folder);
  if (!path)
    return path.takeError();
  auto text = readFile(*path, 16ull << 20);
  if (!text)
    return text.takeError();
  return parseDevice(*path, std::move(*text));
}

std::vector<std::string> deviceNames(const std::string &folder) { return namesIn(folder); }

} // namespace tilewright
