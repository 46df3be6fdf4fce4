#include "analysis/tiling/tile_origin.h"

#include "analysis/support/checked.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tilewright {
namespace {

int64_t floorOf(int64_t a, int64_t b) { return checkedFloorDiv(a, b).value_or(0); }
int64_t ceilOf(int64_t a, int64_t b) { return checkedCeilDiv(a, b).value_or(0); }

/// 1 where the expression, which is never negative, is 0; else 0.
Expr isZero(Expr e) { return e.context().constant(1) - e.min(1); }

/// value / divisor modulo `modulus`, for a divisor prime to it.
int64_t timesInverse(int64_t value, int64_t divisor, int64_t modulus) {
  int64_t r0 = modulus, r1 = divisor % modulus, t0 = 0, t1 = 1; // Euclid, r = t · divisor
  while (r1 > 0) {
    const int64_t q = r0 / r1;
    r0 = std::exchange(r1, r0 - q * r1);
    t0 = std::exchange(t1, t0 - q * t1);
  }
  const __int128 product = static_cast<__int128>(value % modulus) * (t0 % modulus);
  const auto rest = static_cast<int64_t>(product % modulus);
  return rest < 0 ? rest + modulus : rest;
}

Expr both(Expr a, Expr b) { return !a ? b : !b ? a : a * b; }

/// Makes 0 ≤ phase < step true again.
void normalise(TileOrigin &o) {
  const int64_t q = floorOf(o.phase, o.step);
  o.phase -= q * o.step;
  o.base += q;
  o.lower += q;
  o.upper += q;
  o.start = o.start + q;
  o.end = o.end + q;
}

TileOrigin updated(TileOrigin o) {
  normalise(o);
  if (!o.hasOwnTile)
    makePlainTile(o);
  return o;
}

/// Programs differ in where their tile is clipped: the first and the last one of [lower, upper),
/// and those between, which all have the whole size.
struct Clip {
  Expr from, to; ///< in x
  Expr exists;   ///< 0 or 1; null: always
};

std::vector<Clip> clipsOf(const TileOrigin &o) {
  ExprContext &ctx = o.start.context();
  const Expr size = o.tile.size, lower = ctx.constant(o.lower), upper = ctx.constant(o.upper);
  // Where a breakpoint stands at an end, the tile there has the whole size if any has.
  if (o.base == o.lower) {
    const Expr last = (ctx.constant(o.upper - 1 - o.base)).floorDiv(size) * size + o.base;
    return {{lower, (size + o.lower).min(o.upper), {}}, {last, upper, {}}};
  }
  if (o.base == o.upper) {
    const Expr tiles = ctx.constant(o.upper - o.lower).ceilDiv(size);
    return {{(upper - size).max(o.lower), upper, {}}, {lower, upper - (tiles - 1) * size, {}}};
  }
  const Expr q0 = ctx.constant(o.lower - o.base).floorDiv(size),
             q1 = ctx.constant(o.upper - 1 - o.base).floorDiv(size);
  const Expr second = (q0 + 1) * size + o.base;
  return {{lower, second.min(o.upper), {}},
          {(q1 * size + o.base).max(o.lower), upper, {}},
          {second, second + size, (q1 - q0 - 1).max(0).min(1)}};
}

int64_t digitStep(const TileOrigin &o, int64_t inner) {
  return o.isRegular && o.step > inner && o.step % inner == 0 ? o.step / inner : 1;
}

struct Digits {
  Expr first, last;
};

/// Digits of the indices step · x + phase for from ≤ x < to.
Digits digitsOf(const TileOrigin &o, int64_t inner, int64_t extent, Expr from, Expr to) {
  const Expr first = from * o.step + o.phase, last = (to - 1) * o.step + o.phase;
  const int64_t top = inner * extent;
  if (top == o.extent)
    return {first.floorDiv(inner), last.floorDiv(inner)};
  const Expr block = first.floorDiv(top) * top;
  return {first.floorDiv(inner).mod(extent), (last.min(block + (top - 1)) - block).floorDiv(inner)};
}

DigitRun plainRun(const TileDim &t, Expr most) {
  const Expr end = t.offset + t.stride * (t.size - 1);
  const bool isForward = !t.stride.isConstant() || t.stride.constant() > 0;
  const Expr low = isForward ? t.offset : end, high = isForward ? end : t.offset;
  return {low, low.max(t.lower), high.min(t.upper - 1), isForward ? t.stride : -t.stride, most};
}

} // namespace

