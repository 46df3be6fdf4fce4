#include "costmodel/recomputation.h"

#include "analysis/indexing/op_cost.h"
#include "analysis/support/diag.h"
#include "costmodel/plan_view.h"

#include <algorithm>
#include <map>

namespace tilewright {

namespace {

/// Evaluations of an instance's elements, all CTAs together.
double evaluationsOf(const PlanViewOf<double> &view, const InstanceViewOf<double> &v) {
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
      times[v.instance->op] += evaluationsOf(*view, v) / elements;
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
