#include "analysis/explore/plan_search.h"

#include "analysis/solve/compiled.h"
#include "analysis/tiling/plan_identity.h"

#include <algorithm>
#include <cmath>
#include <map>
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
      {"warps", {1, 4, 8}}, {"stages", {3}}, {"split_k", {1}}, {"group_m", {8}}};
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

uint64_t candidatePoints(const ConstraintSystem &system) {
  uint64_t points = 1;
  for (const SolveParameter &parameter : system.parameters)
    if (__builtin_mul_overflow(points, uint64_t(parameter.candidates.size()), &points))
      return UINT64_MAX;
  return points;
}

class Search {
public:
  Search(const KernelPlan &prototype, PlanScorer &scorer, const PlanSearchOptions &options)
      : plan(prototype), scorer(scorer), options(options) {}

  llvm::Expected<PlanSearchResult> run();

private:
  /// Counts what is feasible at all.
  llvm::Error countFeasible(const ConstraintSystem &system);
  /// Prices the feasible points of a system, evenly thinned to `budget` points.
  llvm::Error priceAll(const ConstraintSystem &system, size_t budget);
  llvm::Error addOne(std::span<const int64_t> values);
  llvm::Error scoreAdded();
  std::vector<int64_t> tilingOf(const std::vector<int64_t> &values) const;
  std::vector<std::vector<int64_t>> bestTilings() const;
  std::vector<std::string> refusal(const ConstraintSystem &system) const;

  KernelPlan plan;
  PlanScorer &scorer;
  const PlanSearchOptions &options;
  PlanSearchResult result;
  std::map<std::vector<int64_t>, double> times; ///< ordered: ties resolve by parameter values
  std::vector<std::vector<int64_t>> added;      ///< not scored yet
  std::string lastRefusal;
  bool isCounted = false; ///< `feasible` is the whole number
};

llvm::Error Search::addOne(std::span<const int64_t> values) {
  std::vector<int64_t> key(values.begin(), values.end());
  if (times.count(key))
    return llvm::Error::success();
  plan.values = key;
  ++result.priced;
  llvm::Error error = scorer.add(plan);
  if (!error) {
    added.push_back(std::move(key));
    return llvm::Error::success();
  }
  Diag diag = takeDiag(std::move(error));
  if (diag.cls != DiagClass::Unsupported)
    return makeError(std::move(diag));
  ++result.refused;
  lastRefusal = diag.message;
  return llvm::Error::success();
}

llvm::Error Search::scoreAdded() {
  llvm::Expected<std::vector<double>> scores = scorer.score();
  if (!scores)
    return scores.takeError();
  for (size_t i = 0; i < added.size(); ++i)
    if (std::isfinite((*scores)[i])) {
      times.emplace(std::move(added[i]), (*scores)[i]);
    } else {
      ++result.refused;
      lastRefusal = "a CTA needs more than one SM has";
    }
  added.clear();
  return llvm::Error::success();
}

llvm::Error Search::countFeasible(const ConstraintSystem &system) {
  llvm::Expected<CompiledSystem> compiled = CompiledSystem::compile(system, SearchOrder::Tightest);
  if (!compiled)
    return compiled.takeError();
  const SearchResult count = compiled->count();
  result.raw = candidatePoints(system);
  result.feasible = count.solutions;
  isCounted = count.end == SearchResult::End::Exhausted && count.undecided == 0;
  return llvm::Error::success();
}

llvm::Error Search::priceAll(const ConstraintSystem &system, size_t budget) {
  if (budget == 0)
    return llvm::Error::success();
  llvm::Expected<CompiledSystem> compiled = CompiledSystem::compile(system);
  if (!compiled)
    return compiled.takeError();
  SearchResult count = compiled->count();
  uint64_t every =
      std::max<uint64_t>(1, (count.solutions + budget - 1) / std::max<size_t>(budget, 1));
  uint64_t index = 0;
  llvm::Error error = llvm::Error::success();
  compiled->enumerate([&](std::span<const int64_t> values) {
    if (index++ % every != 0)
      return true;
    error = addOne(values);
    return !static_cast<bool>(error);
  });
  if (error)
    return error;
  return scoreAdded();
}

