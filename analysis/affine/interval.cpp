#include "analysis/affine/interval.h"

#include "analysis/support/checked.h"

#include <fmt/format.h>

namespace tilewright {

namespace {

bool isInfinite(int64_t v) { return v == INT64_MIN || v == INT64_MAX; }

int64_t saturatingAdd(int64_t a, int64_t b) {
  if (isInfinite(a))
    return a;
  if (isInfinite(b))
    return b;
  if (auto sum = checkedAdd(a, b))
    return *sum;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

int64_t saturatingMul(int64_t a, int64_t b) {
  if (a == 0 || b == 0)
    return 0;
  if (!isInfinite(a) && !isInfinite(b))
    if (auto product = checkedMul(a, b))
      return *product;
  return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

} // namespace

std::string Interval::str() const {
  return fmt::format("[{}, {}]", lo == INT64_MIN ? "-inf" : std::to_string(lo),
                     hi == INT64_MAX ? "inf" : std::to_string(hi));
}

Interval operator+(Interval a, Interval b) {
  if (a.isEmpty() || b.isEmpty())
    return Interval::empty();
  return {saturatingAdd(a.lo, b.lo), saturatingAdd(a.hi, b.hi)};
}

Interval operator-(Interval a) {
  if (a.isEmpty())
    return Interval::empty();
  auto negated = [](int64_t end) {
    return end == INT64_MIN ? INT64_MAX : end == INT64_MAX ? INT64_MIN : -end;
  };
  return {negated(a.hi), negated(a.lo)};
}

Interval operator*(Interval a, Interval b) {
  if (a.isEmpty() || b.isEmpty())
    return Interval::empty();
  auto [lo, hi] = std::minmax({saturatingMul(a.lo, b.lo), saturatingMul(a.lo, b.hi),
                               saturatingMul(a.hi, b.lo), saturatingMul(a.hi, b.hi)});
  return {lo, hi};
}

namespace {

/// Division by every value of b, for b > 0. Monotone in each argument once the other's sign is
/// fixed, so the corners give the range.
Interval divide(Interval a, Interval b, bool up) {
  if (a.isEmpty() || b.isEmpty())
    return Interval::empty();
  if (b.lo <= 0)
    return {};
  auto corner = [up](int64_t x, int64_t y) {
    if (isInfinite(x))
      return x;
    if (y == INT64_MAX) // an unbounded divisor
      return up ? int64_t(x > 0) : -int64_t(x < 0);
    return up ? *checkedCeilDiv(x, y) : *checkedFloorDiv(x, y);
  };
  return {std::min(corner(a.lo, b.lo), corner(a.lo, b.hi)),
          std::max(corner(a.hi, b.lo), corner(a.hi, b.hi))};
}

} // namespace

Interval floorDiv(Interval a, Interval b) { return divide(a, b, false); }
Interval ceilDiv(Interval a, Interval b) { return divide(a, b, true); }

Interval mod(Interval a, Interval b) {
  if (a.isEmpty() || b.isEmpty())
    return Interval::empty();
  if (b.lo <= 0)
    return {};
  if (b.isPoint() && a.isBounded()) {
    // Within one period the residue moves with the value.
    int64_t period = *checkedFloorDiv(a.lo, b.lo);
    if (period == *checkedFloorDiv(a.hi, b.lo))
      return {*checkedMod(a.lo, b.lo), *checkedMod(a.hi, b.lo)};
  }
  if (a.lo >= 0)
    return {a.hi < b.lo ? a.lo : 0, std::min(a.hi, b.hi == INT64_MAX ? b.hi : b.hi - 1)};
  return {0, b.hi == INT64_MAX ? b.hi : b.hi - 1};
}

Interval min(Interval a, Interval b) {
  if (a.isEmpty() || b.isEmpty())
    return Interval::empty();
  return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
}

Interval max(Interval a, Interval b) {
  if (a.isEmpty() || b.isEmpty())
    return Interval::empty();
  return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
}

Interval isAtLeast(Interval a, Interval b) {
  if (a.isEmpty() || b.isEmpty())
    return Interval::empty();
  bool always = !isInfinite(a.lo) && !isInfinite(b.hi) && a.lo >= b.hi;
  bool never = !isInfinite(a.hi) && !isInfinite(b.lo) && a.hi < b.lo;
  return {always, !never};
}

Interval isEqual(Interval a, Interval b) {
  if (a.isEmpty() || b.isEmpty())
    return Interval::empty();
  bool always = a.isPoint() && a == b && a.isBounded();
  return {always, !a.intersect(b).isEmpty()};
}

Interval select(Interval condition, Interval a, Interval b) {
  if (condition.isEmpty() || a.isEmpty() || b.isEmpty())
    return Interval::empty();
  if (!condition.contains(0))
    return a;
  return condition.isPoint() ? b : Interval{std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

namespace {

constexpr int64_t largestPower = int64_t{1} << 62; // of two in 64 bits

} // namespace

Interval pow2Ceil(Interval a) {
  if (a.isEmpty())
    return a;
  return {*checkedPow2Ceil(std::min(a.lo, largestPower)),
          a.hi > largestPower ? INT64_MAX : *checkedPow2Ceil(a.hi)};
}

Interval pow2Divisor(Interval a) {
  if (a.isEmpty() || a.hi < 1) // no value
    return Interval::empty();
  if (a.isPoint())
    return Interval::point(*checkedPow2Divisor(a.lo));
  return {1, int64_t{1} << *checkedLog2(a.hi)};
}

Interval log2(Interval a) {
  if (a.isEmpty() || a.hi < 1)
    return Interval::empty();
  return {*checkedLog2(std::max<int64_t>(a.lo, 1)), *checkedLog2(a.hi)};
}

} // namespace tilewright
