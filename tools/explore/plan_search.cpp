#include "tools/explore/plan_search.h"

#include "analysis/solve/compiled.h"
#include "analysis/tiling/plan_identity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace tilewright {

namespace {

constexpr int64_t maxRootElements = 1 << 16;
constexpr int64_t maxElementsPerThread = 256;

bool isSchedule(const TileParameter &parameter) {
  return parameter.role == TileParameter::Role::Schedule;
}

/// Schedules for the first pass, which are rarely far from the best. A parameter that has none of
/// them keeps its candidates.
ConstraintSystem underUsualSchedules(ConstraintSystem system, const TileSpace &space) {
  const std::map<std::string, std::vector<int64_t>> usual = {
      {"warps", {1, 4, 8}}, {"stages", {3}}, {"split_k", {1, 32, 256}}, {"group_m", {8}}};
  for (size_t i = 0; i < space.parameters.size(); ++i) {
    auto known = usual.find(space.parameters[i].name);
    if (!isSchedule(space.parameters[i]) || known == usual.end())
      continue;
    std::vector<int64_t> &candidates = system.parameters[i].candidates, kept;
    for (int64_t value : candidates)
      if (std::any_of(known->second.begin(), known->second.end(), [&](int64_t each) {
            return std::min(each, space.parameters[i].largest()) == value;
          }))
        kept.push_back(value);
    if (!kept.empty())
      candidates = std::move(kept);
  }
  return system;
}

/// Of the sizes of tiles the first, the third … and the last; false if that changes nothing.
bool leaveOutEveryOther(ConstraintSystem &system, const TileSpace &space) {
  bool isChanged = false;
  for (size_t i = 0; i < space.parameters.size(); ++i) {
    std::vector<int64_t> &sizes = system.parameters[i].candidates, kept;
    if (isSchedule(space.parameters[i]) || sizes.size() < 4)
      continue;
    for (size_t k = 0; k < sizes.size(); ++k)
      if (k % 2 == 0 || k + 1 == sizes.size())
        kept.push_back(sizes[k]);
    isChanged = true;
    sizes = std::move(kept);
  }
  return isChanged;
}

uint64_t candidatePoints(const ConstraintSystem &system) {
  uint64_t points = 1;
  for (const SolveParameter &parameter : system.parameters)
    if (__builtin_mul_overflow(points, uint64_t(parameter.candidates.size()), &points))
      return UINT64_MAX;
  return points;
}

/// The feasible points as numbers, whose digits are places in the lists of candidates: ascending,
/// which is the lexicographic order of the values. The search walks them in the order that is
/// fastest.
class FeasiblePoints {
public:
  explicit FeasiblePoints(const ConstraintSystem &system) {
    for (const SolveParameter &parameter : system.parameters)
      lists.push_back(parameter.candidates);
  }

  /// Finds them; false if the limit was reached before the last one.
  llvm::Expected<bool> find(const ConstraintSystem &system, const SearchLimits &limits) {
    llvm::Expected<CompiledSystem> compiled =
        CompiledSystem::compile(system, SearchOrder::Tightest);
    if (!compiled)
      return compiled.takeError();
    const SearchResult result = compiled->enumerate(
        [&](std::span<const int64_t> values) {
          numbers.push_back(numberOf(values));
          return numbers.size() < maxPoints;
        },
        limits);
    std::sort(numbers.begin(), numbers.end());
    return result.end == SearchResult::End::Exhausted;
  }

  size_t size() const { return numbers.size(); }

  std::vector<int64_t> operator[](size_t at) const {
    std::vector<int64_t> values(lists.size());
    uint64_t number = numbers[at];
    for (size_t i = lists.size(); i-- > 0; number /= lists[i].size())
      values[i] = lists[i][number % lists[i].size()];
    return values;
  }

private:
  static constexpr size_t maxPoints = size_t{1} << 24; ///< 128 MB

  uint64_t numberOf(std::span<const int64_t> values) const {
    uint64_t number = 0;
    for (size_t i = 0; i < lists.size(); ++i) {
      const auto at = std::lower_bound(lists[i].begin(), lists[i].end(), values[i]);
      number = number * lists[i].size() + static_cast<uint64_t>(at - lists[i].begin());
    }
    return number;
  }

  std::vector<std::vector<int64_t>> lists;
  std::vector<uint64_t> numbers;
};

/// The first constraint that no plan satisfies, whatever its parameters are: no code, mostly.
std::vector<std::string> refusedByAll(const ConstraintSystem &system) {
  for (const Constraint &constraint : system.constraints)
    if (constraint.formula.isFalse())
      return {constraint.describe({})};
  return {};
}

} // namespace

