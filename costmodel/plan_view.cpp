#include "costmodel/plan_view.h"

#include "analysis/support/checked.h"
#include "analysis/support/diag.h"
#include "analysis/tiling/loop_range.h"

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

/// Values that tell apart tiles which differ in what moves them: index i of n tiles stands at
/// three places; parameters with one tile stay at 0.
int64_t samplePosition(unsigned parameter, unsigned sample, double tiles) {
  auto n = static_cast<int64_t>(std::min(tiles, 1e15));
  return n <= 1 ? 0 : (int64_t(parameter) * 7 + 5 + int64_t(sample) * 3) % n;
}

class Viewer {
public:
  explicit Viewer(const KernelPlan &plan) : plan(plan), tiled(*plan.tiled), graph(plan.ops()) {}

  llvm::Expected<PlanView> run() {
    if (auto error = readParameters())
      return error;
    for (const TileInstance &instance : tiled.instances)
      if (auto error = addInstance(instance))
        return error;
    markDuplicates();
    countIterations();
    if (view.iterations > 1) // beside a real loop, loops of one iteration are none
      for (InstanceView &v : view.instances)
        v.inAnyLoop = !v.loops.empty();
    return std::move(view);
  }

private:
  llvm::Error readParameters() {
    const auto &parameters = tiled.space.parameters;
    if (plan.values.size() != parameters.size())
      return badPlan(plan, "{} values for {} parameters", plan.values.size(), parameters.size());
    point = plan.assignment();
    for (unsigned i = 0; i < parameters.size(); ++i) {
      const TileParameter &p = parameters[i];
      ParameterView v;
      v.size = plan.values[i];
      v.extent = p.extent;
      if (v.size < 1)
        return badPlan(plan, "parameter {} is {}, at least 1 is needed", p.name, v.size);
      if (p.role != Role::Schedule) {
        v.tiles = double(ceilDiv(std::max<int64_t>(p.extent, 0), v.size));
        indexOfVariable[p.index.variable().index] = i;
        if (p.role == Role::Parallel)
          view.ctas *= v.tiles;
      }
      view.parameters.push_back(v);
    }
    int64_t splitK = plan.schedule().splitK;
    if (splitK > 1)
      for (unsigned parameter : splitParameters()) {
        ParameterView &v = view.parameters[parameter];
        v.tiles = std::ceil(v.tiles / double(splitK));
      }
    view.ctas *= double(splitK);
    readSteps();
    for (const RuntimeVariable &variable : tiled.runtime)
      point.set(variable.var, std::max<int64_t>(variable.range.lo, 0));
    return llvm::Error::success();
  }

  /// Steps of each loop, where masks leave programs with fewer than all.
  void readSteps() {
    std::vector<LoopSteps> steps = loopSteps(tiled, plan.values);
    for (unsigned i = 0; i < view.parameters.size(); ++i) {
      ParameterView &v = view.parameters[i];
      v.meanSteps = v.mostSteps = v.tiles;
      if (i < steps.size() && tiled.space.parameters[i].role == Role::Sequential &&
          double(steps[i].largest) <= v.tiles) {
        v.meanSteps = std::max(steps[i].average, 1.0);
        v.mostSteps = std::max(double(steps[i].largest), 1.0);
      }
    }
  }

  /// The first contracted dim of the last dot is what split-K divides.
  std::vector<unsigned> splitParameters() const {
    for (auto it = tiled.instances.rbegin(); it != tiled.instances.rend(); ++it)
      if (Opcode opcode = graph[it->op].opcode;
          !it->isInput && (opcode == Opcode::Dot || opcode == Opcode::Convolution) &&
          !it->reduces.empty())
        return {it->reduces.front()};
    return {};
  }

