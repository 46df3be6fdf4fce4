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
  if (cache == CacheState::Warm) {
    // What fits beside the results is read from L2.
    Q kept = larger(Q(0.0), formula::operandShare * device.l2Bytes - f.writeBytes);
    f.readBytes = larger(Q(0.0), f.readBytes - kept);
  }
  return f;
}

/// `f`: as underCache() gives them, of a kernel that is not empty.
template <class Q>
Priced<Q> price(const FeaturesOf<Q> &f, const Device &device, const Parameters &parameters,
                CacheState cache) {
  Priced<Q> r;
  r.parts = kernelTime(f, device, parameters, cache == CacheState::Flushed);
  Q bytes = f.readBytes + larger(Q(0.0), f.writeBytes - device.l2Bytes);
  r.rooflineNs = larger(Q(f.flops / device.peakFlops(f.flopType, f.tensorFlops)),
                        Q(bytes / device.dramBandwidth));
  r.timeNs = select(f.occupancy < 1.0, Q(std::numeric_limits<double>::infinity()),
                    larger(r.parts.total, r.rooflineNs));
  return r;
}

} // namespace tilewright
