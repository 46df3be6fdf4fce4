#include "analysis/solve/compiled.h"

#include "analysis/solve/scan.h"
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
      : plan(plan), visit(visit), limits(limits), costs(costs), state(plan.initialState),
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

  /// Whatever the values up to this level are, they have as many points.
  bool isFreeBelow(size_t depth) const {
    return depth + 1 == plan.levels.size() || plan.levels[depth + 1].isFree;
  }
  std::optional<uint64_t> pointsBelow(size_t depth) const {
    return depth + 1 == plan.levels.size() ? 1 : plan.levels[depth + 1].below;
  }
  static std::optional<uint64_t> times(uint64_t values, std::optional<uint64_t> points) {
    uint64_t product;
    if (!points || __builtin_mul_overflow(values, *points, &product))
      return std::nullopt;
    return product;
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
    point[level.parameter] = value;
  }

  bool accepts(const Check &check, size_t depth) {
    plan.program.run(check.steps, state);
    if (state.known[check.truth])
      return state.value[check.truth] != 0;
    noteUndecided(check, depth);
    return false;
  }

  /// Sets later parameters to their best values for an open constraint.
  void turnToCorner(const Check &check) {
    for (auto [parameter, value] : check.corner)
      state.value[parameter] = value;
    plan.program.run(check.cornerSteps, state);
  }

  /// Without a 64-bit value, the constraint may still be false beyond doubt.
  void noteUndecided(const Check &check, size_t depth) {
    box.assign(plan.levels.size(), {});
    for (size_t d = 0; d <= depth; ++d)
      box[plan.levels[d].parameter] = Interval::point(point[plan.levels[d].parameter]);
    values.resize(plan.program.size());
    const std::vector<detail::RegisterId> &cone = plan.cones[check.constraint];
    if (!plan.program.abstractly(check.truth, cone, box, values).canBeTrue())
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
    turnToCorner(check);
    // Most constraints are far from binding: tests the worst value first.
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

  bool isStillPossible(const Level &level, size_t depth) {
    for (const Check &check : level.outlooks) {
      turnToCorner(check);
      if (!accepts(check, depth))
        return false;
    }
    for (const auto &step : level.abstractSteps)
      slots[step.result] =
          detail::Program::apply(step.op, read(step.a), read(step.b), read(step.c));
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
    if (level.isIndifferent && !costs && depth + 1 < plan.levels.size())
      return repeat(level, depth);
    size_t lo = 0, hi = level.values.size();
    for (const Check &check : level.monotone)
      bisect(level, check, depth, lo, hi);
    if (isCounting && level.checks.empty() && isFreeBelow(depth))
      return lo >= hi || addSolutions(times(hi - lo, pointsBelow(depth)));
    for (size_t i = lo; i < hi; ++i) {
      uint64_t cost = costSoFar;
      if (costs) {
        cost += costs->cost[level.parameter][level.origin[i]];
        if (cost > costs->bound)
          continue;
      }
      if (!countNode())
        return false;
      set(level, level.values[i]);
      bool isAccepted = std::all_of(level.checks.begin(), level.checks.end(),
                                    [&](const Check &check) { return accepts(check, depth); });
      if (!isAccepted)
        continue;
      if (depth + 1 == plan.levels.size()) {
        if (!emit())
          return false;
        continue;
      }
      plan.program.run(level.tail, state);
      if (!isStillPossible(level, depth))
        continue;
      if (!descend(depth + 1, cost))
        return false;
    }
    return true;
  }

  bool countNode() {
    return ++result.nodes <= limits.maxNodes || end(SearchResult::End::LimitReached);
  }

  /// All values of a parameter with identical subtrees: the first one's solutions are repeated for
  /// the others.
  bool repeat(const Level &level, size_t depth) {
    const uint64_t before = result.solutions;
    const size_t first = found.size(), stride = point.size();
    ++recorders;
    if (!countNode())
      return false;
    set(level, level.values.front());
    if (!descend(depth + 1, 0))
      return false;
    --recorders;
    if (!visit) { // only the number matters
      uint64_t more;
      if (__builtin_mul_overflow(result.solutions - before, level.values.size() - 1, &more))
        return end(SearchResult::End::LimitReached);
      return addSolutions(more);
    }
    const size_t last = found.size();
    const bool isWhole = !isFull;
    for (size_t i = 1; i < level.values.size(); ++i) {
      if (!countNode())
        return false;
      set(level, level.values[i]);
      if (!isWhole && !descend(depth + 1, 0))
        return false;
      for (size_t at = first; isWhole && at < last; at += stride) {
        std::copy_n(found.begin() + ptrdiff_t(at), stride, point.begin());
        point[level.parameter] = level.values[i];
        if (!countNode() || !emit())
          return false;
      }
    }
    if (recorders == 0) {
      found.clear();
      isFull = false;
    }
    return true;
  }

  void record() {
    constexpr size_t most = size_t(1) << 20;
    isFull |= found.size() + point.size() > most;
    if (!isFull)
      found.insert(found.end(), point.begin(), point.end());
  }

  bool emit() {
    if (!addSolutions(1))
      return false;
    if (recorders > 0 && visit)
      record();
    return !visit || (*visit)(point) || end(SearchResult::End::Stopped);
  }

  const Plan &plan;
  const PointVisitor *visit;
  const SearchLimits &limits;
  const SearchCosts *costs;
  ConcreteState state;
  std::vector<Abstract> slots;
  std::vector<int64_t> point;
  std::vector<Interval> box;    ///< scratch space of noteUndecided()
  std::vector<Abstract> values; ///< the same
  /// Points found while `recorders` levels want to repeat them; not all of them once it is full.
  std::vector<int64_t> found;
  unsigned recorders = 0;
  bool isFull = false;
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

SearchResult CompiledSystem::countAll(const SearchLimits &limits) const {
  return detail::scanAll(plan->program, plan->truths, plan->lists, limits);
}

SearchResult CompiledSystem::findFirst(std::vector<int64_t> &point,
                                       const SearchLimits &limits) const {
  auto take = [&](std::span<const int64_t> values) {
    point.assign(values.begin(), values.end());
    return false;
  };
  return enumerate(take, limits);
}

bool CompiledSystem::canHold(std::span<const Interval> box) const {
  const std::vector<Abstract> values = plan->program.abstractly(box);
  return std::all_of(plan->truths.begin(), plan->truths.end(),
                     [&](detail::RegisterId truth) { return values[truth].canBeTrue(); });
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
