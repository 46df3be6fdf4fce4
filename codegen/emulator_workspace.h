// What one block may read of what another wrote.
//
// Blocks run in any order and at the same time; here one after the other. Words of a workspace
// that another block wrote may be read only when
//   - after writing, the writing thread passed a fence, and then an atomic operation of its block
//     followed, by itself or behind a barrier;
//   - the reading block made an atomic operation, and the reading thread passed a fence after it.
#pragma once

#include "codegen/emulator.h"

#include <string>
#include <vector>

namespace tilewright {

class WorkspaceOrder {
public:
  WorkspaceOrder(std::span<const EmulatorBuffer> buffers, int64_t threads);

  void startBlock(int64_t block);
  void write(const std::byte *address, unsigned bytes, int thread);
  void fence(int thread, uint32_t epoch);
  /// `epoch` counts barriers: what was fenced at an earlier one is known to all threads.
  void atomic(int thread, uint32_t epoch);
  /// What is wrong with a read; empty if nothing is.
  std::string read(const std::byte *address, unsigned bytes, int thread) const;

private:
  struct Word {
    int64_t block = -1; ///< that wrote it last
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
  std::vector<std::vector<Write>> pending; ///< by thread, of the running block
  std::vector<uint32_t> fencedAfter; ///< by thread: atomics of the block before its last fence
  uint32_t atomics = 0;
  int64_t current = -1;
};

} // namespace tilewright