void makePlainTile(TileOrigin &o) {
  ExprContext &ctx = o.start.context();
  const Expr size = o.tile.size;
  TileDim &t = o.tile;
  t.offset = (o.isForward ? o.start : o.start + size - 1) * o.step + o.phase;
  t.stride = ctx.constant(o.isForward ? o.step : -o.step);
  if (o.isNever()) {
    t.lower = t.upper = ctx.constant(0);
    return;
  }
  t.lower = ctx.constant(o.lowest());
  t.upper = ctx.constant(o.highest() + 1);
  if (o.start.isConstant(o.lower) && o.end.isConstant(o.upper)) { // nothing to mask
    t.lower = ctx.constant(0);
    t.upper = ctx.constant(o.extent);
  }
  if (o.evenness) // the size is rounded up for some programs
    t.upper = ((o.end.min(o.upper) - 1) * o.step + (o.phase + 1));
}

TileOrigin rootOrigin(ExprContext &ctx, Expr index, Expr size, int64_t extent) {
  TileOrigin o;
  o.extent = extent;
  o.tile.size = size;
  o.isRegular = true;
  o.isDirect = index.isVariable();
  o.mayBeEmpty = extent == 0;
  o.upper = extent;
  o.start = index * size;
  o.end = o.start + size;
  makePlainTile(o);
  return o;
}

TileOrigin constantOrigin(ExprContext &ctx, int64_t index, int64_t extent) {
  TileOrigin o = rootOrigin(ctx, ctx.constant(index), ctx.constant(1), extent);
  o.base = o.lower = index;
  o.upper = index + 1;
  return o;
}

TileOrigin shiftedOrigin(TileOrigin o, int64_t start, int64_t step, int64_t extent) {
  o.extent = extent;
  o.isDirect = false;
  if (!o.isRegular || o.hasOwnTile) {
    TileDim &t = o.tile;
    t.offset = t.offset * step + start;
    t.stride = t.stride * step;
    t.lower = t.lower * step + start;
    t.upper = (t.upper - 1) * step + (start + 1);
  }
  if (!o.isRegular) {
    if (!o.isNever()) {
      o.upper = (o.upper - 1) * step + start + 1;
      o.lower = o.lower * step + start;
    }
    return o;
  }
  o.phase = o.phase * step + start;
  o.step *= step;
  return updated(std::move(o));
}

TileOrigin reversedOrigin(TileOrigin o) {
  ExprContext &ctx = o.tile.size.context();
  if (!o.isRegular || o.hasOwnTile) {
    const Expr last = ctx.constant(o.extent - 1), end = ctx.constant(o.extent);
    o.tile = {last - o.tile.offset, o.tile.size, -o.tile.stride, end - o.tile.upper,
              end - o.tile.lower};
    if (!o.tile.stride.isConstant()) { // such strides stay positive
      o.tile.offset = o.tile.offset + o.tile.stride * (o.tile.size - 1);
      o.tile.stride = -o.tile.stride;
    }
  }
  if (!o.isRegular) {
    std::swap(o.lower, o.upper);
    o.lower = o.extent - o.lower;
    o.upper = o.extent - o.upper;
    return o;
  }
  const Expr start = o.start;
  o.start = ctx.constant(1) - o.end;
  o.end = ctx.constant(1) - start;
  o.base = 1 - o.base;
  const int64_t lower = o.lower;
  o.lower = 1 - o.upper;
  o.upper = 1 - lower;
  o.phase = o.extent - 1 - o.phase;
  o.isForward = !o.isForward;
  o.isDirect = false;
  return updated(std::move(o));
}

