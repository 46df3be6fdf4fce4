// Where buffers lie in memory: those that outlive a run at places of their own, temporaries in one
// arena by lifetime, the largest first, each in the smallest gap that is free over its life.
//
//   a ████████          b takes the place of c behind it, unless both are live at once
//   b         ████
//   c ███
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewright {

class Arena {
public:
  /// Time is counted in launches.
  size_t add(int64_t bytes, bool isTemporary, size_t launch);
  /// It is needed by that launch.
  void touch(size_t buffer, size_t launch);
  /// It lies in another's place from now on, which lives as long as both.
  void putInto(size_t buffer, size_t other);
  /// It may lie in the place of an operand of its size that dies at the launch that makes it.
  void mayTakePlaceOf(size_t buffer, size_t operand, size_t launch);
  /// An argument or a result.
  void setLasting(size_t buffer);
  /// Once all is known.
  void assignAddresses();

  struct Place {
    uint32_t space = 0; ///< addresses in different spaces never meet
    int64_t offset = 0;
  };
  Place placeOf(size_t buffer) const {
    const Buffer &root = buffers[rootOf(buffer)];
    return {root.space, root.offset};
  }
  int64_t bytesOf(size_t buffer) const { return buffers[buffer].bytes; }
  bool isTemporary(size_t buffer) const { return buffers[rootOf(buffer)].isTemporary; }

private:
  struct Buffer {
    int64_t bytes = 0;
    bool isTemporary = false;
    size_t first = 0, last = 0; ///< launches that touch it
    size_t within = 0;          ///< the buffer in whose place it lies; itself: its own
    uint32_t space = 0;
    int64_t offset = 0;
  };
  struct MayShare {
    size_t buffer, operand, launch;
  };

  size_t rootOf(size_t buffer) const {
    while (buffers[buffer].within != buffer)
      buffer = buffers[buffer].within;
    return buffer;
  }
  /// Buffers by the blocks of launches over which they live, so that those that are live at once
  /// are found without looking at all.
  class Lives;
  int64_t gapFor(const Buffer &wanted, const std::vector<size_t> &live) const;

  std::vector<Buffer> buffers;
  std::vector<MayShare> mayShare;
};

} // namespace tilewright
