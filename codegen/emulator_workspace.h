// The rules for reading what another CTA wrote.
//
// On a GPU, CTAs run in any order and concurrently; here they run one after the other. A word of a
// workspace that another CTA wrote may be read only when
//   - after writing, the writing thread passed a fence, and then an atomic operation of its CTA
//     followed, by itself or behind a barrier;
//   - the reading CTA made an atomic operation, and the reading thread passed a fence after it.
#pragma once

#include "codegen/emulator.h"

#include <string>
#include <vector>

namespace tilewright {

class WorkspaceOrder {
public:
  WorkspaceOrder(std::span<const EmulatorBuffer> buffers, int64_t threads);

  void startCta(int64_t cta);
  void write(const std::byte *address, unsigned bytes, int thread);
  void fence(int thread, uint32_t epoch);
  /// `epoch` counts barriers: writes fenced before an earlier barrier are known to all threads.
  void atomic(int thread, uint32_t epoch);
  /// The rule that a read violates; empty if none.
  std::string read(const std::byte *address, unsigned bytes, int thread) const;

private:
  struct Word {
    int64_t cta = -1; ///< the last writer
    bool isPublished = false;
  };
  struct Write {
    Word *first;
    size_t count;
    bool isFenced = false;
    uint32_t fenceEpoch = 0;
  };
  struct Region {
    const std::byte *data;
    std::vector<Word> words;
  };
  Word *wordsOf(const std::byte *address, unsigned bytes, size_t &count);

  std::vector<Region> regions;
  std::vector<std::vector<Write>> pending; ///< by thread, of the running CTA
  std::vector<uint32_t> fencedAfter;       ///< by thread: atomics of the CTA before its last fence
  uint32_t atomics = 0;
  int64_t current = -1;
};

} // namespace tilewright