TileOrigin clippedOrigin(TileOrigin o, int64_t low, int64_t extent) {
  const int64_t before = o.lower, after = o.upper;
  o.isDirect = false;
  if (!o.isRegular || o.hasOwnTile) {
    TileDim &t = o.tile;
    t.offset = t.offset - low;
    t.lower = (t.lower - low).max(0);
    t.upper = (t.upper - low).min(extent);
  }
  if (!o.isRegular) {
    o.lower = std::max<int64_t>(0, o.lower - low);
    o.upper = std::min(extent, o.upper - low);
    o.mayBeEmpty |= o.lower != before - low || o.upper != after - low;
    o.extent = extent;
    return o;
  }
  o.lower = std::max(o.lower, ceilOf(low - o.phase, o.step));
  o.upper = std::min(o.upper, floorOf(low + extent - 1 - o.phase, o.step) + 1);
  o.mayBeEmpty |= o.lower != before || o.upper != after;
  o.phase -= low;
  o.extent = extent;
  return updated(std::move(o));
}

std::optional<TileOrigin> spreadOrigin(const TileOrigin &o, int64_t low, int64_t step,
                                       int64_t extent) {
  TileOrigin out = o;
  out.extent = extent;
  out.isDirect = false;
  out.mayBeEmpty = true;
  auto up = [&](Expr e) { return (e - low).ceilDiv(step); };
  if (o.isRegular && o.hasOwnTile)
    return std::nullopt;
  if (!o.isRegular) {
    const TileDim &t = o.tile;
    if (!t.stride.isConstant(1))
      return std::nullopt;
    out.tile = {up(t.offset), t.size.ceilDiv(step), t.stride, up(t.lower).max(0),
                up(t.upper).min(up(t.offset + t.size)).min(extent)};
    out.lower = std::max<int64_t>(0, ceilOf(o.lower - low, step));
    out.upper = std::min(extent, ceilOf(o.upper - low, step));
    return out;
  }
  // o.step · x + o.phase = low + step · i has solutions x = first + period · z.
  const int64_t g = std::gcd(o.step, step), period = step / g;
  if ((o.phase - low) % g != 0) {
    out.lower = out.upper = 0;
    makePlainTile(out);
    return out;
  }
  const int64_t first =
      o.step == 1 ? low - o.phase : timesInverse((low - o.phase) / g, o.step / g, period);
  auto toZ = [&](Expr x) { return (x - first).ceilDiv(period); };
  out.start = toZ(o.start);
  out.end = toZ(o.end);
  out.base = ceilOf(o.base - first, period);
  out.lower = ceilOf(o.lower - first, period);
  out.upper = ceilOf(o.upper - first, period);
  out.tile.size = o.tile.size.ceilDiv(period);
  if (period > 1)
    out.evenness = both(o.evenness, isZero(o.tile.size.mod(period)));
  out.step = o.step / g;
  out.phase = (o.step * first + o.phase - low) / step;
  normalise(out);
  return clippedOrigin(std::move(out), 0, extent);
}

std::optional<int64_t> onlyBlock(const TileOrigin &o, int64_t w) {
  if (o.isNever())
    return 0;
  const int64_t block = floorOf(o.lowest(), w);
  return block == floorOf(o.highest(), w) ? std::optional(block) : std::nullopt;
}

std::optional<int64_t> onlyDigit(const TileOrigin &o, int64_t inner, int64_t extent) {
  if (o.mayBeEmpty)
    return std::nullopt;
  std::optional<int64_t> block = onlyBlock(o, inner);
  return block ? std::optional(*block % extent) : std::nullopt;
}

