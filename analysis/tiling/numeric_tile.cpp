#include "analysis/tiling/numeric_tile.h"

#include "analysis/affine/simplify.h"
#include "analysis/support/checked.h"

#include <algorithm>

namespace tilewright {

int64_t NumericDim::validCount() const {
  if (size <= 0 || lower >= upper)
    return 0;
  if (stride == 0)
    return lower <= offset && offset < upper;
  // Lanes in ascending order: a negative stride is walked from the other end.
  const int64_t step = stride < 0 ? -stride : stride;
  const int64_t start = stride < 0 ? index(size - 1) : offset;
  const int64_t first = std::max<int64_t>(0, checkedCeilDiv(lower - start, step).value_or(size));
  const int64_t last = std::min(size - 1, checkedFloorDiv(upper - 1 - start, step).value_or(-1));
  return std::max<int64_t>(0, last - first + 1);
}

std::optional<std::vector<NumericDim>> numericTile(const Tile &tile, const Assignment &point) {
  std::vector<NumericDim> out;
  for (const TileDim &dim : tile.dims) {
    std::optional<int64_t> offset = evaluate(dim.offset, point), size = evaluate(dim.size, point),
                           stride = evaluate(dim.stride, point), lower = evaluate(dim.lower, point),
                           upper = evaluate(dim.upper, point);
    if (!offset || !size || !stride || !lower || !upper)
      return std::nullopt;
    out.push_back({*offset, *size, *stride, *lower, *upper});
  }
  return out;
}

std::optional<int64_t> validCount(std::span<const NumericDim> tile) {
  std::optional<int64_t> count = 1;
  for (const NumericDim &dim : tile) {
    if (dim.validCount() == 0)
      return 0;
    if (count)
      count = checkedMul(*count, dim.validCount());
  }
  return count;
}

std::vector<int64_t> elementsOf(std::span<const NumericDim> tile,
                                std::span<const int64_t> extents) {
  std::vector<int64_t> out{0};
  for (size_t i = 0; i < tile.size(); ++i) {
    std::vector<int64_t> next;
    for (int64_t outer : out)
      for (int64_t lane = 0; lane < tile[i].size; ++lane)
        if (tile[i].isValid(lane))
          next.push_back(outer * extents[i] + tile[i].index(lane));
    out = std::move(next);
  }
  return out;
}

std::vector<int64_t> tileCounts(const TileSpace &space, std::span<const int64_t> values) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < space.parameters.size(); ++i) {
    const TileParameter &p = space.parameters[i];
    bool isDim = p.role != TileParameter::Role::Schedule;
    out.push_back(isDim && i < values.size() && values[i] > 0 ? ceilDiv(p.extent, values[i]) : 1);
  }
  return out;
}

std::optional<int64_t> ctaCount(const TileSpace &space, std::span<const int64_t> values) {
  std::vector<int64_t> counts = tileCounts(space, values);
  std::optional<int64_t> total = 1;
  for (size_t i = 0; i < counts.size() && total; ++i)
    if (space.parameters[i].role == TileParameter::Role::Parallel)
      total = checkedMul(*total, counts[i]);
  return total;
}

void setCta(const TileSpace &space, std::span<const int64_t> values, int64_t number, bool withSteps,
            Assignment &point) {
  std::vector<int64_t> counts = tileCounts(space, values);
  for (size_t i = space.parameters.size(); i > 0; --i) {
    const TileParameter &p = space.parameters[i - 1];
    bool isCounted = p.role == TileParameter::Role::Parallel ||
                     (withSteps && p.role == TileParameter::Role::Sequential);
    if (!isCounted)
      continue;
    const int64_t count = std::max<int64_t>(1, counts[i - 1]);
    point.set(p.index, number % count);
    number /= count;
  }
}

std::optional<bool> isFeasible(const TiledGroup &group, std::span<const int64_t> values) {
  const Assignment point = group.space.assign(values);
  bool isKnown = true;
  for (const Constraint &constraint : group.constraints) {
    std::optional<bool> holds = constraint.formula.evaluate(point);
    if (holds == false)
      return false;
    isKnown &= holds.has_value();
  }
  return isKnown ? std::optional(true) : std::nullopt;
}

bool sameTileAt(const TiledGroup &group, unsigned a, unsigned b, std::span<const int64_t> values) {
  const Tile &x = group.instances[a].tile, &y = group.instances[b].tile;
  if (group.instances[a].op != group.instances[b].op)
    return false;
  if (x == y || x.dims.empty())
    return true;
  ExprContext &context = x.dims.front().offset.context();
  std::vector<Expr> numbers;
  Bounds bounds = group.bounds();
  for (size_t i = 0; i < group.space.parameters.size() && i < values.size(); ++i) {
    const TileParameter &p = group.space.parameters[i];
    const uint32_t var = p.size.variable().index;
    numbers.resize(std::max<size_t>(numbers.size(), var + 1));
    numbers[var] = context.constant(values[i]);
    if (p.index)
      bounds.set(p.index, {0, std::max<int64_t>(0, tileCounts(group.space, values)[i] - 1)});
  }
  Simplifier simplifier(context, bounds);
  auto equal = [&](Expr s, Expr t) {
    return simplifier.simplify(substitute(s, numbers)) ==
           simplifier.simplify(substitute(t, numbers));
  };
  for (size_t i = 0; i < x.dims.size(); ++i) {
    const TileDim &s = x.dims[i], &t = y.dims[i];
    if (!equal(s.offset, t.offset) || !equal(s.size, t.size) || !equal(s.stride, t.stride) ||
        !equal(s.lower, t.lower) || !equal(s.upper, t.upper))
      return false;
  }
  return true;
}

} // namespace tilewright
