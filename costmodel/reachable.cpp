#include "costmodel/reachable.h"

#include "analysis/sets/progression.h"
#include "analysis/tiling/numeric_tile.h"
#include "analysis/tiling/propagate.h"

#include <algorithm>

namespace tilewright {

namespace {

/// Up to this many reads of one tensor are counted exactly; with more the tensor counts in full.
constexpr size_t maxBoxes = 256;
constexpr uint64_t maxWork = 1 << 16;

/// The elements of a tile if its kernel ran as one CTA in one step; the whole tensor if that is
/// unknown.
sets::Box boxOf(const TileInstance &instance, const std::vector<int64_t> &extents,
                const Assignment *whole) {
  sets::Box box;
  for (int64_t extent : extents)
    box.push_back(sets::Progression::interval(0, extent - 1));
  if (!whole || instance.exactness != Exactness::Exact)
    return box;
  const auto tile = numericTile(instance.tile, *whole);
  if (!tile)
    return box; // depends on run-time values
  for (size_t d = 0; d < tile->size(); ++d) {
    const NumericDim &dim = (*tile)[d];
    const auto lanes = sets::normalised({dim.offset, dim.size, dim.stride});
    const int64_t lower = std::max<int64_t>(dim.lower, 0);
    if (lanes)
      box[d] = sets::intersect(
          *lanes, sets::intersect(box[d], sets::Progression::interval(lower, dim.upper - 1)));
  }
  return box;
}

} // namespace

Reachable reachableOf(const Graph &graph, const TiledGroup &tiled) {
  Reachable result;
  std::vector<int64_t> largest;
  for (const TileParameter &parameter : tiled.space.parameters)
    largest.push_back(parameter.role == TileParameter::Role::Schedule ? 1 : parameter.largest());
  Assignment whole = tiled.space.assign(largest);
  // Only constraints for exactness; limits of devices and of searches do not matter here.
  const bool isPossible = std::all_of(
      tiled.constraints.begin(), tiled.constraints.end(), [&](const Constraint &constraint) {
        return !constraint.from.op.isValid() || constraint.from.rule.starts_with("search-") ||
               constraint.formula.evaluate(whole) == true;
      });
  for (const TileParameter &parameter : tiled.space.parameters)
    if (parameter.index)
      whole.set(parameter.index, 0);
  std::map<uint32_t, std::vector<sets::Box>> boxes;
  for (const TileInstance &instance : tiled.instances) {
    sets::Box box =
        boxOf(instance, resultDims(graph.op(instance.op)), isPossible ? &whole : nullptr);
    result.elements.push_back(double(sets::pointCount(box).value_or(0)));
    if (instance.isInput)
      boxes[instance.op.index].push_back(std::move(box));
  }
  for (auto &[op, list] : boxes) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    sets::BoxUnion all;
    sets::Work work{maxWork};
    bool isExact = true;
    for (const sets::Box &box : list)
      isExact = isExact && all.add(box, maxBoxes, work);
    const Shape &shape = graph.op(OpId{op}).shape;
    const std::optional<int64_t> count = isExact ? all.count() : std::nullopt;
    result.together[op] = double(count.value_or(shape.elementCount().value_or(0)));
  }
  return result;
}

} // namespace tilewright
