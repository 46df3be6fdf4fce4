#include "analysis/tiling/factored_tile.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace tilewright {

void FactoredTile::addGuard(unsigned origin) {
  auto it = std::lower_bound(guards.begin(), guards.end(), origin);
  if (it == guards.end() || *it != origin)
    guards.insert(it, origin);
}

FactoredDim mergeAtoms(FactoredDim dim) {
  FactoredDim out;
  for (const Atom &atom : dim) {
    bool continues = !out.empty() && out.back().origin == atom.origin &&
                     out.back().inner == atom.inner * atom.extent;
    if (continues)
      out.back() = {atom.origin, atom.inner, out.back().extent * atom.extent};
    else
      out.push_back(atom);
  }
  return out;
}

unsigned TileFactory::intern(TileOrigin o) {
  const TileDim &t = o.tile;
  auto id = [](Expr e) { return e ? int64_t(e.id()) : -1; };
  std::vector<int64_t> key{o.extent,    id(t.offset), id(t.size), id(t.stride), id(t.lower),
                           id(t.upper), o.isDirect,   o.lower,    o.upper,      o.mayBeEmpty};
  for (const auto &[when, p] : o.cases) {
    key.insert(key.end(), {id(when), id(p.start), id(p.end), id(p.size), p.isForward, p.step,
                           p.phase, p.base, p.lower, p.upper, id(p.drift), p.clipLow, p.clipHigh});
    for (const TilePattern::Drift &d : p.drifts)
      key.insert(key.end(), {d.unit, d.count});
  }
  auto [it, isNew] = numbers.emplace(std::move(key), static_cast<unsigned>(origins.size()));
  if (isNew)
    origins.push_back(std::move(o));
  return it->second;
}

FactoredDim TileFactory::ofOrigin(TileOrigin origin, FactoredTile &guards) {
  const int64_t extent = origin.extent;
  const bool isGuard = extent == 1 && origin.mayBeEmpty;
  if (extent == 1 && !isGuard)
    return {};
  const unsigned number = intern(std::move(origin));
  if (isGuard) {
    guards.addGuard(number);
    return {};
  }
  return {{number, 1, extent}};
}

FactoredDim TileFactory::rootDim(Expr index, Expr size, int64_t extent) {
  if (extent == 1)
    return {};
  return {{intern(rootOrigin(ctx, index, size, extent)), 1, extent}};
}

FactoredDim TileFactory::wholeDim(int64_t extent) {
  return rootDim(ctx.constant(0), ctx.constant(std::max<int64_t>(extent, 1)), extent);
}

FactoredDim TileFactory::constantDim(int64_t index, int64_t extent) {
  if (extent == 1)
    return {};
  return {{intern(constantOrigin(ctx, index, extent)), 1, extent}};
}

FactoredDim TileFactory::opaqueDim(TileDim tile, int64_t extent, bool mayBeEmpty,
                                   FactoredTile &guards, std::vector<TileCase> cases) {
  TileOrigin origin;
  origin.extent = origin.upper = extent;
  origin.tile = std::move(tile);
  origin.cases = std::move(cases);
  origin.mayBeEmpty = mayBeEmpty;
  return ofOrigin(std::move(origin), guards);
}

TileDim TileFactory::atomTile(const Atom &atom) {
  const TileOrigin &o = origins[atom.origin];
  if (atom.inner == 1 && atom.extent == o.extent)
    return o.tile;
  const DigitRun run = digitRun(o, atom.inner, atom.extent);
  const bool isOutermost = atom.inner * atom.extent == o.extent;
  TileDim digit{run.offset, o.tile.size.ceilDiv(atom.inner), run.step, ctx.constant(0),
                run.last + 1};
  if (!o.isRegular())
    digit.size = run.most;
  else if (const int64_t step = o.cases.front().pattern.step; step > 1)
    digit.size = (o.tile.size * step).ceilDiv(std::max(atom.inner, step));
  if (!isOutermost || !o.isRooted())
    digit.size = digit.size.min(atom.extent);
  if (o.isRooted())
    digit.upper = ctx.constant(atom.extent);
  return digit;
}

