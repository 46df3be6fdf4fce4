// What must hold of any time model, strictly and of every plan: no time is below the roofline,
// better hardware is not slower, more work is not faster, equal plans take equal time. Plans,
// devices and changes are drawn at random (fixed seeds).
#include "costmodel/estimate.h"
#include "costmodel/testing/data.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace tilewright {
namespace {

using testing::h100;
using testing::planFrom;

constexpr double rounding = 1e-9;

/// One kernel with its launch configuration, as a row of measurements would give it.
struct Kernel {
  std::string family, dtype;
  int64_t batch = 1;
  std::array<int64_t, 3> size = {1, 1, 1};
  int64_t tileM = 1, tileN = 1, tileK = 1, headDim = 64, causal = 0;
  int warps = 4, stages = 3, splitK = 1, groupM = 8;

  std::string row() const {
    auto number = [](bool there, int64_t value) { return there ? fmt::format("{}", value) : ""; };
    const bool gemm = isGemm(), oneDim = family == "copy1d" || family == "ew1d";
    const bool attention = family == "attn";
    return fmt::format(
        "kernel,dtype,batch,d0,d1,d2,tile_m,tile_n,tile_k,block,head_dim,causal,warps,stages,"
        "split_k,group_m\n{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
        family, dtype, batch, size[0], number(!oneDim, size[1]), number(gemm || attention, size[2]),
        number(!oneDim, tileM), number(!oneDim, tileN), number(gemm, tileK), number(oneDim, tileN),
        number(attention, headDim), number(attention, causal), warps,
        number(gemm || attention, stages), number(gemm, splitK), number(gemm, groupM));
  }

