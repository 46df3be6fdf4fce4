#include "analysis/tiling/tile_origin.h"

#include "analysis/tiling/tile_pattern_internal.h"

#include <algorithm>
#include <utility>

namespace tilewright {

using pattern::ceilOf;
using pattern::floorOf;

namespace {

/// The value of the case that holds, or `otherwise`.
class Choice {
public:
  explicit Choice(Expr otherwise) : otherwise(otherwise), value(otherwise) {}
  void add(Expr when, Expr of) {
    if (of != otherwise)
      value = value + when * (of - otherwise);
  }
  Expr get() const { return value; }

private:
  Expr otherwise, value;
};

DigitRun plainRun(const TileDim &t, Expr most) {
  const Expr end = t.offset + t.stride * (t.size - 1);
  const bool isForward = !t.stride.isConstant() || t.stride.constant() > 0;
  const Expr low = isForward ? t.offset : end, high = isForward ? end : t.offset;
  return {low, low.max(t.lower), high.min(t.upper - 1), isForward ? t.stride : -t.stride, most};
}

/// Drops the cases that hold for no size.
void dropImpossible(std::vector<TileCase> &cases) {
  std::erase_if(cases, [](const TileCase &c) { return c.when && c.when.isConstant(0); });
}

Digit digitOf(const TileOrigin &o, int64_t inner, int64_t extent) {
  return {inner, extent, inner * extent == o.extent};
}

Formula isOne(Expr e) { return Formula::equal(e, e.context().constant(1)); }

} // namespace

bool TileOrigin::isRooted() const {
  if (!isRegular())
    return false;
  const TilePattern &p = cases.front().pattern;
  return p.isForward && p.step == 1 && p.base == 0 && p.lower == 0 && p.upper == extent;
}

TileOrigin regularOrigin(TilePattern pattern, int64_t extent) {
  TileOrigin o;
  o.extent = extent;
  o.tile = pattern::plainTile(pattern, extent, false);
  o.lower = pattern.lowest();
  o.upper = pattern.isNever() ? o.lower : pattern.highest() + 1;
  o.cases.push_back({{}, std::move(pattern)});
  return o;
}

TileOrigin rootOrigin(ExprContext &, Expr index, Expr size, int64_t extent) {
  TileOrigin o = regularOrigin(rootPattern(index, size, extent), extent);
  o.isDirect = index.isVariable();
  o.mayBeEmpty = extent == 0;
  return o;
}

TileOrigin constantOrigin(ExprContext &ctx, int64_t index, int64_t extent) {
  TilePattern p = rootPattern(ctx.constant(index), ctx.constant(1), extent);
  p.base = p.lower = index;
  p.upper = index + 1;
  return regularOrigin(std::move(p), extent);
}

TileOrigin shiftedOrigin(TileOrigin o, int64_t start, int64_t step, int64_t extent) {
  for (TileCase &c : o.cases)
    c.pattern = pattern::shifted(std::move(c.pattern), start, step);
  if (o.isRegular()) {
    TileOrigin out = regularOrigin(std::move(o.cases.front().pattern), extent);
    out.mayBeEmpty = o.mayBeEmpty;
    return out;
  }
  o.extent = extent;
  o.isDirect = false;
  TileDim &t = o.tile;
  t.offset = t.offset * step + start;
  t.stride = t.stride * step;
  t.lower = t.lower * step + start;
  t.upper = (t.upper - 1) * step + (start + 1);
  if (!o.isNever()) {
    o.upper = (o.upper - 1) * step + start + 1;
    o.lower = o.lower * step + start;
  }
  return o;
}

TileOrigin reversedOrigin(TileOrigin o) {
  for (TileCase &c : o.cases)
    c.pattern = pattern::reversed(std::move(c.pattern), o.extent);
  if (o.isRegular()) {
    TileOrigin out = regularOrigin(std::move(o.cases.front().pattern), o.extent);
    out.mayBeEmpty = o.mayBeEmpty;
    return out;
  }
  ExprContext &ctx = o.tile.size.context();
  const Expr last = ctx.constant(o.extent - 1), end = ctx.constant(o.extent);
  o.tile = {last - o.tile.offset, o.tile.size, -o.tile.stride, end - o.tile.upper,
            end - o.tile.lower};
  if (!o.tile.stride.isConstant()) { // such strides stay positive
    o.tile.offset = o.tile.offset + o.tile.stride * (o.tile.size - 1);
    o.tile.stride = -o.tile.stride;
  }
  o.isDirect = false;
  o.lower = o.extent - std::exchange(o.upper, o.extent - o.lower);
  return o;
}

TileOrigin clippedOrigin(TileOrigin o, int64_t low, int64_t extent) {
  const bool isCut = o.lower < low || o.upper > low + extent;
  for (TileCase &c : o.cases)
    c.pattern = pattern::clipped(std::move(c.pattern), low, extent);
  if (o.isRegular()) {
    TileOrigin out = regularOrigin(std::move(o.cases.front().pattern), extent);
    out.mayBeEmpty = o.mayBeEmpty || isCut;
    return out;
  }
  TileDim &t = o.tile;
  t.offset = t.offset - low;
  t.lower = (t.lower - low).max(0);
  t.upper = (t.upper - low).min(extent);
  o.isDirect = false;
  o.extent = extent;
  o.mayBeEmpty |= isCut;
  o.lower = std::max<int64_t>(0, o.lower - low);
  o.upper = std::min(extent, o.upper - low);
  return o;
}

SpreadOrigin spreadOrigin(const TileOrigin &o, int64_t low, int64_t step, int64_t extent) {
  ExprContext &ctx = o.tile.size.context();
  TileOrigin out;
  out.extent = extent;
  out.mayBeEmpty = true;
  out.lower = std::max<int64_t>(0, ceilOf(o.lower - low, step));
  out.upper = std::min(extent, ceilOf(o.upper - low, step));
  if (o.isRegular()) {
    pattern::Spread part = pattern::spread(o.cases.front().pattern, low, step, extent);
    if (!part.regular.front().when)
      out = regularOrigin(part.regular.front().pattern, extent);
    else
      for (pattern::Conditional &c : part.regular)
        out.cases.push_back({c.when, std::move(c.pattern)});
    out.mayBeEmpty = true;
    out.tile = std::move(part.tile);
    return {std::move(out), Formula::constant(true)};
  }
  // A tile outside all cases has stride 1, or one lane.
  TileDim t = o.tile;
  std::vector<Formula> known{t.stride.isConstant(1) ? Formula::constant(true)
                                                    : Formula::lessEqual(t.size, ctx.constant(1))};
  auto up = [&](Expr e) { return (e - low).ceilDiv(step); };
  const Expr end = t.offset + t.size;
  TileDim plain{up(t.offset), t.size.ceilDiv(step), ctx.constant(1), up(t.lower).max(0),
                up(t.upper).min(up(end)).min(extent)};
  Choice offset(plain.offset), size(plain.size), stride(plain.stride), lower(plain.lower),
      upper(plain.upper);
  for (const TileCase &c : o.cases) {
    pattern::Spread part = pattern::spread(c.pattern, low, step, extent);
    known.push_back(isOne(c.when));
    const TileDim &there = part.tile;
    const bool isForward = there.stride.constant() > 0; // such strides stay positive
    offset.add(c.when, isForward ? there.offset : there.offset + there.stride * (there.size - 1));
    stride.add(c.when, isForward ? there.stride : -there.stride);
    size.add(c.when, there.size);
    lower.add(c.when, there.lower);
    upper.add(c.when, there.upper);
    for (pattern::Conditional &mine : part.regular)
      out.cases.push_back({mine.when ? c.when * mine.when : c.when, std::move(mine.pattern)});
  }
  dropImpossible(out.cases);
  out.tile = {offset.get(), size.get(), stride.get(), lower.get(), upper.get()};
  if (o.mayBeEmpty && !o.cases.empty())
    out.tile.upper = out.tile.lower + (out.tile.upper - out.tile.lower) * occupancy(o);
  return {std::move(out), Formula::any(std::move(known))};
}

std::optional<int64_t> onlyBlock(const TileOrigin &o, int64_t w) {
  if (o.isNever())
    return 0;
  const int64_t block = floorOf(o.lower, w);
  return block == floorOf(o.upper - 1, w) ? std::optional(block) : std::nullopt;
}

DigitHull digitHull(const TileOrigin &o, int64_t inner, int64_t extent) {
  if (o.isNever())
    return {0, 0};
  const int64_t low = floorOf(o.lower, inner), high = floorOf(o.upper - 1, inner);
  if (floorOf(low, extent) != floorOf(high, extent))
    return {0, extent - 1};
  return {low % extent, high % extent};
}

std::optional<int64_t> onlyDigit(const TileOrigin &o, int64_t inner, int64_t extent) {
  if (o.mayBeEmpty)
    return std::nullopt;
  std::optional<int64_t> block = onlyBlock(o, inner);
  return block ? std::optional(*block % extent) : std::nullopt;
}

std::vector<TileCase> digitCases(const TileOrigin &o, int64_t inner, int64_t extent) {
  std::vector<TileCase> out;
  for (const TileCase &c : o.cases)
    if (std::optional<pattern::Conditional> mine =
            pattern::digit(c.pattern, digitOf(o, inner, extent), o.isRooted())) {
      const Expr when = !c.when ? mine->when : !mine->when ? c.when : c.when * mine->when;
      out.push_back({when, std::move(mine->pattern)});
    }
  dropImpossible(out);
  return out;
}

Formula cutCondition(const TileOrigin &o, int64_t w) {
  if (onlyBlock(o, w))
    return Formula::constant(true);
  if (o.isRegular())
    return pattern::cutCondition(o.cases.front().pattern, w);
  std::vector<Formula> ways{Formula::lessEqual(o.tile.size, o.tile.size.context().constant(1))};
  for (const TileCase &c : o.cases)
    ways.push_back(Formula::all({isOne(c.when), pattern::cutCondition(c.pattern, w)}));
  return Formula::any(std::move(ways));
}

DigitRun digitRun(const TileOrigin &o, int64_t inner, int64_t extent) {
  ExprContext &ctx = o.tile.size.context();
  const Expr size = o.tile.size, one = ctx.constant(1);
  const Digit digit = digitOf(o, inner, extent);
  if (o.isNever())
    return {ctx.constant(0), ctx.constant(0), ctx.constant(-1), one, one};
  if (o.isRooted()) {
    Expr first = o.cases.front().pattern.start.floorDiv(inner), most = size.ceilDiv(inner);
    if (!digit.isOutermost)
      first = first.mod(extent);
    most = most.min(extent);
    return {first, first, (first + most - 1).min(extent - 1), one, most};
  }
  if (o.isRegular())
    return pattern::digitRun(o.cases.front().pattern, digit);
  DigitRun plain = plainRun(o.tile, size);
  if (!digit.isWhole()) { // if it is cut at all, a tile outside all cases has one element
    const TileDim &t = o.tile;
    const Expr block = t.offset.max(t.lower).min(t.upper - 1).floorDiv(inner);
    plain.offset = plain.first = digit.isOutermost ? block : block.mod(extent);
    plain.last = plain.first;
    plain.step = one;
  }
  Choice offset(plain.offset), first(plain.first), last(plain.last), step(plain.step),
      most(plain.most);
  for (const TileCase &c : o.cases) {
    const DigitRun mine = pattern::digitRun(c.pattern, digit);
    offset.add(c.when, mine.offset);
    first.add(c.when, mine.first);
    last.add(c.when, mine.last);
    step.add(c.when, mine.step);
    most.add(c.when, mine.most);
  }
  Expr end = last.get();
  if (o.mayBeEmpty && !(digit.isWhole() && o.cases.empty())) // which the tile expresses best
    end = first.get() - 1 + (end - first.get() + 1) * occupancy(o);
  return {offset.get(), first.get(), end, step.get(), most.get()};
}

Formula isAlwaysFull(const TileOrigin &o, int64_t inner, int64_t extent) {
  if (o.isNever())
    return Formula::constant(true);
  ExprContext &ctx = o.tile.size.context();
  const Digit digit = digitOf(o, inner, extent);
  if (o.isRooted())
    return Formula::lessEqual(ctx.constant(extent), o.tile.size.ceilDiv(inner).min(extent));
  if (o.isRegular())
    return pattern::isAlwaysFull(o.cases.front().pattern, digit);
  std::vector<Formula> ways;
  for (const TileCase &c : o.cases)
    ways.push_back(Formula::all({isOne(c.when), pattern::isAlwaysFull(c.pattern, digit)}));
  return Formula::any(std::move(ways));
}

Expr occupancy(const TileOrigin &o) {
  if (o.isRegular())
    return pattern::occupancy(o.cases.front().pattern);
  // Lanes of it that lie between the masks.
  const DigitRun run = plainRun(o.tile, o.tile.size);
  const Expr from = (o.tile.lower - run.offset).ceilDiv(run.step).max(0);
  const Expr to = (o.tile.upper - 1 - run.offset).floorDiv(run.step).min(o.tile.size - 1);
  return (to - from + 1).max(0).min(1);
}

} // namespace tilewright
