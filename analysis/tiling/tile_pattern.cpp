#include "analysis/tiling/tile_pattern.h"

#include "analysis/support/math.h"
#include "analysis/tiling/tile_pattern_internal.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tilewright {

using pattern::ceilOf;
using pattern::floorOf;
using pattern::lowerOf;
using pattern::normalise;
using pattern::upperOf;

namespace {

/// 1 where the expression, which is never negative, is 0; else 0.
Expr isZero(Expr e) { return e.context().constant(1) - e.min(1); }

Expr both(Expr a, Expr b) { return !a ? b : !b ? a : a * b; }

TilePattern normalised(TilePattern p) {
  if (!p.drift)
    normalise(p);
  return p;
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

void normalise(TilePattern &p) {
  const int64_t q = floorOf(p.phase, p.step);
  p.phase -= q * p.step;
  p.base += q;
  p.lower += q;
  p.upper += q;
  p.start = p.start + q;
  p.end = p.end + q;
}

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
  if (p.start.isConstant(p.lower) && p.end.isConstant(p.upper)) { // no mask needed
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
  const int64_t inverted = period > 1 ? inverseModulo(p.step / g, period) : 0;
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
        p.step == 1 ? low - p.phase : mulModulo((low - p.phase) / g, inverted, period);
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
    if (isEven && !q.isNever()) { // one CTA with everything is regular, too
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
  // CTAs with any element keep all of x, if the drifts allow any.
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
          ? mulModulo((low - p.phase) / common, inverseModulo(fine.unit / common, turn), turn)
          : 0;
  const int64_t origin = p.phase + skip * fine.unit - low;
  if (origin % step != 0 || skip >= fine.count)
    return out; // no CTA has any
  q.step = p.step / step;
  q.phase = origin / step;
  q.drift = (phase - low).floorDiv(step) - q.phase;
  fine = {fine.unit / common, (fine.count - 1 - skip) / turn + 1};
  q.clipLow = std::max<int64_t>(0, ceilOf(p.clipLow - low, step));
  q.clipHigh = std::min(extent, ceilOf(p.clipHigh - low, step));
  out.regular.push_back({std::move(q), {}});
  return out;
}

/// The digit where one CTA has all indices.
static std::optional<Conditional> digitOfOne(const TilePattern &p, const Digit &digit) {
  ExprContext &ctx = p.start.context();
  const int64_t inner = digit.inner, extent = digit.extent;
  int64_t low = floorOf(p.lower, inner), high = ceilOf(p.upper, inner);
  if (!digit.isOutermost) {
    const int64_t block = floorOf(low, extent) * extent;
    const bool isWithin = high <= block + extent;
    if (!isWithin && (low != block || high % extent != 0))
      return std::nullopt;
    low -= block;
    high = isWithin ? high - block : extent;
  }
  const Expr q0 = ctx.constant(p.lower - p.base).floorDiv(p.size),
             q1 = ctx.constant(p.upper - 1 - p.base).floorDiv(p.size);
  TilePattern out = p;
  out.isForward = true;
  out.base = out.lower = low;
  out.upper = high;
  out.start = ctx.constant(low);
  out.end = ctx.constant(high);
  out.size = ctx.constant(high - low);
  return Conditional{std::move(out), isZero(q1 - q0)};
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
      return digitOfOne(p, digit);
    // Parts of a block that touch its ends, or whole blocks, or one CTA with everything.
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

} // namespace pattern
} // namespace tilewright