  bool isGemm() const { return family.find("gemm") != std::string::npos; }
  /// The tile of each dim that may grow, a multiple of what every layout is aligned to.
  std::vector<std::pair<int, int64_t>> dims() const {
    auto aligned = [](int64_t tile) { return std::max<int64_t>(tile, 128); };
    if (isGemm())
      return {{0, aligned(tileM)}, {1, aligned(tileN)}, {2, aligned(tileK)}};
    if (family == "copy1d" || family == "ew1d")
      return {{0, aligned(tileN)}};
    if (family == "attn")
      return {{0, 1}, {1, aligned(std::max(tileM, tileN))}};
    if (family == "softmax2d")
      return {{0, tileM}};
    return {{0, aligned(tileM)}, {1, aligned(tileN)}};
  }
};

using Random = std::mt19937_64;

int64_t powerOfTwo(Random &random, int lowest, int highest) {
  return int64_t(1) << std::uniform_int_distribution(lowest, highest)(random);
}

Kernel anyKernel(Random &random) {
  static const char *const families[] = {
      "gemm",    "gemm",        "gemm_nt",   "bgemm_nn",  "bgemm_nt",  "copy1d", "ew1d",
      "bcast2d", "transpose2d", "softmax2d", "rowreduce", "colreduce", "attn",   "attn"};
  Kernel k;
  k.family = families[random() % std::size(families)];
  static const char *const types[] = {"bf16", "f16", "e4m3", "f32"};
  const bool anyType = k.family == "gemm";
  k.dtype = anyType ? types[random() % 4]
            : k.isGemm() || k.family == "attn" || k.family == "softmax2d" || k.family == "bcast2d"
                ? "bf16"
                : (random() % 2 ? "bf16" : "f32");
  k.warps = int(powerOfTwo(random, k.isGemm() || k.family == "attn" ? 2 : 0, 3));
  k.stages = 2 + int(random() % 3);
  if (k.isGemm()) {
    k.tileM = powerOfTwo(random, 4, 8);
    k.tileN = powerOfTwo(random, 5, 8);
    k.tileK = powerOfTwo(random, 5, 7);
    k.groupM = int(powerOfTwo(random, 0, 4));
    if (k.family == "gemm" && random() % 4 == 0)
      k.splitK = int(powerOfTwo(random, 1, 3));
    if (k.family.starts_with("bgemm"))
      k.batch = 1 + int64_t(random() % 64);
  } else if (k.family == "attn") {
    k.headDim = powerOfTwo(random, 6, 7);
    k.causal = int64_t(random() % 2);
    k.tileM = powerOfTwo(random, 6, 7);
    k.tileN = powerOfTwo(random, 5, 7);
  } else if (k.family == "copy1d" || k.family == "ew1d") {
    k.tileN = powerOfTwo(random, 7, 12);
  } else if (k.family == "softmax2d") {
    k.tileM = powerOfTwo(random, 0, 2);
    k.tileN = powerOfTwo(random, 8, 12);
  } else {
    k.tileM = powerOfTwo(random, 0, 7);
    k.tileN = powerOfTwo(random, 5, 9);
  }
  for (auto [dim, step] : k.dims())
    k.size[size_t(dim)] = step * (1 + int64_t(std::exp(std::uniform_real_distribution(0.0, 4.0)(
                                          random)))); // up to 54 tiles, mostly few
  if (k.family == "attn")
    k.size[2] = k.headDim;
  if (k.family == "softmax2d")
    k.size[1] = k.tileN;
  return k;
}

Features featuresFrom(const Kernel &kernel, const Device &device) {
  auto plan = planFrom(kernel.row());
  if (!plan) {
    ADD_FAILURE() << kernel.row() << takeDiag(plan.takeError()).str();
    return {};
  }
  auto features = featuresOf(*plan, device);
  if (!features) {
    ADD_FAILURE() << kernel.row() << takeDiag(features.takeError()).str();
    return {};
  }
  return *features;
}

const Calibration &bundledCalibration() {
  static const Calibration calibration = llvm::cantFail(loadCalibration("h100-sxm"));
  return calibration;
}

double timeOn(const Features &features, const Device &device,
              CacheState cache = CacheState::Flushed) {
  return estimateTime(features, device, parametersFor(bundledCalibration(), device), 0.1, {cache})
      .timeNs;
}

/// A device somewhere between the bundled ones and beyond them.
Device anyDevice(Random &random) {
  static const std::vector<Device> devices = [] {
    std::vector<Device> all;
    for (const char *name : {"h100-sxm", "h200-sxm", "a100", "l4", "rtx-4090", "b200"})
      all.push_back(llvm::cantFail(loadDevice(name)));
    return all;
  }();
  Device d = devices[random() % devices.size()];
  d.digest.clear(); // no calibration is of its numbers
  auto scaled = [&](double &value) {
    value *= std::exp(std::uniform_real_distribution(-0.7, 0.7)(random));
  };
  for (double *value : {&d.dramBandwidth, &d.l2Bandwidth, &d.smClock, &d.l2Bytes, &d.l2Latency,
                        &d.dramLatency, &d.launchOverhead, &d.ctaDispatch})
    scaled(*value);
  d.smCount = 1 + double(random() % 256);
  d.memoryStreams = 1 + double(random() % 256);
  return d;
}

constexpr CacheState caches[] = {CacheState::Flushed, CacheState::Clean, CacheState::Warm};

TEST(Sanity, NeverBelowTheRoofline) {
  Random random(1);
  for (int i = 0; i < 3000; ++i) {
    const Kernel k = anyKernel(random);
    const Device d = anyDevice(random);
    const Features f = featuresFrom(k, d);
    const double flopTime = f.flops / d.peakFlops(f.flopType, f.tensorFlops);
    const double byteTime =
        (f.readBytes + std::max(0.0, f.writeBytes - d.l2Bytes)) / d.dramBandwidth;
    for (CacheState cache : caches) {
      const double time = timeOn(f, d, cache);
      ASSERT_GE(time, flopTime) << k.row();
      ASSERT_TRUE(cache == CacheState::Warm || time >= byteTime) << k.row();
    }
  }
}

TEST(Sanity, MoreSmsAreNeverSlower) {
  Random random(2);
  for (int i = 0; i < 3000; ++i) {
    const Kernel k = anyKernel(random);
    Device d = anyDevice(random);
    const Features f = featuresFrom(k, d);
    const CacheState cache = caches[random() % 3];
    double before = timeOn(f, d, cache);
    for (int step = 0; step < 12; ++step) {
      d.smCount += step < 6 ? 1 : double(random() % 128);
      const double time = timeOn(f, d, cache);
      ASSERT_TRUE(time <= before * (1 + rounding)) << d.smCount << " SMs\n" << k.row();
      before = time;
    }
  }
}

TEST(Sanity, MoreBandwidthIsNeverSlower) {
  double Device::*const better[] = {&Device::dramBandwidth,       &Device::dramEfficiency,
                                    &Device::l2Bandwidth,         &Device::smClock,
                                    &Device::sharedBytesPerClock, &Device::sfuPerClock,
                                    &Device::fmaPerClock,         &Device::mmaSyncRate,
                                    &Device::tensorBf16,          &Device::schedulersPerSm};
  double Device::*const worse[] = {&Device::l2Latency, &Device::dramLatency, &Device::ctaDispatch,
                                   &Device::launchOverhead};
  Random random(3);
  for (int i = 0; i < 3000; ++i) {
    const Kernel k = anyKernel(random);
    const Device d = anyDevice(random);
    const CacheState cache = caches[random() % 3];
    const double factor = std::exp(std::uniform_real_distribution(0.0, 1.5)(random));
    const double before = timeOn(featuresFrom(k, d), d, cache);
    auto check = [&](double Device::*number, double by) {
      Device changed = d;
      changed.*number *= by;
      const double time = timeOn(featuresFrom(k, changed), changed, cache);
      ASSERT_TRUE(time <= before * (1 + rounding))
          << before << " to " << time << " ns, x" << by << "\n"
          << k.row();
    };
    check(better[random() % std::size(better)], factor);
    check(worse[random() % std::size(worse)], 1 / factor);
  }
}

TEST(Sanity, MoreWorkIsNeverFasterAtOneTile) {
  Random random(4);
  for (int i = 0; i < 1500; ++i) {
    const Kernel first = anyKernel(random);
    for (const Device &d : {h100(), anyDevice(random)})
      for (auto [dim, step] : first.dims()) {
        Kernel k = first;
        double before = 0;
        for (int n = 0; n < 12; ++n) {
          const double time = timeOn(featuresFrom(k, d), d);
          ASSERT_TRUE(time >= before * (1 - rounding))
              << before << " to " << time << " ns by " << step << " in dim " << dim << "\n"
              << k.row();
          before = time;
          k.size[size_t(dim)] += step * (n < 6 ? 1 : 1 + int64_t(random() % 16));
        }
      }
  }
}

TEST(Sanity, EqualPlansTakeEqualTime) {
  Random random(5);
  for (int i = 0; i < 300; ++i) {
    const Kernel k = anyKernel(random);
    const Device d = anyDevice(random);
    ASSERT_EQ(timeOn(featuresFrom(k, d), d), timeOn(featuresFrom(k, d), d)) << k.row();
  }
}

} // namespace
} // namespace tilewright
