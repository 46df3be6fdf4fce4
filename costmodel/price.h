// From features to the price of a plan: the time formula under a cache state, bounded by the
// roofline. Over the number types of formula.h. Internal to the cost model.
#pragma once

#include "costmodel/estimate.h"
#include "costmodel/formula.h"

#include <limits>

namespace tilewright {

template <class Q> struct Priced {
  KernelTime<Q> parts;
  Q rooflineNs; ///< peak FLOP/s and compulsory bytes; writes may end in L2
  Q timeNs;     ///< +infinity where the kernel can not be launched
};

/// Adapts features to the content of L2 that `cache` describes.
template <class Q> void applyCache(FeaturesOf<Q> &f, const Device &device, CacheState cache) {
  if (cache != CacheState::Flushed)
    f.dirtyAtStart = Q(0.0);
  if (cache == CacheState::Warm) {
    // Reads and writes that stay in L2 from one kernel to the next: all up to one footprint, none
    // beyond a second one, since a cyclic walk evicts what it needs next.
    Q footprint = f.readBytes + f.writeBytes + f.workspaceBytes;
    Q kept = smaller(Q(1.0), larger(Q(0.0), (formula::thrashShare * device.l2Bytes - footprint) /
                                                ((formula::thrashShare - formula::residentShare) *
                                                 device.l2Bytes)));
    f.cachedBytes = kept * (f.readBytes + f.writeBytes);
    f.writtenBack = (1.0 - kept) * f.writeBytes;
    f.readBytes = (1.0 - kept) * f.readBytes;
    f.codeInL2 = kept;
  }
}
template <class Q>
FeaturesOf<Q> underCache(FeaturesOf<Q> features, const Device &device, CacheState cache) {
  applyCache(features, device, cache);
  return features;
}

/// RAII form of the same, which restores the features. (Features of eight plans are 5 kB; copying
/// them would take a tenth of the pricing time.)
template <class Q> class InCache {
public:
  InCache(FeaturesOf<Q> &features, const Device &device, CacheState cache)
      : f(features), dirtyAtStart(f.dirtyAtStart), cachedBytes(f.cachedBytes),
        writtenBack(f.writtenBack), readBytes(f.readBytes), codeInL2(f.codeInL2) {
    applyCache(f, device, cache);
  }
  InCache(const InCache &) = delete;
  ~InCache() {
    f.dirtyAtStart = dirtyAtStart;
    f.cachedBytes = cachedBytes;
    f.writtenBack = writtenBack;
    f.readBytes = readBytes;
    f.codeInL2 = codeInL2;
  }

private:
  FeaturesOf<Q> &f;
  const Q dirtyAtStart, cachedBytes, writtenBack, readBytes, codeInL2;
};

/// `f`: the result of underCache(), for a kernel that is not empty.
template <class Q>
Priced<Q> price(const FeaturesOf<Q> &f, const Device &device, const Parameters &parameters) {
  Priced<Q> r;
  r.parts = kernelTime(f, device, parameters);
  Q bytes = f.readBytes + larger(Q(0.0), f.writeBytes - device.l2Bytes);
  r.rooflineNs = larger(Q(f.flops / device.peakFlops(f.flopType, f.tensorFlops)),
                        Q(bytes / device.dramBandwidth));
  r.timeNs = select(f.occupancy < 1.0, Q(std::numeric_limits<double>::infinity()),
                    larger(r.parts.total, r.rooflineNs));
  return r;
}

} // namespace tilewright
