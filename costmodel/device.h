// Device: the description of a GPU, known before anything is measured on it.
//
// A description is a JSON file in which every number has a unit and a source:
//   "sm_count": {"value": 132, "unit": "1", "source": "NVIDIA H100 … whitepaper"}
// The loader checks keys, units, ranges, and that numbers which follow from each other agree
// (bandwidth with bus width and data rate, peak FLOP/s with units and clock), because a typing
// error in a description would otherwise only show as a bad prediction. device_fields.def lists the
// numbers.
#pragma once

#include "analysis/ir/dtype.h"
#include "analysis/support/diag.h"
#include "analysis/tiling/device_limits.h"
#include "costmodel/data_folder.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// One number of a description as it stands there.
struct DeviceNumber {
  std::string_view key, unit, meaning;
  double value = 0;
  std::string source;
};

struct Device {
  std::string name;              ///< "h100-sxm": letters, digits, '.', '_' and '-'
  std::string computeCapability; ///< "9.0"
  /// What the driver calls such a device ("NVIDIA H100 80GB HBM3"); empty: not known.
  std::vector<std::string> driverNames;
  /// Of all numbers that price something: tells descriptions apart whatever their names are. Stays
  /// as it was read when fields are changed.
  std::string digest;
  std::vector<DeviceNumber> numbers; ///< in the order of device_fields.def

  double smCount = 0;
  double smClock = 0;           ///< GHz that a busy device holds = clocks per ns
  double boostClock = 0;        ///< GHz at most, from which power may keep it
  double clockSigmaLn = 0;      ///< spread of ln(smClock), where its source gives one
  double dramBandwidth = 0;     ///< B/ns (= GB/s), peak
  double dramEfficiency = 0.91; ///< share of it that long copies reach
  double dramBytes = 0;
  double l2Bytes = 0;
  double l2Bandwidth = 0;         ///< B/ns to all SMs together
  double sharedBytesPerClock = 0; ///< per SM
  double schedulersPerSm = 0;     ///< warp instructions issued per clock and SM
  double fmaPerClock = 0;         ///< f32 FMA lanes per SM
  double f64FmaPerClock = 0;
  double sfuPerClock = 0; ///< exp2, rcp, rsqrt, … lanes per SM
  /// Dense tensor-core FLOP per clock and SM with f32 accumulation; 0: not there.
  double tensorBf16 = 0, tensorF16 = 0, tensorTf32 = 0, tensorF8 = 0, tensorF4 = 0, tensorS8 = 0,
         tensorF64 = 0;
  bool warpgroupMma = false;             ///< has wgmma
  double mmaSyncRate = 1;                ///< share of the tensor peak that mma.sync reaches
  double l2Latency = 0, dramLatency = 0; ///< ns, unloaded
  double launchOverhead = 0;             ///< ns of device time of the smallest kernel
  double ctaDispatch = 0;                ///< ns between two CTA starts, device-wide
  /// SMs whose requests the memory side was built to serve concurrently: the SM count, unless the
  /// description says otherwise.
  double memoryStreams = 0;
  DeviceLimits limits;

  /// FLOP per clock and SM of the tensor cores for operands of that type (f32 means TF32); 0 if
  /// they do not take it.
  double tensorFlopsPerClock(DType type) const;
  /// FLOP per ns of the whole device: of the tensor cores if `tensor` is set and they take the
  /// type, of the FMA pipes otherwise.
  double peakFlops(DType type, bool tensor) const;
  /// Has tcgen05 (compute capability 10 and 11), which no plan uses yet.
  bool hasTcgen05() const;
};

/// Reads and checks a description. `name` is for messages.
llvm::Expected<Device> parseDevice(std::string name, std::string text);

/// A device by path (if it ends in ".json") or by the name of a file in `folder`, see findNamed().
llvm::Expected<Device> loadDevice(const std::string &nameOrPath,
                                  const std::string &folder = dataFolder("devices"));

/// Names of the descriptions in a folder, sorted.
std::vector<std::string> deviceNames(const std::string &folder = dataFolder("devices"));

/// Something about a device that a reader of its prices has to know.
struct DeviceNote {
  std::string kind; ///< "unmodelled-instruction", "clock-under-load"
  std::string text; ///< one line
};
std::vector<DeviceNote> notesOf(const Device &device);

} // namespace tilewright