TileDim TileFactory::productDim(const FactoredDim &dim, int64_t extent, int dimIndex,
                                const ConditionSink &conditions) {
  const Expr zero = ctx.constant(0), one = ctx.constant(1);
  if (dim.empty())
    return {zero, one, one, zero, one};
  for (size_t k = dim.size(); k > 0; --k)
    requireCuts(dim[k - 1], conditions);
  if (dim.size() == 1)
    return atomTile(dim.front());

  const size_t n = dim.size();
  std::vector<DigitRun> runs;
  std::vector<int64_t> weight(n, 1);
  std::string product;
  for (size_t k = 0; k < n; ++k) {
    runs.push_back(digitRun(origins[dim[k].origin], dim[k].inner, dim[k].extent));
    product += fmt::format("{}{}", k ? " x " : "", dim[k].extent);
  }
  for (size_t k = n - 1; k > 0; --k)
    weight[k - 1] = weight[k] * dim[k].extent;

  // Sums of sizes: an atom outside k has several indices iff the sum of the k sizes is over k.
  std::vector<Expr> outside{zero}, inside(n + 1, zero);
  for (size_t k = 0; k < n; ++k)
    outside.push_back(outside.back() + runs[k].most);
  for (size_t k = n; k > 0; --k)
    inside[k - 1] = inside[k] + runs[k - 1].most;
  auto allUnit = [&](Expr sum, size_t count) {
    return Formula::lessEqual(sum, ctx.constant(static_cast<int64_t>(count)));
  };
  for (size_t k = 0; k < n; ++k) {
    const Formula outerUnit = allUnit(outside[k], k), innerUnit = allUnit(inside[k], n - k);
    if (k > 0) {
      std::string text =
          n == 2 ? fmt::format("tile {{0}} must cover all {}, unless it or the tile {{1}} of {} "
                               "around it is 1, because {} is joined from {}",
                               dim[k].extent, dim[0].extent, extent, product)
                 : fmt::format("tile {{0}} must cover all {}, unless the tile is 1 in all dims "
                               "outside it or from it inwards, because {} is joined from {}",
                               dim[k].extent, extent, product);
      std::vector<Expr> args{runs[k].most};
      if (n == 2)
        args.push_back(runs[0].most);
      conditions({Formula::any({outerUnit, innerUnit,
                                isAlwaysFull(origins[dim[k].origin], dim[k].inner, dim[k].extent)}),
                  dimIndex, "reshape-join", std::move(text), std::move(args)});
    }
    if (!runs[k].step.isConstant(1) && k + 1 < n)
      conditions({Formula::any({allUnit(runs[k].most, 1), allUnit(inside[k + 1], n - k - 1),
                                Formula::equal(runs[k].step, one)}),
                  dimIndex,
                  "reshape-join-strided",
                  fmt::format("tile {{0}} with stride {} must be 1, or the tile inside it, because "
                              "{} is joined from {}",
                              runs[k].step.str(), extent, product),
                  {runs[k].most}});
  }

  TileDim out{zero, one, ctx.constant(weight[0]), zero, zero};
  Expr occupied;
  bool allRooted = true;
  for (size_t k = 0; k < n; ++k) {
    const DigitRun &run = runs[k];
    const TileOrigin &o = origins[dim[k].origin];
    allRooted &= o.isRooted();
    out.offset = out.offset + run.offset * weight[k];
    out.size = out.size * run.most;
    // The stride is that of the innermost atom with several indices.
    const Expr isActive = (run.most - 1).min(1), stride = run.step * weight[k];
    out.stride = k == 0 ? stride : isActive * stride + (one - isActive) * out.stride;
    out.lower = out.lower + run.first * weight[k];
    out.upper = out.upper + run.last * weight[k];
    // A CTA without an index in the outermost atom has no index in the sum either.
    if (k > 0 && o.mayBeEmpty)
      occupied = occupied ? occupied * occupancy(o) : occupancy(o);
  }
  out.upper = out.upper + 1;
  if (occupied)
    out.upper = out.lower + (out.upper - out.lower) * occupied;
  if (allRooted)
    out.lower = zero;
  return out;
}

Tile TileFactory::plainTile(const FactoredTile &tile, std::span<const int64_t> extents,
                            const ConditionSink &conditions) {
  Tile out;
  const ConditionSink ignore = [](const TileCondition &) {};
  const ConditionSink &sink = isNever(tile) ? ignore : conditions;
  out.dims.resize(tile.dims.size());
  for (size_t i = tile.dims.size(); i > 0; --i) // cuts into small parts are the most informative
    out.dims[i - 1] = plainDim(tile.dims[i - 1], extents[i - 1], static_cast<int>(i - 1), sink);
  // A guard becomes the mask of one dim, preferably of extent 1.
  if (out.dims.empty())
    return out;
  size_t at = 0;
  for (size_t i = out.dims.size(); i > 0; --i)
    if (extents[i - 1] == 1)
      at = i - 1;
  TileDim &said = out.dims[at];
  for (unsigned guard : tile.guards)
    said.upper = said.lower + (said.upper - said.lower) * occupancy(origins[guard]);
  return out;
}

