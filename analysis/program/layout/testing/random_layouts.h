// Random layouts and their tables by enumeration, for property tests.
#pragma once

#include "analysis/program/layout/tile_layout.h"

#include <gtest/gtest.h>
#include <random>

namespace tilewright::layout::testing {

class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}
  int64_t in(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return in(1, 100) <= percent; }
  template <typename List> auto &oneOf(List &list) {
    return list[static_cast<size_t>(in(0, static_cast<int64_t>(list.size()) - 1))];
  }
  template <typename List> void shuffle(List &list) {
    for (size_t n = list.size(); n > 1; --n)
      std::swap(list[n - 1], list[static_cast<size_t>(in(0, static_cast<int64_t>(n) - 1))]);
  }

private:
  std::mt19937_64 engine;
};

template <typename T> T valueOf(llvm::Expected<T> value) {
  if (!value) {
    ADD_FAILURE() << llvm::toString(value.takeError());
    std::abort();
  }
  return std::move(*value);
}

std::vector<int64_t> primeFactors(int64_t n);

/// Of rank 1 to 3 and at most 4096 elements, none a power of two by rule. `isRight`: covers its
/// box; else one digit is changed, doubled or left out, which may or may not make it wrong.
TileLayout randomLayout(Random &random, bool isRight = true);
/// Two dims of powers of two, 8 lanes, 2 warps at most; some with copies.
TileLayout randomLayoutOfPowers(Random &random);
/// The same function with digits cut into pieces, before they are joined again.
std::array<Digits, 3> inPieces(const TileLayout &layout, Random &random);

/// Coordinates as one number, 16 bits a dim, the slowest dim highest: what enumeration compares.
using Code = int64_t;
Code codeOf(std::span<const int64_t> at);
std::vector<int64_t> decoded(Code code, size_t rank);

/// The coordinates of all places, warps slowest, registers fastest, by the definition; up to
/// rank 3.
std::vector<Code> tableOf(const TileLayout &layout);
/// Row-major numbers in the box of the same.
std::vector<int64_t> flatTableOf(const TileLayout &layout);

} // namespace tilewright::layout::testing
