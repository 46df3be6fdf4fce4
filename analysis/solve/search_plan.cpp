#include "analysis/solve/search_plan.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <set>

namespace tilewright {

using detail::Abstract;
using detail::Code;
using detail::Register;
using detail::Trend;

void CompiledSystem::Plan::noteUndecided(size_t constraint) {
  ++undecided;
  if (!undecidedConstraint || constraint < *undecidedConstraint)
    undecidedConstraint = constraint;
}

void CompiledSystem::Plan::build(const ConstraintSystem &system, SearchOrder order) {
  for (const Constraint &constraint : system.constraints)
    truths.push_back(program.add(constraint.formula));
  for (RegisterId truth : truths)
    cones.push_back(program.cone(truth));
  filterLists(system);
  std::vector<Interval> lists = boxOfLists();
  std::vector<Abstract> box = program.abstractly(lists);
  guards.emplace(program, truths, box);
  orderLevels(order, box);
  initialState = program.initialState();
  program.markTotal(box, initialState);
  for (RegisterId id = 0; id < program.size(); ++id)
    parametersOf.push_back(program[id].parameters);
  for (const Level &level : levels)
    trends.push_back(program.trends(level.parameter, box));
  placeChecks(box);
  placeOutlooks(box);
  placeAbstractSteps(box);
  placeCarried();
}

/// Decides constraints on no parameter and filters lists by those on one.
void CompiledSystem::Plan::filterLists(const ConstraintSystem &system) {
  for (uint32_t p = 0; p < system.parameters.size(); ++p) {
    lists.push_back(system.parameters[p].candidates);
    Level level;
    level.parameter = p;
    level.values = system.parameters[p].candidates;
    level.origin.resize(level.values.size());
    std::iota(level.origin.begin(), level.origin.end(), 0u);
    levels.push_back(std::move(level));
  }
  detail::ConcreteState state = program.initialState();
  std::vector<Interval> point(levels.size());
  for (size_t c = 0; c < truths.size(); ++c) {
    uint64_t parameters = program[truths[c]].parameters;
    if (std::popcount(parameters) > 1)
      continue;
    auto accepts = [&] {
      for (RegisterId step : cones[c])
        program.step(step, state);
      if (state.known[truths[c]])
        return state.value[truths[c]] != 0;
      if (program.abstractly(truths[c], point).canBeTrue())
        noteUndecided(c);
      return false;
    };
    if (!parameters) {
      isNever |= !accepts();
      continue;
    }
    Level &level = levels[std::countr_zero(parameters)];
    size_t kept = 0;
    for (size_t i = 0; i < level.values.size(); ++i) {
      state.value[level.parameter] = level.values[i];
      state.known[level.parameter] = true;
      point[level.parameter] = Interval::point(level.values[i]);
      if (!accepts())
        continue;
      level.values[kept] = level.values[i];
      level.origin[kept++] = level.origin[i];
    }
    level.values.resize(kept);
    level.origin.resize(kept);
  }
}

/// Constraints that are no ranges (divisibility) prune only where their last parameter is assigned,
/// so their parameters come first; those with ranges only come later, the longest list last, where
/// a range replaces the whole loop; parameters without constraints only multiply.
void CompiledSystem::Plan::orderLevels(SearchOrder order, const std::vector<Abstract> &box) {
  if (order == SearchOrder::Tightest) {
    uint64_t constrained = 0, irregular = 0;
    for (RegisterId truth : truths)
      if (std::popcount(program[truth].parameters) > 1)
        constrained |= program[truth].parameters;
    for (const Level &level : levels) {
      std::vector<Trend> trends = program.trends(level.parameter, box);
      bool isIrregular = std::any_of(truths.begin(), truths.end(), [&](RegisterId truth) {
        return std::popcount(program[truth].parameters) > 1 && trends[truth] == Trend::Mixed;
      });
      irregular |= uint64_t(isIrregular) << level.parameter;
    }
    auto key = [&](const Level &level) {
      bool isFree = !(constrained >> level.parameter & 1);
      bool isRegular = !(irregular >> level.parameter & 1);
      return std::make_tuple(isFree, isRegular, level.values.size());
    };
    std::stable_sort(levels.begin(), levels.end(),
                     [&](const Level &a, const Level &b) { return key(a) < key(b); });
  }
  levelOfParameter.resize(levels.size());
  for (uint32_t d = 0; d < levels.size(); ++d)
    levelOfParameter[levels[d].parameter] = d;
}

size_t CompiledSystem::Plan::levelOf(RegisterId id) const {
  size_t level = 0;
  for (uint64_t set = program[id].parameters; set; set &= set - 1)
    level = std::max<size_t>(level, levelOfParameter[std::countr_zero(set)]);
  return level;
}

bool CompiledSystem::Plan::isGiven(RegisterId id, size_t level) const {
  return !program[id].parameters || levelOf(id) < level ||
         (program[id].op == Code::Parameter && levelOf(id) == level);
}

std::vector<Interval> CompiledSystem::Plan::boxOfLists() const {
  std::vector<Interval> box(levels.size());
  for (const Level &level : levels)
    if (!level.values.empty())
      box[level.parameter] = {level.values.front(), level.values.back()};
  return box;
}

void CompiledSystem::Plan::placeChecks(const std::vector<Abstract> &box) {
  std::vector<bool> isNeededLater(program.size());
  std::vector<std::vector<uint32_t>> decidedAt(levels.size());
  for (uint32_t c = 0; c < truths.size(); ++c) {
    if (std::popcount(program[truths[c]].parameters) < 2)
      continue;
    size_t level = levelOf(truths[c]);
    decidedAt[level].push_back(c);
    for (RegisterId id : cones[c])
      if (levelOf(id) < level)
        isNeededLater[id] = true;
  }
  for (size_t d = 0; d < levels.size(); ++d) {
    Level &level = levels[d];
    std::vector<bool> isDone(program.size());
    auto isKnown = [&](RegisterId id) { return isDone[id] || isGiven(id, d); };
    auto stepsFor = [&](uint32_t c) {
      std::vector<detail::Step> steps;
      for (RegisterId id : cones[c])
        if (program[id].parameters && levelOf(id) == d && !isDone[id])
          steps.push_back(program.stepOf(id, box));
      return guards->withJumps(steps, isKnown);
    };
    std::set<RegisterId> seen; // two constraints with one truth need one check
    std::vector<uint32_t> stepwise;
    for (uint32_t c : decidedAt[d]) {
      RegisterId truth = truths[c];
      if (!seen.insert(truth).second)
        continue;
      Trend trend = trends[d][truth];
      if (!box[truth].mayBeUnknown && (trend == Trend::Up || trend == Trend::Down))
        level.monotone.push_back({stepsFor(c), truth, c, trend == Trend::Down, {}, {}});
      else
        stepwise.push_back(c);
    }
    for (uint32_t c : stepwise) {
      level.checks.push_back({stepsFor(c), truths[c], c, false, {}, {}});
      const std::vector<detail::Step> &steps = level.checks.back().steps;
      for (size_t i = 0; i < steps.size(); ++i) {
        if (steps[i].jump) // perhaps left out
          i += steps[i].jump;
        else
          isDone[steps[i].result] = true;
      }
    }
    for (RegisterId id = 0; id < program.size(); ++id)
      if (isNeededLater[id] && program[id].parameters && levelOf(id) == d && !isDone[id])
        level.tail.push_back(program.stepOf(id, box));
    level.tail = guards->withJumps(level.tail, isKnown);
  }
  uint64_t constrained = 0;
  for (RegisterId truth : truths)
    if (std::popcount(program[truth].parameters) > 1)
      constrained |= program[truth].parameters;
  std::optional<uint64_t> below = 1;
  bool isFree = true;
  for (size_t d = levels.size(); d-- > 0;) {
    isFree &= levels[d].checks.empty() && levels[d].monotone.empty();
    uint64_t product;
    if (below && !__builtin_mul_overflow(*below, levels[d].values.size(), &product))
      below = product;
    else
      below = std::nullopt;
    levels[d].isIndifferent = !(constrained >> levels[d].parameter & 1);
    levels[d].isFree = isFree;
    levels[d].below = below;
  }
}

/// What constraints that are decided later still leave of a level, by their best corner. Others are
/// left to intervals.
void CompiledSystem::Plan::placeOutlooks(const std::vector<Abstract> &box) {
  if (std::any_of(levels.begin(), levels.end(), [](const Level &l) { return l.values.empty(); }))
    return;
  for (size_t d = 0; d + 1 < levels.size(); ++d) {
    Level &level = levels[d];
    std::set<RegisterId> seen;
    for (uint32_t c = 0; c < truths.size(); ++c) {
      const RegisterId truth = truths[c];
      bool isOpen = (program[truth].parameters >> level.parameter & 1) && levelOf(truth) > d;
      if (!isOpen || !seen.insert(truth).second)
        continue;
      Check check{{}, truth, c, trends[d][truth] == Trend::Down, {}, {}};
      bool hasCorner = !box[truth].mayBeUnknown;
      for (size_t later = d + 1; later < levels.size(); ++later) {
        const Level &other = levels[later];
        if (!(program[truth].parameters >> other.parameter & 1))
          continue;
        hasCorner &= trends[later][truth] != Trend::Mixed;
        bool likesSmall = trends[later][truth] == Trend::Down;
        check.corner.emplace_back(other.parameter,
                                  likesSmall ? other.values.front() : other.values.back());
      }
      if (!hasCorner) {
        level.openIrregular.push_back(c);
        continue;
      }
      for (RegisterId id : cones[c])
        if (program[id].parameters && levelOf(id) >= d)
          (program[id].parameters >> level.parameter & 1 ? check.steps : check.cornerSteps)
              .push_back(program.stepOf(id, box));
      // All parameters have values then.
      auto isKnown = [&](RegisterId id) {
        return isGiven(id, d) || program[id].op == Code::Parameter;
      };
      auto isKnownHere = [&](RegisterId id) {
        return isKnown(id) || !(program[id].parameters >> level.parameter & 1);
      };
      check.steps = guards->withJumps(check.steps, isKnownHere);
      check.cornerSteps = guards->withJumps(check.cornerSteps, isKnown);
      bool isMonotone = trends[d][truth] != Trend::Mixed;
      (isMonotone ? level.monotone : level.outlooks).push_back(std::move(check));
    }
  }
}

/// Abstract values change level by level, and deeper levels are left again; so each register has a
/// slot for each level that changes it while it is still undecided, and operands are read from the
/// slot of the latest level that changed them. Nothing ever has to be restored.
void CompiledSystem::Plan::placeAbstractSteps(const std::vector<Abstract> &box) {
  std::map<std::pair<RegisterId, size_t>, uint32_t> slots;
  auto newSlot = [&](RegisterId id, size_t level) {
    auto [it, isNew] = slots.try_emplace({id, level}, uint32_t(initialSlots.size()));
    if (isNew)
      initialSlots.push_back(box[id]);
    return it->second;
  };
  const size_t beforeAll = levels.size();
  auto operandAt = [&](RegisterId id, size_t d) -> Operand {
    size_t latest = beforeAll;
    for (uint64_t set = program[id].parameters; set; set &= set - 1) {
      size_t level = levelOfParameter[std::countr_zero(set)];
      if (level <= d && (latest == beforeAll || level > latest))
        latest = level;
    }
    bool isDecided = latest != beforeAll && latest == levelOf(id);
    if (isDecided)
      return {false, id};
    return {true, newSlot(id, latest)};
  };
  for (size_t d = 0; d + 1 < levels.size(); ++d) {
    Level &level = levels[d];
    std::vector<bool> isNeeded(program.size());
    for (uint32_t c : level.openIrregular) {
      RegisterId truth = truths[c];
      for (RegisterId id : cones[c])
        isNeeded[id] = true;
      level.prunes.push_back(newSlot(truth, d));
    }
    for (RegisterId id = 0; id < program.size(); ++id) {
      const Register &reg = program[id];
      if (!isNeeded[id] || !(reg.parameters >> level.parameter & 1) || levelOf(id) <= d)
        continue;
      Operand a = operandAt(reg.a, d);
      Operand b = isUnary(reg.op) ? a : operandAt(reg.b, d);
      Operand c = reg.op == Code::Select ? operandAt(reg.c, d) : a;
      level.abstractSteps.push_back({reg.op, a, b, c, newSlot(id, d)});
    }
  }
}

/// What is decided at one level and read by what is decided at a later one.
void CompiledSystem::Plan::placeCarried() {
  std::vector<bool> isSeen(program.size()), isCarried(program.size());
  for (const std::vector<RegisterId> &cone : cones)
    for (RegisterId id : cone) {
      if (isSeen[id])
        continue;
      isSeen[id] = true;
      const Register &reg = program[id];
      auto read = [&](RegisterId operand) {
        const Register &from = program[operand];
        if (isCarried[operand] || from.op <= Code::Undefined || !from.parameters)
          return;
        if (const size_t level = levelOf(operand); level < levelOf(id)) {
          isCarried[operand] = true;
          levels[level].carried.push_back(operand);
        }
      };
      read(reg.a);
      if (!isUnary(reg.op))
        read(reg.b);
      if (reg.op == Code::Select)
        read(reg.c);
    }
}

} // namespace tilewright
