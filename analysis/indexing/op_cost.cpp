#include "analysis/indexing/op_cost.h"

#include "analysis/indexing/indexing.h"
#include "analysis/indexing/library_call.h"
#include "analysis/indexing/trip_count.h"
#include "analysis/indexing/window_hits.h"
#include "analysis/ir/annotation.h"
#include "analysis/ir/contraction_dims.h"
#include "analysis/ir/run_time_extents.h"
#include "analysis/support/checked.h"

#include <optional>
#include <tuple>

namespace tilewright {

namespace {

OpCost notCounted(std::string reason) { return {0, 0, false, std::move(reason)}; }

OpCost tooLarge() { return notCounted("the count does not fit in 64 bits"); }

OpCost times(const OpCost &cost, std::optional<int64_t> n) {
  if (!cost.isCounted)
    return cost;
  std::optional<int64_t> flops = n ? checkedMul(cost.flops, *n) : std::nullopt;
  std::optional<int64_t> transcendentals = n ? checkedMul(cost.transcendentals, *n) : std::nullopt;
  return flops && transcendentals ? OpCost{*flops, *transcendentals, true, {}} : tooLarge();
}

OpCost plus(const OpCost &a, const OpCost &b) {
  if (!a.isCounted || !b.isCounted)
    return a.isCounted ? b : a;
  std::optional<int64_t> flops = checkedAdd(a.flops, b.flops);
  std::optional<int64_t> transcendentals = checkedAdd(a.transcendentals, b.transcendentals);
  return flops && transcendentals ? OpCost{*flops, *transcendentals, true, {}} : tooLarge();
}

enum class Work { None, Flop, TwoFlops, Transcendental };

Work kindOfWork(Opcode opcode) {
  switch (opcode) {
  case Opcode::BitcastConvert:
  case Opcode::Complex:
  case Opcode::Convert:
  case Opcode::Copy:
  case Opcode::CopyDone:
  case Opcode::Domain:
  case Opcode::Imag:
  case Opcode::Real:
  case Opcode::ReducePrecision:
  case Opcode::StochasticConvert:
    return Work::None;
  case Opcode::Clamp:
    return Work::TwoFlops;
  case Opcode::Acos:
  case Opcode::Acosh:
  case Opcode::Asin:
  case Opcode::Asinh:
  case Opcode::Atan2:
  case Opcode::Atanh:
  case Opcode::Cbrt:
  case Opcode::Cosine:
  case Opcode::Cosh:
  case Opcode::Erf:
  case Opcode::Exp:
  case Opcode::Expm1:
  case Opcode::Log:
  case Opcode::Log1p:
  case Opcode::Logistic:
  case Opcode::Power:
  case Opcode::Rsqrt:
  case Opcode::Sine:
  case Opcode::Sinh:
  case Opcode::Sqrt:
  case Opcode::Tan:
  case Opcode::Tanh:
    return Work::Transcendental;
  default:
    return Work::Flop;
  }
}

/// Of one element that an elementwise op makes.
OpCost elementwiseWork(Opcode opcode) {
  switch (kindOfWork(opcode)) {
  case Work::None:
    return {};
  case Work::Flop:
    return {1, 0, true, {}};
  case Work::TwoFlops:
    return {2, 0, true, {}};
  case Work::Transcendental:
    return {0, 1, true, {}};
  }
  return {};
}

class Counter {
public:
  explicit Counter(const Module &module) : module(module) {}

  OpCost cost(const Graph &graph, OpId id, int depth);

  /// Of one run of the computation that an op calls in this role.
  OpCost called(const Op &op, CallRole role, int depth) {
    for (const CalledGraph &call : op.called)
      if (call.role == role)
        return graphCost(call.graph, depth);
    return notCounted("it calls no computation");
  }

private:
  OpCost graphCost(GraphId id, int depth);
  OpCost dot(const Graph &graph, const Op &op) const;
  OpCost reduction(const Graph &graph, const Op &op, int depth);
  OpCost window(const Graph &graph, const Op &op, int depth);
  OpCost selectAndScatter(const Graph &graph, const Op &op, int depth);
  OpCost loop(const Graph &graph, OpId id, int depth);
  OpCost conditional(const Op &op, int depth);
  OpCost byClass(const Graph &graph, OpId id) const;