llvm::Error PlanSearch::addOne(std::span<const int64_t> values) {
  std::vector<int64_t> key(values.begin(), values.end());
  if (times.count(key))
    return llvm::Error::success();
  plan.values = key;
  ++found.priced;
  llvm::Error error = scorer.add(plan);
  if (!error) {
    added.push_back(std::move(key));
    return llvm::Error::success();
  }
  times.emplace(std::move(key), std::numeric_limits<double>::infinity());
  Diag diag = takeDiag(std::move(error));
  if (diag.cls != DiagClass::Unsupported)
    return makeError(std::move(diag));
  ++found.refused;
  lastRefusal = diag.message;
  return llvm::Error::success();
}

llvm::Error PlanSearch::scoreAdded() {
  llvm::Expected<std::vector<double>> scores = scorer.score();
  if (!scores)
    return scores.takeError();
  for (size_t i = 0; i < added.size(); ++i) {
    if (!std::isfinite((*scores)[i])) {
      ++found.refused;
      lastRefusal = "a CTA needs more than one SM has";
    }
    times.emplace(std::move(added[i]), (*scores)[i]);
  }
  added.clear();
  return llvm::Error::success();
}

llvm::Error PlanSearch::countFeasible(const ConstraintSystem &system) {
  llvm::Expected<CompiledSystem> compiled = CompiledSystem::compile(system, SearchOrder::Tightest);
  if (!compiled)
    return compiled.takeError();
  const SearchResult count = compiled->count({options.maxNodes});
  found.raw = candidatePoints(system);
  found.feasible = count.solutions;
  found.isCounted = count.end == SearchResult::End::Exhausted && count.undecided == 0;
  return llvm::Error::success();
}

llvm::Error PlanSearch::priceAll(ConstraintSystem system, size_t budget) {
  if (budget == 0)
    return llvm::Error::success();
  if (!options.isThorough) // a search that will pass its limit is not begun
    while (candidatePoints(system) > 4 * options.maxNodes &&
           leaveOutEveryOther(system, plan.tiled->space)) {
    }
  while (candidatePoints(system) == UINT64_MAX && leaveOutEveryOther(system, plan.tiled->space)) {
  }
  FeasiblePoints points(system);
  while (true) {
    llvm::Expected<bool> areAll = points.find(system, {options.maxNodes});
    if (!areAll)
      return areAll.takeError();
    if (*areAll || !leaveOutEveryOther(system, plan.tiled->space))
      break;
    points = FeasiblePoints(system);
  }
  found.feasible = std::max<uint64_t>(found.feasible, points.size());
  const size_t every = std::max<size_t>(1, points.size() / budget + (points.size() % budget != 0));
  for (size_t i = 0; i < points.size(); i += every)
    if (llvm::Error error = addOne(points[i]))
      return error;
  return scoreAdded();
}

/// What has a time, fastest first; equal times in parameter order.
std::vector<PricedPlan> PlanSearch::sorted() const {
  std::vector<PricedPlan> all;
  for (const auto &[values, time] : times)
    if (std::isfinite(time))
      all.push_back({values, time});
  std::stable_sort(all.begin(), all.end(),
                   [](const PricedPlan &a, const PricedPlan &b) { return a.timeNs < b.timeNs; });
  return all;
}

/// The fastest plans so far, one of each tiling.
std::vector<std::vector<int64_t>> PlanSearch::bestTilings() const {
  std::vector<std::vector<int64_t>> best;
  std::set<std::vector<int64_t>> seen;
  for (PricedPlan &each : sorted()) {
    if (best.size() == options.refinedTilings)
      break;
    if (seen.insert(tilingOf(plan.tiled->space, each.values)).second)
      best.push_back(std::move(each.values));
  }
  return best;
}

std::vector<std::string> PlanSearch::refusal() const {
  if (found.feasible)
    return {lastRefusal};
  if (!options.isThorough)
    return refusedByAll(whole);
  ExplainOptions explaining;
  explaining.findNearest = false;
  explaining.certify = false;
  llvm::Expected<Explanation> answer = explain(whole, Choice(whole.parameters.size()), explaining);
  if (!answer)
    return {takeDiag(answer.takeError()).message};
  std::vector<std::string> lines;
  if (answer->core)
    lines = answer->core->text;
  return lines;
}

