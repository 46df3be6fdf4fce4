// BankCounter: how many passes a CTA's accesses to shared memory take.
//
// 32 banks of 4-byte words; lanes of a warp that touch different words of one bank at the same time
// are serialised. Emulated threads run one after the other, so "at the same time" is decided by
// number: the n-th accesses of all lanes belong together, which is right as long as lanes do not
// diverge. Accesses of 8 and 16 bytes are served by half and quarter warps.
#pragma once

#include "codegen/emulator.h"

#include <array>
#include <vector>

namespace tilewright {

class BankCounter {
public:
  explicit BankCounter(int64_t threads)
      : warps(static_cast<size_t>((threads + 31) / 32)), accesses(static_cast<size_t>(threads)) {}

  void access(int thread, int offset, unsigned bytes);
  /// Adds what was seen to the counts and forgets it.
  void finishCta(EmulationCounts &counts);

private:
  struct Access {
    std::array<int, 32> offset; ///< -1: that lane has none
    unsigned bytes = 0;
  };
  std::vector<std::vector<Access>> warps;
  std::vector<size_t> accesses; ///< so far, by thread
};

} // namespace tilewright
