#include "analysis/program/fold/executions.h"

#include "analysis/program/verifier.h"

#include <algorithm>

namespace tilewright::program {

namespace {

bool mentions(Expr expr, VarId var) {
  std::vector<VarId> variables = variablesOf(expr);
  return std::binary_search(variables.begin(), variables.end(), var);
}

} // namespace

Executions::Executions(const Program &program, Folds &folds)
    : p(program), folds(folds), simplifier(*program.context, sizeBounds(program)) {}

/// CTA variables, then loops, outermost first. The steps of a split loop are shared out, so that
/// the split variable and the loop's together count its trips.
std::vector<Executions::Step> Executions::stepsAround(const Surroundings &around) const {
  Expr split = p.splitVariable();
  bool isShared = around.isBehindSplits;
  for (const Op *loop : around.loops)
    isShared |= static_cast<bool>(loop->as<ForOp>()->splitVar);
  std::vector<Step> steps;
  for (const GridVariable &variable : p.grid.variables)
    if (!(isShared && split && variable.var == split))
      steps.push_back({variable.var.variable(), p.resolved(variable.count)});
  for (const Op *loop : around.loops)
    steps.push_back({loop->as<ForOp>()->var.variable(), p.resolved(loop->as<ForOp>()->trips)});
  return steps;
}

std::vector<TileDigit> Executions::tilesOf(AxisId id, VarId innermost,
                                           const std::vector<Step> &steps) {
  const Axis &axis = p[id];
  if (!axis.bound || axis.lower || !mentions(axis.origin, innermost))
    return {};
  std::vector<TileDigit> digits = tileDigitsOf(p, id, simplifier);
  for (TileDigit &digit : digits) {
    auto step = std::find_if(steps.begin(), steps.end(),
                             [&](const Step &each) { return each.var == digit.var; });
    if (step == steps.end())
      return {};
    digit.count = step->count;
  }
  if (!digits.empty() && digits.back().var != innermost)
    return {};
  return digits;
}

/// Σ of the lanes that count over tiles side by side.
Expr Executions::covered(AxisId id, const std::vector<TileDigit> &digits) {
  Expr bound = p.resolved(p[id].bound), lanes = p.resolved(p[id].extent);
  for (size_t i = 1; i < digits.size(); ++i)
    lanes = lanes * digits[i].count;
  Expr count = digits[0].count;
  if (count == bound.ceilDiv(lanes))
    return piecesOf(id, bound);
  return piecesOf(id, bound.min(count * lanes));
}

Expr Executions::lanesAt(AxisId id) {
  Expr extent = p.resolved(p[id].extent);
  Expr left = p.resolved(p[id].bound) - p.resolved(p[id].origin);
  return piecesOf(id, extent.min(left).max(0));
}

Expr Executions::piecesOf(AxisId axis, Expr lanes) const {
  return axis == contiguous ? (lanes * elementBits).ceilDiv(sectorBits) : lanes;
}

Expr Executions::sectors(const Surroundings &around, const AxisSet &axes, AxisId along,
                         int64_t bits) {
  bool isExact = true;
  contiguous = along;
  elementBits = bits;
  Expr result = count(around, axes, isExact);
  contiguous = AxisId{};
  return result;
}

Expr Executions::times(const Surroundings &around) {
  bool isExact = true;
  return count(around, {}, isExact);
}

Expr Executions::elements(const Surroundings &around, const AxisSet &axes, bool &isExact) {
  return count(around, axes, isExact);
}

Expr Executions::count(const Surroundings &around, const AxisSet &axes, bool &isExact) {
  std::vector<Step> steps = stepsAround(around);
  Expr amount = p.number(1);
  for (Expr condition : around.conditions)
    amount = amount * p.resolved(condition);
  AxisSet open = axes; // that no variable has accounted for
  std::vector<SumOverSteps::Range> ranges;
  std::vector<VarId> counted; // outer digits of tiles that are counted already
  auto isNeeded = [&](VarId var) {
    bool isIn = mentions(amount, var);
    for (const SumOverSteps::Range &range : ranges)
      isIn = isIn || mentions(range.count, var);
    return isIn;
  };
  for (size_t i = steps.size(); i-- > 0;) {
    const Step &step = steps[i];
    if (std::find(counted.begin(), counted.end(), step.var) != counted.end())
      continue;
    std::vector<TileDigit> digits;
    auto tiled = std::find_if(open.begin(), open.end(), [&](AxisId axis) {
      digits = tilesOf(axis, step.var, steps);
      return !digits.empty();
    });
    bool isTiled = tiled != open.end(), isSummed = isNeeded(step.var);
    for (const TileDigit &digit : digits)
      isSummed = isSummed || isNeeded(digit.var);
    if (!isSummed) {
      amount = amount * (isTiled ? covered(*tiled, digits) : step.count);
      for (const TileDigit &digit : digits)
        counted.push_back(digit.var);
    } else {
      if (isTiled)
        amount = amount * lanesAt(*tiled);
      ranges.insert(ranges.begin(), {step.var, step.count});
    }
    if (isTiled)
      open.erase(tiled);
  }
  for (AxisId id : open) {
    const Axis &axis = p[id];
    Expr extent = p.resolved(axis.extent);
    bool isWhole = !axis.bound && !axis.lower;
    bool startsAtZero = simplifier.simplify(p.resolved(axis.origin)).isConstant(0);
    if (!isWhole && startsAtZero && !axis.lower) {
      Expr bound = p.resolved(axis.bound);
      extent = bound == extent ? extent : extent.min(bound);
    } else if (!isWhole) {
      isExact = false;
    }
    amount = amount * piecesOf(id, extent);
  }
  return ranges.empty() ? amount : sumOver(std::move(ranges), amount);
}

namespace {

/// Enumerates; nothing beyond 2^20 points or where a number has no value.
std::optional<int64_t> enumerate(const SumOverSteps &sum, const Assignment &sizes) {
  constexpr int64_t mostPoints = int64_t{1} << 20;
  int64_t points = 0, total = 0;
  Assignment at = sizes;
  auto go = [&](auto &self, size_t level) -> bool {
    if (level == sum.over.size()) {
      std::optional<int64_t> value = evaluate(sum.summand, at);
      return value && !__builtin_add_overflow(total, *value, &total);
    }
    std::optional<int64_t> count = evaluate(sum.over[level].count, at);
    if (!count)
      return false;
    for (int64_t i = 0; i < *count; ++i) {
      at.set(sum.over[level].var, i);
      if (++points > mostPoints || !self(self, level + 1))
        return false;
    }
    return true;
  };
  return go(go, 0) ? std::optional(total) : std::nullopt;
}

} // namespace

Expr Executions::sumOver(std::vector<SumOverSteps::Range> ranges, Expr summand) {
  SumOverSteps sum{Expr(), summand, std::move(ranges)};
  for (const SumOverSteps &known : folds.sums) {
    bool isSame = known.summand == summand && known.over.size() == sum.over.size();
    for (size_t i = 0; isSame && i < sum.over.size(); ++i)
      isSame = known.over[i].var == sum.over[i].var && known.over[i].count == sum.over[i].count;
    if (isSame)
      return known.value;
  }
  if (std::optional<int64_t> value = enumerate(sum, {})) // all sizes are numbers
    sum.value = p.number(*value);
  else
    sum.value = p.context->freshVariable(VarKind::TileParam, "steps");
  folds.sums.push_back(sum);
  return sum.value;
}

std::optional<int64_t> Folds::at(Expr count, const Assignment &sizes) const {
  Assignment all = sizes;
  for (const SumOverSteps &sum : sums) {
    if (sum.value.isConstant())
      continue;
    std::optional<int64_t> value = enumerate(sum, all);
    if (!value)
      return std::nullopt;
    all.set(sum.value, *value);
  }
  return evaluate(count, all);
}

Assignment assignmentOf(const Program &program, const SizeValues &sizes) {
  Assignment result;
  for (Expr size : program.sizes)
    if (auto it = sizes.find(program.context->info(size.variable()).name); it != sizes.end())
      result.set(size, it->second);
  return result;
}

} // namespace tilewright::program
