#include "costmodel/baselines.h"

#include <algorithm>
#include <cmath>

namespace tilewright {

namespace {

double roofline(const Features &f, const Device &d) {
  return std::max(f.flops / d.peakFlops(f.flopType, f.tensorFlops),
                  (f.readBytes + f.writeBytes) / d.dramBandwidth);
}

/// CTAs of one SM by shared memory and threads, which the policies know before compiling.
double residentCtas(const Features &f) {
  return std::max(1.0, std::min({f.occupancyByShared, f.occupancyByWarps, f.occupancyByCtas}));
}

double trafficWaves(const Features &f, const Device &d) {
  double traffic = f.iterations * f.loadBytes + f.outsideLoadBytes + f.storeBytes;
  double waves = std::ceil(f.ctas / (d.smCount * residentCtas(f)));
  return (traffic + 1) * waves * d.smCount / d.dramBandwidth;
}

// OpenXLA --------------------------------------------------------------------------------------

/// Time to move bytes from or to DRAM, by a straight line through OpenXLA's table of derated
/// bandwidths.
double xlaDram(double bytes, const Device &d) {
  constexpr double fixedNs = 5460, share = 0.926;
  return fixedNs + bytes / (share * d.dramBandwidth);
}

double xlaDot(const Features &f, const Device &d) {
  constexpr double pipelineTaxNs = 1300, l2IterationNs = 400;
  constexpr double l2Bandwidth = 6650, l2BandwidthAtDram = 3352; // B/ns, scaled by DRAM bandwidth
  constexpr double rateWithoutWgmma = 0.63;
  double rate = f.mmaSyncClocks > 0 && d.warpgroupMma ? rateWithoutWgmma : 1;
  double compute = (f.wgmmaClocks + f.mmaSyncClocks + f.fmaClocks) / (d.smClock * rate);
  double memory = f.loadBytes * d.smCount / d.dramBandwidth;
  double write = f.storeBytes * d.smCount / d.dramBandwidth;
  double ahead = f.inFlight, loop;
  if (ahead <= 1) {
    loop = f.iterations * (memory + pipelineTaxNs + compute) + write;
  } else {
    double steady = std::max({memory, compute, std::max(memory + pipelineTaxNs, compute) / ahead});
    loop = ahead * (memory + pipelineTaxNs) + std::max(f.iterations - ahead, 0.0) * steady +
           ahead * compute + write;
  }
  double waves = std::ceil(f.ctas / (d.smCount * residentCtas(f)));
  double l2 =
      f.ctas * f.iterations * f.loadBytes / (l2Bandwidth * d.dramBandwidth / l2BandwidthAtDram) +
      f.iterations * l2IterationNs;
  return std::max({waves * loop, l2, xlaDram(f.readBytes + f.writeBytes, d)});
}

/// Share of the bandwidth that pieces of so many contiguous bytes reach.
double xlaCoalescing(double segment) {
  constexpr double granule = 64;
  return segment / (granule * std::ceil(segment / granule));
}

double xlaFusion(const Features &f, const Device &d) {
  constexpr double launchNs = 1000, parallelism = 0.95;
  constexpr double sfuFlops = 16; // issue rate of special functions against FMAs
  constexpr double l2Speedup = 2.5;
  double ops = f.ctas * (f.iterations * (f.aluOps + sfuFlops * f.sfuOps) + f.outsideAluOps +
                         sfuFlops * f.outsideSfuOps);
  double threads = std::min(32 * f.warps, d.fmaPerClock);
  double compute = ops / (2 * d.smClock * std::min(f.ctas, d.smCount) * threads);
  double transactions = f.ctas * d.smClock * 32;
  double requested = f.ctas * (f.iterations * f.loadBytes + f.outsideLoadBytes);
  double again = std::max(0.0, requested - f.readBytes);
  double againRate = f.readBytes < d.l2Bytes ? l2Speedup * d.dramBandwidth : d.dramBandwidth;
  double read = f.readBytes / (std::min(d.dramBandwidth, transactions) *
                               xlaCoalescing(std::max(f.readSegment, 1.0))) +
                again / std::min(againRate, transactions);
  double write = f.writeBytes / (d.dramBandwidth * xlaCoalescing(std::max(f.writeSegment, 1.0)));
  double memory = read + write;
  return launchNs + compute + memory - parallelism * std::min(compute, memory);
}

} // namespace

std::string_view toString(Baseline baseline) {
  switch (baseline) {
  case Baseline::Roofline:
    return "roofline";
  case Baseline::TrafficWaves:
    return "traffic-waves";
  case Baseline::Xla:
    return "xla";
  }
  return "";
}

std::optional<Baseline> parseBaseline(std::string_view text) {
  for (Baseline baseline : {Baseline::Roofline, Baseline::TrafficWaves, Baseline::Xla})
    if (toString(baseline) == text)
      return baseline;
  return std::nullopt;
}

double baselineTime(Baseline baseline, const Features &f, const Device &d) {
  switch (baseline) {
  case Baseline::Roofline:
    return roofline(f, d);
  case Baseline::TrafficWaves:
    return trafficWaves(f, d);
  case Baseline::Xla:
    return f.matrix ? xlaDot(f, d) : xlaFusion(f, d);
  }
  return 0;
}

} // namespace tilewright
