#include "tools/explore/tiled_work.h"

#include "analysis/indexing/op_cost.h"
#include "analysis/solve/compiled.h"
#include "analysis/support/diag.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilewright {

namespace {

bool isTiledProduct(Opcode opcode) {
  return opcode == Opcode::Dot || opcode == Opcode::Convolution;
}

/// The work of a group's tilings, by the pipe that does it.
class TiledWork {
public:
  TiledWork(const Module &module, const Graph &graph, const TiledGroup &group, const Device &device)
      : module(module), graph(graph), group(group), device(device),
        context(group.space.parameters.front().size.context()) {
    for (const TileInstance &instance : group.instances)
      if (!instance.isInput && instance.exactness == Exactness::Exact)
        noteInstance(instance);
    for (const auto &[op, times] : evaluations)
      add(op, times);
  }

  /// What a time leaves room for.
  std::vector<Formula> within(double timeNs) const {
    std::vector<Formula> formulas;
    auto limit = [&](Expr work, double perNs) {
      const double most = timeNs * perNs;
      if (work && perNs > 0 && most < 1e18)
        formulas.push_back(Formula::lessEqual(work, context.constant(static_cast<int64_t>(most))));
    };
    limit(plain,
          std::max(device.peakFlops(DType::BF16, false), device.peakFlops(DType::F32, false)));
    limit(special, device.sfuPerClock * device.smCount * device.smClock);
    for (const auto &[type, work] : products)
      limit(work, std::max(device.peakFlops(type, true), device.peakFlops(type, false)));
    return formulas;
  }

private:
  /// Of an op with several tiles, which may be the same one, those of the largest.
  void noteInstance(const TileInstance &instance) {
    // A reduction takes in the elements of its operand.
    const bool takesIn = !instance.reduces.empty() && !instance.operands.empty() &&
                         !isTiledProduct(graph.op(instance.op).opcode);
    const TileInstance &of = takesIn ? group.instances[instance.operands.front()] : instance;
    Expr times = timesOf(of);
    Expr &known = evaluations[instance.op];
    known = known ? known.max(times) : times;
  }

  /// Elements that all CTAs make of an instance in all steps, without those outside of tensors:
  /// tiles of a parameter's size cover its extent once.
  Expr timesOf(const TileInstance &instance) const {
    std::vector<bool> isCounted(group.space.parameters.size());
    Expr times = context.constant(1);
    for (const TileDim &dim : instance.tile.dims) {
      const std::optional<size_t> of = parameterOfSize(dim.size);
      if (of && isMovedBy(instance, *of) && !isCounted[*of]) {
        times = times * group.space.parameters[*of].largest();
        isCounted[*of] = true;
      } else {
        times = times * dim.size;
      }
    }
    for (size_t p = 0; p < isCounted.size(); ++p)
      if (!isCounted[p] && isMovedBy(instance, p))
        times = times * group.space.parameters[p].tileCount();
    return times;
  }

  std::optional<size_t> parameterOfSize(Expr size) const {
    for (size_t p = 0; p < group.space.parameters.size(); ++p)
      if (group.space.parameters[p].size == size)
        return p;
    return std::nullopt;
  }

  /// Its tiles are made one after the other, or by CTAs.
  bool isMovedBy(const TileInstance &instance, size_t parameter) const {
    const auto number = static_cast<unsigned>(parameter);
    return group.space.parameters[parameter].role == TileParameter::Role::Parallel ||
           (std::binary_search(instance.loops.begin(), instance.loops.end(), number) &&
            takesAllSteps(number));
  }

  /// No mask shortens the loop.
  bool takesAllSteps(unsigned parameter) const {
    if (parameter >= group.ranges.size() || !group.ranges[parameter].end)
      return true;
    const LoopRange &range = group.ranges[parameter];
    return range.first.isConstant(0) && range.end == group.space.parameters[parameter].tileCount();
  }

  void add(OpId id, Expr times) {
    const Op &op = graph.op(id);
    auto addTo = [&](Expr &sum, int64_t each) {
      if (each > 0)
        sum = sum ? sum + times * each : times * each;
    };
    if (!isTiledProduct(op.opcode)) {
      const OpCost cost = workPerElement(module, op);
      addTo(plain, cost.flops);
      addTo(special, cost.transcendentals);
      return;
    }
    const OpCost cost = opCost(module, graph, id);
    const int64_t elements = op.shape.elementCount().value_or(0);
    if (cost.isCounted && elements > 0)
      addTo(products[graph.op(op.operands[0]).shape.dtype], cost.flops / elements);
  }

  const Module &module;
  const Graph &graph;
  const TiledGroup &group;
  const Device &device;
  ExprContext &context;
  std::map<OpId, Expr> evaluations;
  Expr plain, special;
  std::map<DType, Expr> products; ///< by the operands' type
};

} // namespace

namespace {

/// Whether there is a point; true where the search does not decide.
bool hasPoint(const TiledGroup &group, const PlanSearchOptions &options) {
  llvm::Expected<ConstraintSystem> system =
      makeSystem(group.space, group.constraints, options.candidates);
  llvm::Expected<CompiledSystem> compiled =
      system ? CompiledSystem::compile(*system, SearchOrder::Tightest)
             : llvm::Expected<CompiledSystem>(system.takeError());
  if (!compiled) {
    llvm::consumeError(compiled.takeError());
    return true;
  }
  std::vector<int64_t> point;
  return compiled->findFirst(point, {options.maxNodes}).verdict() != Verdict::No;
}

} // namespace

bool canTakeLess(const Module &module, const Graph &graph, const TiledGroup &tiled,
                 const Device &device, const PlanSearchOptions &options, double timeNs) {
  TiledGroup group = tiled;
  addSearchConstraints(graph, group);
  const TiledGroup whatever = group;
  for (Formula &formula : TiledWork(module, graph, group, device).within(timeNs))
    group.constraints.push_back({std::move(formula), {}});
  return hasPoint(group, options) || !hasPoint(whatever, options);
}

} // namespace tilewright