std::optional<TileOrigin> digitOrigin(const TileOrigin &o, int64_t inner, int64_t extent) {
  if (!o.isRegular || o.hasOwnTile || o.step != 1)
    return std::nullopt;
  TileOrigin out = o;
  out.isDirect = false;
  if (inner > 1) {
    if (o.base % inner != 0)
      return std::nullopt;
    // Parts of a block that meet its ends, or whole blocks, or one program that has all.
    const Expr size = o.tile.size;
    out.tile.size = size.ceilDiv(inner);
    Expr uneven = size.mod(inner) * size.context().constant(inner).mod(size);
    if (o.isForward && o.base <= o.lower)
      uneven = uneven * (-size + (o.upper - o.base)).max(0);
    else if (!o.isForward && o.base >= o.upper)
      uneven = uneven * (-size + (o.base - o.lower)).max(0);
    // Under the cut's condition a root's tile is always one of these.
    if (!o.isRooted())
      out.evenness = both(o.evenness, isZero(uneven));
    out.base = o.base / inner;
    out.lower = floorOf(o.lower, inner);
    out.upper = ceilOf(o.upper, inner);
    out.start = o.start.floorDiv(inner);
    out.end = o.isForward || o.isRooted() ? out.start + out.tile.size : o.end.ceilDiv(inner);
    if (!o.isForward)
      out.start = out.end - out.tile.size;
    out.extent = ceilOf(o.extent, inner);
  }
  if (extent != out.extent) {
    if (out.lower % extent != 0 || out.upper % extent != 0)
      return std::nullopt;
    const Expr from = out.lower <= out.base && out.isForward ? out.start : out.start.max(out.lower);
    out.tile.size = out.tile.size.min(extent);
    if (!o.isRooted())
      out.evenness = both(out.evenness, isZero(from.context().constant(extent).mod(out.tile.size)));
    out.start = from.mod(extent);
    out.end = out.start + out.tile.size;
    out.base = 0;
    out.lower = 0;
    out.upper = extent;
    out.extent = extent;
    out.isForward = true;
  }
  if (out.isForward && out.evenness)
    out.end = out.start + out.tile.size;
  makePlainTile(out);
  return out;
}

Formula cutCondition(const TileOrigin &o, int64_t w) {
  const Expr size = o.tile.size;
  ExprContext &ctx = size.context();
  const Formula single = Formula::lessEqual(size, ctx.constant(1));
  if (onlyBlock(o, w))
    return Formula::constant(true);
  if (!o.isRegular)
    return single;
  auto regular = [&](Formula f) {
    if (!o.evenness)
      return f;
    return Formula::any(
        {single, Formula::all({Formula::equal(o.evenness, ctx.constant(1)), std::move(f)})});
  };
  auto dividesConstant = [&](int64_t value) {
    return value == 0 ? Formula::constant(true)
                      : Formula::divides(size, ctx.constant(value < 0 ? -value : value));
  };
  const int64_t a = o.lower, b = o.upper, c = o.base;
  if (o.step >= w && o.step % w == 0)
    return Formula::constant(true);
  if (o.step >= w || w % o.step != 0) {
    // Each tile must lie in one block (of one element, where the step leaps over blocks): every
    // place between two elements of different blocks is a breakpoint.
    int64_t g = 0;
    for (int64_t x = a; g != 1;) {
      const int64_t block = floorOf(o.step * x + o.phase, w);
      x = std::max(x + 1, ceilOf((block + 1) * w - o.phase, o.step));
      if (x >= b)
        break;
      g = std::gcd(g, x - c);
    }
    return regular(dividesConstant(g));
  }
  const int64_t width = w / o.step;
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
  return regular(Formula::any(std::move(ways)));
}

