#include "analysis/tiling/tile_pattern.h"

#include "analysis/support/checked.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <utility>

namespace tilewright {
namespace {

int64_t floorOf(int64_t a, int64_t b) { return checkedFloorDiv(a, b).value_or(0); }
int64_t ceilOf(int64_t a, int64_t b) { return checkedCeilDiv(a, b).value_or(0); }

/// 1 where the expression, which is never negative, is 0; else 0.
Expr isZero(Expr e) { return e.context().constant(1) - e.min(1); }

/// 1 / divisor modulo `modulus`, for a divisor prime to it.
int64_t inverse(int64_t divisor, int64_t modulus) {
  int64_t r0 = modulus, r1 = divisor % modulus, t0 = 0, t1 = 1; // Euclid, r = t · divisor
  while (r1 > 0) {
    const int64_t q = r0 / r1;
    r0 = std::exchange(r1, r0 - q * r1);
    t0 = std::exchange(t1, t0 - q * t1);
  }
  return t0 < 0 ? t0 % modulus + modulus : t0 % modulus;
}

/// value · inverse modulo `modulus`, in [0, modulus).
int64_t timesModulo(int64_t value, int64_t inverse, int64_t modulus) {
  const __int128 product = static_cast<__int128>(value % modulus) * inverse;
  const auto rest = static_cast<int64_t>(product % modulus);
  return rest < 0 ? rest + modulus : rest;
}

Expr both(Expr a, Expr b) { return !a ? b : !b ? a : a * b; }

/// Makes 0 ≤ phase < step true again.
void normalise(TilePattern &p) {
  const int64_t q = floorOf(p.phase, p.step);
  p.phase -= q * p.step;
  p.base += q;
  p.lower += q;
  p.upper += q;
  p.start = p.start + q;
  p.end = p.end + q;
}

TilePattern normalised(TilePattern p) {
  if (!p.drift)
    normalise(p);
  return p;
}

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

/// One pattern for each set of drifts that carry over into x alike and have the same masks. They
/// may still differ in their phase, which says something only of weights that neither divide the
/// step nor are multiples of it.
std::vector<TilePattern> withoutDrift(const TilePattern &p) {
  if (!p.drift)
    return {p};
  std::vector<int64_t> coarse{0};
  for (size_t i = 0; i + 1 < p.drifts.size(); ++i) {
    const std::vector<int64_t> before = std::exchange(coarse, {});
    for (int64_t d : before)
      for (int64_t j = 0; j < p.drifts[i].count; ++j)
        coarse.push_back(d + j * p.drifts[i].unit);
  }
  const TilePattern::Drift &fine = p.drifts.back();
  std::vector<TilePattern> out;
  std::set<std::array<int64_t, 3>> known;
  for (int64_t from : coarse)
    for (int64_t d = 0; d <= fine.most();) {
      const int64_t y = p.phase + from + d;
      TilePattern here = at(p, from + d);
      if (!here.isNever() && known.insert({here.base, here.lower, here.upper}).second)
        out.push_back(std::move(here));
      int64_t next = INT64_MAX; // where y passes a multiple of the step, as seen from each of these
      for (int64_t origin : {int64_t(0), p.clipLow, p.clipHigh})
        next = std::min(next, (floorOf(y - origin, p.step) + 1) * p.step + origin - y);
      d += ceilOf(next, fine.unit) * fine.unit;
    }
  return out;
}

bool isComparable(int64_t a, int64_t b) { return a % b == 0 || b % a == 0; }

/// Programs differ in where their tile is clipped: the first and the last one of [lower, upper),
/// and those between, which all have the whole size.
struct Clip {
  Expr from, to; ///< in x
  Expr exists;   ///< 0 or 1; null: always
};

std::vector<Clip> clipsOf(const TilePattern &p) {
  ExprContext &ctx = p.start.context();
  const Expr size = p.size, lower = ctx.constant(p.lower), upper = ctx.constant(p.upper);
  // Where a breakpoint stands at an end, the tile there has the whole size if any has.
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
  if (p.step % top == 0) // the same one for all
    last = first;
  const Expr block = first.floorDiv(top) * top;
  return {first.floorDiv(digit.inner).mod(digit.extent),
          (last.min(block + (top - 1)) - block).floorDiv(digit.inner)};
}

/// Do equal carries and masks mean equal counts of a digit?
bool isSaidByCarries(const TilePattern &p, const Digit &digit) {
  return !p.drift || digit.isWhole() ||
         (isComparable(p.step, digit.inner) &&
          (digit.isOutermost || isComparable(p.step, digit.inner * digit.extent)));
}

/// The masks in x.
Expr lowerOf(const TilePattern &p) {
  ExprContext &ctx = p.start.context();
  return p.drift ? (-p.drift + (p.clipLow - p.phase)).ceilDiv(p.step).max(p.lower)
                 : ctx.constant(p.lower);
}
Expr upperOf(const TilePattern &p) {
  ExprContext &ctx = p.start.context();
  return p.drift ? (-p.drift + (p.clipHigh - p.phase)).ceilDiv(p.step).min(p.upper)
                 : ctx.constant(p.upper);
}

} // namespace

int64_t TilePattern::driftMost() const {
  int64_t most = 0;
  for (const Drift &d : drifts)
    most += d.most();
  return most;
}

int64_t TilePattern::lowest() const {
  const int64_t low = step * lower + phase;
  return drift ? std::max(low, clipLow) : low;
}

int64_t TilePattern::highest() const {
  const int64_t high = step * (upper - 1) + phase;
  return drift ? std::min(high + driftMost(), clipHigh - 1) : high;
}

TilePattern rootPattern(Expr index, Expr size, int64_t extent) {
  TilePattern p;
  p.start = index * size;
  p.end = p.start + size;
  p.size = size;
  p.upper = extent;
  return p;
}

namespace pattern {

TileDim plainTile(const TilePattern &p, int64_t extent, bool isRounded) {
  ExprContext &ctx = p.start.context();
  TileDim t;
  t.size = p.size;
  t.offset = (p.isForward ? p.start : p.start + p.size - 1) * p.step + p.phase;
  t.stride = ctx.constant(p.isForward ? p.step : -p.step);
  if (p.isNever()) {
    t.lower = t.upper = ctx.constant(0);
    return t;
  }
  t.lower = ctx.constant(p.lowest());
  t.upper = ctx.constant(p.highest() + 1);
  if (p.start.isConstant(p.lower) && p.end.isConstant(p.upper)) { // nothing to mask
    t.lower = ctx.constant(0);
    t.upper = ctx.constant(extent);
  }
  if (isRounded)
    t.upper = (p.end.min(p.upper) - 1) * p.step + (p.phase + 1);
  return t;
}

TilePattern shifted(TilePattern p, int64_t start, int64_t step) {
  p.phase = p.phase * step + start;
  p.step *= step;
  if (p.drift) {
    p.drift = p.drift * step;
    for (TilePattern::Drift &d : p.drifts)
      d.unit *= step;
    p.clipLow = p.clipLow * step + start;
    p.clipHigh = (p.clipHigh - 1) * step + start + 1;
  }
  return normalised(std::move(p));
}

TilePattern reversed(TilePattern p, int64_t extent) {
  ExprContext &ctx = p.start.context();
  p.start = ctx.constant(1) - std::exchange(p.end, ctx.constant(1) - p.start);
  p.base = 1 - p.base;
  p.lower = 1 - std::exchange(p.upper, 1 - p.lower);
  p.phase = extent - 1 - p.phase - p.driftMost();
  p.isForward = !p.isForward;
  if (p.drift) {
    p.drift = -p.drift + p.driftMost();
    p.clipLow = extent - std::exchange(p.clipHigh, extent - p.clipLow);
  }
  return normalised(std::move(p));
}

TilePattern clipped(TilePattern p, int64_t low, int64_t extent) {
  if (p.drift) {
    p.clipLow = std::max(p.clipLow - low, int64_t(0));
    p.clipHigh = std::min(p.clipHigh - low, extent);
  } else {
    p.lower = std::max(p.lower, ceilOf(low - p.phase, p.step));
    p.upper = std::min(p.upper, ceilOf(low + extent - p.phase, p.step));
  }
  p.phase -= low;
  return normalised(std::move(p));
}

Spread spread(const TilePattern &p, int64_t low, int64_t step, int64_t extent) {
  // p.step · x + phase + drift = low + step · i has solutions x = first + period · z.
  ExprContext &ctx = p.start.context();
  const int64_t g = std::gcd(p.step, step), period = step / g;
  const int64_t inverted = period > 1 ? inverse(p.step / g, period) : 0;
  Spread out;
  if (!p.drift) {
    TilePattern q = p;
    if ((p.phase - low) % g != 0) {
      q.lower = q.upper = 0;
      out.tile = plainTile(q, extent, false);
      out.regular.push_back({std::move(q), {}});
      return out;
    }
    const int64_t first =
        p.step == 1 ? low - p.phase : timesModulo((low - p.phase) / g, inverted, period);
    auto toZ = [&](Expr x) { return (x - first).ceilDiv(period); };
    q.start = toZ(p.start);
    q.end = toZ(p.end);
    q.base = ceilOf(p.base - first, period);
    q.lower = ceilOf(p.lower - first, period);
    q.upper = ceilOf(p.upper - first, period);
    q.size = p.size.ceilDiv(period);
    q.step = p.step / g;
    q.phase = (p.step * first + p.phase - low) / step;
    normalise(q);
    q = clipped(std::move(q), 0, extent);
    const Expr isEven = period > 1 ? isZero(p.size.mod(period)) : Expr();
    out.tile = plainTile(q, extent, static_cast<bool>(isEven));
    out.regular.push_back({q, isEven});
    if (isEven && !q.isNever()) { // one program that has all is as regular
      const Expr q0 = ctx.constant(p.lower - p.base).floorDiv(p.size),
                 q1 = ctx.constant(p.upper - 1 - p.base).floorDiv(p.size);
      q.base = q.lower;
      q.start = ctx.constant(q.lower);
      q.end = ctx.constant(q.upper);
      q.size = ctx.constant(q.upper - q.lower);
      out.regular.push_back({std::move(q), isZero(q1 - q0) * (ctx.constant(1) - isEven)});
    }
    return out;
  }
  const Expr phase = p.drift + p.phase;
  const Expr first = (-phase + low).floorDiv(g) * inverted; // modulo the period
  const Expr x0 = p.start + (first - p.start).mod(period);
  out.tile.offset = (x0 * p.step + phase - low).floorDiv(step);
  out.tile.size = p.size.ceilDiv(period);
  out.tile.stride = ctx.constant(p.step / g);
  auto up = [&](Expr e) { return e.ceilDiv(step); };
  out.tile.lower = up(lowerOf(p) * p.step + phase - low).max(0);
  out.tile.upper = up((p.end.min(upperOf(p)) - 1) * p.step + phase - (low - 1)).min(extent);
  if (g > 1)
    out.tile.upper =
        out.tile.lower + (out.tile.upper - out.tile.lower).max(0) * isZero((phase - low).mod(g));
  // Of the programs with any element all of x are left, where the drifts allow any.
  TilePattern q = p;
  TilePattern::Drift &fine = q.drifts.back();
  const int64_t common = std::gcd(fine.unit, step), turn = step / common;
  bool isEven = period == 1;
  for (size_t i = 0; i + 1 < q.drifts.size(); ++i) {
    isEven &= q.drifts[i].unit % step == 0;
    q.drifts[i].unit /= step;
  }
  if (!isEven)
    return out;
  const int64_t skip =
      (low - p.phase) % common == 0 && turn > 1
          ? timesModulo((low - p.phase) / common, inverse(fine.unit / common, turn), turn)
          : 0;
  const int64_t origin = p.phase + skip * fine.unit - low;
  if (origin % step != 0 || skip >= fine.count)
    return out; // no program has any
  q.step = p.step / step;
  q.phase = origin / step;
  q.drift = (phase - low).floorDiv(step) - q.phase;
  fine = {fine.unit / common, (fine.count - 1 - skip) / turn + 1};
  q.clipLow = std::max<int64_t>(0, ceilOf(p.clipLow - low, step));
  q.clipHigh = std::min(extent, ceilOf(p.clipHigh - low, step));
  out.regular.push_back({std::move(q), {}});
  return out;
}

std::optional<Conditional> digit(const TilePattern &p, const Digit &digit, bool isRooted) {
  const int64_t inner = digit.inner, extent = digit.extent;
  if (digit.isWhole())
    return Conditional{p, {}};
  if (inner > 1 && p.step % inner == 0 && digit.isOutermost) {
    TilePattern out = p;
    out.step /= inner;
    out.phase = floorOf(p.phase, inner);
    if (p.drift) {
      if (p.clipLow % inner != 0 || p.clipHigh % inner != 0)
        return std::nullopt;
      TilePattern::Drift &fine = out.drifts.back();
      for (TilePattern::Drift &d : out.drifts) {
        if (d.unit % inner != 0 && &d != &fine)
          return std::nullopt;
        d.unit = std::max<int64_t>(1, d.unit / inner);
      }
      out.drift = (p.drift + p.phase).floorDiv(inner) - out.phase;
      fine.count = (floorOf(p.phase + p.drifts.back().most(), inner) - out.phase) / fine.unit + 1;
      out.clipLow /= inner;
      out.clipHigh /= inner;
    }
    return Conditional{std::move(out), {}};
  }
  if (p.step != 1 || p.drift)
    return std::nullopt;
  TilePattern out = p;
  Expr when;
  const Expr size = p.size;
  ExprContext &ctx = size.context();
  if (inner > 1) {
    if (p.base % inner != 0)
      return std::nullopt;
    // Parts of a block that meet its ends, or whole blocks, or one program that has all.
    out.size = size.ceilDiv(inner);
    Expr uneven = size.mod(inner) * ctx.constant(inner).mod(size);
    if (p.isForward && p.base <= p.lower)
      uneven = uneven * (-size + (p.upper - p.base)).max(0);
    else if (!p.isForward && p.base >= p.upper)
      uneven = uneven * (-size + (p.base - p.lower)).max(0);
    // Under the cut's condition a root's tile is always one of these.
    if (!isRooted)
      when = both(when, isZero(uneven));
    out.base = p.base / inner;
    out.lower = floorOf(p.lower, inner);
    out.upper = ceilOf(p.upper, inner);
    out.start = p.start.floorDiv(inner);
    out.end = p.isForward || isRooted ? out.start + out.size : p.end.ceilDiv(inner);
    if (!p.isForward)
      out.start = out.end - out.size;
  }
  if (!digit.isOutermost) {
    if (out.lower % extent != 0 || out.upper % extent != 0)
      return std::nullopt;
    const Expr from = out.lower <= out.base && out.isForward ? out.start : out.start.max(out.lower);
    out.size = out.size.min(extent);
    if (!isRooted)
      when = both(when, isZero(ctx.constant(extent).mod(out.size)));
    out.start = from.mod(extent);
    out.end = out.start + out.size;
    out.base = 0;
    out.lower = 0;
    out.upper = extent;
    out.isForward = true;
  }
  if (out.isForward && when)
    out.end = out.start + out.size;
  return Conditional{std::move(out), when};
}

Formula cutCondition(const TilePattern &p, int64_t w) {
  const Expr size = p.size;
  ExprContext &ctx = size.context();
  if (p.step % w == 0)
    return Formula::constant(true);
  if (p.drift) {
    std::vector<Formula> parts;
    if (w % p.step != 0)
      parts.push_back(Formula::lessEqual(size, ctx.constant(1)));
    else
      for (const TilePattern &q : withoutDrift(p))
        parts.push_back(cutCondition(q, w));
    return Formula::all(std::move(parts));
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

/// Digits of the program with the most of them.
static Expr mostDigits(const TilePattern &p, const Digit &digit) {
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
        break; // the one with the whole size has the most
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
  return {d.first, d.first, d.last, ctx.constant(digitStep(p, digit.inner)), mostDigits(p, digit)};
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

} // namespace pattern
} // namespace tilewright
