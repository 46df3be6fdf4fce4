#include "costmodel/plan_view.h"

#include "analysis/support/checked.h"
#include "analysis/support/diag.h"
#include "analysis/tiling/loop_range.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

namespace tilewright {

namespace {

using Role = TileParameter::Role;

template <class... Args>
llvm::Error badPlan(const KernelPlan &plan, fmt::format_string<Args...> format, Args &&...args) {
  return makeError(DiagClass::Internal, "plan '{}': {}", plan.name,
                   fmt::format(format, std::forward<Args>(args)...));
}

/// Sample points that distinguish tiles by what moves them: three indices of each parameter;
/// parameters with one tile stay at 0.
template <class Q> Q samplePosition(unsigned parameter, unsigned sample, const Q &tiles) {
  Q n = smaller(tiles, Q(1e15)), place = double(parameter) * 7 + 5 + double(sample) * 3;
  return n <= 1.0 ? Q(0) : place - n * floorOf(place / n);
}

/// Expressions of the group at a point. The values of one plan stay integers of 64 bits.
class Evaluator {
public:
  void setLargest(VarId, int64_t) {}
  void set(VarId var, double value) { point.set(var, static_cast<int64_t>(value)); }
  std::optional<double> operator()(Expr expr) const {
    std::optional<int64_t> value = evaluate(expr, point);
    return value ? std::optional(double(*value)) : std::nullopt;
  }

private:
  Assignment point;
};

/// Recorded in floating point, which is exact for sizes and positions below 2^53, and without
/// branches: comparisons are sums, a select is one of two products.
class TracingEvaluator {
public:
  /// No power of two above `most` is looked for in a number.
  void setLargest(VarId var, int64_t most) { bounds.set(var, Interval{1, most}); }
  void set(VarId var, const Traced &value) {
    if (var.index >= values.size())
      values.resize(var.index + 1);
    values[var.index] = value;
    known.clear();
  }

  std::optional<Traced> operator()(Expr expr) { return evaluated(expr); }

private:
  std::optional<Traced> evaluated(Expr expr) {
    if (expr.isConstant())
      return Traced(double(expr.constant()));
    if (expr.isVariable()) {
      VarId var = expr.variable();
      return var.index < values.size() ? values[var.index] : std::nullopt;
    }
    if (expr.isPoison())
      return std::nullopt;
    if (auto it = known.find(expr.id()); it != known.end())
      return it->second;
    if (std::optional<Traced> power = smallPower(expr)) {
      known.emplace(expr.id(), *power);
      return power;
    }
    std::optional<Traced> a = evaluated(expr.lhs()), b = evaluated(expr.rhs());
    if (!a || !b)
      return std::nullopt;
    std::optional<Traced> result = combined(expr.kind(), *a, *b);
    if (expr.kind() == ExprKind::Pow2Divisor)
      result = powerDividing(*a, rangeOf(expr.lhs(), bounds).hi);
    if (expr.kind() == ExprKind::Select) {
      std::optional<Traced> condition = evaluated(expr.third());
      if (!condition)
        return std::nullopt;
      Traced holds = smaller(larger(*condition, 0.0 - *condition), Traced(1.0));
      result = *b + holds * (*a - *b);
    }
    if (result)
      known.emplace(expr.id(), *result);
    return result;
  }

  /// min(pow2Divisor(x), most): powers beyond `most` need not be tried.
  std::optional<Traced> smallPower(Expr expr) {
    if (expr.kind() != ExprKind::Min)
      return std::nullopt;
    for (auto [power, most] : {std::pair(expr.lhs(), expr.rhs()), {expr.rhs(), expr.lhs()}})
      if (power.kind() == ExprKind::Pow2Divisor && most.isConstant() &&
          isPowerOfTwo(most.constant()))
        if (std::optional<Traced> of = evaluated(power.lhs()))
          return powerDividing(*of, std::min(most.constant(), rangeOf(power.lhs(), bounds).hi));
    return std::nullopt;
  }
  static bool isPowerOfTwo(int64_t x) { return x > 0 && (x & (x - 1)) == 0; }

