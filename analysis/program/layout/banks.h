// What a warp's access costs: passes of shared memory, sectors of global memory.
//
// Shared memory has 32 banks of 4 bytes. An access of w bytes a lane runs in groups of
// min(32, 128/w) lanes. In a group, lanes that want the same 4-byte word share it, and a bank gives
// one word a pass: a group takes as many passes as one bank has distinct words, its *degree*.
// (CUDA programming guide, shared memory; groups of wider accesses as profilers count them.)
// Where the address is linear over F2 in the bits of the lane, with columns a_i over the group's
// lane bits and v_j the word bits inside the vector, the degree is 2^(rank of words − rank of
// banks): the words that a bank has are the cosets of those that no bank tells apart.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace tilewright::layout {

constexpr int warpLanes = 32;
/// The address of a lane that takes no part.
constexpr int64_t noAddress = -1;

struct BankConflicts {
  int64_t passes = 0;
  int64_t leastPasses = 0; ///< with the same groups, were there no conflicts
  int64_t degree = 0;      ///< of the worst group; 0: no lane takes part
  /// Two lanes of the fullest bank that want different words of it; where degree > 1.
  std::optional<std::pair<int, int>> witness;
  int bank = 0; ///< of the witness
};

/// By counting. `bytes`: the lanes' addresses, multiples of `width`, or noAddress.
BankConflicts conflictsOf(std::span<const int64_t> bytes, int64_t width);
/// The degree by ranks: `laneColumns` are what the five lane bits add to the address by xor.
int64_t conflictDegree(std::span<const uint64_t> laneColumns, int64_t width);

struct Sectors {
  int64_t touched = 0; ///< sectors of 32 bytes
  int64_t least = 0;   ///< that hold so many distinct bytes
  int64_t lines = 0;   ///< lines of 128 bytes
};
Sectors sectorsOf(std::span<const int64_t> bytes, int64_t width);

} // namespace tilewright::layout
