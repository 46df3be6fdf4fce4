#include "costmodel/plan_view.h"

#include "analysis/support/checked.h"
#include "analysis/support/diag.h"

#include <algorithm>
#include <cmath>
#include <map>

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

template <class Q> class Viewer {
public:
  using InstanceView = InstanceViewOf<Q>;
  using ParameterView = ParameterViewOf<Q>;

  Viewer(const KernelPlan &plan, const PlanNumbers<Q> &numbers, EvaluatorOf<Q> &point,
         const TileMovers &movers)
      : plan(plan), tiled(*plan.tiled), graph(plan.ops()), numbers(numbers), point(point),
        movers(movers) {}

  llvm::Expected<PlanViewOf<Q>> run() {
    readParameters();
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
  void readParameters() {
    const auto &parameters = tiled.space.parameters;
    Q &splitK = view.splits;
    for (unsigned i = 0; i < parameters.size(); ++i) {
      const TileParameter &p = parameters[i];
      ParameterView v;
      v.size = numbers.values[i];
      v.extent = p.extent;
      if (p.role != Role::Schedule) {
        v.tiles = ceilOf(Q(double(std::max<int64_t>(p.extent, 0))) / v.size);
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
    v.dimParameters = movers[view.instances.size()];
    for (size_t d = 0; d < instance.tile.dims.size(); ++d) {
      const TileDim &dim = instance.tile.dims[d];
      std::optional<Q> size = point(dim.size);
      if (!size || *size < 0.0)
        return badPlan(plan, "the tile of %{} has no size in dim {}", v.op->name, d);
      v.sizes.push_back(*size);
      v.elements *= *size;
      Q tiles = 1;
      const std::vector<unsigned> &moving = v.dimParameters[d];
      for (unsigned m : moving)
        tiles *= view.parameters[m].tiles;
      if (d < dims.size() && *size > 0.0 && tiles > 0.0) {
        // Tiles that come again (behind a reshape) or overlap don't stick out any further.
        if (moving.size() != 1 || tiled.space.parameters[moving[0]].size != dim.size)
          tiles = smaller(tiles, ceilOf(double(dims[d]) / *size));
        v.valid *= smaller(Q(1), double(dims[d]) / (tiles * *size));
      }
      for (unsigned m : moving)
        if (view.parameters[m].tiles > 1.0)
          v.movedBy.push_back(m);
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

  /// The point with indices of tiles: the sample positions.
  std::vector<EvaluatorOf<Q>> samplePoints() const {
    std::vector<EvaluatorOf<Q>> samples(3, point);
    for (unsigned sample = 0; sample < samples.size(); ++sample)
      for (unsigned i = 0; i < view.parameters.size(); ++i)
        if (Expr index = tiled.space.parameters[i].index)
          samples[sample].set(index.variable(),
                              samplePosition(i, sample, view.parameters[i].tiles));
    return samples;
  }

  /// Offsets of a tile at the sample positions.
  using Signature = std::vector<std::optional<Q>>;
  static Signature signatureAt(std::vector<EvaluatorOf<Q>> &samples, const InstanceView &v) {
    Signature result;
    for (EvaluatorOf<Q> &at : samples)
      for (const TileDim &dim : v.instance->tile.dims)
        result.push_back(at(dim.offset));
    return result;
  }

  void markDuplicates() {
    std::map<uint32_t, std::vector<unsigned>> byOp;
    for (unsigned i = 0; i < view.instances.size(); ++i)
      byOp[view.instances[i].instance->op.index].push_back(i);
    std::vector<EvaluatorOf<Q>> samples;
    for (auto &[op, members] : byOp) {
      if (members.size() == 1)
        continue;
      if (samples.empty())
        samples = samplePoints();
      std::vector<Signature> signatures;
      for (unsigned member : members)
        signatures.push_back(signatureAt(samples, view.instances[member]));
      for (size_t j = 1; j < members.size(); ++j) {
        InstanceView &later = view.instances[members[j]];
        for (size_t i = 0; i < j && later.sameAs < 0; ++i) {
          const InstanceView &earlier = view.instances[members[i]];
          if (earlier.sameAs < 0 && earlier.sizes == later.sizes && signatures[i] == signatures[j])
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
  EvaluatorOf<Q> &point;
  const TileMovers &movers;
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

TileMovers moversOf(const TiledGroup &group) {
  std::map<VarId, unsigned> parameterOf;
  for (unsigned i = 0; i < group.space.parameters.size(); ++i)
    if (group.space.parameters[i].role != Role::Schedule)
      parameterOf[group.space.parameters[i].index.variable()] = i;
  TileMovers movers;
  for (const TileInstance &instance : group.instances) {
    auto &ofDims = movers.emplace_back();
    for (const TileDim &dim : instance.tile.dims) {
      auto &ofDim = ofDims.emplace_back();
      for (VarId var : variablesOf(dim.offset))
        if (auto it = parameterOf.find(var); it != parameterOf.end())
          ofDim.push_back(it->second);
      std::sort(ofDim.begin(), ofDim.end());
    }
  }
  return movers;
}

template <class Q>
llvm::Expected<PlanViewOf<Q>> viewOf(const KernelPlan &plan, const PlanNumbers<Q> &numbers,
                                     EvaluatorOf<Q> &point, const TileMovers &movers) {
  return Viewer<Q>(plan, numbers, point, movers).run();
}

llvm::Expected<PlanViewOf<double>> viewOf(const KernelPlan &plan) {
  auto numbers = numbersOf(plan);
  if (!numbers)
    return numbers.takeError();
  Evaluator point = evaluatorAt(*plan.tiled, *numbers);
  return viewOf(plan, *numbers, point, moversOf(*plan.tiled));
}

template struct InstanceViewOf<double>;
template struct InstanceViewOf<Traced>;
template struct PlanViewOf<double>;
template struct PlanViewOf<Traced>;
template llvm::Expected<PlanViewOf<double>> viewOf(const KernelPlan &, const PlanNumbers<double> &,
                                                   Evaluator &, const TileMovers &);
template llvm::Expected<PlanViewOf<Traced>> viewOf(const KernelPlan &, const PlanNumbers<Traced> &,
                                                   TracingEvaluator &, const TileMovers &);

} // namespace tilewright
