#include "tools/explore/tile_map.h"

#include <algorithm>
#include <limits>
#include <set>

namespace tilewright {

namespace {

using Schedule = TileMap::Schedule;

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

/// The schedules to choose from: warps and stages as in the plan, then all others.
std::vector<Schedule> schedulesOf(const KernelPlan &plan, const ConstraintSystem &system) {
  std::vector<Schedule> schedules = {{}};
  for (const char *name : {"warps", "stages"}) {
    const std::optional<size_t> at = plan.tiled->space.indexOf(name);
    if (!at)
      continue;
    const size_t known = schedules.size();
    for (int64_t value : system.parameters[*at].candidates)
      if (value != plan.values[*at])
        for (size_t i = 0; i < known; ++i) {
          schedules.push_back(schedules[i]);
          schedules.back()[name] = value;
        }
  }
  return schedules;
}

KernelPlan withSchedule(KernelPlan plan, const Schedule &schedule) {
  for (const auto &[name, value] : schedule)
    plan.values[*plan.tiled->space.indexOf(name)] = value;
  return plan;
}

/// Prices the cells of a map, one schedule after the other.
class CellPricer {
public:
  CellPricer(const KernelPlan &plan, const ConstraintSystem &system, PlanScorer &scorer,
             PlanPricer price)
      : schedules(schedulesOf(plan, system)), scorer(scorer), price(price) {
    std::set<VarId> varied;
    for (const Schedule &schedule : schedules)
      for (const auto &[name, value] : schedule)
        varied.insert(
            plan.tiled->space.parameters[*plan.tiled->space.indexOf(name)].size.variable());
    for (const Constraint &constraint : plan.tiled->constraints) {
      std::vector<VarId> used;
      constraint.formula.collectVariables(used);
      isFixed.push_back(
          std::none_of(used.begin(), used.end(), [&](VarId var) { return varied.contains(var); }));
    }
  }

  /// Adds what has to be scored of the cell; `plan` has its sizes.
  llvm::Error add(KernelPlan plan) {
    TileMap::Cell cell;
    const std::vector<size_t> broken = brokenBy(plan);
    if (!broken.empty()) {
      const Constraint &first = plan.tiled->constraints[broken.front()];
      cell.rule = first.from.rule;
      cell.reason = first.describe(plan.tiled->space.assign(plan.values));
    }
    if (std::none_of(broken.begin(), broken.end(), [&](size_t c) { return isFixed[c]; }))
      for (size_t s = 0; s < schedules.size(); ++s)
        if (llvm::Error error = addSchedule(plan, s, cell))
          return error;
    cells.push_back(std::move(cell));
    plans.push_back(std::move(plan));
    return llvm::Error::success();
  }

  llvm::Expected<std::vector<TileMap::Cell>> finish() {
    llvm::Expected<std::vector<double>> times = scorer.score();
    if (!times)
      return times.takeError();
    std::vector<std::pair<double, size_t>> best(
        cells.size(), {std::numeric_limits<double>::infinity(), schedules.size()});
    for (size_t i = 0; i < scored.size(); ++i)
      best[scored[i].first] =
          std::min(best[scored[i].first], std::pair((*times)[i], scored[i].second));
    for (size_t i = 0; i < cells.size(); ++i)
      if (best[i].second < schedules.size())
        if (llvm::Error error = settle(cells[i], plans[i], schedules[best[i].second]))
          return error;
    return std::move(cells);
  }

private:
  std::vector<size_t> brokenBy(const KernelPlan &plan) const {
    const Assignment point = plan.tiled->space.assign(plan.values);
    std::vector<size_t> broken;
    for (size_t c = 0; c < plan.tiled->constraints.size(); ++c)
      if (plan.tiled->constraints[c].formula.evaluate(point) != true)
        broken.push_back(c);
    return broken;
  }

  bool isAccepted(const KernelPlan &plan) const {
    const Assignment point = plan.tiled->space.assign(plan.values);
    for (size_t c = 0; c < isFixed.size(); ++c)
      if (!isFixed[c] && plan.tiled->constraints[c].formula.evaluate(point) != true)
        return false;
    return true;
  }

  llvm::Error addSchedule(const KernelPlan &plan, size_t schedule, TileMap::Cell &cell) {
    const KernelPlan changed = withSchedule(plan, schedules[schedule]);
    if (!isAccepted(changed))
      return llvm::Error::success();
    if (llvm::Error error = scorer.add(changed)) {
      Diag diag = takeDiag(std::move(error));
      if (diag.cls == DiagClass::Internal)
        return makeError(std::move(diag));
      if (cell.rule.empty())
        cell.rule = "price", cell.reason = diag.message;
      return llvm::Error::success();
    }
    scored.emplace_back(cells.size(), schedule);
    return llvm::Error::success();
  }

  /// The cell's time with the schedule that was the fastest.
  llvm::Error settle(TileMap::Cell &cell, const KernelPlan &plan, const Schedule &schedule) const {
    llvm::Expected<double> time = price(withSchedule(plan, schedule));
    if (time) {
      cell = {*time, {}, {}, schedule};
      return llvm::Error::success();
    }
    Diag diag = takeDiag(time.takeError());
    if (diag.cls == DiagClass::Internal)
      return makeError(std::move(diag));
    if (cell.rule.empty())
      cell = {0, "price", diag.message, {}};
    return llvm::Error::success();
  }

  std::vector<Schedule> schedules;
  PlanScorer &scorer;
  PlanPricer price;
  std::vector<bool> isFixed; ///< of each constraint: warps and stages are not in it
  std::vector<TileMap::Cell> cells;
  std::vector<KernelPlan> plans;                 ///< of each cell, with the plan's own schedule
  std::vector<std::pair<size_t, size_t>> scored; ///< cell and schedule of what the scorer has
};

} // namespace

llvm::Expected<TileMap> tileMap(const KernelPlan &plan, PlanScorer &scorer, PlanPricer price) {
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

  CellPricer pricer(plan, *system, scorer, price);
  KernelPlan changed = plan;
  for (int64_t row : map.rows.sizes)
    for (int64_t column : map.columns.sizes) {
      changed.values[dims[0]] = row;
      if (dims.size() > 1)
        changed.values[dims[1]] = column;
      if (llvm::Error error = pricer.add(changed))
        return error;
    }
  llvm::Expected<std::vector<TileMap::Cell>> cells = pricer.finish();
  if (!cells)
    return cells.takeError();
  map.cells = std::move(*cells);
  return map;
}

} // namespace tilewright
