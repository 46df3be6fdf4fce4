#include "analysis/explore/plan_search.h"

#include "analysis/solve/compiled.h"

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

/// Schedules that are rarely far from the best: what the first pass prices tilings under.
CandidatePlan usualSchedules() {
  CandidatePlan plan = CandidatePlan::standard();
  auto list = [](std::vector<int64_t> values) {
    CandidateRule rule;
    rule.kind = CandidateRule::Kind::List;
    rule.list = std::move(values);
    return rule;
  };
  plan.byName["warps"] = list({1, 4, 8});
  plan.byName["stages"] = list({3});
  plan.byName["split_k"] = list({1});
  plan.byName["group_m"] = list({8});
  return plan;
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
  llvm::Expected<ConstraintSystem> system(const CandidatePlan &candidates) const {
    return makeSystem(plan.tiled->space, plan.tiled->constraints, candidates);
  }
  /// Prices the feasible points of a system, evenly thinned out to `budget` of them.
  llvm::Error priceAll(const ConstraintSystem &system, size_t budget, bool isFirstPass);
  llvm::Error addOne(std::span<const int64_t> values);
  llvm::Error scoreAdded();
  std::vector<int64_t> tilingOf(const std::vector<int64_t> &values) const;
  std::vector<std::vector<int64_t>> bestTilings() const;
  std::string refusal(const ConstraintSystem &system) const;

  KernelPlan plan;
  PlanScorer &scorer;
  const PlanSearchOptions &options;
  PlanSearchResult result;
  std::map<std::vector<int64_t>, double> times; ///< ordered: ties resolve by parameter values
  std::vector<std::vector<int64_t>> added;      ///< not scored yet
  std::string lastRefusal;
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
      lastRefusal = "a block needs more than one SM has";
    }
  added.clear();
  return llvm::Error::success();
}

llvm::Error Search::priceAll(const ConstraintSystem &system, size_t budget, bool isFirstPass) {
  llvm::Expected<CompiledSystem> compiled = CompiledSystem::compile(system);
  if (!compiled)
    return compiled.takeError();
  SearchResult count = compiled->count();
  uint64_t every =
      std::max<uint64_t>(1, (count.solutions + budget - 1) / std::max<size_t>(budget, 1));
  if (isFirstPass) {
    result.feasible = count.solutions;
    result.isExhaustive = every == 1 && count.end == SearchResult::End::Exhausted;
  }
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

std::string Search::refusal(const ConstraintSystem &system) const {
  if (result.feasible)
    return lastRefusal;
  ExplainOptions explaining;
  explaining.findNearest = false;
  explaining.certify = false;
  llvm::Expected<Explanation> answer =
      explain(system, Choice(system.parameters.size()), explaining);
  if (!answer)
    return takeDiag(answer.takeError()).message;
  std::string text = "no feasible tiling";
  if (answer->core)
    for (const std::string &line : answer->core->text)
      text += "; " + line;
  return text;
}

llvm::Expected<PlanSearchResult> Search::run() {
  llvm::Expected<ConstraintSystem> whole = system(CandidatePlan::standard());
  if (!whole)
    return whole.takeError();
  result.raw = candidatePoints(*whole);
  llvm::Expected<ConstraintSystem> usual = system(usualSchedules());
  if (!usual)
    return usual.takeError();
  if (llvm::Error error = priceAll(*usual, options.maxPriced, true))
    return error;
  if (times.empty()) // perhaps only unusual schedules fit
    if (llvm::Error error = priceAll(*whole, options.maxPriced, true))
      return error;

  const std::vector<TileParameter> &parameters = plan.tiled->space.parameters;
  std::vector<std::vector<int64_t>> tilings = bestTilings();
  for (const std::vector<int64_t> &tiling : tilings) {
    ConstraintSystem refined = *whole;
    size_t next = 0;
    for (size_t i = 0; i < parameters.size(); ++i)
      if (!isSchedule(parameters[i]))
        refined.parameters[i].candidates = {tiling[next++]};
    if (llvm::Error error = priceAll(refined, options.maxPriced / tilings.size(), false))
      return error;
  }

  std::vector<PricedPlan> all;
  for (auto &[values, time] : times)
    all.push_back({values, time});
  std::stable_sort(all.begin(), all.end(),
                   [](const PricedPlan &a, const PricedPlan &b) { return a.timeNs < b.timeNs; });
  // Schedules that change nothing (stages of a kernel without a loop) would fill the list: the
  // first of a tiling's plans of one time stands for the others.
  std::set<std::pair<double, std::vector<int64_t>>> seen;
  for (PricedPlan &plan : all) {
    if (result.best.size() >= options.top)
      break;
    if (seen.insert({plan.timeNs, tilingOf(plan.values)}).second)
      result.best.push_back(std::move(plan));
  }
  if (result.best.empty())
    result.refusal = refusal(*whole);
  return std::move(result);
}

} // namespace

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
  for (const TileInstance &instance : group.instances) {
    Opcode opcode = graph.op(instance.op).opcode;
    if (opcode == Opcode::Constant || opcode == Opcode::Iota || opcode == Opcode::Broadcast)
      continue;
    add(instance, instance.tile.elementCount(context), warps->size * (32 * maxElementsPerThread),
        "search-elements-per-thread",
        "a tile of {0} elements is over the {1} that the threads can hold");
  }
}

} // namespace tilewright