  llvm::Error addInstance(const TileInstance &instance) {
    InstanceView v;
    v.instance = &instance;
    v.op = &graph[instance.op];
    v.isInput = instance.isInput;
    const auto &dims = v.op->shape.dims;
    for (size_t d = 0; d < instance.tile.dims.size(); ++d) {
      const TileDim &dim = instance.tile.dims[d];
      std::optional<int64_t> size = evaluate(dim.size, point);
      if (!size || *size < 0)
        return badPlan(plan, "the tile of %{} has no size in dim {}", v.op->name, d);
      v.sizes.push_back(*size);
      v.elements *= double(*size);
      double tiles = 1;
      std::vector<unsigned> movers;
      for (VarId var : variablesOf(dim.offset))
        if (auto it = indexOfVariable.find(var.index); it != indexOfVariable.end()) {
          movers.push_back(it->second);
          tiles *= view.parameters[it->second].tiles;
        }
      std::sort(movers.begin(), movers.end());
      if (d < dims.size() && *size > 0 && tiles > 0)
        v.valid *= std::min(1.0, double(dims[d]) / (tiles * double(*size)));
      for (unsigned m : movers)
        if (view.parameters[m].tiles > 1)
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
      if (view.parameters[loop].tiles > 1)
        v.loops.push_back(loop);
    std::sort(v.loops.begin(), v.loops.end());
    v.loops.erase(std::unique(v.loops.begin(), v.loops.end()), v.loops.end());
    view.instances.push_back(std::move(v));
    return llvm::Error::success();
  }

  /// Offsets of a tile at the sample positions.
  std::vector<std::optional<int64_t>> signature(const InstanceView &v) {
    std::vector<std::optional<int64_t>> result;
    for (unsigned sample = 0; sample < 3; ++sample) {
      Assignment at = point;
      for (unsigned i = 0; i < view.parameters.size(); ++i)
        if (Expr index = tiled.space.parameters[i].index)
          at.set(index, samplePosition(i, sample, view.parameters[i].tiles));
      for (const TileDim &dim : v.instance->tile.dims)
        result.push_back(evaluate(dim.offset, at));
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

  /// Loops one after the other add up; an op in an outer loop only runs less often.
  void countIterations() {
    std::vector<std::vector<unsigned>> nests;
    for (const InstanceView &v : view.instances)
      if (!v.loops.empty() && std::find(nests.begin(), nests.end(), v.loops) == nests.end())
        nests.push_back(v.loops);
    double sum = 0, most = 0;
    for (const auto &nest : nests) {
      bool inner = std::none_of(nests.begin(), nests.end(), [&](const auto &other) {
        return other.size() > nest.size() &&
               std::includes(other.begin(), other.end(), nest.begin(), nest.end());
      });
      if (!inner)
        continue;
      double times = 1, atMost = 1;
      for (unsigned loop : nest) {
        times *= view.parameters[loop].meanSteps;
        atMost *= view.parameters[loop].mostSteps;
      }
      sum += times;
      most += atMost;
    }
    view.iterations = std::max(sum, 1.0);
    view.mostIterations = std::max(most, 1.0);
  }

  const KernelPlan &plan;
  const TiledGroup &tiled;
  const Graph &graph;
  PlanView view;
  Assignment point;
  std::map<uint32_t, unsigned> indexOfVariable;
};

} // namespace

bool InstanceView::isMovedBy(unsigned parameter) const {
  return std::binary_search(movedBy.begin(), movedBy.end(), parameter);
}

int InstanceView::minorDim() const {
  for (int64_t dim : op->shape.minorToMajorOrDefault())
    if (size_t(dim) < op->shape.dims.size() && op->shape.dims[dim] > 1)
      return int(dim);
  return -1;
}

double InstanceView::contiguousElements() const {
  double run = 1;
  for (int64_t dim : op->shape.minorToMajorOrDefault()) {
    if (size_t(dim) >= sizes.size())
      break;
    run *= double(sizes[dim]);
    if (sizes[dim] != op->shape.dims[dim]) // a part of it, or padded beyond it
      break;
  }
  return run;
}

int64_t InstanceView::rowPitch() const {
  int minor = minorDim();
  return minor < 0 ? 1 : op->shape.dims[minor];
}

bool InstanceView::isOneRow() const {
  int minor = minorDim();
  for (size_t d = 0; d < op->shape.dims.size(); ++d)
    if (int(d) != minor && op->shape.dims[d] > 1)
      return false;
  return true;
}

double PlanView::perIteration(const InstanceView &view) const {
  if (isOutside(view))
    return 0;
  double times = 1;
  for (unsigned loop : view.loops)
    times *= parameters[loop].meanSteps;
  return times / iterations;
}

llvm::Expected<PlanView> viewOf(const KernelPlan &plan) { return Viewer(plan).run(); }

} // namespace tilewright
