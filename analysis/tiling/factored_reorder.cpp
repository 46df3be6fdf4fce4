// Digits of one origin that meet again in another order.
//
// A tile {1, 2} of [4], split into 2 x 2 and transposed, has the digits (0, 1) and (1, 0): neither
// cut nor join is exact, and yet the two are neighbours again, {2, 1}. If all other atoms of a dim
// have one index, a CTA's indices in the dim are the image f(y) of its indices y of the origin. The
// image is a tile iff f makes the same step D between all neighbours: every place with another step
// must be a breakpoint of the pattern. That is size | g_D, with g_D the greatest common divisor of
// the distances of those places from the pattern's base.
//
// If D is not 0, digits used in other dims must not change; if D is 0, the dim has one index and
// they may. Digits inside all of the dim's can be cut off instead. Cuts and joins cover the steps
// that change a single digit; here D runs over those that carry from digit to digit.
#include "analysis/support/checked.h"
#include "analysis/tiling/factored_tile.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>

namespace tilewright {
namespace {

/// Bound on the indices that are enumerated, over all drifts together.
constexpr int64_t maxPlaces = 4096;
constexpr size_t maxSteps = 8;

/// A digit of y with its weight in the dim, 0 for what other dims use.
struct Part {
  int64_t inner, extent, weight;
};

/// All digits of an origin, innermost first; empty if the dim has them all in order, or none that
/// can be reordered.
std::vector<Part> partsOf(std::vector<Part> used, int64_t extent) {
  std::sort(used.begin(), used.end(),
            [](const Part &a, const Part &b) { return a.inner < b.inner; });
  std::vector<Part> out;
  int64_t at = 1;
  for (const Part &part : used) {
    if (at < part.inner)
      out.push_back({at, part.inner / at, 0});
    out.push_back(part);
    at = part.inner * part.extent;
  }
  if (at < extent)
    out.push_back({at, extent / at, 0});
  return out;
}

Expr imageOf(const std::vector<Part> &parts, Expr y) {
  Expr sum = y.context().constant(0);
  for (const Part &part : parts)
    if (part.weight > 0)
      sum = sum + y.floorDiv(part.inner).mod(part.extent) * part.weight;
  return sum;
}

/// A step of f from y to y + step.
struct Step {
  int64_t size = 0;
  bool doesCarry = false;     ///< changes more than one digit
  bool changesOthers = false; ///< changes a digit that another dim uses
  bool is(int64_t wanted) const { return size == wanted && !(wanted != 0 && changesOthers); }
};

Step stepAt(const std::vector<Part> &parts, int64_t y, int64_t step) {
  Step out;
  unsigned changed = 0;
  for (const Part &part : parts) {
    const int64_t digit = y / part.inner % part.extent,
                  next = (y + step) / part.inner % part.extent;
    out.size += (next - digit) * part.weight;
    out.changesOthers |= next != digit && part.weight == 0;
    changed += next != digit;
  }
  out.doesCarry = changed > 1;
  return out;
}

/// Candidate steps common to all CTAs, each with the number that the size must divide.
std::map<int64_t, int64_t> commonSteps(const std::vector<Part> &parts, const TilePattern &pattern) {
  std::map<int64_t, int64_t> out;
  const std::vector<TilePattern> all = pattern::instances(pattern, maxPlaces);
  int64_t places = all.empty() ? maxPlaces + 1 : 0;
  for (const TilePattern &p : all)
    places += p.upper - p.lower;
  if (places > maxPlaces)
    return out;
  auto at = [&](const TilePattern &p, int64_t x) {
    return stepAt(parts, p.step * x + p.phase, p.step);
  };
  // If the step next to the base stays within a digit, only size 1 avoids it.
  for (const TilePattern &p : all)
    for (int64_t x : {p.base, p.base - 2})
      if (p.step == 1 && x >= p.lower && x + 1 < p.upper && !at(p, x).doesCarry)
        return out;
  for (const TilePattern &p : all)
    for (int64_t x = p.lower; x + 1 < p.upper && out.size() <= maxSteps; ++x)
      if (const Step step = at(p, x); step.doesCarry && step.is(step.size))
        out.emplace(step.size, 0);
  if (out.size() > maxSteps)
    return {};
  for (auto &[wanted, g] : out)
    for (const TilePattern &p : all)
      for (int64_t x = p.lower; x + 1 < p.upper && g != 1; ++x)
        if (!at(p, x).is(wanted))
          g = std::gcd(g, x + 1 - p.base);
  std::erase_if(out, [](const auto &step) { return step.second == 1; });
  return out;
}

} // namespace

void TileFactory::reorderedOf(unsigned origin, const FactoredDim &dim,
                              std::vector<Reordered> &out) const {
  const TileOrigin &o = origins[origin];
  std::vector<Part> parts;
  int64_t weight = 1;
  for (size_t k = dim.size(); k > 0; weight *= dim[--k].extent)
    if (const Atom &atom = dim[k - 1]; atom.origin == origin)
      parts.push_back({atom.inner, atom.extent, weight});
  const int64_t innermost = parts.front().weight;
  /// In terms of y, or of y floordiv `base` where the origin may be cut there.
  struct Found {
    TileCase of;
    int64_t base;
    std::vector<Part> parts;
    std::map<int64_t, int64_t> steps;
  };
  std::vector<Found> found;
  const int64_t lowest =
      std::min_element(parts.begin(), parts.end(), [](const Part &a, const Part &b) {
        return a.inner < b.inner;
      })->inner;
  auto find = [&](int64_t base, const std::vector<TileCase> &cases) {
    std::vector<Part> digits = parts;
    for (Part &part : digits)
      part.inner /= base;
    digits = partsOf(std::move(digits), o.extent / base);
    if (digits.size() < 2)
      return;
    for (const TileCase &c : cases) {
      if (c.pattern.isNever())
        continue;
      std::map<int64_t, int64_t> steps = commonSteps(digits, c.pattern);
      if (base > 1)
        steps.erase(0); // a single digit, whatever lies inside it
      if (!steps.empty())
        found.push_back({c, base, digits, std::move(steps)});
    }
  };
  find(1, o.cases);
  if (lowest > 1)
    find(lowest, digitCases(o, lowest, o.extent / lowest));
  if (found.empty())
    return;

  // The other atoms have one index each, or are full if they lie inside all of the origin's digits.
  const Expr zero = ctx.constant(0), one = ctx.constant(1);
  std::vector<Formula> areUnit, areInside;
  Expr isUnit = one, isInside = one, rest = zero, occupied;
  weight = 1;
  for (size_t k = dim.size(); k > 0; weight *= dim[--k].extent) {
    const Atom &atom = dim[k - 1];
    const TileOrigin &mine = origins[atom.origin];
    if (mine.mayBeEmpty)
      occupied = occupied ? occupied * occupancy(mine) : occupancy(mine);
    if (atom.origin == origin)
      continue;
    const DigitRun run = digitRun(mine, atom.inner, atom.extent);
    rest = rest + run.first * weight;
    areUnit.push_back(Formula::lessEqual(run.most, one));
    const Expr isOne = one - (run.most - 1).min(1);
    isUnit = isUnit * isOne;
    areInside.push_back(weight < innermost ? isAlwaysFull(mine, atom.inner, atom.extent)
                                           : areUnit.back());
    isInside = isInside * (weight < innermost ? one - (-run.most + atom.extent).min(1) : isOne);
  }
  for (const auto &[c, base, digits, steps] : found) {
    const TilePattern &p = c.pattern;
    const DigitRun run = pattern::digitRun(p, {1, o.extent / base, true});
    const Expr first = imageOf(digits, run.first), last = imageOf(digits, run.last);
    const Expr low = first.min(last) + rest, high = first.max(last) + rest;
    Expr isMany = (run.most - 1).min(1);
    if (base > 1) // otherwise the statement is about y
      isMany = isMany * (digitRun(o, 1, base).most - 1).min(1);
    for (const auto &[step, g] : steps) {
      const Expr isStep = isMany * (one - ctx.constant(g).mod(p.size).min(1));
      Formula way = g == 0 ? Formula::constant(true) : Formula::divides(p.size, ctx.constant(g));
      if (base > 1)
        way = way && cutCondition(o, base);
      auto add = [&](std::vector<Formula> others, const Expr &areOthers, int64_t stride,
                     int64_t lanes) {
        others.push_back(way);
        if (c.when)
          others.push_back(Formula::equal(c.when, one));
        const Expr isHeld = (c.when ? isStep * c.when : isStep) * areOthers;
        TileDim tile{low, step == 0 ? one : p.size * lanes, ctx.constant(stride), low,
                     high + lanes};
        if (occupied)
          tile.upper = low + (tile.upper - low) * occupied;
        out.push_back({Formula::all(std::move(others)), isHeld, std::move(tile)});
      };
      add(areUnit, isUnit, step == 0 ? 1 : std::abs(step), 1);
      // A step skips over everything inside.
      if (std::abs(step) == innermost && innermost > 1)
        add(areInside, isInside * (one - isUnit), 1, innermost);
    }
  }
}

std::vector<TileFactory::Reordered> TileFactory::reordered(const FactoredDim &dim) const {
  std::vector<Reordered> out;
  std::vector<unsigned> known;
  for (const Atom &atom : dim)
    if (std::find(known.begin(), known.end(), atom.origin) == known.end()) {
      known.push_back(atom.origin);
      reorderedOf(atom.origin, dim, out);
    }
  return out;
}

TileDim TileFactory::plainDim(const FactoredDim &dim, int64_t extent, int dimIndex,
                              const ConditionSink &conditions) {
  const std::vector<Reordered> others = reordered(dim);
  if (others.empty())
    return productDim(dim, extent, dimIndex, conditions);
  std::vector<Formula> ways;
  for (const Reordered &other : others)
    ways.push_back(other.holds);
  const Formula holds = Formula::any(std::move(ways));
  const TileDim product = productDim(dim, extent, dimIndex, [&](TileCondition condition) {
    condition.formula = condition.formula || holds;
    conditions(std::move(condition));
  });
  TileDim out = product;
  for (const Reordered &other : others) {
    out.offset = out.offset + other.isHeld * (other.tile.offset - product.offset);
    out.size = out.size + other.isHeld * (other.tile.size - product.size);
    out.stride = out.stride + other.isHeld * (other.tile.stride - product.stride);
    out.lower = out.lower + other.isHeld * (other.tile.lower - product.lower);
    out.upper = out.upper + other.isHeld * (other.tile.upper - product.upper);
  }
  return out;
}

} // namespace tilewright