bool TileFactory::isNever(const FactoredTile &tile) const {
  auto isNone = [&](unsigned origin) { return origins[origin].isNever(); };
  for (const FactoredDim &dim : tile.dims)
    for (const Atom &atom : dim)
      if (isNone(atom.origin))
        return true;
  return std::any_of(tile.guards.begin(), tile.guards.end(), isNone);
}

TileFactory::Halves TileFactory::splitFor(const FactoredDim &dim,
                                          std::initializer_list<int64_t> numbers) const {
  Halves out{dim, {}, 1};
  int64_t weight = 1;
  for (size_t k = dim.size(); k > 0; --k) {
    weight *= dim[k - 1].extent;
    if (!std::all_of(numbers.begin(), numbers.end(), [&](int64_t n) { return n % weight == 0; }))
      continue;
    const auto at = dim.begin() + static_cast<std::ptrdiff_t>(k - 1);
    out = {{dim.begin(), at}, {at, dim.end()}, weight};
  }
  return out;
}

FactoredDim TileFactory::shift(const FactoredDim &dim, int64_t from, int64_t to, int64_t start,
                               int64_t step, int dimIndex, const ConditionSink &conditions) {
  FactoredTile none;
  if (step > 1 && to % step == 0) { // a digit of its own for the position within a step
    FactoredDim out = shift(dim, from, to / step, start / step, 1, dimIndex, conditions);
    FactoredDim within = constantDim(start % step, step);
    out.insert(out.end(), within.begin(), within.end());
    return out;
  }
  if (step > 1)
    return ofOrigin(shiftedOrigin(plainOrigin(dim, from, dimIndex, conditions), start, step, to),
                    none);
  Halves halves = splitFor(dim, {start, to});
  const int64_t w = halves.weight;
  FactoredDim out =
      halves.outer.empty()
          ? constantDim(start / w, to / w)
          : ofOrigin(shiftedOrigin(plainOrigin(halves.outer, from / w, dimIndex, conditions),
                                   start / w, 1, to / w),
                     none);
  out.insert(out.end(), halves.inner.begin(), halves.inner.end());
  return out;
}

FactoredDim TileFactory::reverse(const FactoredDim &dim) {
  FactoredDim out = dim;
  for (Atom &atom : out) {
    const unsigned before = atom.origin;
    atom.origin = intern(reversedOrigin(origins[before]));
    copyCuts({before, atom.inner, atom.extent}, atom.origin);
  }
  return out;
}

FactoredDim TileFactory::clip(const FactoredDim &dim, int64_t from, int64_t low, int64_t to,
                              int dimIndex, const ConditionSink &conditions, FactoredTile &guards) {
  Halves halves = splitFor(dim, {low, to});
  const int64_t w = halves.weight;
  FactoredDim out = ofOrigin(
      clippedOrigin(plainOrigin(halves.outer, from / w, dimIndex, conditions), low / w, to / w),
      guards);
  out.insert(out.end(), halves.inner.begin(), halves.inner.end());
  return out;
}

void TileFactory::copyCuts(const Atom &atom, unsigned to) {
  for (int64_t weight : {atom.inner, atom.inner * atom.extent})
    if (auto it = cutConditions.find({atom.origin, weight}); it != cutConditions.end())
      cutConditions.try_emplace({to, weight}, it->second);
}

FactoredTile TileFactory::within(FactoredTile tile, size_t dim, int64_t low, int64_t count) {
  if (tile.dims[dim].size() != 1)
    return tile;
  const Atom digit = tile.dims[dim].front();
  const TileOrigin o = origins[digit.origin];
  const bool isCut = low > 0 || low + count < digit.extent;
  if (digit.inner == 1 || digit.inner * digit.extent != o.extent || !isCut)
    return tile;
  const int64_t first = low * digit.inner, extent = count * digit.inner;
  TileOrigin part = shiftedOrigin(clippedOrigin(o, first, extent), first, 1, o.extent);
  const unsigned number = intern(std::move(part));
  for (FactoredDim &other : tile.dims)
    for (Atom &atom : other)
      if (atom.origin == digit.origin && atom != digit) {
        copyCuts(atom, number);
        atom.origin = number;
      }
  return tile;
}

void TileFactory::drop(const FactoredDim &dim, FactoredTile &guards) {
  for (const Atom &atom : dim)
    if (origins[atom.origin].mayBeEmpty && origins[atom.origin].extent > 0)
      guards.addGuard(atom.origin);
}

} // namespace tilewright
