#include "costmodel/resources.h"

#include <algorithm>
#include <cmath>

namespace tilewright {

template <class Q> Q fullSmRegisters(const Q &warps, const DeviceLimits &l) {
  const Q most = smaller(Q(double(l.warpsPerSm)), double(l.ctasPerSm) * warps);
  return floorOf(double(l.registersPerSm) / (32.0 * larger(most, Q(1))));
}

template <class Q>
LoopRegisters<Q> loopRegisters(const RegisterFacts<Q> &f, const Q &warps, const DeviceLimits &l) {
  // Fitted to the counts of ptxas and to times of one iteration of measured reductions.
  constexpr double fixed = 16.7, step = 0.7, address = 2.9, perAccumulator = 0.148, perRow = 4.8,
                   fewRows = 5.1, unpacking = 3;
  const double least = f.packed ? 4 - unpacking : 4; // a vector of 16 bytes, or what is left of it
  const Q busy = fixed + step * (f.unroll - 1.0) + f.loopAccumulators + address * f.rows;
  const Q few =
      f.walksRows ? perAccumulator * f.loopAccumulators : perRow * larger(f.rows - fewRows, Q(0));
  LoopRegisters<Q> r;
  r.all = smaller(
      smaller(busy + 1.0 + f.loadedWords, larger(fullSmRegisters(warps, l), busy + least + few)),
      Q(double(l.registersPerThread)));
  r.forLoads = larger(r.all - busy, Q(1));
  return r;
}

template <class Q>
Q estimateRegisters(const RegisterFacts<Q> &f, const Q &warps, const DeviceLimits &limits) {
  if (f.dots > 1)
    return 27.6 + 1.14 * f.accumulators + 1.28 * f.innerAccumulators + 0.43 * f.copies +
           (f.masked ? 12.6 : 0.0);
  if (f.dots == 1) {
    switch (f.instruction) {
    case Instruction::Wgmma:
      return 20.44 + 1.12 * f.accumulators + 2.59 * f.copies + 0.94 * f.relayoutWords;
    case Instruction::MmaSync:
      return 30.46 + 1.44 * f.accumulators + 2.62 * f.copies + (f.gathered ? 30.0 : 0.0);
    case Instruction::Fma:
      return 30 + 1.1 * f.accumulators + 2.0 * rootOf(f.accumulators) + 2.6 * f.copies;
    }
  }
  if (f.loop)
    return loopRegisters(f, warps, limits).all;
  const Q raw = f.keptElements > 0.0 ? 11.0 + 1.17 * f.keptElements
                                     : 13.7 + 0.68 * f.loopAccumulators + 0.88 * f.loadedWords +
                                           0.42 * f.broadcastElements + (f.tables ? 7.8 : 0.0);
  // The compiler saves a few registers if that fills the SM.
  const Q full = fullSmRegisters(warps, limits);
  return raw > full && raw <= full + 8.0 ? full : raw;
}

template <class Q> void setOccupancy(FeaturesOf<Q> &f, const DeviceLimits &l) {
  const Q threads = 32.0 * f.residentWarps;
  const Q most =
      smaller(Q(double(l.registersPerThread)), double(l.registersPerSm) * (1.0 / threads));
  f.registers = smaller(larger(f.rawRegisters, smaller(Q(16), most)), most);
  // CUDA's occupancy calculator: registers are allocated in multiples of eight a thread, and warps
  // in multiples of four, one for each register file of an SM.
  const Q perWarp = ceilOf(f.registers / 8.0) * 8.0 * 32.0;
  f.occupancyByRegisters =
      floorOf(floorOf(double(l.registersPerSm) / perWarp / 4.0) * 4.0 / f.residentWarps);
  f.occupancyByShared =
      floorOf(double(l.sharedBytesPerSm) / (f.sharedPerCta + double(l.sharedBytesReservedPerCta)));
  f.occupancyByWarps = floorOf(double(l.warpsPerSm) / f.residentWarps);
  f.occupancyByCtas = double(l.ctasPerSm);
  f.occupancy = smaller(smaller(f.occupancyByRegisters, f.occupancyByShared),
                        smaller(f.occupancyByWarps, f.occupancyByCtas));
  if (threads > double(l.threadsPerCta) || f.sharedPerCta > double(l.sharedBytesPerCta))
    f.occupancy = 0;
}

template LoopRegisters<double> loopRegisters(const RegisterFacts<double> &, const double &,
                                             const DeviceLimits &);
template LoopRegisters<Traced> loopRegisters(const RegisterFacts<Traced> &, const Traced &,
                                             const DeviceLimits &);
template double fullSmRegisters(const double &, const DeviceLimits &);
template Traced fullSmRegisters(const Traced &, const DeviceLimits &);
template double estimateRegisters(const RegisterFacts<double> &, const double &,
                                  const DeviceLimits &);
template Traced estimateRegisters(const RegisterFacts<Traced> &, const Traced &,
                                  const DeviceLimits &);
template void setOccupancy(FeaturesOf<double> &, const DeviceLimits &);
template void setOccupancy(FeaturesOf<Traced> &, const DeviceLimits &);

} // namespace tilewright