  static std::optional<Traced> combined(ExprKind kind, const Traced &a, const Traced &b) {
    switch (kind) {
    case ExprKind::Add:
      return a + b;
    case ExprKind::Mul:
      return a * b;
    case ExprKind::Min:
      return smaller(a, b);
    case ExprKind::Max:
      return larger(a, b);
    case ExprKind::IsAtLeast:
      return larger(Traced(0.0), smaller(a - b + 1.0, Traced(1.0)));
    case ExprKind::IsEqual:
      return 1.0 - smaller(larger(a - b, b - a), Traced(1.0));
    case ExprKind::Pow2Ceil:
      return powerOfTwoBelow(larger(a, Traced(1.0)) * 2.0 - 1.0);
    case ExprKind::FloorDiv:
    case ExprKind::CeilDiv:
    case ExprKind::Mod:
      break;
    default: // logarithms have no recorded form
      return std::nullopt;
    }
    if (b < 1.0) // divisors are positive
      return std::nullopt;
    if (kind == ExprKind::CeilDiv)
      return ceilOf(a / b);
    Traced quotient = floorOf(a / b);
    return kind == ExprKind::FloorDiv ? quotient : a - b * quotient;
  }

  /// Of a number of at most `most`.
  static Traced powerDividing(const Traced &a, int64_t most) {
    constexpr int64_t largest = int64_t(1) << 20;
    Traced divides(1.0);
    for (int64_t power = 2; power <= std::min(most, largest); power *= 2) {
      const auto p = double(power);
      divides = larger(divides, p * (1.0 - smaller(a - floorOf(a * (1 / p)) * p, Traced(1.0))));
    }
    return divides;
  }

