#include "analysis/tiling/loop_range.h"

#include "analysis/affine/simplify.h"
#include "analysis/tiling/masks.h"
#include "analysis/tiling/numeric_tile.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilewright {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Combinations of program ids that loopSteps() visits one by one.
constexpr int64_t maxVisits = int64_t(1) << 16;

/// Does a masked score of this value count for nothing in every row? -inf alone: with any other, a
/// row of nothing else has a finite maximum, and all of its scores count alike.
bool isAbsorbing(double fill) { return fill == -infinity; }

/// Does it count for nothing beside a score that is kept? Scores are taken to lie above -1e9, or in
/// the upper half of a type that has no room for that.
bool vanishesBesideScores(double fill, DType type) {
  return isFloat(type) && fill <= (type == DType::F16 ? -32752.0 : -1e9);
}

/// The result of an elementwise op on operands that are constants or unknown. 0 · x = 0 and -inf -
/// x = -inf, since the unknown is finite.
std::optional<double> elementwiseValue(const Op &op, const std::vector<std::optional<double>> &in) {
  auto known = [&](size_t i) { return i < in.size() && in[i].has_value(); };
  auto isInfinite = [&](size_t i) { return known(i) && std::isinf(*in[i]); };
  auto isZero = [&](size_t i) { return known(i) && *in[i] == 0; };
  switch (op.opcode) {
  case Opcode::Convert:
  case Opcode::Copy:
  case Opcode::ReducePrecision:
    return in[0];
  case Opcode::Negate:
    return known(0) ? std::optional(-*in[0]) : std::nullopt;
  case Opcode::Exp:
    return known(0) ? std::optional(std::exp(*in[0])) : std::nullopt;
  case Opcode::Add:
  case Opcode::Subtract: {
    const double sign = op.opcode == Opcode::Add ? 1 : -1;
    if (known(0) && known(1))
      return *in[0] + sign * *in[1];
    if (isInfinite(0))
      return *in[0];
    return isInfinite(1) ? std::optional(sign * *in[1]) : std::nullopt;
  }
  case Opcode::Multiply:
    if (known(0) && known(1))
      return *in[0] * *in[1];
    return isZero(0) || isZero(1) ? std::optional(0.0) : std::nullopt;
  case Opcode::Divide:
    if (known(0) && known(1))
      return *in[0] / *in[1];
    return isZero(0) ? std::optional(0.0) : std::nullopt;
  case Opcode::Maximum:
  case Opcode::Minimum:
    if (known(0) && known(1))
      return op.opcode == Opcode::Maximum ? std::max(*in[0], *in[1]) : std::min(*in[0], *in[1]);
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

/// Values of all instances if one select gives a constant.
class ConstantFlow {
public:
  ConstantFlow(const Graph &graph, const TiledGroup &group) : graph(graph), group(group) {
    for (const TileInstance &instance : group.instances)
      ownConstants.push_back(uniformConstant(graph[instance.op]));
  }

  /// True if every op that runs over the loop then only gets values that do not change its result.
  /// Where each row has better scores, constants up to `floor` are as good as -inf.
  bool isIdle(unsigned parameter, unsigned select, double value, double floor) const {
    auto floored = [&](double constant) { return constant <= floor ? -infinity : constant; };
    std::vector<std::optional<double>> values(group.instances.size());
    bool isUsed = false;
    for (unsigned i = 0; i < group.instances.size(); ++i) {
      const TileInstance &instance = group.instances[i];
      const bool runs = std::count(instance.reduces.begin(), instance.reduces.end(), parameter) > 0;
      const bool isNeutral = !instance.reduces.empty() && getsNothing(instance, values);
      if (runs && !isNeutral)
        return false;
      isUsed |= runs;
      // Results of the loop depend on other steps, too.
      if (i == select)
        values[i] = floored(value);
      else if (!runs && ownConstants[i])
        values[i] = floored(*ownConstants[i]);
      else if (!runs)
        values[i] = valueOf(i, isNeutral, values);
    }
    return isUsed;
  }

private:
  using Values = std::vector<std::optional<double>>;

  /// A reduce over its initial value, a dot with zeros. Whatever the reduce does: 0 and infinities
  /// are the same however often they come, as 1 added to 1 is not.
  bool getsNothing(const TileInstance &instance, const Values &values) const {
    const Op &op = graph[instance.op];
    auto at = [&](size_t operand) {
      return operand < instance.operands.size() ? values[instance.operands[operand]] : std::nullopt;
    };
    if (op.opcode == Opcode::Dot || op.opcode == Opcode::Convolution)
      return at(0) == 0.0 || at(1) == 0.0;
    if (op.opcode != Opcode::Reduce)
      return false;
    const size_t inputs = instance.operands.size() / 2;
    for (size_t k = 0; k < inputs; ++k)
      if (!at(k) || at(k) != at(inputs + k) || (*at(k) != 0 && !std::isinf(*at(k))))
        return false;
    return inputs > 0;
  }

  std::optional<double> valueOf(unsigned number, bool isNeutral, const Values &values) const {
    const TileInstance &instance = group.instances[number];
    const Op &op = graph[instance.op];
    if (instance.operands.empty())
      return std::nullopt;
    Values in;
    for (unsigned operand : instance.operands)
      in.push_back(values[operand]);
    switch (op.opcode) {
    case Opcode::Broadcast:
    case Opcode::Transpose:
    case Opcode::Reshape:
    case Opcode::Bitcast:
    case Opcode::Slice:
    case Opcode::Reverse:
      return in[0];
    case Opcode::Reduce:
      return isNeutral && instance.operands.size() == 2 ? in[1] : std::nullopt;
    case Opcode::Dot:
      return isNeutral ? std::optional(0.0) : std::nullopt;
    default:
      return isFloat(op.shape.dtype) && !op.shape.isTuple ? elementwiseValue(op, in) : std::nullopt;
    }
  }

  const Graph &graph;
  const TiledGroup &group;
  std::vector<std::optional<double>> ownConstants;
};

class RangeFinder {
public:
  RangeFinder(const Graph &graph, const TiledGroup &group)
      : graph(graph), group(group), masks(graph), flow(graph, group), bounds(group.bounds()) {}

  std::vector<LoopRange> run() {
    const std::vector<TileParameter> &parameters = group.space.parameters;
    std::vector<LoopRange> out(parameters.size());
    for (unsigned p = 0; p < parameters.size(); ++p)
      if (parameters[p].role == TileParameter::Role::Sequential)
        out[p] = {parameters[p].size.context().constant(0), parameters[p].tileCount()};
    for (unsigned i = 0; i < group.instances.size(); ++i)
      if (graph[group.instances[i].op].opcode == Opcode::Select && !group.instances[i].isInput)
        narrowBy(i, out);
    return out;
  }

private:
  void narrowBy(unsigned select, std::vector<LoopRange> &ranges) {
    const TileInstance &instance = group.instances[select];
    const Op &op = graph[instance.op];
    if (instance.loops.empty() || op.shape.isTuple || instance.operands.size() != 3)
      return;
    const std::optional<double> other = constantOf(op.operands[2]);
    if (!other)
      return;
    const std::vector<AffineValue> conditions = masks.conditionsOf(op.operands[0]);
    if (conditions.empty())
      return;
    for (unsigned loop : instance.loops) {
      double floor = -infinity;
      if (!isAbsorbing(*other) && vanishesBesideScores(*other, op.shape.dtype) &&
          everyRowKeepsAScore(loop, instance))
        floor = *other;
      if (!flow.isIdle(loop, select, *other, floor))
        continue;
      for (const AffineValue &condition : conditions)
        if (condition.coefficients.size() == instance.tile.dims.size())
          narrow(ranges[loop], group.space.parameters[loop], condition, instance.tile);
    }
  }

  /// The dim of a tile that a loop goes along, if it is one alone and the loop goes over all of it.
  std::optional<size_t> dimOf(unsigned loop, const TileInstance &instance) const {
    const TileParameter &parameter = group.space.parameters[loop];
    std::optional<size_t> found;
    for (size_t d = 0; d < instance.tile.dims.size(); ++d) {
      const Expr parts[] = {instance.tile.dims[d].offset, instance.tile.dims[d].stride};
      const std::vector<VarId> used = variablesOf(parts);
      if (!std::binary_search(used.begin(), used.end(), parameter.index.variable()))
        continue;
      if (found)
        return std::nullopt;
      found = d;
    }
    const std::vector<int64_t> &dims = graph[instance.op].shape.dims;
    return found && *found < dims.size() && dims[*found] == parameter.extent ? found : std::nullopt;
  }

  /// Do all selects over the loop together leave a score to each of their rows, as a causal mask
  /// leaves the diagonal? False where that is not known.
  bool everyRowKeepsAScore(unsigned loop, const TileInstance &instance) {
    const std::vector<int64_t> &dims = graph[instance.op].shape.dims;
    const std::optional<size_t> along = dimOf(loop, instance);
    if (!along)
      return false;
    std::vector<AffineValue> conditions;
    for (const TileInstance &each : group.instances) {
      const Op &op = graph[each.op];
      if (each.isInput || op.opcode != Opcode::Select ||
          std::find(each.loops.begin(), each.loops.end(), loop) == each.loops.end())
        continue;
      if (op.shape.isTuple || op.shape.dims != dims || dimOf(loop, each) != along ||
          !masks.isExact(op.operands[0]))
        return false;
      for (AffineValue &condition : masks.conditionsOf(op.operands[0]))
        conditions.push_back(std::move(condition));
    }
    return alwaysHoldSomewhere(conditions, dims, *along);
  }

  std::optional<double> constantOf(OpId id) const {
    for (unsigned depth = 0; depth < 16; ++depth) {
      const Op &op = graph[id];
      if (op.opcode == Opcode::Constant)
        return uniformConstant(op);
      if ((op.opcode != Opcode::Broadcast && op.opcode != Opcode::Convert &&
           op.opcode != Opcode::Reshape) ||
          op.operands.empty())
        return std::nullopt;
      id = op.operands[0];
    }
    return std::nullopt;
  }

  /// Steps in which the condition holds nowhere in the tile do nothing. The condition's largest
  /// value in the tile must be  a + g · step  with g of one sign.
  void narrow(LoopRange &range, const TileParameter &loop, const AffineValue &condition,
              const Tile &tile) {
    ExprContext &ctx = loop.size.context();
    Simplifier simplifier(ctx, bounds);
    Expr largest = ctx.constant(condition.constant);
    for (size_t i = 0; i < tile.dims.size(); ++i) {
      const int64_t c = condition.coefficients[i];
      const TileDim &dim = tile.dims[i];
      if (c == 0)
        continue;
      if (!dim.stride.isConstant())
        return;
      const Expr first = dim.offset, last = dim.offset + dim.stride * (dim.size - 1);
      const bool isForward = dim.stride.constant() > 0;
      Expr end = (c > 0) == isForward ? last : first;
      // Masks tighten the bound, unless they would hide that it is linear in the step.
      const Expr parts[] = {dim.offset, dim.lower, dim.upper};
      const std::vector<VarId> used = variablesOf(parts);
      if (!std::binary_search(used.begin(), used.end(), loop.index.variable()))
        end = c > 0 ? end.min(dim.upper - 1) : end.max(dim.lower);
      largest = largest + end * c;
    }
    auto atStep = [&](Expr step) {
      return simplifier.simplify(substitute(
          largest, [&](VarId var) { return var == loop.index.variable() ? step : Expr(); }));
    };
    const Expr base = atStep(ctx.constant(0));
    const Expr slope = simplifier.simplify(atStep(ctx.constant(1)) - base);
    const Expr linear = base + slope * loop.index;
    if (!simplifier.simplify(largest - linear).isConstant(0))
      return;
    const std::vector<VarId> used = variablesOf(base);
    for (VarId var : used)
      if (ctx.info(var).kind == VarKind::Step || ctx.info(var).kind == VarKind::Runtime)
        return;
    const Interval slopes = simplifier.range(slope);
    if (slopes.hi < 0) // true in steps ≤ base / -slope
      range.end = simplifier.simplify(range.end.min((base.floorDiv(-slope) + 1).max(0)));
    else if (slopes.lo > 0)
      range.first = simplifier.simplify(range.first.max((-base).ceilDiv(slope)));
  }

  const Graph &graph;
  const TiledGroup &group;
  MaskReader masks;
  ConstantFlow flow;
  Bounds bounds;
};

} // namespace

std::vector<LoopRange> findLoopRanges(const Graph &graph, const TiledGroup &group) {
  return RangeFinder(graph, group).run();
}

std::optional<int64_t> stepsAt(const TiledGroup &group, unsigned parameter,
                               const Assignment &point) {
  if (parameter >= group.ranges.size() || !group.ranges[parameter].end)
    return std::nullopt;
  std::optional<int64_t> first = evaluate(group.ranges[parameter].first, point);
  std::optional<int64_t> end = evaluate(group.ranges[parameter].end, point);
  return first && end ? std::optional(std::max<int64_t>(0, *end - *first)) : std::nullopt;
}

std::vector<LoopSteps> loopSteps(const TiledGroup &group, std::span<const int64_t> values) {
  const std::vector<TileParameter> &parameters = group.space.parameters;
  const std::vector<int64_t> counts = tileCounts(group.space, values);
  std::vector<LoopSteps> out(parameters.size());
  for (unsigned p = 0; p < out.size() && p < group.ranges.size(); ++p) {
    if (!group.ranges[p].end)
      continue;
    const Expr ends[] = {group.ranges[p].first, group.ranges[p].end};
    const std::vector<VarId> used = variablesOf(ends);
    std::vector<unsigned> ids;
    double combinations = 1;
    for (unsigned i = 0; i < parameters.size(); ++i)
      if (parameters[i].role == TileParameter::Role::Parallel &&
          std::binary_search(used.begin(), used.end(), parameters[i].index.variable())) {
        ids.push_back(i);
        combinations *= double(std::max<int64_t>(1, counts[i]));
      }
    LoopSteps &steps = out[p];
    steps.isExact = combinations <= double(maxVisits);
    const int64_t visits = steps.isExact ? static_cast<int64_t>(combinations) : maxVisits;
    Assignment point = group.space.assign(values);
    double sum = 0;
    for (int64_t v = 0; v < visits; ++v) {
      // The v-th combination, or of evenly spaced ones from the first to the last.
      double number =
          steps.isExact ? double(v) : std::floor(double(v) * ((combinations - 1) / (visits - 1)));
      for (size_t k = ids.size(); k > 0; --k) {
        const double count = double(std::max<int64_t>(1, counts[ids[k - 1]]));
        point.set(parameters[ids[k - 1]].index, static_cast<int64_t>(std::fmod(number, count)));
        number = std::floor(number / count);
      }
      const int64_t mine = stepsAt(group, p, point).value_or(counts[p]);
      sum += double(mine);
      steps.smallest = v == 0 ? mine : std::min(steps.smallest, mine);
      steps.largest = v == 0 ? mine : std::max(steps.largest, mine);
    }
    steps.average = sum / double(visits);
  }
  return out;
}

} // namespace tilewright
