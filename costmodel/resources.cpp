#include "costmodel/resources.h"

#include <algorithm>
#include <cmath>

namespace tilewright {

template <class Q> Q fullSmRegisters(const Q &warps, const DeviceLimits &l) {
  const Q most = smaller(Q(double(l.warpsPerSm)), double(l.ctasPerSm) * warps);
  return floorOf(double(l.registersPerSm) / (32.0 * larger(most, Q(1))));
}

template <class Q>
LoopRegisters<Q> loopRegisters(const RegisterFacts<Q> &f, const Q &warps, const DeviceLimits &l,
                               const TritonRegisters &of) {
  const double fewest = f.packed ? of.LoopFewest - of.LoopUnpacking : of.LoopFewest;
  const Q busy = of.LoopBase + of.LoopSteps * (f.unroll - 1.0) + f.loopAccumulators +
                 of.LoopAddresses * f.rows;
  const Q more = f.walksRows ? of.LoopByAccumulators * f.loopAccumulators
                             : of.LoopByRows * larger(f.rows - of.LoopFewRows, Q(0));
  LoopRegisters<Q> r;
  r.all = smaller(
      smaller(busy + 1.0 + f.loadedWords, larger(fullSmRegisters(warps, l), busy + fewest + more)),
      Q(double(l.registersPerThread)));
  r.forLoads = larger(r.all - busy, Q(1));
  return r;
}

template <class Q>
Q estimateRegisters(const RegisterFacts<Q> &f, const Q &warps, const DeviceLimits &limits,
                    const TritonRegisters &of) {
  if (f.dots > 1)
    return of.ChainBase + of.ChainAccumulators * f.accumulators +
           of.ChainInner * f.innerAccumulators + of.ChainCopies * f.copies +
           (f.masked ? of.ChainMask : 0.0);
  if (f.dots == 1) {
    switch (f.instruction) {
    case Instruction::Wgmma:
      return of.WgmmaBase + of.WgmmaAccumulators * f.accumulators + of.WgmmaCopies * f.copies +
             of.WgmmaRelayout * f.relayoutWords;
    case Instruction::MmaSync:
      return of.MmaBase + of.MmaAccumulators * f.accumulators + of.MmaCopies * f.copies +
             (f.gathered ? of.MmaGather : 0.0);
    case Instruction::Fma:
      return of.FmaBase + of.FmaAccumulators * f.accumulators +
             of.FmaRoot * rootOf(f.accumulators) + of.FmaCopies * f.copies;
    }
  }
  if (f.loop)
    return loopRegisters(f, warps, limits, of).all;
  const Q raw = f.keptElements > 0.0 ? of.KeptBase + of.KeptElements * f.keptElements
                                     : of.DirectBase + of.DirectAccumulators * f.loopAccumulators +
                                           of.DirectWords * f.loadedWords +
                                           of.DirectBroadcast * f.broadcastElements +
                                           (f.tables ? of.DirectTables : 0.0);
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
                                             const DeviceLimits &, const TritonRegisters &);
template LoopRegisters<Traced> loopRegisters(const RegisterFacts<Traced> &, const Traced &,
                                             const DeviceLimits &, const TritonRegisters &);
template double fullSmRegisters(const double &, const DeviceLimits &);
template Traced fullSmRegisters(const Traced &, const DeviceLimits &);
template double estimateRegisters(const RegisterFacts<double> &, const double &,
                                  const DeviceLimits &, const TritonRegisters &);
template Traced estimateRegisters(const RegisterFacts<Traced> &, const Traced &,
                                  const DeviceLimits &, const TritonRegisters &);
template void setOccupancy(FeaturesOf<double> &, const DeviceLimits &);
template void setOccupancy(FeaturesOf<Traced> &, const DeviceLimits &);

} // namespace tilewright