DigitRun digitRun(const TileOrigin &o, int64_t inner, int64_t extent) {
  ExprContext &ctx = o.tile.size.context();
  const Expr size = o.tile.size;
  const bool isOutermost = inner * extent == o.extent;
  const int64_t step = digitStep(o, inner);
  const Expr one = ctx.constant(1);
  if (o.isNever())
    return {ctx.constant(0), ctx.constant(0), ctx.constant(-1), one, one};
  const bool isWhole = inner == 1 && isOutermost;
  if (!o.isRegular && !isWhole) { // cut at all, it has one element
    const TileDim &t = o.tile;
    TileOrigin plain;
    plain.extent = o.extent;
    const Digits d =
        digitsOf(plain, inner, extent, t.offset.max(t.lower), (t.offset + 1).min(t.upper));
    return {d.first, d.first, d.last, one, size};
  }
  if (!o.isRegular)
    return plainRun(o.tile, size);
  if (o.isRooted()) {
    Expr first = o.start.floorDiv(inner), most = size.ceilDiv(inner);
    if (!isOutermost)
      first = first.mod(extent);
    most = most.min(extent);
    return {first, first, (first + most - 1).min(extent - 1), one, most};
  }
  const bool startsInside = o.isForward && o.base >= o.lower;
  const bool endsInside = !o.isForward && o.base <= o.upper;
  const Digits d = digitsOf(o, inner, extent, startsInside ? o.start : o.start.max(o.lower),
                            endsInside ? o.end : o.end.min(o.upper));
  Expr most;
  for (const Clip &clip : clipsOf(o)) {
    const Digits mine = digitsOf(o, inner, extent, clip.from, clip.to);
    Expr count = (mine.last - mine.first).floorDiv(step) + 1;
    if (clip.exists)
      count = (count - 1) * clip.exists + 1;
    most = most ? most.max(count) : count;
    if (o.base == o.lower || o.base == o.upper)
      break; // the one with the whole size has the most
  }
  if (o.evenness) // else as many as the size, which may be rounded up
    most = most * o.evenness + size * (one - o.evenness);
  if (o.hasOwnTile && isWhole)
    return plainRun(o.tile, size);
  return {d.first, d.first, d.last, ctx.constant(step), most};
}

Formula isAlwaysFull(const TileOrigin &o, int64_t inner, int64_t extent) {
  ExprContext &ctx = o.tile.size.context();
  if (o.isNever())
    return Formula::constant(true);
  if (!o.isRegular)
    return Formula::constant(false);
  if (o.isRooted())
    return Formula::lessEqual(ctx.constant(extent), o.tile.size.ceilDiv(inner).min(extent));
  const int64_t step = digitStep(o, inner);
  if (extent % step != 0)
    return Formula::constant(false);
  std::vector<Formula> parts;
  if (o.evenness)
    parts.push_back(Formula::equal(o.evenness, ctx.constant(1)));
  for (const Clip &clip : clipsOf(o)) {
    const Digits mine = digitsOf(o, inner, extent, clip.from, clip.to);
    Formula isFull = Formula::lessEqual(ctx.constant(extent / step - 1),
                                        (mine.last - mine.first).floorDiv(step));
    if (clip.exists)
      isFull = Formula::any({Formula::equal(clip.exists, ctx.constant(0)), std::move(isFull)});
    parts.push_back(std::move(isFull));
  }
  return Formula::all(std::move(parts));
}

Expr occupancy(const TileOrigin &o) {
  if (o.isRegular && !o.hasOwnTile)
    return o.isNever() ? o.start.context().constant(0)
                       : (o.end.min(o.upper) - o.start.max(o.lower)).max(0).min(1);
  // Lanes of it that lie between the masks.
  const DigitRun run = plainRun(o.tile, o.tile.size);
  const Expr from = (o.tile.lower - run.offset).ceilDiv(run.step).max(0);
  const Expr to = (o.tile.upper - 1 - run.offset).floorDiv(run.step).min(o.tile.size - 1);
  return (to - from + 1).max(0).min(1);
}

} // namespace tilewright
