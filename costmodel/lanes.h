// Lanes: a vector of eight doubles, one a plan. A number type of the time formula (see formula.h)
// beside double and Dual; the compiler maps it to the target's vectors.
#pragma once

#include <cstdint>

namespace tilewright {

constexpr int laneCount = 8;

/// Eight 64-bit integers; as a mask, each all ones or all zeros.
struct alignas(8 * laneCount) LaneBits {
  using Vector = int64_t __attribute__((vector_size(8 * laneCount)));
  Vector v;

  friend LaneBits operator+(LaneBits a, int64_t b) { return {a.v + b}; }
  friend LaneBits operator-(LaneBits a, int64_t b) { return {a.v - b}; }
  friend LaneBits operator+(LaneBits a, LaneBits b) { return {a.v + b.v}; }
  friend LaneBits operator-(LaneBits a, LaneBits b) { return {a.v - b.v}; }
  friend LaneBits operator&(LaneBits a, LaneBits b) { return {a.v & b.v}; }
  friend LaneBits operator|(LaneBits a, LaneBits b) { return {a.v | b.v}; }
  friend LaneBits operator<<(LaneBits a, int n) { return {a.v << n}; }
  friend LaneBits operator>>(LaneBits a, int n) { return {a.v >> n}; }
};

struct alignas(8 * laneCount) Lanes {
  using Vector = double __attribute__((vector_size(8 * laneCount)));
  Vector v;

  Lanes() : v{} {}
  Lanes(double all) : v(all - Vector{}) {}
  explicit Lanes(Vector v) : v(v) {}

  double operator[](int lane) const { return v[lane]; }
  void set(int lane, double x) { v[lane] = x; }
  LaneBits bits() const { return {(LaneBits::Vector)v}; }
  static Lanes fromBits(const LaneBits &bits) { return Lanes((Vector)bits.v); }

  Lanes &operator+=(const Lanes &o) {
    v += o.v;
    return *this;
  }
  friend Lanes operator+(const Lanes &a, const Lanes &b) { return Lanes(a.v + b.v); }
  friend Lanes operator-(const Lanes &a, const Lanes &b) { return Lanes(a.v - b.v); }
  friend Lanes operator*(const Lanes &a, const Lanes &b) { return Lanes(a.v * b.v); }
  friend Lanes operator/(const Lanes &a, const Lanes &b) { return Lanes(a.v / b.v); }
  friend LaneBits operator<(const Lanes &a, const Lanes &b) { return {a.v < b.v}; }
  friend LaneBits operator>(const Lanes &a, const Lanes &b) { return {a.v > b.v}; }
  friend LaneBits operator<=(const Lanes &a, const Lanes &b) { return {a.v <= b.v}; }
  friend LaneBits operator>=(const Lanes &a, const Lanes &b) { return {a.v >= b.v}; }
};

inline Lanes select(const LaneBits &mask, const Lanes &yes, const Lanes &no) {
  return Lanes(mask.v ? yes.v : no.v);
}
/// A comparison as numbers with all bits set where it holds. Compilers keep a comparison vectorised
/// only if it does nothing but select between numbers.
inline Lanes maskOf(const LaneBits &comparison) {
  return select(comparison, Lanes::fromBits({LaneBits::Vector{} - 1}), Lanes(0.0));
}
/// True if it holds in any lane.
inline bool anyOf(const LaneBits &comparison) {
  const LaneBits mask = maskOf(comparison).bits();
  int64_t any = 0;
  for (int i = 0; i < laneCount; ++i)
    any |= mask.v[i];
  return any != 0;
}
/// The larger or smaller of each lane; the first of equals.
inline Lanes larger(const Lanes &a, const Lanes &b) { return select(b > a, b, a); }
inline Lanes smaller(const Lanes &a, const Lanes &b) { return select(b < a, b, a); }

/// Rounding to integers; numbers of 2^51 and more are unchanged.
inline Lanes floorOf(const Lanes &x) {
  const Lanes shift(0x1.8p52), limit(0x1p51);
  const Lanes magnitude = Lanes::fromBits({x.bits().v & INT64_MAX});
  Lanes rounded = (x + shift) - shift;
  Lanes below = select(rounded > x, rounded - 1.0, rounded);
  return select(magnitude < limit, below, x);
}
inline Lanes ceilOf(const Lanes &x) { return 0.0 - floorOf(0.0 - x); }

} // namespace tilewright