/// The system with the tile sizes of a plan; its schedule is free.
ConstraintSystem PlanSearch::withTiling(const std::vector<int64_t> &values) const {
  ConstraintSystem refined = whole;
  for (size_t i = 0; i < values.size(); ++i)
    if (!isSchedule(plan.tiled->space.parameters[i]))
      refined.parameters[i].candidates = {values[i]};
  return refined;
}

llvm::Error PlanSearch::run() {
  llvm::Expected<ConstraintSystem> system = systemOf(plan, options);
  if (!system)
    return system.takeError();
  whole = std::move(*system);
  if (options.isThorough) {
    if (llvm::Error error = countFeasible(whole))
      return error;
    if (found.isCounted && found.feasible == 0)
      return llvm::Error::success();
  } else if (!refusedByAll(whole).empty()) {
    return llvm::Error::success();
  }
  const TileSpace &space = plan.tiled->space;
  if (llvm::Error error = priceAll(underUsualSchedules(whole, space), options.maxPriced))
    return error;
  if (sorted().empty()) // perhaps only unusual schedules are feasible
    if (llvm::Error error = priceAll(whole, options.maxPriced))
      return error;
  const std::vector<std::vector<int64_t>> best = bestTilings();
  for (const std::vector<int64_t> &values : best)
    if (llvm::Error error = priceAll(withTiling(values), options.maxPriced / best.size()))
      return error;
  return llvm::Error::success();
}

llvm::Error PlanSearch::priceSchedules(const std::vector<int64_t> &values) {
  return priceAll(withTiling(values), std::numeric_limits<size_t>::max());
}

std::vector<PricedPlan> PlanSearch::best() const {
  const PlanIdentity identity(plan.ops(), *plan.tiled, plan.instruction);
  std::vector<PricedPlan> best;
  std::set<std::vector<int64_t>> seen;
  for (PricedPlan &each : sorted()) {
    if (best.size() >= options.top)
      break;
    if (seen.insert(identity.of(each.values)).second)
      best.push_back(std::move(each));
  }
  return best;
}

llvm::Expected<ConstraintSystem> systemOf(const KernelPlan &prototype,
                                          const PlanSearchOptions &options) {
  llvm::Expected<ConstraintSystem> system =
      makeSystem(prototype.tiled->space, prototype.tiled->constraints, options.candidates);
  if (!system)
    return system.takeError();
  for (size_t i = 0; i < options.choice.size(); ++i)
    if (options.choice[i])
      system->parameters[i].candidates = {*options.choice[i]};
  return system;
}

std::vector<int64_t> tilingOf(const TileSpace &space, const std::vector<int64_t> &values) {
  std::vector<int64_t> tiling;
  for (size_t i = 0; i < values.size(); ++i)
    if (!isSchedule(space.parameters[i]))
      tiling.push_back(values[i]);
  return tiling;
}

void addSearchConstraints(const Graph &graph, TiledGroup &group) {
  ExprContext &context = group.space.parameters.front().size.context();
  const TileParameter *warps = group.space.find("warps");
  auto add = [&](const TileInstance &instance, Expr amount, Expr limit, const char *rule,
                 std::string text) {
    const Op &op = graph.op(instance.op);
    Provenance from{instance.op, "%" + op.name, -1, -1, rule, std::move(text), {amount, limit}};
    group.constraints.push_back({Formula::lessEqual(amount, limit), std::move(from)});
  };
  for (unsigned root : group.roots)
    add(group.instances[root], group.instances[root].tile.elementCount(context),
        context.constant(maxRootElements), "search-tile-size",
        "a tile of {0} elements is over the {1} that the search considers");
  // A convolution gathers its operands step by step: nobody holds all of their windows.
  std::vector<bool> isGathered(group.instances.size());
  for (const TileInstance &instance : group.instances)
    if (graph.op(instance.op).opcode == Opcode::Convolution)
      for (unsigned operand : instance.operands)
        isGathered[operand] = group.instances[operand].isInput;
  for (size_t i = 0; i < group.instances.size(); ++i) {
    const TileInstance &instance = group.instances[i];
    Opcode opcode = graph.op(instance.op).opcode;
    if (opcode == Opcode::Constant || opcode == Opcode::Iota || opcode == Opcode::Broadcast ||
        isGathered[i])
      continue;
    add(instance, instance.tile.elementCount(context), warps->size * (32 * maxElementsPerThread),
        "search-elements-per-thread",
        "a tile of {0} elements is over the {1} that the threads can hold");
  }
}

} // namespace tilewright
