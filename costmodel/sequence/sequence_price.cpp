#include "costmodel/sequence/sequence_price.h"

#include "costmodel/price.h"

#include <algorithm>

namespace tilewright {

namespace {

double keptBytes(const CacheTraffic &traffic) {
  return std::max(0.0, traffic.readBytes + traffic.writtenBytes - traffic.missedBytes -
                           traffic.writtenBackBytes);
}

/// What memory takes of a kernel that does nothing else.
double memoryNs(const CacheTraffic &traffic, const Parameters &p) {
  return (traffic.missedBytes + traffic.writtenBackBytes) / p.dramBandwidth +
         keptBytes(traffic) / p.l2Stream;
}

/// Of the time of a library's kernel that nothing is moved in: launch, first stages, last stores.
constexpr double libraryStartNs = 1400;

} // namespace

SequencedTime timeInSequence(Features f, const CacheTraffic &traffic, const Device &device,
                             const Parameters &parameters, const SequenceParameters &sequence) {
  Parameters p = parameters;
  p.launch = std::max(0.0, p.launch - sequence.warmStartNs);
  const double found =
      1 - traffic.missedBytes / std::max(1.0, traffic.readBytes); // of what is read
  p.stageMiss -= found * std::max(0.0, p.stageMiss - p.stageHit);
  f.dirtyAtStart = 0;
  f.readBytes = traffic.missedBytes;
  f.writeBytes = f.writtenBack = traffic.writtenBackBytes;
  f.cachedBytes = keptBytes(traffic);
  const Priced<double> priced = price(f, device, p);
  const KernelTime<double> &t = priced.parts;
  const std::pair<const char *, double> terms[] = {{"tensor", t.tensor},
                                                   {"fma", t.fma},
                                                   {"shared memory", t.shared},
                                                   {"issue", t.issue},
                                                   {"special functions", t.sfu},
                                                   {"L2", t.l2},
                                                   {"L1", t.tags},
                                                   {"DRAM", t.dram + f.cachedBytes / p.l2Stream},
                                                   {"dispatch", t.dispatch},
                                                   {"latency", t.latency}};
  const auto most = std::max_element(std::begin(terms), std::end(terms),
                                     [](auto &a, auto &b) { return a.second < b.second; });
  const bool isShort = most->second < t.launch;
  return {priced.timeNs, isShort ? "launch" : most->first};
}

SequencedTime libraryInSequence(double smNs, const CacheTraffic &traffic, const Parameters &p,
                                const SequenceParameters &sequence) {
  const double startNs = libraryStartNs - sequence.warmStartNs;
  const double side = std::max(1e-3, smNs - libraryStartNs);
  const double moved = memoryNs(traffic, p);
  return {startNs + formula::norm(side, moved, p.kernelOverlap), side > moved ? "tensor" : "DRAM"};
}

SequencedTime passesInSequence(double kernels, double bytes, double leastNs,
                               const CacheTraffic &traffic, const Parameters &p,
                               const SequenceParameters &sequence) {
  const double launches = kernels * std::max(0.0, p.launch - sequence.warmStartNs);
  const double once = traffic.readBytes + traffic.writtenBytes;
  const double moved = memoryNs(traffic, p) * (once > 0 ? std::max(1.0, bytes / once) : 1);
  const bool isMoving = launches + moved >= leastNs;
  return {std::max(launches + moved, leastNs), !isMoving          ? "arithmetic"
                                               : launches > moved ? "launch"
                                                                  : "DRAM"};
}

double copyTime(const CacheTraffic &traffic, const Parameters &p) {
  return (traffic.readBytes + traffic.writtenBytes) / p.dramBandwidth;
}

} // namespace tilewright
