// Dims joined of several atoms as one origin: what an op needs that shifts, clips or spreads them.
#include "analysis/tiling/factored_tile.h"

#include <algorithm>

namespace tilewright {

TileOrigin TileFactory::plainOrigin(const FactoredDim &dim, int64_t extent, int dimIndex,
                                    const ConditionSink &conditions) {
  if (dim.empty())
    return rootOrigin(ctx, ctx.constant(0), ctx.constant(1), 1);
  if (dim.size() == 1) {
    const Atom &atom = dim.front();
    const TileOrigin &o = origins[atom.origin];
    if (atom.inner == 1 && atom.extent == o.extent)
      return o;
    TileOrigin out;
    out.cases = digitCases(o, atom.inner, atom.extent);
    if (out.isRegular())
      out = regularOrigin(out.cases.front().pattern, extent);
    else {
      out.extent = out.upper = extent;
      out.tile = atomTile(atom);
    }
    out.mayBeEmpty = o.mayBeEmpty;
    return out;
  }
  // A digit that is the same for all programs only shifts or spreads the others.
  const Atom &first = dim.front(), &last = dim.back();
  const int64_t inside = extent / first.extent, outside = extent / last.extent;
  if (std::optional<int64_t> index = onlyDigit(origins[first.origin], first.inner, first.extent))
    return shiftedOrigin(plainOrigin({dim.begin() + 1, dim.end()}, inside, dimIndex, conditions),
                         *index * inside, 1, extent);
  if (std::optional<int64_t> index = onlyDigit(origins[last.origin], last.inner, last.extent))
    return shiftedOrigin(plainOrigin({dim.begin(), dim.end() - 1}, outside, dimIndex, conditions),
                         *index, last.extent, extent);
  TileOrigin out;
  out.extent = out.upper = extent;
  out.tile = plainDim(dim, extent, dimIndex, conditions);
  for (const Atom &atom : dim)
    out.mayBeEmpty |= origins[atom.origin].mayBeEmpty;
  out.cases = joinedCases(dim, extent);
  return out;
}

namespace {

/// Every program has all indices of a dim.
bool isWhole(const TilePattern &p, int64_t extent) {
  return p.step == 1 && p.phase == 0 && !p.drift && p.lower == 0 && p.upper == extent &&
         p.start.isConstant() && p.start.constant() <= 0 && p.end.isConstant() &&
         p.end.constant() >= extent;
}

} // namespace

/// One case for each atom that may be the innermost with several indices. Those inside it have one
/// each then, which is the drift. Where it is not the outermost, the atoms outside it have one
/// index, or it and all between are full, so that the tiles of all of them are those of one dim.
/// Where its tiles don't cover the dim, those outside it have to have one index and drift as well.
std::vector<TileCase> TileFactory::joinedCases(const FactoredDim &dim, int64_t extent) const {
  constexpr size_t mostCases = 16;
  constexpr int64_t mostDrifts = 256;
  const Expr zero = ctx.constant(0), one = ctx.constant(1);
  const size_t n = dim.size();
  std::vector<DigitRun> runs;
  std::vector<Expr> isUnit;
  std::vector<int64_t> weight(n, 1);
  for (const Atom &atom : dim) {
    runs.push_back(digitRun(origins[atom.origin], atom.inner, atom.extent));
    isUnit.push_back(one - (runs.back().most - 1).min(1));
  }
  for (size_t k = n - 1; k > 0; --k)
    weight[k - 1] = weight[k] * dim[k].extent;
  auto casesOf = [&](size_t k) {
    return digitCases(origins[dim[k].origin], dim[k].inner, dim[k].extent);
  };
  const std::vector<TileCase> outermost = casesOf(0);

  std::vector<TileCase> out;
  /// The tiles of atom k, or of all down to it, with one index of those inside (and outside) it.
  auto add = [&](TilePattern p, Expr when, size_t k, bool isOutsideToo) {
    Expr drift = p.drift ? p.drift * weight[k] : zero;
    std::vector<TilePattern::Drift> drifts;
    int64_t outside = 1;
    for (size_t i = 0; i < n; ++i) {
      if (i == k || (i < k && !isOutsideToo))
        continue;
      when = when * isUnit[i];
      drift = drift + runs[i].first * weight[i];
      if (i < k)
        drifts.push_back({weight[i], dim[i].extent});
      outside *= i < k ? dim[i].extent : 1;
    }
    if (outside > mostDrifts || p.drifts.size() > 1 || (p.drift && isOutsideToo) ||
        when.isConstant(0))
      return;
    const bool hasClips = static_cast<bool>(p.drift);
    p = pattern::shifted(std::move(p), 0, weight[k]);
    drifts.insert(drifts.end(), p.drifts.begin(), p.drifts.end());
    if (k + 1 < n)
      drifts.push_back({1, weight[k]});
    if (!drifts.empty()) {
      p.clipLow = hasClips ? p.clipLow : 0;
      p.clipHigh = hasClips ? p.clipHigh + weight[k] - 1 : extent;
      p.drift = drift;
      p.drifts = std::move(drifts);
    }
    out.push_back({when, std::move(p)});
  };
  for (size_t k = n - 1; k > 0 && out.size() < mostCases; --k) {
    const Expr isActive = one - isUnit[k];
    if (!coversDim(dim[k])) {
      for (const TileCase &c : casesOf(k)) {
        const Expr when = c.when ? isActive * c.when : isActive;
        if (k > 1 || !isWhole(c.pattern, dim[k].extent)) {
          add(c.pattern, when, k, true);
          continue;
        }
        // All of it, in the tiles of the outermost one.
        for (const TileCase &outer : outermost) {
          TilePattern p = outer.pattern;
          if (p.step != 1 || p.drift)
            continue;
          const int64_t within = dim[k].extent;
          p.start = p.start * within;
          p.size = p.size * within;
          p.end = p.start + p.size;
          p.base *= within;
          p.lower *= within;
          p.upper *= within;
          add(std::move(p), outer.when ? when * outer.when : when, k, false);
        }
      }
      continue;
    }
    for (const TileCase &c : outermost) {
      TilePattern p = c.pattern;
      if (p.step != 1 || p.drift)
        continue;
      const int64_t within = weight[0] / weight[k]; // of the outermost atom
      Expr uneven = zero;
      p.start = p.start * within;
      bool isEven = true;
      for (size_t i = 1; i <= k; ++i) {
        const Expr whole = ctx.constant(dim[i].extent), most = runs[i].most;
        isEven &= coversDim(dim[i]);
        p.start = p.start + runs[i].first * (weight[i] / weight[k]);
        p.size = p.size * most;
        uneven = uneven + whole.mod(most);
        if (!origins[dim[0].origin].isRooted()) // may have several lanes of which one is left
          uneven = uneven + (c.pattern.size - 1) * (whole - most);
      }
      if (!isEven)
        continue;
      p.end = p.start + p.size;
      p.base *= within;
      p.lower *= within;
      p.upper *= within;
      const Expr when = isActive * (one - uneven.min(1));
      add(std::move(p), c.when ? when * c.when : when, k, false);
    }
  }
  if (out.size() < mostCases)
    for (const TileCase &c : outermost)
      add(c.pattern, c.when ? c.when : one, 0, false);
  return out;
}

/// Tiles that together cover the digit, each index once, where the size divides the extent.
bool TileFactory::coversDim(const Atom &atom) const {
  const TileOrigin &o = origins[atom.origin];
  if (o.isRooted())
    return true;
  const TilePattern *p = o.isRegular() ? &o.cases.front().pattern : nullptr;
  return p && p->step == 1 && p->phase == 0 && p->upper - p->lower == o.extent &&
         (p->base == p->lower || p->base == p->upper);
}

} // namespace tilewright
