// Keys of 128 bits, of what is equal but for names and places. Internal to the folder.
#pragma once

#include "analysis/support/digest.h"

#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tilewright {

/// Of a million things two have the same by chance once in 10^26 times.
struct StructureKey {
  uint64_t first = 0, second = 0;
  auto operator<=>(const StructureKey &) const = default;
};

/// Two multiplicative hashes of a sequence of numbers and texts.
class KeyHash {
public:
  void add(uint64_t number) {
    key.first = mixed(key.first ^ number, 0x9e3779b97f4a7c15);
    key.second = mixed(key.second + number, 0xc2b2ae3d27d4eb4f);
  }
  void add(std::string_view text) {
    add(uint64_t(text.size()));
    add(fnv1a(text));
    add(fnv1a(text, FnvPrime));
  }
  void add(const StructureKey &of) {
    add(of.first);
    add(of.second);
  }
  void add(const std::vector<int64_t> &numbers) {
    add(uint64_t(numbers.size()));
    for (int64_t number : numbers)
      add(uint64_t(number));
  }
  const StructureKey &get() const { return key; }

private:
  /// The finaliser of MurmurHash3 (Appleby, public domain).
  static uint64_t mixed(uint64_t x, uint64_t factor) {
    x *= factor;
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccd;
    return x ^ x >> 29;
  }
  StructureKey key{FnvBasis, FnvPrime};
};

} // namespace tilewright