  std::vector<std::optional<Traced>> values;
  std::unordered_map<uint32_t, Traced> known; ///< at these values, by Expr::id(); only looked up
  Bounds bounds;
};

template <class Q>
using EvaluatorOf = std::conditional_t<std::is_same_v<Q, Traced>, TracingEvaluator, Evaluator>;

template <class Q> class Viewer {
public:
  using InstanceView = InstanceViewOf<Q>;
  using ParameterView = ParameterViewOf<Q>;

  Viewer(const KernelPlan &plan, const PlanNumbers<Q> &numbers)
      : plan(plan), tiled(*plan.tiled), graph(plan.ops()), numbers(numbers) {}

  llvm::Expected<PlanViewOf<Q>> run() {
    if (auto error = readParameters())
      return error;
    for (const TileInstance &instance : tiled.instances)
      if (auto error = addInstance(instance))
        return error;
    markDuplicates();
    countIterations();
    if (view.iterations > 1.0) // beside a real loop, loops of one iteration do not count
      for (InstanceView &v : view.instances)
        v.inAnyLoop = !v.loops.empty();
    return std::move(view);
  }

private:
  llvm::Error readParameters() {
    const auto &parameters = tiled.space.parameters;
    Q &splitK = view.splits;
    for (unsigned i = 0; i < parameters.size(); ++i) {
      const TileParameter &p = parameters[i];
      ParameterView v;
      v.size = numbers.values[i];
      v.extent = p.extent;
      point.set(p.size.variable(), v.size);
      if (p.role != Role::Schedule) {
        v.tiles = ceilOf(Q(double(std::max<int64_t>(p.extent, 0))) / v.size);
        indexOfVariable[p.index.variable().index] = i;
        if (p.role == Role::Parallel)
          view.ctas *= v.tiles;
      } else if (p.name == "split_k") {
        splitK = v.size;
      }
      view.parameters.push_back(v);
    }
    if (splitK > 1.0)
      view.splitParameters = splitParameters();
    for (unsigned parameter : view.splitParameters) {
      ParameterView &v = view.parameters[parameter];
      v.tiles = ceilOf(v.tiles / splitK);
    }
    view.ctas *= splitK;
    readSteps();
    for (const RuntimeVariable &variable : tiled.runtime)
      point.set(variable.var.variable(), double(std::max<int64_t>(variable.range.lo, 0)));
    return llvm::Error::success();
  }

  /// Steps of each loop, where masks shorten the loops of some CTAs.
  void readSteps() {
    for (unsigned i = 0; i < view.parameters.size(); ++i) {
      ParameterView &v = view.parameters[i];
      v.meanSteps = v.maxSteps = v.tiles;
      if (tiled.space.parameters[i].role != Role::Sequential)
        continue;
      if (numbers.maxSteps.empty()) {
        v.meanSteps = v.maxSteps = larger(v.tiles, Q(1));
      } else if (numbers.maxSteps[i] <= v.tiles) {
        v.meanSteps = larger(numbers.meanSteps[i], Q(1));
        v.maxSteps = larger(numbers.maxSteps[i], Q(1));
      }
    }
  }

  /// split-K divides the first contracted dim of the last dot; without dots, the first dim of the
  /// reduction that has more than one tile.
  std::vector<unsigned> splitParameters() const {
    for (bool isOfDots : {true, false})
      for (auto it = tiled.instances.rbegin(); it != tiled.instances.rend(); ++it) {
        const Opcode opcode = graph[it->op].opcode;
        if (it->isInput || it->reduces.empty() ||
            (isOfDots ? opcode != Opcode::Dot && opcode != Opcode::Convolution
                      : opcode != Opcode::Reduce))
          continue;
        for (unsigned parameter : it->reduces)
          if (isOfDots || view.parameters[parameter].tiles > 1.0)
            return {parameter};
      }
    return {};
  }

  llvm::Error addInstance(const TileInstance &instance) {
    InstanceView v;
    v.instance = &instance;
    v.op = &graph[instance.op];
    v.isInput = instance.isInput;
    // All that follows asks for the extents, the layout and the bytes of one tensor.
    if (v.op->opcode == Opcode::Reduce && v.op->shape.isTuple && !v.op->shape.elements.empty()) {
      auto one = std::make_shared<Op>(*v.op); // its results are of the same elements
      one->shape = Shape(v.op->shape.elements.front());
      v.op = one.get();
      view.ofSeveral.push_back(std::move(one));
    }
    if (v.op->shape.isTuple)
      return makeError(DiagClass::Unsupported,
                       "%{} ({}) has several results, which no price is for", v.op->name,
                       toString(v.op->opcode));
    auto within = tiled.group.within.find(instance.op);
    v.extents = within == tiled.group.within.end() ? &v.op->shape.dims : &within->second;
    const auto &dims = v.op->shape.dims;
    for (size_t d = 0; d < instance.tile.dims.size(); ++d) {
      const TileDim &dim = instance.tile.dims[d];
      std::optional<Q> size = point(dim.size);
      if (!size || *size < 0.0)
        return badPlan(plan, "the tile of %{} has no size in dim {}", v.op->name, d);
      v.sizes.push_back(*size);
      v.elements *= *size;
      Q tiles = 1;
      std::vector<unsigned> movers;
      for (VarId var : variablesOf(dim.offset))
        if (auto it = indexOfVariable.find(var.index); it != indexOfVariable.end()) {
          movers.push_back(it->second);
          tiles *= view.parameters[it->second].tiles;
        }
      std::sort(movers.begin(), movers.end());
      if (d < dims.size() && *size > 0.0 && tiles > 0.0) {
        // Tiles that come again (behind a reshape) or overlap don't stick out any further.
        if (movers.size() != 1 || tiled.space.parameters[movers[0]].size != dim.size)
          tiles = smaller(tiles, ceilOf(double(dims[d]) / *size));
        v.valid *= smaller(Q(1), double(dims[d]) / (tiles * *size));
      }
      for (unsigned m : movers)
        if (view.parameters[m].tiles > 1.0)
          v.movedBy.push_back(m);
      v.dimParameters.push_back(std::move(movers));
    }
    std::sort(v.movedBy.begin(), v.movedBy.end());
    v.movedBy.erase(std::unique(v.movedBy.begin(), v.movedBy.end()), v.movedBy.end());
    v.bytes = v.elements * bitWidth(v.op->shape.dtype) / 8;

    v.inAnyLoop = !instance.loops.empty() || !instance.reduces.empty();
    std::vector<unsigned> loops = instance.reduces;
    for (unsigned loop : instance.loops)
      if (v.isMovedBy(loop))
        loops.push_back(loop);
    for (unsigned loop : loops)
      if (view.parameters[loop].tiles > 1.0)
        v.loops.push_back(loop);
    std::sort(v.loops.begin(), v.loops.end());
    v.loops.erase(std::unique(v.loops.begin(), v.loops.end()), v.loops.end());
    view.instances.push_back(std::move(v));
    return llvm::Error::success();
  }

  /// Offsets of a tile at the sample positions.
  std::vector<std::optional<Q>> signature(const InstanceView &v) {
    std::vector<std::optional<Q>> result;
    for (unsigned sample = 0; sample < 3; ++sample) {
      EvaluatorOf<Q> at = point;
      for (unsigned i = 0; i < view.parameters.size(); ++i)
        if (Expr index = tiled.space.parameters[i].index)
          at.set(index.variable(), samplePosition(i, sample, view.parameters[i].tiles));
      for (const TileDim &dim : v.instance->tile.dims)
        result.push_back(at(dim.offset));
    }
    return result;
  }

  void markDuplicates() {
    std::map<uint32_t, std::vector<unsigned>> byOp;
    for (unsigned i = 0; i < view.instances.size(); ++i)
      byOp[view.instances[i].instance->op.index].push_back(i);
    for (auto &[op, members] : byOp) {
      for (size_t j = 1; j < members.size(); ++j) {
        InstanceView &later = view.instances[members[j]];
        auto wanted = signature(later);
        for (size_t i = 0; i < j && later.sameAs < 0; ++i) {
          const InstanceView &earlier = view.instances[members[i]];
          if (earlier.sameAs < 0 && earlier.sizes == later.sizes && signature(earlier) == wanted)
            later.sameAs = int(members[i]);
        }
      }
    }
  }

  /// Iterations of consecutive loops add up; an op in an outer loop only runs less often.
  void countIterations() {
    std::vector<std::vector<unsigned>> nests;
    for (const InstanceView &v : view.instances)
      if (!v.loops.empty() && std::find(nests.begin(), nests.end(), v.loops) == nests.end())
        nests.push_back(v.loops);
    Q sum = 0, most = 0;
    for (const auto &nest : nests) {
      bool inner = std::none_of(nests.begin(), nests.end(), [&](const auto &other) {
        return other.size() > nest.size() &&
               std::includes(other.begin(), other.end(), nest.begin(), nest.end());
      });
      if (!inner)
        continue;
      Q times = 1, atMost = 1;
      for (unsigned loop : nest) {
        times *= view.parameters[loop].meanSteps;
        atMost *= view.parameters[loop].maxSteps;
      }
      sum += times;
      most += atMost;
    }
    view.iterations = larger(sum, Q(1));
    view.maxIterations = larger(most, Q(1));
  }

  const KernelPlan &plan;
  const TiledGroup &tiled;
  const Graph &graph;
  const PlanNumbers<Q> &numbers;
  PlanViewOf<Q> view;
  EvaluatorOf<Q> point;
  std::map<uint32_t, unsigned> indexOfVariable;
};

} // namespace

template <class Q> bool InstanceViewOf<Q>::isMovedBy(unsigned parameter) const {
  return std::binary_search(movedBy.begin(), movedBy.end(), parameter);
}

template <class Q> int InstanceViewOf<Q>::minorDim() const {
  for (int64_t dim : op->shape.minorToMajorOrDefault())
    if (size_t(dim) < extents->size() && (*extents)[dim] > 1)
      return int(dim);
  return -1;
}

template <class Q> int64_t InstanceViewOf<Q>::minorStride() const {
  int minor = minorDim();
  if (minor < 0 || size_t(minor) >= instance->tile.dims.size())
    return 1;
  Expr stride = instance->tile.dims[size_t(minor)].stride;
  return stride.isConstant() ? std::max<int64_t>(std::abs(stride.constant()), 1) : 1;
}

template <class Q> Q InstanceViewOf<Q>::contiguousElements() const {
  if (minorStride() > 1)
    return 1;
  Q run = 1;
  for (int64_t dim : op->shape.minorToMajorOrDefault()) {
    if (size_t(dim) >= sizes.size() || (*extents)[dim] == INT64_MAX)
      break;
    run *= sizes[dim];
    if (!(sizes[dim] ==
          double((*extents)[dim]))) // covers a part of the dim, or is padded beyond it
      break;
  }
  return run;
}

template <class Q> int64_t InstanceViewOf<Q>::rowPitch() const {
  int minor = minorDim();
  return minor < 0 ? 1 : (*extents)[minor];
}

template <class Q> bool InstanceViewOf<Q>::isOneRow() const {
  int minor = minorDim();
  for (size_t d = 0; d < extents->size(); ++d)
    if ((*extents)[d] == INT64_MAX || (int(d) != minor && (*extents)[d] > 1))
      return false;
  return true;
}

template <class Q> Q PlanViewOf<Q>::perIteration(const InstanceViewOf<Q> &view) const {
  if (isOutside(view))
    return 0;
  Q times = 1;
  for (unsigned loop : view.loops)
    times *= parameters[loop].meanSteps;
  return times / iterations;
}

bool hasUnevenLoops(const TiledGroup &group) {
  for (unsigned i = 0; i < group.ranges.size(); ++i) {
    const LoopRange &range = group.ranges[i];
    if (range.end &&
        !(range.first.isConstant(0) && range.end == group.space.parameters[i].tileCount()))
      return true;
  }
  return false;
}

llvm::Expected<PlanNumbers<double>> numbersOf(const KernelPlan &plan) {
  const auto &parameters = plan.tiled->space.parameters;
  if (plan.values.size() != parameters.size())
    return badPlan(plan, "{} values for {} parameters", plan.values.size(), parameters.size());
  PlanNumbers<double> numbers;
  for (unsigned i = 0; i < parameters.size(); ++i) {
    if (plan.values[i] < 1)
      return badPlan(plan, "parameter {} is {}, at least 1 is needed", parameters[i].name,
                     plan.values[i]);
    numbers.values.push_back(double(plan.values[i]));
  }
  if (hasUnevenLoops(*plan.tiled))
    for (const LoopSteps &steps : loopSteps(*plan.tiled, plan.values)) {
      numbers.meanSteps.push_back(steps.average);
      numbers.maxSteps.push_back(double(steps.largest));
    }
  return numbers;
}

template <class Q>
std::vector<std::optional<Q>> evaluateAt(const TiledGroup &group, const PlanNumbers<Q> &numbers,
                                         std::initializer_list<Expr> exprs) {
  EvaluatorOf<Q> point;
  for (size_t i = 0; i < group.space.parameters.size(); ++i)
    point.set(group.space.parameters[i].size.variable(), numbers.values[i]);
  for (const TileParameter &parameter : group.space.parameters)
    point.setLargest(parameter.size.variable(), parameter.largest());
  std::vector<std::optional<Q>> values;
  for (Expr expr : exprs) // with what they have in common evaluated once
    values.push_back(point(expr));
  return values;
}

template <class Q>
llvm::Expected<PlanViewOf<Q>> viewOf(const KernelPlan &plan, const PlanNumbers<Q> &numbers) {
  return Viewer<Q>(plan, numbers).run();
}

template struct InstanceViewOf<double>;
template struct InstanceViewOf<Traced>;
template struct PlanViewOf<double>;
template struct PlanViewOf<Traced>;
template std::vector<std::optional<double>>
evaluateAt(const TiledGroup &, const PlanNumbers<double> &, std::initializer_list<Expr>);
template std::vector<std::optional<Traced>>
evaluateAt(const TiledGroup &, const PlanNumbers<Traced> &, std::initializer_list<Expr>);
template llvm::Expected<PlanViewOf<double>> viewOf(const KernelPlan &, const PlanNumbers<double> &);
template llvm::Expected<PlanViewOf<Traced>> viewOf(const KernelPlan &, const PlanNumbers<Traced> &);

} // namespace tilewright
