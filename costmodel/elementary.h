// ln, exp and powers of positive numbers, as templates over double and Lanes (vector_lanes.h). They
// use only +, -, ·, / and bit moves in a fixed order, so that a plan gets the same bits priced
// alone or in a batch (as long as the compiler does not contract a·b + c into an fma).
//
// ln x = e ln 2 + 2 artanh((m - 1) / (m + 1)) with x = 2^e m, m in [√½, √2); exp y = 2^n exp r with
// |r| <= ½ ln 2; both by their power series, cut where the rest is below 2^-52 of the sum.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace tilewright {

// The operations of the number types, for double.
inline double floorOf(double x) { return std::floor(x); }
inline double ceilOf(double x) { return std::ceil(x); }
inline bool anyOf(bool condition) { return condition; }
template <class T> T select(bool condition, const T &yes, const T &no) {
  return condition ? yes : no;
}
inline double valueOf(double x) { return x; }

/// Numbers of several plans: comparisons give masks.
template <class T>
concept ManyPlans = T::manyPlans;

/// The larger or smaller by value; the first of equals.
template <class T> T larger(const T &a, const T &b) {
  if constexpr (ManyPlans<T>)
    return largerOf(a, b);
  else
    return select(valueOf(b) > valueOf(a), b, a);
}
template <class T> T smaller(const T &a, const T &b) {
  if constexpr (ManyPlans<T>)
    return smallerOf(a, b);
  else
    return select(valueOf(b) < valueOf(a), b, a);
}

namespace elementary {

inline int64_t bitsOf(double x) { return std::bit_cast<int64_t>(x); }
inline double fromBits(int64_t bits) { return std::bit_cast<double>(bits); }
template <int n> int64_t shiftedLeft(int64_t x) { return int64_t(uint64_t(x) << n); }
template <int n> int64_t shiftedRight(int64_t x) { return int64_t(uint64_t(x) >> n); }

/// 1.5 · 2^52: added to a number below 2^51, it leaves the rounded integer in the low bits.
constexpr double roundingShift = 0x1.8p52;
constexpr int64_t mantissaBits = (int64_t(1) << 52) - 1;

} // namespace elementary

/// Natural logarithm of x > 0; of 0, -709 (a number whose powers vanish).
template <class V> V lnOf(const V &x) {
  using namespace elementary;
  constexpr int64_t rootOfHalf = 0x3fe6a09e667f3bcd;
  constexpr double ln2 = 0x1.62e42fefa39efp-1;
  constexpr int64_t bias = 2048; // keeps the exponent from being negative
  auto bits = bitsOf(x);
  auto exponent = shiftedRight<52>(bits - rootOfHalf + (bias << 52));
  V m = fromBits(bits - shiftedLeft<52>(exponent - bias));
  V e = fromBits(exponent + std::bit_cast<int64_t>(roundingShift)) - (roundingShift + bias);
  V s = (m - 1.0) / (m + 1.0);
  V z = s * s, z2 = z * z, z4 = z2 * z2;
  V low = (1.0 + z * (1.0 / 3)) + z2 * (1.0 / 5 + z * (1.0 / 7));
  V high = (1.0 / 9 + z * (1.0 / 11)) + z2 * (1.0 / 13 + z * (1.0 / 15));
  V rest = 1.0 / 17 + z * (1.0 / 19);
  V series = low + z4 * (high + z4 * rest);
  return e * ln2 + 2.0 * s * series;
}

/// e^y. Precondition: |y| ≤ 700.
template <class V> V expOf(const V &given) {
  using namespace elementary;
  constexpr double log2e = 0x1.71547652b82fep0;
  constexpr double ln2High = 0x1.62e42fee00000p-1, ln2Low = 0x1.a39ef35793c76p-33;
  V y = smaller(larger(given, V(-700.0)), V(700.0));
  V shifted = y * log2e + roundingShift;
  V n = shifted - roundingShift;
  V r = (y - n * ln2High) - n * ln2Low;
  V r2 = r * r, r4 = r2 * r2;
  V a = (1.0 + r) + r2 * (1.0 / 2 + r * (1.0 / 6));
  V b = (1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720 + r * (1.0 / 5040));
  V c = (1.0 / 40320 + r * (1.0 / 362880)) + r2 * (1.0 / 3628800 + r * (1.0 / 39916800));
  V d = V(1.0 / 479001600);
  V series = a + r4 * (b + r4 * (c + r4 * d));
  return fromBits(bitsOf(series) + shiftedLeft<52>(bitsOf(shifted)));
}

/// base^exponent by multiplications, for the whole numbers up to 16.
template <class V> V wholePower(V base, int exponent) {
  V power = exponent & 1 ? base : V(1.0);
  while (exponent >>= 1) {
    base = base * base;
    if (exponent & 1)
      power = power * base;
  }
  return power;
}

/// base^exponent for base >= 0. Whole exponents up to 16 take no logarithm.
template <class V, class P> V powOf(const V &base, const P &exponent) {
  if constexpr (std::is_same_v<P, double>) {
    const int whole = exponent > 0 && exponent <= 16 ? int(exponent) : 0;
    if (whole > 0 && whole == exponent)
      return wholePower(base, whole);
  }
  return expOf(lnOf(base) * exponent);
}

} // namespace tilewright
