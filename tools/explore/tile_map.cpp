#include "tools/explore/tile_map.h"

#include <algorithm>

namespace tilewright {

namespace {

/// At most maxTileMapSizes of the candidates around the plan's own size, which is added if it is
/// not among them.
std::vector<int64_t> sizesAround(std::vector<int64_t> candidates, int64_t own) {
  auto at = std::lower_bound(candidates.begin(), candidates.end(), own);
  if (at == candidates.end() || *at != own)
    at = candidates.insert(at, own);
  size_t position = static_cast<size_t>(at - candidates.begin());
  if (candidates.size() <= maxTileMapSizes)
    return candidates;
  size_t first = position - std::min(position, maxTileMapSizes / 2);
  first = std::min(first, candidates.size() - maxTileMapSizes);
  auto begin = candidates.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + maxTileMapSizes};
}

TileMap::Cell cellOf(const KernelPlan &plan, PlanPricer price, std::optional<Diag> &bug) {
  Assignment point = plan.tiled->space.assign(plan.values);
  for (const Constraint &constraint : plan.tiled->constraints)
    if (constraint.formula.evaluate(point) != true)
      return {0, constraint.from.rule, constraint.describe(point)};
  llvm::Expected<double> time = price(plan);
  if (time)
    return {*time, {}, {}};
  Diag diag = takeDiag(time.takeError());
  if (diag.cls == DiagClass::Internal)
    bug = diag;
  return {0, "price", diag.message};
}

} // namespace

llvm::Expected<TileMap> tileMap(const KernelPlan &plan, PlanPricer price) {
  const std::vector<TileParameter> &parameters = plan.tiled->space.parameters;
  llvm::Expected<ConstraintSystem> system = makeSystem(plan.tiled->space, {});
  if (!system)
    return system.takeError();
  std::vector<size_t> dims;
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].role != TileParameter::Role::Schedule &&
        system->parameters[i].candidates.size() > 1)
      dims.push_back(i);
  std::stable_sort(dims.begin(), dims.end(), [&](size_t a, size_t b) {
    return system->parameters[a].candidates.size() > system->parameters[b].candidates.size();
  });
  TileMap map;
  if (dims.empty())
    return map;
  dims.resize(std::min<size_t>(dims.size(), 2));
  std::sort(dims.begin(), dims.end());
  auto axisOf = [&](size_t p) {
    return TileMap::Axis{parameters[p].name,
                         sizesAround(system->parameters[p].candidates, plan.values[p])};
  };
  map.rows = axisOf(dims[0]);
  map.columns = dims.size() > 1 ? axisOf(dims[1]) : TileMap::Axis{"", {0}};

  KernelPlan changed = plan;
  std::optional<Diag> bug;
  for (int64_t row : map.rows.sizes)
    for (int64_t column : map.columns.sizes) {
      changed.values[dims[0]] = row;
      if (dims.size() > 1)
        changed.values[dims[1]] = column;
      map.cells.push_back(cellOf(changed, price, bug));
      if (bug)
        return makeError(std::move(*bug));
    }
  return map;
}

} // namespace tilewright
