// Decisions about patterns: where tiles may be cut, and which digits they have.
#include "analysis/tiling/tile_pattern_internal.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <utility>

namespace tilewright::pattern {
namespace {

/// The pattern for one value of the drift.
TilePattern at(const TilePattern &p, int64_t drift) {
  TilePattern out = p;
  out.drift = {};
  out.phase += drift;
  out.lower = std::max(p.lower, ceilOf(p.clipLow - out.phase, p.step));
  out.upper = std::min(p.upper, ceilOf(p.clipHigh - out.phase, p.step));
  normalise(out);
  return out;
}

/// Sums of all drifts but the finest one.
std::vector<int64_t> coarseDrifts(const TilePattern &p) {
  std::vector<int64_t> coarse{0};
  for (size_t i = 0; i + 1 < p.drifts.size(); ++i) {
    const std::vector<int64_t> before = std::exchange(coarse, {});
    for (int64_t d : before)
      for (int64_t j = 0; j < p.drifts[i].count; ++j)
        coarse.push_back(d + j * p.drifts[i].unit);
  }
  return coarse;
}

/// One pattern for each set of drifts with the same carries into x and the same masks. They may
/// still differ in phase, which matters only for weights that neither divide the step nor are
/// multiples of it.
std::vector<TilePattern> withoutDrift(const TilePattern &p) {
  if (!p.drift)
    return {p};
  const TilePattern::Drift &fine = p.drifts.back();
  std::vector<TilePattern> out;
  std::set<std::array<int64_t, 3>> known;
  for (int64_t from : coarseDrifts(p))
    for (int64_t d = 0; d <= fine.most();) {
      const int64_t y = p.phase + from + d;
      TilePattern here = at(p, from + d);
      if (!here.isNever() && known.insert({here.base, here.lower, here.upper}).second)
        out.push_back(std::move(here));
      int64_t next = INT64_MAX; // distance to the next multiple of the step
      for (int64_t origin : {int64_t(0), p.clipLow, p.clipHigh})
        next = std::min(next, (floorOf(y - origin, p.step) + 1) * p.step + origin - y);
      d += ceilOf(next, fine.unit) * fine.unit;
    }
  return out;
}

bool isComparable(int64_t a, int64_t b) { return a % b == 0 || b % a == 0; }

/// CTAs differ in how their tile is clipped: the first and the last one of [lower, upper), and
/// those in between, which have the full size.
struct Clip {
  Expr from, to; ///< in x
  Expr exists;   ///< 0 or 1; null: always
};

std::vector<Clip> clipsOf(const TilePattern &p) {
  ExprContext &ctx = p.start.context();
  const Expr size = p.size, lower = ctx.constant(p.lower), upper = ctx.constant(p.upper);
  // If a breakpoint is at an end, the tile there has the full size if any tile has.
  if (p.base == p.lower) {
    const Expr last = (ctx.constant(p.upper - 1 - p.base)).floorDiv(size) * size + p.base;
    return {{lower, (size + p.lower).min(p.upper), {}}, {last, upper, {}}};
  }
  if (p.base == p.upper) {
    const Expr tiles = ctx.constant(p.upper - p.lower).ceilDiv(size);
    return {{(upper - size).max(p.lower), upper, {}}, {lower, upper - (tiles - 1) * size, {}}};
  }
  const Expr q0 = ctx.constant(p.lower - p.base).floorDiv(size),
             q1 = ctx.constant(p.upper - 1 - p.base).floorDiv(size);
  const Expr second = (q0 + 1) * size + p.base;
  return {{lower, second.min(p.upper), {}},
          {(q1 * size + p.base).max(p.lower), upper, {}},
          {second, second + size, (q1 - q0 - 1).max(0).min(1)}};
}

int64_t digitStep(const TilePattern &p, int64_t inner) {
  return p.step > inner && p.step % inner == 0 ? p.step / inner : 1;
}

struct Digits {
  Expr first, last;
};

/// Digits of the indices step · x + phase + drift for from ≤ x < to.
Digits digitsOf(const TilePattern &p, const Digit &digit, Expr from, Expr to) {
  Expr first = from * p.step + p.phase, last = (to - 1) * p.step + p.phase;
  if (p.drift) {
    first = first + p.drift;
    last = last + p.drift;
  }
  const int64_t top = digit.inner * digit.extent;
  if (digit.isOutermost)
    return {first.floorDiv(digit.inner), last.floorDiv(digit.inner)};
  if (p.step % top == 0) // the same digit for all
    last = first;
  const Expr block = first.floorDiv(top) * top;
  return {first.floorDiv(digit.inner).mod(digit.extent),
          (last.min(block + (top - 1)) - block).floorDiv(digit.inner)};
}

/// True if equal carries and masks imply equal counts of a digit.
bool isSaidByCarries(const TilePattern &p, const Digit &digit) {
  return !p.drift || digit.isWhole() ||
         (isComparable(p.step, digit.inner) &&
          (digit.isOutermost || isComparable(p.step, digit.inner * digit.extent)));
}

} // namespace

std::vector<TilePattern> instances(const TilePattern &p, int64_t most) {
  if (!p.drift)
    return {p};
  std::vector<TilePattern> out;
  const std::vector<int64_t> coarse = coarseDrifts(p);
  const TilePattern::Drift &fine = p.drifts.back();
  if (fine.count > most / static_cast<int64_t>(coarse.size()))
    return out;
  for (int64_t from : coarse)
    for (int64_t j = 0; j < fine.count; ++j)
      if (TilePattern here = at(p, from + j * fine.unit); !here.isNever())
        out.push_back(std::move(here));
  return out;
}

Formula cutCondition(const TilePattern &p, int64_t w) {
  const Expr size = p.size;
  ExprContext &ctx = size.context();
  if (p.step % w == 0)
    return Formula::constant(true);
  if (p.drift) {
    // Where the step leaps over blocks the phase says into which.
    constexpr int64_t maxPhases = 256;
    const std::vector<TilePattern> all =
        w % p.step == 0 ? withoutDrift(p) : instances(p, maxPhases);
    std::vector<Formula> parts;
    for (const TilePattern &q : all)
      parts.push_back(cutCondition(q, w));
    return all.empty() ? Formula::lessEqual(size, ctx.constant(1)) : Formula::all(std::move(parts));
  }
  if (p.isNever() || floorOf(p.lowest(), w) == floorOf(p.highest(), w))
    return Formula::constant(true);
  auto dividesConstant = [&](int64_t value) {
    return value == 0 ? Formula::constant(true)
                      : Formula::divides(size, ctx.constant(value < 0 ? -value : value));
  };
  const int64_t a = p.lower, b = p.upper, c = p.base;
  if (w % p.step != 0) {
    // Each tile must lie in one block (of one element, where the step leaps over blocks): every
    // place between two elements of different blocks is a breakpoint.
    int64_t g = 0;
    for (int64_t x = a; g != 1;) {
      const int64_t block = floorOf(p.step * x + p.phase, w);
      x = std::max(x + 1, ceilOf((block + 1) * w - p.phase, p.step));
      if (x >= b)
        break;
      g = std::gcd(g, x - c);
    }
    return dividesConstant(g);
  }
  const int64_t width = w / p.step;
  const int64_t m0 = (floorOf(a, width) + 1) * width;
  const bool isOnly = m0 + width >= b;
  std::vector<Formula> ways;
  ways.push_back(dividesConstant(isOnly ? m0 - c : std::gcd(width, m0 - c)));
  const Expr q0 = ctx.constant(a - c).floorDiv(size), q1 = ctx.constant(b - 1 - c).floorDiv(size);
  auto firstIsGood = [&] {
    return a % width == 0 ? Formula::constant(true)
                          : Formula::lessEqual((q0 + 1) * size + c, ctx.constant(a + width));
  };
  auto lastIsGood = [&] {
    return b % width == 0 ? Formula::constant(true)
                          : Formula::lessEqual(ctx.constant(b - width), q1 * size + c);
  };
  if (c % width == 0)
    ways.push_back(
        Formula::all({Formula::divides(ctx.constant(width), size), firstIsGood(), lastIsGood()}));
  const bool startsAtEnd = c == a || c == b;
  if (a % width == 0 && b % width == 0)
    ways.push_back(startsAtEnd ? Formula::lessEqual(ctx.constant(b - a), size)
                               : Formula::equal(q0, q1));
  if (!startsAtEnd)
    ways.push_back(Formula::all({Formula::equal(q0 + 1, q1),
                                 Formula::equal((q1 * size + c).mod(width), ctx.constant(0)),
                                 firstIsGood(), lastIsGood()}));
  return Formula::any(std::move(ways));
}

/// Digits of the CTA with the most of them.
static Expr maxDigits(const TilePattern &p, const Digit &digit) {
  if (!isSaidByCarries(p, digit))
    return p.size;
  const int64_t step = digitStep(p, digit.inner);
  Expr most;
  for (const TilePattern &q : withoutDrift(p))
    for (const Clip &clip : clipsOf(q)) {
      const Digits mine = digitsOf(q, digit, clip.from, clip.to);
      Expr count = (mine.last - mine.first).floorDiv(step) + 1;
      if (clip.exists)
        count = (count - 1) * clip.exists + 1;
      most = most ? most.max(count) : count;
      if (q.base == q.lower || q.base == q.upper)
        break; // the CTA with the full size has the most
    }
  return most ? most : p.size.context().constant(1);
}

DigitRun digitRun(const TilePattern &p, const Digit &digit) {
  ExprContext &ctx = p.size.context();
  const Expr one = ctx.constant(1);
  if (p.isNever())
    return {ctx.constant(0), ctx.constant(0), ctx.constant(-1), one, one};
  const bool startsInside = !p.drift && p.isForward && p.base >= p.lower;
  const bool endsInside = !p.drift && !p.isForward && p.base <= p.upper;
  const Digits d = digitsOf(p, digit, startsInside ? p.start : p.start.max(lowerOf(p)),
                            endsInside ? p.end : p.end.min(upperOf(p)));
  return {d.first, d.first, d.last, ctx.constant(digitStep(p, digit.inner)), maxDigits(p, digit)};
}

Formula isAlwaysFull(const TilePattern &p, const Digit &digit) {
  ExprContext &ctx = p.size.context();
  if (p.isNever())
    return Formula::constant(true);
  const int64_t step = digitStep(p, digit.inner);
  const bool isOne = step > 1 && digit.extent <= step; // one index, not all of them
  if (isOne || digit.extent % step != 0 || !isSaidByCarries(p, digit))
    return Formula::constant(false);
  std::vector<Formula> parts;
  for (const TilePattern &q : withoutDrift(p))
    for (const Clip &clip : clipsOf(q)) {
      const Digits mine = digitsOf(q, digit, clip.from, clip.to);
      Formula isFull = Formula::lessEqual(ctx.constant(digit.extent / step - 1),
                                          (mine.last - mine.first).floorDiv(step));
      if (clip.exists)
        isFull = Formula::any({Formula::equal(clip.exists, ctx.constant(0)), std::move(isFull)});
      parts.push_back(std::move(isFull));
    }
  return Formula::all(std::move(parts));
}

Expr occupancy(const TilePattern &p) {
  return p.isNever() ? p.start.context().constant(0)
                     : (p.end.min(p.upper) - p.start.max(p.lower)).max(0).min(1);
}

} // namespace tilewright::pattern
