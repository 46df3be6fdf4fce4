#include "costmodel/calibration.h"
#include "costmodel/device_change.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

std::string changeErrorOf(const std::string &changes, const std::string &name = "h100-sxm") {
  auto changed = loadDeviceWith(name, dataFolder("devices"), changes);
  return changed ? "" : takeDiag(changed.takeError()).message;
}

ChangedDevice changedH100(const std::string &changes) {
  auto changed = loadDeviceWith("h100", dataFolder("devices"), changes);
  EXPECT_TRUE(static_cast<bool>(changed)) << takeDiag(changed.takeError()).message;
  return std::move(*changed);
}

std::string changesOf(const ChangedDevice &device) {
  std::string text;
  for (const ChangedNumber &each : device.changes)
    text += each.str() + "\n";
  return text;
}

} // namespace

TEST(DeviceChange, NothingChangesNothing) {
  const Device plain = llvm::cantFail(loadDevice("h100-sxm"));
  for (const char *none : {"", "as-is"}) {
    const ChangedDevice same = changedH100(none);
    EXPECT_EQ(same.device.name, "h100-sxm");
    EXPECT_EQ(same.device.digest, plain.digest);
    EXPECT_TRUE(same.changes.empty());
  }
  // A factor of 1 says so, and is the same device by another name.
  const ChangedDevice one = changedH100("sm_count=*1");
  EXPECT_EQ(one.device.digest, plain.digest);
  EXPECT_EQ(changesOf(one), "sm_count 132 -> 132\n");
}

TEST(DeviceChange, NumbersThatFollowAreChangedAlong) {
  const ChangedDevice twice = changedH100("dram_bandwidth=*2");
  EXPECT_EQ(twice.device.name, "h100-sxm.dram_bandwidth-x2");
  EXPECT_EQ(twice.base, "h100-sxm");
  EXPECT_DOUBLE_EQ(twice.device.dramBandwidth, 6704);
  EXPECT_EQ(changesOf(twice), "dram_bandwidth 3352 -> 6704 GB/s\n"
                              "dram_data_rate 5.238 -> 10.476 Gbit/s, follows dram_bandwidth\n");
  EXPECT_EQ(changesOf(changedH100("dram_bus_width=*2")),
            "dram_bus_width 5120 -> 10240 bit\n"
            "dram_bandwidth 3352 -> 6704 GB/s, follows dram_bus_width\n");
  const ChangedDevice more = changedH100("sm_count=144,sm_clock=1.65");
  EXPECT_EQ(more.device.memoryStreams, 144);
  const Device plain = llvm::cantFail(loadDevice("h100-sxm"));
  EXPECT_NEAR(more.device.peakFlops(DType::BF16, true) / plain.peakFlops(DType::BF16, true),
              144.0 / 132 * 1.65 / 1.98, 1e-9);
  EXPECT_NE(changesOf(more).find("follows sm_count and sm_clock"), std::string::npos)
      << changesOf(more);
  // A peak that is asked for is reached by its units, beside what else is asked for.
  EXPECT_EQ(changedH100("peak_bf16=*2").device.tensorBf16, 8192);
  EXPECT_EQ(changedH100("peak_bf16=*2,sm_count=*2,l2_bandwidth=*1").device.tensorBf16, 4096);
  const ChangedDevice shared = changedH100("shared_bytes_per_block=*1.5");
  EXPECT_EQ(shared.device.limits.sharedBytesPerSm, 233472 + 232448 / 2);
}

TEST(DeviceChange, OfEveryBundledDevice) {
  for (const std::string &name : deviceNames())
    for (const char *changes :
         {"dram_bandwidth=*1.2", "sm_count=*2", "sm_clock=*1.1", "l2_bytes=*4,l2_bandwidth=*1.3",
          "dram_data_rate=*0.5", "peak_f32=*2", "shared_bytes_per_sm=*2", "launch_overhead=2000"})
      EXPECT_EQ(changeErrorOf(changes, name), "") << name << " " << changes;
}

TEST(DeviceChange, WhatCanNotBeIsRefused) {
  const std::pair<const char *, const char *> cases[] = {
      {"dram_bandwith=*2", "no number 'dram_bandwith', did you mean 'dram_bandwidth'?"},
      {"name=x", "no number 'name'"},
      {"sm_count", "is not FIELD=VALUE or FIELD=*FACTOR"},
      {"sm_count=", "'' is no number"},
      {"sm_count=many", "'many' is no number"},
      {"sm_count=1e999", "is no number"},
      {"sm_count=nan", "is no number"},
      {"sm_count=-1", "is no number of at least 0"},
      {"sm_count=0", "plausible is 1 to 1024"},
      {"sm_count=12.5", "expected a whole number"},
      {"sm_count=1,sm_count=2", "'sm_count' is set twice"},
      {",", "is not FIELD=VALUE"},
      {"tensor_f4=*2", "no such number to multiply"},
      {"dram_bandwidth=*2,dram_data_rate=5.23,dram_bus_width=5120",
       "but bus width and data rate gives"},
      {"dram_bandwidth=*100", "plausible is"},
      {"dram_bandwidth=*4", "is below DRAM's"},
      {"l2_latency=*10", "is above DRAM's"},
      {"peak_bf16=*2,tensor_bf16=4096", "gives"},
      {"threads_per_block=4096", "an SM takes 64 warps"},
  };
  for (const auto &[changes, reason] : cases) {
    const std::string message = changeErrorOf(changes);
    EXPECT_NE(message.find(reason), std::string::npos) << changes << ": " << message;
    EXPECT_TRUE(message.starts_with("--set")) << message;
  }
}

TEST(DeviceChange, ALongNameKeepsDevicesApart) {
  const std::string many = "dram_bandwidth=*1.01,sm_count=140,l2_bytes=60000000,l2_latency=210";
  const ChangedDevice a = changedH100(many), b = changedH100(many + ",dram_latency=400");
  EXPECT_LE(a.device.name.size(), 64u);
  EXPECT_TRUE(a.device.name.starts_with("h100-sxm.dram_bandwidth-x1.01."));
  EXPECT_NE(a.device.name, b.device.name);
}

TEST(DeviceChange, TheCalibrationCarriesOver) {
  const Calibration fitted = llvm::cantFail(loadCalibration("h100-sxm"));
  const ChangedDevice changed = changedH100("dram_bandwidth=*2");
  const Calibration carried = transferred(fitted, changed.device);
  EXPECT_EQ(carried.transferredFrom, "h100-sxm");
  EXPECT_TRUE(carried.isFitted());
}

} // namespace tilewright
