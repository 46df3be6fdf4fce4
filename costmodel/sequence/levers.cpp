#include "costmodel/sequence/levers.h"

#include "costmodel/resources.h"

#include <algorithm>
#include <cmath>

namespace tilewright {

std::vector<Lever> levers(const Features &features, const CacheTraffic &traffic,
                          const Device &device, const Parameters &parameters,
                          const SequenceParameters &sequence, double leastAluOps) {
  const double now = timeInSequence(features, traffic, device, parameters, sequence).timeNs;
  std::vector<Lever> found;
  auto tryIt = [&](std::string what, const auto &move) {
    Features moved = features;
    CacheTraffic state = traffic;
    Device on = device;
    move(moved, state, on);
    const double gain = now - timeInSequence(moved, state, on, parameters, sequence).timeNs;
    if (std::isfinite(gain) && gain >= leastLeverShare * now)
      found.push_back({std::move(what), gain, {}});
  };
  tryIt("inputs that L2 still has",
        [](Features &, CacheTraffic &state, Device &) { state.missedBytes = 0; });
  tryIt("writes that stay in L2",
        [](Features &, CacheTraffic &state, Device &) { state.writtenBackBytes = 0; });
  tryIt("half the registers", [](Features &f, CacheTraffic &, Device &on) {
    f.rawRegisters /= 2;
    setOccupancy(f, on.limits);
  });
  tryIt("half the shared memory", [](Features &f, CacheTraffic &, Device &on) {
    f.sharedPerCta /= 2;
    setOccupancy(f, on.limits);
  });
  tryIt("half the instructions", [](Features &f, CacheTraffic &, Device &) {
    for (double *ops : {&f.aluOps, &f.sfuOps, &f.halfRateOps, &f.outsideAluOps, &f.outsideSfuOps,
                        &f.outsideHalfRateOps})
      *ops /= 2;
  });
  if (leastAluOps > 0 && leastAluOps < features.aluOps)
    tryIt("each value computed once", [&](Features &f, CacheTraffic &, Device &) {
      f.halfRateOps *= leastAluOps / f.aluOps;
      f.aluOps = leastAluOps;
    });
  tryIt("fewer and larger CTAs",
        [](Features &, CacheTraffic &, Device &on) { on.ctaDispatch = 0; });
  tryIt("fewer exchanges between warps",
        [](Features &f, CacheTraffic &, Device &) { f.exchanges = 0; });
  if (features.pipelined)
    tryIt("a stage more", [](Features &f, CacheTraffic &, Device &) { f.inFlight += 1; });
  tryIt("rows of whole lines in memory", [](Features &f, CacheTraffic &, Device &) {
    f.readPieces = 0;
    f.readSegment = f.writeSegment = 1e4;
  });
  std::stable_sort(found.begin(), found.end(),
                   [](const Lever &a, const Lever &b) { return a.gainNs > b.gainNs; });
  return found;
}

} // namespace tilewright
