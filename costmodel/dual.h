// Dual numbers: a value with its derivatives by N parameters (forward-mode differentiation).
//
// The time formula is a template over number types: double prices one plan, Lanes many, Dual fits.
// Derivatives are exact, so the fit needs no finite differences.
#pragma once

#include "costmodel/elementary.h"

#include <array>
#include <cmath>

namespace tilewright {

template <int N> struct Dual {
  double value = 0;
  std::array<double, N> d{};

  Dual() = default;
  Dual(double constant) : value(constant) {}

  Dual &operator+=(const Dual &o) {
    value += o.value;
    for (int i = 0; i < N; ++i)
      d[i] += o.d[i];
    return *this;
  }
  Dual &operator-=(const Dual &o) {
    value -= o.value;
    for (int i = 0; i < N; ++i)
      d[i] -= o.d[i];
    return *this;
  }
  Dual &operator*=(double s) {
    value *= s;
    for (double &x : d)
      x *= s;
    return *this;
  }
};

/// value, and derivatives that are a·x' + b·y'.
template <int N>
Dual<N> combine(double value, double a, const Dual<N> &x, double b, const Dual<N> &y) {
  Dual<N> r;
  r.value = value;
  for (int i = 0; i < N; ++i)
    r.d[i] = a * x.d[i] + b * y.d[i];
  return r;
}

template <int N> Dual<N> operator+(Dual<N> a, const Dual<N> &b) { return a += b; }
template <int N> Dual<N> operator-(Dual<N> a, const Dual<N> &b) { return a -= b; }
template <int N> Dual<N> operator+(Dual<N> a, double b) {
  a.value += b;
  return a;
}
template <int N> Dual<N> operator+(double b, Dual<N> a) { return a + b; }
template <int N> Dual<N> operator-(Dual<N> a, double b) { return a + -b; }
template <int N> Dual<N> operator-(double b, Dual<N> a) {
  a *= -1;
  return a + b;
}
template <int N> Dual<N> operator*(Dual<N> a, double b) { return a *= b; }
template <int N> Dual<N> operator*(double b, Dual<N> a) { return a *= b; }
template <int N> Dual<N> operator/(Dual<N> a, double b) { return a *= 1 / b; }
template <int N> Dual<N> operator*(const Dual<N> &a, const Dual<N> &b) {
  return combine(a.value * b.value, b.value, a, a.value, b);
}
template <int N> Dual<N> operator/(const Dual<N> &a, const Dual<N> &b) {
  double q = a.value / b.value;
  return combine(q, 1 / b.value, a, -q / b.value, b);
}
template <int N> Dual<N> operator/(double a, const Dual<N> &b) {
  double q = a / b.value;
  return Dual<N>(b) * (-q / b.value) + (q + q);
}
template <int N> Dual<N> log(const Dual<N> &a) {
  return combine(std::log(a.value), 1 / a.value, a, 0, a);
}
/// base^exponent for base > 0.
template <int N> Dual<N> powOf(const Dual<N> &base, const Dual<N> &exponent) {
  double ln = lnOf(base.value), p = expOf(ln * exponent.value);
  return combine(p, p * exponent.value / base.value, base, p * ln, exponent);
}

template <int N> double valueOf(const Dual<N> &x) { return x.value; }

} // namespace tilewright
