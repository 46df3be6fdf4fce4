#include "analysis/tiling/factored_tile.h"

#include <fmt/format.h>
#include <numeric>

namespace tilewright {

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

unsigned TileFactory::intern(TileOrigin origin) {
  const TileDim &t = origin.tile;
  std::vector<int64_t> key{origin.extent,   t.offset.id(),    t.size.id(),    t.stride.id(),
                           t.lower.id(),    t.upper.id(),     origin.aligned, origin.backwards,
                           origin.base,     origin.lower,     origin.upper,   origin.length,
                           origin.isDirect, origin.mayBeEmpty};
  auto [it, isNew] = numbers.emplace(std::move(key), static_cast<unsigned>(origins.size()));
  if (isNew)
    origins.push_back(std::move(origin));
  return it->second;
}

FactoredDim TileFactory::ofOrigin(TileOrigin origin) {
  int64_t extent = origin.extent;
  return {{intern(std::move(origin)), 1, extent}};
}

FactoredDim TileFactory::rootDim(Expr index, Expr size, int64_t extent) {
  if (extent == 1)
    return {};
  TileOrigin origin{extent,
                    {index * size, size, ctx.constant(1), ctx.constant(0), ctx.constant(extent)}};
  origin.aligned = true;
  origin.upper = origin.length = extent;
  origin.isDirect = index.isVariable();
  origin.mayBeEmpty = extent == 0;
  return ofOrigin(std::move(origin));
}

FactoredDim TileFactory::wholeDim(int64_t extent) {
  return rootDim(ctx.constant(0), ctx.constant(std::max<int64_t>(extent, 1)), extent);
}

FactoredDim TileFactory::opaqueDim(TileDim tile, int64_t extent, bool mayBeEmpty) {
  TileOrigin origin{extent, std::move(tile)};
  origin.mayBeEmpty = mayBeEmpty;
  return ofOrigin(std::move(origin));
}

TileDim TileFactory::atomTile(const Atom &atom) {
  const TileOrigin &o = origins[atom.origin];
  if (atom.inner == 1 && atom.extent == o.extent)
    return o.tile;
  const int64_t top = atom.inner * atom.extent;
  const bool isOutermost = top == o.extent;
  const Expr size = o.tile.size;
  const Expr lowest = o.backwards ? o.tile.offset - size + 1 : o.tile.offset;

  TileDim digit;
  digit.offset = lowest.floorDiv(atom.inner);
  digit.size = size.ceilDiv(atom.inner);
  if (!isOutermost)
    digit.offset = digit.offset.mod(atom.extent);
  if (!isOutermost || !o.isRooted())
    digit.size = isOutermost ? digit.size : digit.size.min(atom.extent);
  digit.stride = ctx.constant(1);
  if (o.isRooted()) {
    digit.lower = ctx.constant(0);
    digit.upper = ctx.constant(atom.extent);
  } else {
    // Masks count from the block of this digit that holds the first valid element; where the
    // tile has elements in several blocks, the boundary condition has put the masks on blocks.
    bool startsInside = o.aligned && !o.backwards && o.lower <= o.base;
    Expr first = startsInside ? lowest : lowest.max(o.tile.lower);
    Expr block = isOutermost ? ctx.constant(0) : first.floorDiv(top) * top;
    digit.lower = (o.tile.lower - block).floorDiv(atom.inner).max(0);
    digit.upper = (o.tile.upper - block).ceilDiv(atom.inner).min(atom.extent);
  }
  if (o.backwards) {
    digit.offset = digit.offset + digit.size - 1;
    digit.stride = ctx.constant(-1);
  }
  return digit;
}

Formula TileFactory::boundaryCondition(const TileOrigin &o, int64_t c) {
  const Expr size = o.tile.size, cut = ctx.constant(c);
  if (!o.aligned)
    return Formula::lessEqual(size, ctx.constant(1));
  if (o.isRooted())
    return Formula::any({Formula::divides(size, cut), Formula::divides(cut, size),
                         Formula::lessEqual(ctx.constant(o.extent), size)});
  // All in one block of c.
  const bool isWindow = !o.backwards && o.base == o.lower && o.upper == o.base + o.length;
  if (isWindow && o.length > 0 && o.lower / c == (o.upper - 1) / c)
    return Formula::constant(true);
  const int64_t ends = std::gcd(std::gcd(o.base, o.lower), o.upper);
  std::vector<Formula> ways{Formula::divides(size, ctx.constant(std::gcd(c, ends)))};
  if (ends % c == 0) {
    ways.push_back(Formula::divides(cut, size));
    const bool wholeReversed = o.backwards && o.lower == 0 && o.upper == o.extent &&
                               o.base == o.extent && o.length == o.extent;
    if (!o.backwards || wholeReversed)
      ways.push_back(Formula::lessEqual(ctx.constant(o.length), size));
  }
  return Formula::any(std::move(ways));
}

Formula TileFactory::isFull(const Atom &atom, const TileDim &tile) {
  const TileOrigin &o = origins[atom.origin];
  const bool isOutermost = atom.inner * atom.extent == o.extent;
  if (!o.aligned || o.backwards || (isOutermost && !o.isRooted()))
    return Formula::constant(false);
  return Formula::lessEqual(ctx.constant(atom.extent), tile.size);
}

TileDim TileFactory::plainDim(const FactoredDim &dim, int64_t extent, int dimIndex,
                              const ConditionSink &conditions) {
  const Expr zero = ctx.constant(0), one = ctx.constant(1);
  if (dim.empty())
    return {zero, one, one, zero, one};
  if (dim.size() == 1)
    return atomTile(dim.front());

  const size_t n = dim.size();
  std::vector<TileDim> tiles;
  std::vector<int64_t> weight(n, 1);
  std::string product;
  for (size_t k = 0; k < n; ++k) {
    tiles.push_back(atomTile(dim[k]));
    product += fmt::format("{}{}", k ? " x " : "", dim[k].extent);
  }
  for (size_t k = n - 1; k > 0; --k)
    weight[k - 1] = weight[k] * dim[k].extent;

  // Sums of sizes: an atom outside k is active iff the sum of the k sizes is over k.
  std::vector<Expr> outside{zero}, inside(n + 1, zero);
  for (size_t k = 0; k < n; ++k)
    outside.push_back(outside.back() + tiles[k].size);
  for (size_t k = n; k > 0; --k)
    inside[k - 1] = inside[k] + tiles[k - 1].size;
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
      std::vector<Expr> args{tiles[k].size};
      if (n == 2)
        args.push_back(tiles[0].size);
      conditions({Formula::any({outerUnit, innerUnit, isFull(dim[k], tiles[k])}), dimIndex,
                  "reshape-join", std::move(text), std::move(args)});
      if (origins[dim[k].origin].mayBeEmpty)
        conditions({outerUnit,
                    dimIndex,
                    "reshape-join-masked",
                    fmt::format("the tile outside the masked dim of {} must be 1, because {} is "
                                "joined from {}",
                                dim[k].extent, extent, product),
                    {}});
    }
    if (!tiles[k].stride.isConstant(1) && k + 1 < n)
      conditions({Formula::any({allUnit(tiles[k].size, 1), allUnit(inside[k + 1], n - k - 1)}),
                  dimIndex,
                  "reshape-join-strided",
                  fmt::format("tile {{0}} with stride {} must be 1, or the tile inside it, because "
                              "{} is joined from {}",
                              tiles[k].stride.str(), extent, product),
                  {tiles[k].size}});
  }

  TileDim out{zero, one, ctx.constant(weight[0]), zero, zero};
  bool allRooted = true;
  for (size_t k = 0; k < n; ++k) {
    const TileDim &t = tiles[k];
    allRooted &= origins[dim[k].origin].isRooted();
    out.offset = out.offset + t.offset * weight[k];
    out.size = out.size * t.size;
    // The stride is that of the innermost active atom.
    const Expr isActive = (t.size - 1).min(1), stride = t.stride * weight[k];
    out.stride = k == 0 ? stride : isActive * stride + (ctx.constant(1) - isActive) * out.stride;
    const Expr end = t.offset + t.stride * (t.size - 1);
    const bool runsForward = t.stride.isConstant() && t.stride.constant() > 0;
    const Expr lowest = runsForward ? t.offset : t.offset.min(end);
    const Expr highest = runsForward ? end : t.offset.max(end);
    out.lower = out.lower + lowest.max(t.lower) * weight[k];
    out.upper = out.upper + highest.min(t.upper - 1) * weight[k];
  }
  out.upper = out.upper + 1;
  if (allRooted)
    out.lower = zero;
  return out;
}

TileOrigin TileFactory::plainOrigin(const FactoredDim &dim, int64_t extent, int dimIndex,
                                    const ConditionSink &conditions) {
  if (dim.size() == 1 && dim[0].inner == 1 && dim[0].extent == origins[dim[0].origin].extent)
    return origins[dim[0].origin];
  if (dim.empty()) {
    const Expr zero = ctx.constant(0), one = ctx.constant(1);
    TileOrigin unit{1, {zero, one, one, zero, one}};
    unit.aligned = true;
    unit.upper = unit.length = 1;
    return unit;
  }
  TileOrigin out{extent, plainDim(dim, extent, dimIndex, conditions)};
  for (const Atom &atom : dim)
    out.mayBeEmpty |= origins[atom.origin].mayBeEmpty;
  return out;
}

Tile TileFactory::plainTile(const FactoredTile &tile, std::span<const int64_t> extents,
                            const ConditionSink &conditions) {
  Tile out;
  for (size_t i = 0; i < tile.dims.size(); ++i)
    out.dims.push_back(plainDim(tile.dims[i], extents[i], static_cast<int>(i), conditions));
  return out;
}

} // namespace tilewright
