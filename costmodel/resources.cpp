#include "costmodel/resources.h"

#include <algorithm>
#include <cmath>

namespace tilewright {

double estimateRegisters(const RegisterFacts &f) {
  if (f.dots > 1)
    return 27.6 + 1.14 * f.accumulators + 1.28 * f.innerAccumulators + 0.43 * f.copies;
  if (f.dots == 1) {
    switch (f.instruction) {
    case Instruction::Wgmma:
      return 20.44 + 1.12 * f.accumulators + 2.59 * f.copies + 0.94 * f.relayoutWords;
    case Instruction::MmaSync:
      return 30.46 + 1.44 * f.accumulators + 2.62 * f.copies;
    case Instruction::Fma:
      return 30 + 1.1 * f.accumulators + 2 * std::sqrt(f.accumulators) + 2.6 * f.copies;
    }
  }
  return 20.71 + 0.69 * f.loopAccumulators + 1.03 * f.loadedWords + 0.98 * f.keptElements +
         0.38 * f.broadcastElements + 0.21 * f.transposedLoads;
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
