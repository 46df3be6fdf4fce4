// Joins the atoms of a dim into one origin, for ops that shift, clip or spread the dim.
#include "analysis/tiling/factored_tile.h"

#include <algorithm>

namespace tilewright {
namespace {

/// Merges neighbouring drifts where the finer one fills the gaps of the coarser one.
void joinDrifts(std::vector<TilePattern::Drift> &drifts) {
  for (size_t i = drifts.size(); i > 1; --i) {
    TilePattern::Drift &coarse = drifts[i - 2], &fine = drifts[i - 1];
    if (coarse.unit != fine.unit * fine.count)
      continue;
    coarse = {fine.unit, fine.count * coarse.count};
    drifts.erase(drifts.begin() + static_cast<std::ptrdiff_t>(i - 1));
  }
}

/// True if every CTA has all indices of a dim.
bool isWhole(const TilePattern &p, int64_t extent) {
  return p.step == 1 && p.phase == 0 && !p.drift && p.lower == 0 && p.upper == extent &&
         p.start.isConstant() && p.start.constant() <= 0 && p.end.isConstant() &&
         p.end.constant() >= extent;
}

} // namespace

TileOrigin TileFactory::plainOrigin(const FactoredDim &dim, int64_t extent, int dimIndex,
                                    const ConditionSink &conditions) {
  if (dim.empty())
    return rootOrigin(ctx, ctx.constant(0), ctx.constant(1), 1);
  if (dim.size() == 1) {
    const Atom &atom = dim.front();
    const TileOrigin &o = origins[atom.origin];
    if (atom.inner == 1 && atom.extent == o.extent)
      return o;
    requireCuts(atom, conditions);
    const DigitHull hull = digitHull(o, atom.inner, atom.extent);
    TileOrigin out;
    out.cases = digitCases(o, atom.inner, atom.extent);
    if (hull.low == hull.high) {
      out = constantOrigin(ctx, hull.low, extent);
    } else if (out.isRegular()) {
      out = regularOrigin(out.cases.front().pattern, extent);
    } else {
      out.extent = extent;
      out.lower = hull.low;
      out.upper = hull.high + 1;
      out.tile = atomTile(atom);
    }
    out.mayBeEmpty = o.mayBeEmpty;
    return out;
  }
  // A digit that is constant over all CTAs only shifts or spreads the others.
  const Atom &first = dim.front(), &last = dim.back();
  const int64_t inside = extent / first.extent, outside = extent / last.extent;
  if (std::optional<int64_t> index = onlyDigit(origins[first.origin], first.inner, first.extent))
    return shiftedOrigin(plainOrigin({dim.begin() + 1, dim.end()}, inside, dimIndex, conditions),
                         *index * inside, 1, extent);
  if (std::optional<int64_t> index = onlyDigit(origins[last.origin], last.inner, last.extent))
    return shiftedOrigin(plainOrigin({dim.begin(), dim.end() - 1}, outside, dimIndex, conditions),
                         *index, last.extent, extent);
  TileOrigin out;
  out.extent = extent;
  out.tile = plainDim(dim, extent, dimIndex, conditions);
  out.lower = out.upper = 0;
  int64_t weight = extent;
  for (const Atom &atom : dim) {
    const TileOrigin &o = origins[atom.origin];
    const DigitHull hull = digitHull(o, atom.inner, atom.extent);
    weight /= atom.extent;
    out.mayBeEmpty |= o.mayBeEmpty;
    out.lower += hull.low * weight;
    out.upper += hull.high * weight;
  }
  ++out.upper;
  out.cases = joinedCases(dim, extent);
  for (const Reordered &other : reordered(dim))
    for (TileCase &c : out.cases)
      c.when = c.when * (ctx.constant(1) - other.isHeld);
  return out;
}

/// One case for each atom that may be the innermost with several indices; the atoms inside it then
/// have one index each, which is the drift. Either it and all atoms up to the next one with several
/// indices are full, so that their tiles are tiles of one dim, or the atoms outside it have one
/// index each and drift as well.
std::vector<TileCase> TileFactory::joinedCases(const FactoredDim &dim, int64_t extent) const {
  constexpr size_t maxCases = 16;
  constexpr int64_t maxDrifts = 256;
  const Expr zero = ctx.constant(0), one = ctx.constant(1);
  const size_t n = dim.size();
  std::vector<DigitRun> runs;
  std::vector<DigitHull> hulls;
  std::vector<Expr> isUnit;
  std::vector<int64_t> weight(n, 1);
  for (const Atom &atom : dim) {
    const TileOrigin &o = origins[atom.origin];
    runs.push_back(digitRun(o, atom.inner, atom.extent));
    hulls.push_back(digitHull(o, atom.inner, atom.extent));
    isUnit.push_back(one - (runs.back().most - 1).min(1));
  }
  for (size_t k = n - 1; k > 0; --k)
    weight[k - 1] = weight[k] * dim[k].extent;
  auto casesOf = [&](size_t k) {
    return digitCases(origins[dim[k].origin], dim[k].inner, dim[k].extent);
  };
  const std::vector<TileCase> outermost = casesOf(0);

  std::vector<TileCase> out;
  /// The tiles of atom k, or of all atoms down to it, if those inside (and outside) it have one
  /// index.
  auto add = [&](TilePattern p, Expr when, size_t k, bool isOutsideToo) {
    const bool hasDrift = static_cast<bool>(p.drift);
    if (p.drifts.size() > 1 || (hasDrift && isOutsideToo))
      return;
    Expr drift = hasDrift ? p.drift * weight[k] : zero;
    std::vector<TilePattern::Drift> drifts;
    int64_t phase = 0;
    for (size_t i = 0; i < n; ++i) {
      if (i == k && hasDrift)
        drifts.push_back({p.drifts[0].unit * weight[k], p.drifts[0].count});
      if (i == k || (i < k && !isOutsideToo))
        continue;
      const auto [low, high] = hulls[i];
      when = when * isUnit[i];
      drift = drift + (runs[i].first - low) * weight[i];
      phase += low * weight[i];
      if (low < high)
        drifts.push_back({weight[i], high - low + 1});
    }
    joinDrifts(drifts);
    int64_t coarse = 1;
    for (size_t i = 0; i + 1 < drifts.size(); ++i)
      coarse = std::min(coarse, maxDrifts) * drifts[i].count;
    if (coarse > maxDrifts || when.isConstant(0))
      return;
    p = pattern::shifted(std::move(p), phase, weight[k]);
    if (!drifts.empty()) {
      p.clipLow = hasDrift ? p.clipLow - phase : 0;
      p.clipHigh = hasDrift ? p.clipHigh - phase + weight[k] - 1 : extent;
      p.drift = drift;
      p.drifts = std::move(drifts);
    }
    out.push_back({when, std::move(p)});
  };
  for (size_t k = n - 1; k > 0 && out.size() < maxCases; --k) {
    const Expr isActive = one - isUnit[k];
    Expr rest = isActive; // sizes that no case covers yet
    Expr isEven = one;
    for (size_t i = 1; i <= k; ++i)
      isEven = isEven * isEvenlyCovered(dim[i], runs[i].most);
    for (const TileCase &c : isEven.isConstant(0) ? std::vector<TileCase>{} : outermost) {
      TilePattern p = c.pattern;
      if (p.step != 1 || p.drift)
        continue;
      const int64_t within = weight[0] / weight[k]; // of the outermost atom
      Expr several = zero;
      p.start = p.start * within;
      for (size_t i = 1; i <= k; ++i) {
        p.start = p.start + runs[i].first * (weight[i] / weight[k]);
        p.size = p.size * runs[i].most;
        if (!origins[dim[0].origin].isRooted()) // may have several lanes, one of which is valid
          several = several + (c.pattern.size - 1) * (-runs[i].most + dim[i].extent);
      }
      p.end = p.start + p.size;
      p.base *= within;
      p.lower *= within;
      p.upper *= within;
      Expr when = isEven * (one - several.min(1));
      if (c.when)
        when = when * c.when;
      add(std::move(p), isActive * when, k, false);
      rest = rest * (one - when);
    }
    for (const TileCase &c : casesOf(k))
      if (out.size() < maxCases)
        add(c.pattern, c.when ? rest * c.when : rest, k, true);
  }
  if (out.size() < maxCases)
    for (const TileCase &c : outermost)
      add(c.pattern, c.when ? c.when : one, 0, false);
  return out;
}

Expr TileFactory::isEvenlyCovered(const Atom &atom, Expr most) const {
  const TileOrigin &o = origins[atom.origin];
  const Expr whole = ctx.constant(atom.extent), one = ctx.constant(1);
  const Expr divides = one - whole.mod(most).min(1);
  if (o.isRooted())
    return divides;
  if (o.isRegular()) {
    const TilePattern &p = o.cases.front().pattern;
    if (p.step != 1 || p.phase != 0 || p.upper - p.lower != o.extent)
      return ctx.constant(0);
    // Otherwise the first tile is clipped as well, unless it is the only one.
    const bool startsAtEnd = p.base == p.lower || p.base == p.upper;
    return startsAtEnd ? divides : one - (whole - most).min(1);
  }
  Expr isAll = ctx.constant(0);
  for (const TileCase &c : digitCases(o, atom.inner, atom.extent))
    if (isWhole(c.pattern, atom.extent))
      isAll = isAll + (c.when ? c.when : one);
  return isAll;
}

} // namespace tilewright
