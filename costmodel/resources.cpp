#include "costmodel/resources.h"

#include <algorithm>
#include <cmath>

namespace tilewright {

double fullSmRegisters(double warps, const DeviceLimits &l) {
  double most = std::min(double(l.warpsPerSm), double(l.blocksPerSm) * warps);
  return std::floor(double(l.registersPerSm) / (32 * std::max(most, 1.0)));
}

double estimateRegisters(const RegisterFacts &f, double warps, const DeviceLimits &limits) {
  if (f.dots > 1)
    return 27.6 + 1.14 * f.accumulators + 1.28 * f.innerAccumulators + 0.43 * f.copies +
           (f.masked ? 12.6 : 0);
  if (f.dots == 1) {
    switch (f.instruction) {
    case Instruction::Wgmma:
      return 20.44 + 1.12 * f.accumulators + 2.59 * f.copies + 0.94 * f.relayoutWords;
    case Instruction::MmaSync:
      return 30.46 + 1.44 * f.accumulators + 2.62 * f.copies + (f.gathered ? 30 : 0);
    case Instruction::Fma:
      return 30 + 1.1 * f.accumulators + 2 * std::sqrt(f.accumulators) + 2.6 * f.copies;
    }
  }
  double raw = 13.7 + 0.68 * f.loopAccumulators + 0.88 * f.loadedWords + 0.81 * f.keptElements +
               0.42 * f.broadcastElements + (f.tables ? 7.8 : 0);
  // The compiler spends a few registers less where that fills the SM.
  double full = fullSmRegisters(warps, limits);
  return raw > full && raw <= full + 8 ? full : raw;
}

void setOccupancy(Features &f, const DeviceLimits &l) {
  double threads = 32 * f.warps;
  double most = std::min(double(l.registersPerThread), double(l.registersPerSm) / threads);
  f.registers = std::clamp(f.rawRegisters, std::min(16.0, most), most);
  double perCta = std::ceil(f.registers / 8) * 8 * threads;
  f.occupancyByRegisters = std::floor(double(l.registersPerSm) / perCta);
  f.occupancyByShared = std::floor(double(l.sharedBytesPerSm) /
                                   (f.sharedPerCta + double(l.sharedBytesReservedPerBlock)));
  f.occupancyByWarps = std::floor(double(l.warpsPerSm) / f.warps);
  f.occupancyByBlocks = double(l.blocksPerSm);
  f.occupancy = std::min(
      {f.occupancyByRegisters, f.occupancyByShared, f.occupancyByWarps, f.occupancyByBlocks});
  if (threads > double(l.threadsPerBlock) || f.sharedPerCta > double(l.sharedBytesPerBlock))
    f.occupancy = 0;
}

} // namespace tilewright
