#include "codegen/emulator_banks.h"

#include <algorithm>

namespace tilewright {

namespace {
constexpr size_t maxRecorded = 1 << 14; // accesses of a thread: bounds the memory
}

void BankCounter::access(int thread, int offset, unsigned bytes) {
  size_t number = accesses[static_cast<size_t>(thread)]++;
  if (number >= maxRecorded)
    return;
  std::vector<Access> &warp = warps[static_cast<size_t>(thread) / 32];
  if (warp.size() <= number) {
    warp.resize(number + 1);
    warp.back().offset.fill(-1);
  }
  warp[number].offset[static_cast<size_t>(thread) % 32] = offset;
  warp[number].bytes = std::max(warp[number].bytes, bytes);
}

void BankCounter::finishCta(EmulationCounts &counts) {
  for (std::vector<Access> &warp : warps) {
    for (const Access &access : warp) {
      size_t lanes = access.bytes > 8 ? 8 : access.bytes > 4 ? 16 : 32;
      for (size_t first = 0; first < 32; first += lanes) {
        std::array<std::vector<int>, 32> words; // of each bank, each once
        for (size_t lane = first; lane < first + lanes; ++lane)
          for (unsigned byte = 0; access.offset[lane] >= 0 && byte < access.bytes; byte += 4) {
            int word = (access.offset[lane] + static_cast<int>(byte)) / 4;
            std::vector<int> &bank = words[static_cast<size_t>(word % 32)];
            if (std::find(bank.begin(), bank.end(), word) == bank.end())
              bank.push_back(word);
          }
        size_t passes = 0;
        for (const std::vector<int> &bank : words)
          passes = std::max(passes, bank.size());
        counts.sharedAccesses += passes > 0;
        counts.sharedWavefronts += static_cast<int64_t>(passes);
      }
    }
    warp.clear();
  }
  std::fill(accesses.begin(), accesses.end(), 0);
}

} // namespace tilewright
