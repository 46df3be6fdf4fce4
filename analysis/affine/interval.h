// Closed intervals of 64-bit integers with saturating arithmetic.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace tilewright {

/// [lo, hi], empty when lo > hi. INT64_MIN and INT64_MAX stand for "unbounded": arithmetic
/// saturates towards them, so that an interval only ever grows by overflow.
struct Interval {
  int64_t lo = INT64_MIN, hi = INT64_MAX;

  static Interval point(int64_t value) { return {value, value}; }
  static Interval empty() { return {1, 0}; }
  /// [0, extent - 1].
  static Interval ofExtent(int64_t extent) { return {0, extent - 1}; }

  bool isEmpty() const { return lo > hi; }
  bool isPoint() const { return lo == hi; }
  bool isBounded() const { return lo != INT64_MIN && hi != INT64_MAX; }
  bool contains(int64_t value) const { return lo <= value && value <= hi; }
  bool contains(Interval other) const {
    return other.isEmpty() || (lo <= other.lo && other.hi <= hi);
  }
  Interval intersect(Interval other) const {
    return {std::max(lo, other.lo), std::min(hi, other.hi)};
  }
  bool operator==(const Interval &) const = default;
  std::string str() const; ///< "[0, 7]", "[-inf, 3]"
};

Interval operator+(Interval a, Interval b);
Interval operator-(Interval a);
Interval operator*(Interval a, Interval b);
/// The operands must be valid for the operation: divisors positive throughout, else the result is
/// unbounded.
Interval floorDiv(Interval a, Interval b);
Interval ceilDiv(Interval a, Interval b);
Interval mod(Interval a, Interval b);
Interval min(Interval a, Interval b);
Interval max(Interval a, Interval b);
/// Of the operations of the same names on expressions; comparisons lie in [0, 1].
Interval isAtLeast(Interval a, Interval b);
Interval isEqual(Interval a, Interval b);
Interval select(Interval condition, Interval ifTrue, Interval ifFalse);
Interval pow2Ceil(Interval a);
Interval pow2Divisor(Interval a);
Interval log2(Interval a);

} // namespace tilewright
