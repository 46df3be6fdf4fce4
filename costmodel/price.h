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

/// The features of a kernel that starts with what `cache` says in L2.
template <class Q>
FeaturesOf<Q> underCache(const FeaturesOf<Q> &given, const Device &device, CacheState cache) {
  FeaturesOf<Q> f = given;
  if (cache != CacheState::Flushed)
    f.dirtyAtStart = Q(0.0);
  if (cache == CacheState::Warm) {
    // Reads and writes that stay in L2 from one kernel to the next: all of them up to one
    // footprint, none from another on, since a cyclic walk evicts what it will need next.
    Q footprint = f.readBytes + f.writeBytes;
    Q kept = smaller(Q(1.0), larger(Q(0.0), (formula::thrashShare * device.l2Bytes - footprint) /
                                                ((formula::thrashShare - formula::residentShare) *
                                                 device.l2Bytes)));
    f.cachedBytes = kept * footprint;
    f.writtenBack = (1.0 - kept) * f.writeBytes;
    f.readBytes = (1.0 - kept) * f.readBytes;
  }
  return f;
}

/// `f`: as underCache() gives them, of a kernel that is not empty.
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
