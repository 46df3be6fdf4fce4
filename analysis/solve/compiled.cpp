#include "analysis/solve/compiled.h"

#include "analysis/solve/search_plan.h"

#include <algorithm>

namespace tilewright {

using detail::Abstract;
using detail::ConcreteState;

namespace {

template <typename Plan> class Search {
public:
  Search(const Plan &plan, const PointVisitor *visit, const SearchLimits &limits,
         const SearchCosts *costs)
      : plan(plan), visit(visit), limits(limits), costs(costs), state(plan.program.initialState()),
        slots(plan.initialSlots), point(plan.levels.size()) {}

  SearchResult run() {
    result.undecided = plan.undecided;
    result.undecidedConstraint = plan.undecidedConstraint;
    bool hasEmptyList = std::any_of(plan.levels.begin(), plan.levels.end(),
                                    [](const auto &level) { return level.values.empty(); });
    if (!plan.isNever && !hasEmptyList)
      descend(0, 0);
    return result;
  }

private:
  using Level = typename Plan::Level;
  using Check = typename Plan::Check;

  bool end(SearchResult::End why) {
    result.end = why;
    return false;
  }

  bool addSolutions(std::optional<uint64_t> more) {
    uint64_t sum;
    if (!more || __builtin_add_overflow(result.solutions, *more, &sum))
      return end(SearchResult::End::LimitReached);
    result.solutions = sum;
    return true;
  }

  void set(const Level &level, int64_t value) {
    state.value[level.parameter] = value;
    state.known[level.parameter] = true;
    point[level.parameter] = value;
  }

  bool accepts(const Check &check, size_t depth) {
    for (detail::RegisterId step : check.steps)
      plan.program.step(step, state);
    if (state.known[check.truth])
      return state.value[check.truth] != 0;
    noteUndecided(check, depth);
    return false;
  }

  /// Without a 64-bit value, the constraint may still be false beyond doubt.
  void noteUndecided(const Check &check, size_t depth) {
    std::vector<Interval> box(plan.levels.size());
    for (size_t d = 0; d <= depth; ++d)
      box[plan.levels[d].parameter] = Interval::point(point[plan.levels[d].parameter]);
    if (!plan.program.abstractly(check.truth, box).canBeTrue())
      return;
    ++result.undecided;
    if (!result.undecidedConstraint || check.constraint < *result.undecidedConstraint)
      result.undecidedConstraint = check.constraint;
  }

  /// Cuts [lo, hi) to the part that a monotone check accepts.
  void bisect(const Level &level, const Check &check, size_t depth, size_t &lo, size_t &hi) {
    auto acceptsAt = [&](size_t i) {
      ++result.nodes;
      set(level, level.values[i]);
      return accepts(check, depth);
    };
    // Most constraints bind nowhere near: the worst value first.
    if (lo >= hi || acceptsAt(check.acceptsPrefix ? hi - 1 : lo))
      return;
    size_t first = lo, last = hi; // the border lies in [first, last]
    while (first < last) {
      size_t middle = first + (last - first) / 2;
      if (acceptsAt(middle) == check.acceptsPrefix)
        first = middle + 1;
      else
        last = middle;
    }
    (check.acceptsPrefix ? hi : lo) = first;
  }

  Abstract read(typename Plan::Operand operand) const {
    if (operand.isSlot)
      return slots[operand.index];
    if (state.known[operand.index])
      return {Interval::point(state.value[operand.index]), false};
    return {{}, true};
  }

  bool isStillPossible(const Level &level) {
    for (const auto &step : level.abstractSteps)
      slots[step.result] = detail::Program::apply(step.op, read(step.a), read(step.b));
    return std::all_of(level.prunes.begin(), level.prunes.end(),
                       [&](uint32_t slot) { return slots[slot].canBeTrue(); });
  }

  /// False: stop the whole search.
  bool descend(size_t depth, uint64_t costSoFar) {
    if (depth == plan.levels.size())
      return emit();
    const Level &level = plan.levels[depth];
    const bool isCounting = !visit;
    if (isCounting && level.isFree)
      return addSolutions(level.below);
    size_t lo = 0, hi = level.values.size();
    for (const Check &check : level.monotone)
      bisect(level, check, depth, lo, hi);
    if (isCounting && depth + 1 == plan.levels.size() && level.checks.empty())
      return addSolutions(hi - std::min(lo, hi));
    for (size_t i = lo; i < hi; ++i) {
      uint64_t cost = costSoFar;
      if (costs) {
        cost += costs->cost[level.parameter][level.origin[i]];
        if (cost > costs->bound)
          continue;
      }
      if (++result.nodes > limits.maxNodes)
        return end(SearchResult::End::LimitReached);
      set(level, level.values[i]);
      bool isAccepted = std::all_of(level.checks.begin(), level.checks.end(),
                                    [&](const Check &check) { return accepts(check, depth); });
      if (!isAccepted)
        continue;
      for (detail::RegisterId step : level.tail)
        plan.program.step(step, state);
      if (!isStillPossible(level))
        continue;
      if (!descend(depth + 1, cost))
        return false;
    }
    return true;
  }

  bool emit() {
    if (!addSolutions(1))
      return false;
    return !visit || (*visit)(point) || end(SearchResult::End::Stopped);
  }

  const Plan &plan;
  const PointVisitor *visit;
  const SearchLimits &limits;
  const SearchCosts *costs;
  ConcreteState state;
  std::vector<Abstract> slots;
  std::vector<int64_t> point;
  SearchResult result;
};

} // namespace

CompiledSystem::CompiledSystem(std::unique_ptr<Plan> plan) : plan(std::move(plan)) {}
CompiledSystem::CompiledSystem(CompiledSystem &&) noexcept = default;
CompiledSystem &CompiledSystem::operator=(CompiledSystem &&) noexcept = default;
CompiledSystem::~CompiledSystem() = default;

llvm::Expected<CompiledSystem> CompiledSystem::compile(const ConstraintSystem &system,
                                                       SearchOrder order) {
  if (llvm::Error error = system.check())
    return error;
  auto plan = std::make_unique<Plan>(system);
  plan->build(system, order);
  return CompiledSystem(std::move(plan));
}

SearchResult CompiledSystem::enumerate(PointVisitor visit, const SearchLimits &limits,
                                       const SearchCosts *costs) const {
  return Search<Plan>(*plan, &visit, limits, costs).run();
}

SearchResult CompiledSystem::count(const SearchLimits &limits) const {
  return Search<Plan>(*plan, nullptr, limits, nullptr).run();
}

SearchResult CompiledSystem::findFirst(std::vector<int64_t> &point,
                                       const SearchLimits &limits) const {
  auto take = [&](std::span<const int64_t> values) {
    point.assign(values.begin(), values.end());
    return false;
  };
  return enumerate(take, limits);
}

std::vector<std::optional<bool>> CompiledSystem::evaluate(std::span<const int64_t> values) const {
  ConcreteState state = plan->program.initialState();
  for (size_t i = 0; i < values.size() && i < plan->levels.size(); ++i) {
    state.value[i] = values[i];
    state.known[i] = true;
  }
  for (detail::RegisterId id = 0; id < plan->program.size(); ++id)
    plan->program.step(id, state);
  std::vector<std::optional<bool>> out;
  for (detail::RegisterId truth : plan->truths)
    out.push_back(state.known[truth] ? std::optional(state.value[truth] != 0) : std::nullopt);
  return out;
}

} // namespace tilewright
