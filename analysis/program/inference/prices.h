// What instructions of one CTA cost, in quarter clocks of an SM.
//
// An SM issues four instructions of warps a clock: one of the ALU costs 1. Shuffles, passes of
// shared memory and lines of the L1 go through one unit, a clock each. These numbers are assumed,
// not measured: from the CUDA programming guide's throughputs (arithmetic instructions; shared
// memory) and, where there are none, from the order of magnitude. Only integers enter, so that
// other prices may change ranks, but not what is possible.
#pragma once

#include <cstdint>

namespace tilewright::inference {

/// In which costs are counted.
constexpr int64_t unitsOfClock = 4;

struct LayoutPrices {
  int64_t alu = 1;
  int64_t shuffle = 4;
  int64_t selectsOfShuffle = 2; ///< ALU instructions beside a shuffle
  int64_t pass = 4;             ///< 128 bytes of shared memory
  int64_t line = 4;             ///< a line of the L1, or 128 bytes of it
  int64_t sector = 2;           ///< 32 bytes from the L2
  int64_t barrier = 120;
  int64_t atomic = 8;                 ///< a lane's, beside its sector
  int64_t tensorBitsPerClock = 32768; ///< products times bits of an operand, of matrix instructions
  int64_t transcendental = 2;         ///< exp, log, division, roots: in ALU instructions of a warp
};

} // namespace tilewright::inference