/// The tile sizes of a plan, schedule left out.
std::vector<int64_t> Search::tilingOf(const std::vector<int64_t> &values) const {
  std::vector<int64_t> tiling;
  for (size_t i = 0; i < values.size(); ++i)
    if (!isSchedule(plan.tiled->space.parameters[i]))
      tiling.push_back(values[i]);
  return tiling;
}

/// The tile sizes of the fastest plans so far.
std::vector<std::vector<int64_t>> Search::bestTilings() const {
  std::vector<std::pair<double, const std::vector<int64_t> *>> order;
  for (const auto &[values, time] : times)
    order.emplace_back(time, &values);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto &a, const auto &b) { return a.first < b.first; });
  std::vector<std::vector<int64_t>> tilings;
  for (const auto &[time, values] : order) {
    std::vector<int64_t> tiling = tilingOf(*values);
    if (std::find(tilings.begin(), tilings.end(), tiling) == tilings.end())
      tilings.push_back(std::move(tiling));
    if (tilings.size() == options.refinedTilings)
      break;
  }
  return tilings;
}

std::vector<std::string> Search::refusal(const ConstraintSystem &system) const {
  if (result.feasible)
    return {lastRefusal};
  ExplainOptions explaining;
  explaining.findNearest = false;
  explaining.certify = false;
  llvm::Expected<Explanation> answer =
      explain(system, Choice(system.parameters.size()), explaining);
  if (!answer)
    return {takeDiag(answer.takeError()).message};
  std::vector<std::string> lines;
  if (answer->core)
    lines = answer->core->text;
  return lines;
}

llvm::Expected<PlanSearchResult> Search::run() {
  llvm::Expected<ConstraintSystem> whole = systemOf(plan, options);
  if (!whole)
    return whole.takeError();
  if (llvm::Error error = countFeasible(*whole))
    return error;
  const TileSpace &space = plan.tiled->space;
  if (llvm::Error error = priceAll(underUsualSchedules(*whole, space), options.maxPriced))
    return error;
  if (times.empty()) // perhaps only unusual schedules are feasible
    if (llvm::Error error = priceAll(*whole, options.maxPriced))
      return error;

  const std::vector<TileParameter> &parameters = space.parameters;
  std::vector<std::vector<int64_t>> tilings = bestTilings();
  for (const std::vector<int64_t> &tiling : tilings) {
    ConstraintSystem refined = *whole;
    size_t next = 0;
    for (size_t i = 0; i < parameters.size(); ++i)
      if (!isSchedule(parameters[i]))
        refined.parameters[i].candidates = {tiling[next++]};
    if (llvm::Error error = priceAll(refined, options.maxPriced / tilings.size()))
      return error;
  }
  result.isExhaustive = isCounted && result.priced == result.feasible;

  std::vector<PricedPlan> all;
  for (auto &[values, time] : times)
    all.push_back({values, time});
  std::stable_sort(all.begin(), all.end(),
                   [](const PricedPlan &a, const PricedPlan &b) { return a.timeNs < b.timeNs; });
  const PlanIdentity identity(plan.ops(), *plan.tiled, plan.instruction);
  std::set<std::vector<int64_t>> seen;
  for (PricedPlan &each : all) {
    if (result.best.size() >= options.top)
      break;
    if (seen.insert(identity.of(each.values)).second)
      result.best.push_back(std::move(each));
  }
  if (result.best.empty())
    result.refusal = refusal(*whole);
  return std::move(result);
}

} // namespace

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

llvm::Expected<PlanSearchResult> searchPlans(const KernelPlan &prototype, PlanScorer &scorer,
                                             const PlanSearchOptions &options) {
  return Search(prototype, scorer, options).run();
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
