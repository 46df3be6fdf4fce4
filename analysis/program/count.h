// What is counted of a kernel: predicted by folds (fold.h), counted by the interpreter.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tilewright::program {

/// Of all CTAs together, but for the first four. Instructions are those of warps, issued whether or
/// not their lanes count. Bytes are those of lanes that count: what a window's padding cuts off is
/// still in.
enum class Count : uint8_t {
  Ctas,
  Threads,        ///< of a CTA, producers included
  SharedBytes,    ///< of a CTA: buffers, mbarriers, exchange slots
  LiveRegisters,  ///< of a consumer thread, 32 bits each: most at one point, of tiles alone
  ReadBytes,      ///< by loads, each element once an execution
  RequestedBytes, ///< by threads of loads: those that hold copies of an element load it each
  WrittenBytes,   ///< by stores
  CopiedBytes,    ///< by asynchronous copies
  ReadSectors,    ///< of 32 bytes, by loads and copies: each once an access of a CTA and step
  WrittenSectors, ///< by stores
  WorkspaceBytes, ///< of sum.splits: written once, read once
  Loads,
  Stores,
  Copies,
  SharedReads,
  SharedWrites,
  Shuffles,
  Barriers,      ///< arrivals of CTAs at one
  MbarrierWaits, ///< of warps
  Mmas,          ///< m16n8 by warps
  Wgmmas,        ///< m64n≤256 by warpgroups
  Atomics,       ///< elements
  SplitArrivals, ///< counters of sum.splits
};
constexpr size_t countKinds = 23;

/// What memory moves at a time.
constexpr int64_t sectorBits = 32 * 8;

std::string_view toString(Count count); ///< "shared_bytes"

template <typename T> class CountTable {
public:
  T &operator[](Count count) { return values[static_cast<size_t>(count)]; }
  const T &operator[](Count count) const { return values[static_cast<size_t>(count)]; }

private:
  std::array<T, countKinds> values{};
};

} // namespace tilewright::program