  const Module &module;
  std::vector<std::optional<OpCost>> memo;
};

const Shape &operandShape(const Graph &graph, const Op &op, size_t i) {
  return graph.op(op.operands[i]).shape;
}

/// Of a variadic op all results have the same dims.
const Shape &resultOf(const Op &op) {
  return op.shape.isTuple && !op.shape.elements.empty() ? op.shape.elements[0] : op.shape;
}

std::optional<int64_t> elementsOf(const Op &op) { return resultOf(op).elementCount(); }

OpCost Counter::graphCost(GraphId id, int depth) {
  // Valid computations don't call themselves; the bound is for invalid ones.
  constexpr int maxDepth = 64;
  if (!id.isValid() || id.index >= module.all().size())
    return notCounted("it calls a computation that is not there");
  if (depth > maxDepth)
    return notCounted("computations call each other too deeply");
  if (memo.size() < module.all().size())
    memo.resize(module.all().size());
  if (memo[id.index])
    return *memo[id.index];
  const Graph &graph = module.graph(id);
  OpCost total;
  for (uint32_t i = 0; i < graph.size(); ++i)
    total = plus(total, cost(graph, OpId{i}, depth + 1));
  memo[id.index] = total;
  return total;
}

OpCost Counter::dot(const Graph &graph, const Op &op) const {
  std::optional<int64_t> n = elementsOf(op);
  // Here the groups share out the contracted dim.
  const std::vector<int64_t> &dims = op.shape.dims;
  std::optional<RaggedDims> ragged = raggedDims(op);
  if (ragged && ragged->mode == RaggedDims::Mode::Contracting && !dims.empty() && dims[0] > 0 && n)
    n = *n / dims[0];
  for (int64_t d : op.attrs.dot.lhsContracting)
    n = checkedMul(n, operandShape(graph, op, 0).dims[static_cast<size_t>(d)]);
  return times({2, 0, true, {}}, n);
}

OpCost Counter::reduction(const Graph &graph, const Op &op, int depth) {
  std::optional<int64_t> in = operandShape(graph, op, 0).elementCount(), out = elementsOf(op);
  if (!in || !out)
    return tooLarge();
  return times(called(op, CallRole::ToApply, depth), *in == 0 ? 0 : *in - *out);
}

OpCost Counter::window(const Graph &graph, const Op &op, int depth) {
  std::optional<WindowHits> met =
      windowHits(op.attrs.window, resultOf(op).dims, operandShape(graph, op, 0).dims);
  return met ? times(called(op, CallRole::ToApply, depth), met->hits - met->positions) : tooLarge();
}

OpCost Counter::selectAndScatter(const Graph &graph, const Op &op, int depth) {
  const Shape &source = operandShape(graph, op, 1);
  std::optional<WindowHits> met =
      windowHits(op.attrs.window, source.dims, operandShape(graph, op, 0).dims);
  if (!met)
    return tooLarge();
  return plus(times(called(op, CallRole::Select, depth), met->hits - met->positions),
              times(called(op, CallRole::Scatter, depth), source.elementCount()));
}

OpCost Counter::loop(const Graph &graph, OpId id, int depth) {
  const Op &op = graph.op(id);
  TripCount trips = tripCount(module, graph, id);
  if (!trips.count)
    return notCounted(fmt::format("the trip count is not known: {}", trips.reason));
  OpCost once = plus(called(op, CallRole::Body, depth), called(op, CallRole::Condition, depth));
  return plus(times(once, *trips.count), called(op, CallRole::Condition, depth));
}

OpCost Counter::conditional(const Op &op, int depth) {
  OpCost most;
  for (const CalledGraph &call : op.called) {
    if (call.role != CallRole::Branch)
      continue;
    OpCost branch = graphCost(call.graph, depth);
    if (!branch.isCounted)
      return branch;
    if (std::tie(branch.flops, branch.transcendentals) > std::tie(most.flops, most.transcendentals))
      most = branch;
  }
  return most;
}

OpCost Counter::cost(const Graph &graph, OpId id, int depth) {
  const Op &op = graph.op(id);
  if (std::optional<std::string> refusal = runTimeExtentRefusal(graph, op))
    return notCounted(std::move(*refusal));
  const OpAttributes &attrs = op.attrs;
  switch (op.opcode) {
  case Opcode::Dot:
  case Opcode::ScaledDot:
  case Opcode::RaggedDot:
    return dot(graph, op);
  case Opcode::Convolution:
    return times({2, 0, true, {}}, convolutionProducts(attrs, operandShape(graph, op, 0),
                                                       operandShape(graph, op, 1), op.shape));
  case Opcode::Reduce:
    return reduction(graph, op, depth);
  case Opcode::ReduceWindow:
    return window(graph, op, depth);
  case Opcode::SelectAndScatter:
    return selectAndScatter(graph, op, depth);
  case Opcode::Scan: {
    int64_t steps = operandShape(graph, op, 0).dims[static_cast<size_t>(attrs.dimensions[0])];
    return times(called(op, CallRole::ToApply, depth), steps);
  }
  case Opcode::Scatter:
    return times(called(op, CallRole::ToApply, depth),
                 operandShape(graph, op, op.operands.size() / 2 + 1).elementCount());
  case Opcode::Map:
    return times(called(op, CallRole::ToApply, depth), elementsOf(op));
  case Opcode::Fusion:
    return called(op, CallRole::Calls, depth);
  case Opcode::Call:
    return called(op, CallRole::ToApply, depth);
  case Opcode::AllReduce:
  case Opcode::AllReduceStart:
  case Opcode::ReduceScatter:
    return notCounted("its work depends on the number of replicas");
  case Opcode::While:
    return loop(graph, id, depth);
  case Opcode::Conditional:
    return conditional(op, depth);
  default:
    return byClass(graph, id);
  }
}

/// Of the ops that have no rule of their own.
OpCost Counter::byClass(const Graph &graph, OpId id) const {
  const Op &op = graph.op(id);
  switch (opClass(op.opcode)) {
  case OpClass::Elementwise:
    return times(elementwiseWork(op.opcode), elementsOf(op));
  case OpClass::Structured: // the rest of them move elements
  case OpClass::Leaf:
  case OpClass::Tuple:
  case OpClass::Collective: // the others move elements; collectiveTraffic() knows how many
    return {};
  case OpClass::Call:
  case OpClass::Opaque:
    break;
  }
  if (isAnnotation(graph, op))
    return {};
  if (std::optional<LibraryCall> call = libraryCall(graph, id))
    return {call->flops, 0, true, {}};
  if (op.opcode == Opcode::CustomCall)
    return notCounted(
        fmt::format("what custom call \"{}\" does is not known", op.attrs.customCallTarget));
  return notCounted(fmt::format("the work of {} is not modelled", toString(op.opcode)));
}

} // namespace

OpCost opCost(const Module &module, const Graph &graph, OpId op) {
  return Counter(module).cost(graph, op, 0);
}

WorkOfOps workOf(const Module &module, const Graph &graph, std::span<const OpId> ops) {
  WorkOfOps all;
  Counter counter(module);
  for (OpId id : ops) {
    const OpCost cost = counter.cost(graph, id, 0);
    std::optional<int64_t> flops = checkedAdd(all.flops, cost.flops);
    std::optional<int64_t> special = checkedAdd(all.transcendentals, cost.transcendentals);
    if (!cost.isCounted || !flops || !special) {
      all.uncounted.push_back(graph.op(id).name + ": " +
                              (cost.isCounted ? tooLarge().reason : cost.reason));
      continue;
    }
    all.flops = *flops;
    all.transcendentals = *special;
  }
  return all;
}

OpCost workPerElement(const Module &module, const Op &op) {
  switch (op.opcode) {
  case Opcode::Map:
  case Opcode::Reduce:
  case Opcode::ReduceWindow:
  case Opcode::Scan:
    return Counter(module).called(op, CallRole::ToApply, 0);
  default:
    return opClass(op.opcode) == OpClass::Elementwise ? elementwiseWork(op.opcode) : OpCost();
  }
}

} // namespace tilewright
