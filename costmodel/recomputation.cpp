#include "costmodel/recomputation.h"

#include "analysis/indexing/op_cost.h"
#include "analysis/support/diag.h"
#include "costmodel/plan_view.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilewright {

namespace {

/// Elements of a dim that the tiles hold, all tiles along it together, where neighbours share some,
/// as windows do; over what `valid` takes for it, which counts each once.
double sharedByNeighbours(const KernelPlan &plan, const PlanViewOf<double> &view,
                          const InstanceViewOf<double> &v, size_t d) {
  constexpr double mostTiles = 1 << 12;
  const TileDim &dim = v.instance->tile.dims[d];
  const std::vector<unsigned> &moving = v.dimParameters[d];
  if (d >= v.op->shape.dims.size() || moving.size() != 1)
    return 1;
  const TileParameter &mover = plan.tiled->space.parameters[moving[0]];
  const double tiles = view.parameters[moving[0]].tiles;
  if (mover.size == dim.size || !mover.index || tiles > mostTiles)
    return 1;
  Assignment point = plan.assignment();
  for (const TileParameter &parameter : plan.tiled->space.parameters)
    if (parameter.index)
      point.set(parameter.index.variable(), 0);
  const auto extent = double(v.op->shape.dims[d]), size = v.sizes[d];
  double inside = 0;
  for (int64_t tile = 0; double(tile) < tiles; ++tile) {
    point.set(mover.index.variable(), tile);
    const std::optional<int64_t> offset = evaluate(dim.offset, point);
    if (!offset || evaluate(dim.stride, point) != 1)
      return 1;
    inside +=
        std::max(0.0, std::min(double(*offset) + size, extent) - std::max(double(*offset), 0.0));
  }
  const double apart = std::min(tiles, std::ceil(extent / size)) * size;
  return std::max(1.0, inside / (tiles * size) / std::min(1.0, extent / apart));
}

/// Evaluations of an instance's elements, all CTAs together.
double evaluationsOf(const KernelPlan &plan, const PlanViewOf<double> &view,
                     const InstanceViewOf<double> &v) {
  const TileInstance &instance = *v.instance;
  auto isIn = [](const std::vector<unsigned> &list, unsigned parameter) {
    return std::find(list.begin(), list.end(), parameter) != list.end();
  };
  double runs = view.ctas;
  for (unsigned loop : v.loops)
    if (!isIn(instance.reduces, loop)) // of which a step makes a part
      runs *= view.parameters[loop].meanSteps;
  // CTAs that share the steps of a loop share what runs in it; what follows the last one makes.
  if (std::none_of(view.splitParameters.begin(), view.splitParameters.end(), [&](unsigned p) {
        return isIn(instance.loops, p) && !isIn(instance.reduces, p);
      }))
    runs /= view.splits;
  for (size_t d = 0; d < v.sizes.size(); ++d)
    runs *= sharedByNeighbours(plan, view, v, d);
  return runs * v.elements * v.valid;
}

} // namespace

llvm::Expected<std::vector<OpEvaluations>> opEvaluations(const KernelPlan &plan) {
  if (!plan.tiled || !plan.module)
    return makeError(DiagClass::Unsupported, "plan '{}' has no tiles", plan.name);
  auto view = viewOf(plan);
  if (!view)
    return view.takeError();
  std::map<OpId, double> times;
  for (const InstanceViewOf<double> &v : view->instances) {
    if (v.isInput || v.sameAs >= 0)
      continue;
    double elements = 1;
    for (int64_t extent : v.op->shape.dims)
      elements *= double(extent);
    if (elements > 0)
      times[v.instance->op] += evaluationsOf(plan, *view, v) / elements;
  }
  std::vector<OpEvaluations> result;
  for (const auto &[op, perElement] : times) {
    const OpCost cost = opCost(*plan.module, plan.ops(), op);
    if (const double work = double(cost.flops) + double(cost.transcendentals); work > 0)
      result.push_back({op, perElement, work});
  }
  return result;
}

double recomputeFactor(const std::vector<OpEvaluations> &evaluations) {
  double issued = 0, needed = 0;
  for (const OpEvaluations &each : evaluations) {
    issued += each.perElement * each.work;
    needed += each.work;
  }
  return needed > 0 ? issued / needed : 1;
}

} // namespace tilewright
