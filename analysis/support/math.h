// Modular arithmetic, and membership in short lists such as those of dims.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace tilewright {

/// True if `value` occurs in the list.
inline bool contains(std::span<const int64_t> list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// a·b mod m, in [0, m), for m ≥ 1.
inline int64_t mulModulo(int64_t a, int64_t b, int64_t m) {
  const auto rest = static_cast<int64_t>(static_cast<__int128>(a) * b % m);
  return rest < 0 ? rest + m : rest;
}

/// The x in [0, m) with a·x ≡ 1 (mod m), for coprime a and m, m ≥ 1. Euclid's algorithm.
inline int64_t inverseModulo(int64_t a, int64_t m) {
  __int128 r0 = m, r1 = (static_cast<__int128>(a) % m + m) % m, t0 = 0, t1 = 1; // r ≡ t·a (mod m)
  while (r1 != 0) {
    const __int128 q = r0 / r1, r = r0 - q * r1, t = t0 - q * t1;
    r0 = r1, r1 = r, t0 = t1, t1 = t;
  }
  return static_cast<int64_t>((t0 % m + m) % m);
}

} // namespace tilewright
