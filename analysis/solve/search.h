// Depth-first search over the levels of a compiled system (internal to analysis/solve).
#pragma once

#include "analysis/solve/columns.h"
#include "analysis/solve/compiled.h"

#include <algorithm>
#include <bit>

namespace tilewright::detail {

/// How often a look ahead that may be of no use is taken: after each in vain, half as often, at
/// least one time in 64; after one of use, always.
class Patience {
public:
  bool isDue() {
    if (wait == 0)
      return true;
    --wait;
    return false;
  }
  void note(bool wasOfUse) {
    pause = wasOfUse ? 0 : std::min(2 * pause + 1, 63u);
    wait = pause;
  }

private:
  unsigned pause = 0, wait = 0;
};

template <typename Plan> class Search {
public:
  Search(const Plan &plan, const PointVisitor *visit, const SearchLimits &limits,
         const SearchCosts *costs)
      : plan(plan), visit(visit), limits(limits), costs(costs), state(plan.initialState),
        lanes(plan.program.size() * laneCount), knownLanes(plan.program.size(), allLanes),
        slots(plan.initialSlots), patience(plan.levels.size()), point(plan.levels.size()) {}

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

  void set(const Level &level, size_t depth, int64_t value) {
    staleFrom = std::min(staleFrom, depth);
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
    const std::vector<RegisterId> &cone = plan.cones[check.constraint];
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
      set(level, depth, level.values[i]);
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

  /// By intervals. What levels above leave of a register is worked out when it is first asked for.
  bool isStillPossible(const Level &level, size_t depth) {
    if (level.prunes.empty() || !patience[depth].isDue())
      return true;
    for (; staleFrom <= depth; ++staleFrom)
      for (const auto &step : plan.levels[staleFrom].abstractSteps)
        slots[step.result] = Program::apply(step.op, read(step.a), read(step.b), read(step.c));
    const bool isPossible = std::all_of(level.prunes.begin(), level.prunes.end(),
                                        [&](uint32_t at) { return slots[at].canBeTrue(); });
    patience[depth].note(!isPossible);
    return isPossible;
  }

  bool isLane(RegisterId id, const Level &level) const {
    return plan.parametersOf[id] >> level.parameter & 1;
  }
  int64_t *lanesOf(RegisterId id) { return lanes.data() + size_t(id) * laneCount; }

  Column column(RegisterId id, const Level &level) {
    return isLane(id, level) ? Column{lanesOf(id), false} : Column{&state.value[id], true};
  }
  PartialColumn partialColumn(RegisterId id, const Level &level) {
    const uint32_t known = isLane(id, level) ? knownLanes[id] : state.known[id] ? allLanes : 0;
    return {column(id, level), known};
  }

  /// All lanes that are still asked for (a bit each) leave out what is behind the jump.
  bool isTaken(const Step &jump, const Level &level, uint32_t asked) {
    const Column condition = column(jump.a, level);
    if (condition.isNumber)
      return (*condition.data == 0) == jump.isJumpWhereZero;
    for (; asked; asked &= asked - 1)
      if ((condition.data[std::countr_zero(asked)] == 0) != jump.isJumpWhereZero)
        return false;
    return true;
  }

  /// Runs steps for the level's values up to the last lane of `asked`.
  void runInLanes(std::span<const Step> steps, const Level &level, uint32_t asked) {
    const auto count = size_t(std::bit_width(asked));
    for (size_t i = 0; i < steps.size(); ++i) {
      const Step &s = steps[i];
      if (s.jump)
        i += isTaken(s, level, asked) ? s.jump : 0;
      else if (s.isTotal)
        computeColumn(s.op, column(s.a, level), column(s.b, level), column(s.c, level),
                      lanesOf(s.result), count);
      else
        knownLanes[s.result] =
            computeColumnChecked(s.op, partialColumn(s.a, level), partialColumn(s.b, level),
                                 partialColumn(s.c, level), lanesOf(s.result), count);
    }
  }

  /// The lanes of `accepted` (a bit each) that all checks and outlooks accept, and what later
  /// levels need of them.
  uint32_t acceptedInLanes(const Level &level, size_t depth, uint32_t accepted) {
    auto keepWhatAccepts = [&](const Check &check) {
      runInLanes(check.steps, level, accepted);
      const PartialColumn truths = partialColumn(check.truth, level);
      for (uint32_t left = accepted; left; left &= left - 1) {
        const auto lane = size_t(std::countr_zero(left));
        const Concrete truth = truths[lane];
        if (truth.isKnown && truth.value)
          continue;
        accepted &= ~(uint32_t(1) << lane);
        if (truth.isKnown)
          continue;
        set(level, depth, lanesOf(level.parameter)[lane]);
        noteUndecided(check, depth);
      }
      return accepted != 0;
    };
    if (!accepted || !std::all_of(level.checks.begin(), level.checks.end(), keepWhatAccepts))
      return 0;
    for (const Check &check : level.outlooks) {
      turnToCorner(check);
      if (!keepWhatAccepts(check))
        return 0;
    }
    runInLanes(level.tail, level, accepted);
    return accepted;
  }

  /// One value of a level that its checks accept. False: stop the whole search.
  bool enter(const Level &level, size_t depth, uint64_t cost) {
    if (depth + 1 == plan.levels.size())
      return emit();
    return !isStillPossible(level, depth) || descend(depth + 1, cost);
  }

  /// What is spent with a value, or nothing if that is too much.
  std::optional<uint64_t> costWith(const Level &level, size_t i, uint64_t costSoFar) const {
    if (costs)
      costSoFar += costs->cost[level.parameter][level.origin[i]];
    return costs && costSoFar > costs->bound ? std::nullopt : std::optional(costSoFar);
  }

  /// The level's values [lo, hi), a block of lanes at a time.
  bool walk(const Level &level, size_t depth, size_t lo, size_t hi, uint64_t costSoFar) {
    for (; lo < hi; lo += laneCount) {
      const size_t count = std::min(laneCount, hi - lo);
      std::copy_n(level.values.begin() + ptrdiff_t(lo), count, lanesOf(level.parameter));
      uint32_t affordable = 0;
      for (size_t lane = 0; lane < count; ++lane)
        affordable |= uint32_t(costWith(level, lo + lane, costSoFar).has_value()) << lane;
      const uint32_t accepted = acceptedInLanes(level, depth, affordable);
      for (size_t lane = 0; lane < count; ++lane) {
        // The visitor may have lowered the bound.
        const std::optional<uint64_t> cost = costWith(level, lo + lane, costSoFar);
        if (!cost)
          continue;
        if (!countNode())
          return false;
        if (!(accepted >> lane & 1))
          continue;
        set(level, depth, level.values[lo + lane]);
        for (RegisterId id : level.carried) {
          state.value[id] = lanesOf(id)[lane];
          state.known[id] = knownLanes[id] >> lane & 1;
        }
        if (!enter(level, depth, *cost))
          return false;
      }
    }
    return true;
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
    return walk(level, depth, lo, hi, costSoFar);
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
    set(level, depth, level.values.front());
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
      set(level, depth, level.values[i]);
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
  static constexpr size_t laneCount = 16;
  static constexpr uint32_t allLanes = (uint32_t(1) << laneCount) - 1;
  std::vector<int64_t> lanes;       ///< `laneCount` values a register
  std::vector<uint32_t> knownLanes; ///< a bit each: it has a value
  std::vector<Abstract> slots;
  size_t staleFrom = 0;           ///< the first level whose slots are older than its value
  std::vector<Patience> patience; ///< with intervals, by level
  std::vector<int64_t> point;
  std::vector<Interval> box;    ///< scratch space of noteUndecided()
  std::vector<Abstract> values; ///< the same
  /// Points found while `recorders` levels want to repeat them; not all of them once it is full.
  std::vector<int64_t> found;
  unsigned recorders = 0;
  bool isFull = false;
  SearchResult result;
};

} // namespace tilewright::detail
