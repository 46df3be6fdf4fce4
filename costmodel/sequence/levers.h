// What a kernel would gain: its time with one of its quantities moved, all else as it is.
//
//   levers(features, …)   inputs that L2 still has: 8.1 us;  half the registers: 3.0 us
//
// These are differences of the formula itself, in place of a list of phrases.
#pragma once

#include "costmodel/sequence/sequence_price.h"

namespace tilewright {

struct Lever {
  std::string what; ///< "half the registers"
  double gainNs = 0;
  std::string because; ///< what stands in its way, where that is known
};

/// Gains below this share of a kernel's time are not listed.
inline constexpr double leastLeverShare = 0.01;

/// Those that gain at least a hundredth of the time, the largest first. `leastAluOps`: of a CTA, if
/// each value were computed once; 0: not known.
std::vector<Lever> levers(const Features &features, const CacheTraffic &traffic,
                          const Device &device, const Parameters &parameters,
                          const SequenceParameters &sequence = {}, double leastAluOps = 0);

} // namespace tilewright
