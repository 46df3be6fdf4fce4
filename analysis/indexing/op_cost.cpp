#include "analysis/indexing/op_cost.h"

#include "analysis/indexing/indexing.h"
#include "analysis/indexing/library_call.h"
#include "analysis/indexing/trip_count.h"
#include "analysis/ir/contraction_dims.h"
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

Work workOf(Opcode opcode) {
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

class Counter {
public:
  explicit Counter(const Module &module) : module(module) {}

  OpCost graphCost(GraphId id, int depth) {
    // Computations may not call themselves; the bound is for those that do all the same.
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

  OpCost cost(const Graph &graph, OpId id, int depth);

private:
  OpCost called(const Op &op, CallRole role, int depth) {
    for (const CalledGraph &call : op.called)
      if (call.role == role)
        return graphCost(call.graph, depth);
    return notCounted("it calls no computation");
  }

  const Module &module;
  std::vector<std::optional<OpCost>> memo;
};

OpCost Counter::cost(const Graph &graph, OpId id, int depth) {
  const Op &op = graph.op(id);
  const OpAttributes &attrs = op.attrs;
  const Shape *out = resultShape(op, {});
  std::optional<int64_t> elements = out ? out->elementCount() : std::optional<int64_t>(0);
  auto operand = [&](size_t i) -> const Shape & { return graph.op(op.operands[i]).shape; };
  switch (op.opcode) {
  case Opcode::Dot:
  case Opcode::ScaledDot:
  case Opcode::RaggedDot: { // with the contracted dim shared out among the groups
    std::optional<RaggedDims> ragged = raggedDims(op);
    if (ragged && ragged->mode == RaggedDims::Mode::Contracting && out && !out->dims.empty() &&
        out->dims[0] > 0 && elements)
      elements = *elements / out->dims[0];
    std::optional<int64_t> n = elements;
    for (int64_t d : attrs.dot.lhsContracting)
      n = checkedMul(n, operand(0).dims[static_cast<size_t>(d)]);
    return times({2, 0, true, {}}, n);
  }
  case Opcode::Convolution:
    return times({2, 0, true, {}}, convolutionProducts(attrs, operand(0), operand(1), *out));
  case Opcode::Reduce: {
    std::optional<int64_t> in = operand(0).elementCount();
    if (!in || !elements)
      return tooLarge();
    return times(called(op, CallRole::ToApply, depth), std::max<int64_t>(*in - *elements, 0));
  }
  case Opcode::ReduceWindow: {
    std::optional<int64_t> hits = 1;
    for (size_t i = 0; i < attrs.window.size(); ++i)
      hits = checkedMul(hits, windowHits(attrs.window[i], out->dims[i], operand(0).dims[i]));
    if (!hits || !elements)
      return tooLarge();
    return times(called(op, CallRole::ToApply, depth), std::max<int64_t>(*hits - *elements, 0));
  }
  case Opcode::SelectAndScatter: {
    std::optional<int64_t> source = operand(1).elementCount(), window = 1;
    for (const WindowDim &dim : attrs.window)
      window = checkedMul(window, dim.size);
    std::optional<int64_t> compared =
        checkedMul(source, window ? std::optional(std::max<int64_t>(*window - 1, 0)) : window);
    return plus(times(called(op, CallRole::Select, depth), compared),
                times(called(op, CallRole::Scatter, depth), source));
  }
  case Opcode::Scan: {
    std::optional<int64_t> steps = operand(0).dims[static_cast<size_t>(attrs.dimensions[0])];
    return times(called(op, CallRole::ToApply, depth), steps);
  }
  case Opcode::Scatter:
    return times(called(op, CallRole::ToApply, depth),
                 operand(op.operands.size() / 2 + 1).elementCount());
  case Opcode::Map:
    return times(called(op, CallRole::ToApply, depth), elements);
  case Opcode::Fusion:
    return called(op, CallRole::Calls, depth);
  case Opcode::Call:
    return called(op, CallRole::ToApply, depth);
  case Opcode::AllReduce:
  case Opcode::AllReduceStart:
    return notCounted("its work depends on the number of replicas");
  case Opcode::ReduceScatter:
    return notCounted("its work depends on the number of replicas");
  case Opcode::While: {
    TripCount trips = tripCount(module, graph, id);
    if (!trips.count)
      return notCounted(fmt::format("how often the loop runs is not known: {}", trips.reason));
    OpCost once = plus(called(op, CallRole::Body, depth), called(op, CallRole::Condition, depth));
    return plus(times(once, *trips.count), called(op, CallRole::Condition, depth));
  }
  case Opcode::Conditional: {
    OpCost most;
    for (const CalledGraph &call : op.called) {
      if (call.role != CallRole::Branch)
        continue;
      OpCost branch = graphCost(call.graph, depth);
      if (!branch.isCounted)
        return branch;
      if (std::tie(branch.flops, branch.transcendentals) >
          std::tie(most.flops, most.transcendentals))
        most = branch;
    }
    return most;
  }
  default:
    break;
  }
  switch (opClass(op.opcode)) {
  case OpClass::Elementwise:
    switch (workOf(op.opcode)) {
    case Work::None:
      return {};
    case Work::Flop:
      return times({1, 0, true, {}}, elements);
    case Work::TwoFlops:
      return times({2, 0, true, {}}, elements);
    case Work::Transcendental:
      return times({0, 1, true, {}}, elements);
    }
    return {};
  case OpClass::Structured: // the rest of them move elements
  case OpClass::Leaf:
  case OpClass::Tuple:
    return {};
  case OpClass::Call:
  case OpClass::Opaque:
    break;
  case OpClass::Collective: // the others move elements; collectiveTraffic() knows how many
    return {};
  }
  if (std::optional<LibraryCall> call = libraryCall(graph, id))
    return {call->flops, 0, true, {}};
  if (op.opcode == Opcode::CustomCall)
    return notCounted(
        fmt::format("what custom call \"{}\" does is not known", attrs.customCallTarget));
  return notCounted(fmt::format("the work of {} is not modelled", toString(op.opcode)));
}

} // namespace

OpCost opCost(const Module &module, const Graph &graph, OpId op) {
  return Counter(module).cost(graph, op, 0);
}

} // namespace tilewright
