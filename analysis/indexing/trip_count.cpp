#include "analysis/indexing/trip_count.h"

#include "analysis/indexing/indexing_internal.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright {

using namespace indexing;

namespace {

/// "known_trip_count":{"n":"3"}, the number with or without quotes.
std::optional<int64_t> statedCount(const Op &op) {
  std::string_view text = rawAttribute(op, "backend_config");
  llvm::StringRef rest(text.data(), text.size());
  size_t at = rest.find("known_trip_count");
  if (at == llvm::StringRef::npos)
    return std::nullopt;
  rest = rest.substr(at);
  at = rest.find("\"n"); // quotes inside a string attribute have a backslash before them
  if (at == llvm::StringRef::npos)
    return std::nullopt;
  rest = rest.substr(at + 2).ltrim("\\\": ");
  int64_t count = 0;
  return rest.consumeInteger(10, count) || count < 0 ? std::nullopt : std::optional(count);
}

/// Looks through copies and tuples whose elements are extracted again.
OpId lookThrough(const Graph &graph, OpId id) {
  while (true) {
    const Op &op = graph.op(id);
    if (op.operands.empty())
      return id;
    const Op &operand = graph.op(op.operands[0]);
    if (op.opcode == Opcode::Copy || op.opcode == Opcode::OptimizationBarrier) {
      id = op.operands[0];
    } else if (op.opcode == Opcode::GetTupleElement && operand.opcode == Opcode::Tuple &&
               op.attrs.tupleIndex >= 0 &&
               op.attrs.tupleIndex < static_cast<int64_t>(operand.operands.size())) {
      id = operand.operands[static_cast<size_t>(op.attrs.tupleIndex)];
    } else {
      return id;
    }
  }
}

/// The element of the computation's only parameter that an op is.
std::optional<int64_t> stateElement(const Graph &graph, OpId id) {
  const Op &op = graph.op(lookThrough(graph, id));
  if (op.opcode != Opcode::GetTupleElement)
    return std::nullopt;
  const Op &from = graph.op(lookThrough(graph, op.operands[0]));
  return from.opcode == Opcode::Parameter ? std::optional(op.attrs.tupleIndex) : std::nullopt;
}

std::optional<int64_t> constantAt(const Graph &graph, OpId id) {
  return knownInteger(graph, lookThrough(graph, id), 0);
}

struct Exit {
  int64_t element = 0, bound = 0;
  Comparison goesOn = Comparison::Lt; ///< counter … bound
  DType type = DType::S32;
};

std::optional<Exit> exitOf(const Graph &condition) {
  const Op &root = condition.op(lookThrough(condition, condition.root()));
  if (root.opcode != Opcode::Compare || root.operands.size() != 2)
    return std::nullopt;
  for (size_t side : {size_t(0), size_t(1)}) {
    std::optional<int64_t> element = stateElement(condition, root.operands[side]);
    std::optional<int64_t> bound = constantAt(condition, root.operands[1 - side]);
    if (!element || !bound)
      continue;
    Comparison direction = root.attrs.comparison;
    if (side == 1) // bound … counter
      switch (direction) {
      case Comparison::Lt:
        direction = Comparison::Gt;
        break;
      case Comparison::Le:
        direction = Comparison::Ge;
        break;
      case Comparison::Gt:
        direction = Comparison::Lt;
        break;
      case Comparison::Ge:
        direction = Comparison::Le;
        break;
      default:
        break;
      }
    return Exit{*element, *bound, direction, condition.op(root.operands[side]).shape.dtype};
  }
  return std::nullopt;
}

/// What the body adds to an element of the state.
std::optional<int64_t> stepOf(const Graph &body, int64_t element) {
  const Op &root = body.op(lookThrough(body, body.root()));
  if (root.opcode != Opcode::Tuple || element < 0 ||
      element >= static_cast<int64_t>(root.operands.size()))
    return std::nullopt;
  const Op &next = body.op(lookThrough(body, root.operands[static_cast<size_t>(element)]));
  bool isAdd = next.opcode == Opcode::Add;
  if ((!isAdd && next.opcode != Opcode::Subtract) || next.operands.size() != 2)
    return std::nullopt;
  for (size_t side : {size_t(0), size_t(1)}) {
    if (side == 1 && !isAdd)
      break;
    std::optional<int64_t> step = constantAt(body, next.operands[1 - side]);
    if (step && *step != INT64_MIN && stateElement(body, next.operands[side]) == element)
      return isAdd ? *step : -*step;
  }
  return std::nullopt;
}

std::optional<int64_t> stepsUntilExit(const Exit &exit, int64_t first, int64_t step) {
  __int128 bound = exit.bound, distance = bound - first, count = 0;
  switch (exit.goesOn) {
  case Comparison::Lt:
  case Comparison::Le: {
    if (exit.goesOn == Comparison::Le)
      ++distance;
    if (distance > 0 && step <= 0)
      return std::nullopt;
    count = distance <= 0 ? 0 : (distance + step - 1) / step;
    break;
  }
  case Comparison::Gt:
  case Comparison::Ge: {
    if (exit.goesOn == Comparison::Ge)
      --distance;
    if (distance < 0 && step >= 0)
      return std::nullopt;
    count = distance >= 0 ? 0 : (-distance + -static_cast<__int128>(step) - 1) / -step;
    break;
  }
  case Comparison::Ne:
    if (distance != 0 && (step == 0 || distance % step != 0 || distance / step < 0))
      return std::nullopt;
    count = distance == 0 ? 0 : distance / step;
    break;
  case Comparison::Eq:
    return std::nullopt;
  }
  // The last value must be one that the counter can hold: no wrapping on the way.
  int bits = bitWidth(exit.type);
  bool isSigned = dtypeClass(exit.type) == DTypeClass::Signed;
  __int128 high = (static_cast<__int128>(1) << (isSigned ? bits - 1 : bits)) - 1;
  __int128 low = isSigned ? -high - 1 : 0, last = first + count * step;
  if (last < low || last > high || count > INT64_MAX)
    return std::nullopt;
  return static_cast<int64_t>(count);
}

} // namespace

namespace {

/// What the loop's own condition, body and start say.
TripCount derivedCount(const Module &module, const Graph &graph, OpId id) {
  const Op &op = graph.op(id);
  auto unknown = [](std::string reason) { return TripCount{std::nullopt, std::move(reason), {}}; };
  const Graph *condition = nullptr, *body = nullptr;
  for (const CalledGraph &call : op.called) {
    if (!call.graph.isValid() || call.graph.index >= module.all().size())
      continue;
    if (call.role == CallRole::Condition)
      condition = &module.graph(call.graph);
    if (call.role == CallRole::Body)
      body = &module.graph(call.graph);
  }
  if (op.opcode != Opcode::While || !condition || !body || op.operands.size() != 1)
    return unknown("it is not a loop");
  std::optional<Exit> exit = exitOf(*condition);
  if (!exit || !isInteger(exit->type))
    return unknown("its condition does not compare a counter with a constant");
  std::optional<int64_t> step = stepOf(*body, exit->element);
  if (!step)
    return unknown("its body does not add a constant to the counter");
  const Op &state = graph.op(lookThrough(graph, op.operands[0]));
  std::optional<int64_t> first;
  if (state.opcode == Opcode::Tuple && exit->element < static_cast<int64_t>(state.operands.size()))
    first = constantAt(graph, state.operands[static_cast<size_t>(exit->element)]);
  if (!first)
    return unknown("its counter does not start as a constant");
  if (std::optional<int64_t> count = stepsUntilExit(*exit, *first, *step))
    return {count, {}, {}};
  return unknown("its counter passes the bound or wraps around");
}

} // namespace

TripCount tripCount(const Module &module, const Graph &graph, OpId id) {
  TripCount derived = derivedCount(module, graph, id);
  std::optional<int64_t> stated = statedCount(graph.op(id));
  if (!stated)
    return derived;
  if (!derived.count)
    return {stated, {}, {}};
  if (*stated != *derived.count)
    derived.note = fmt::format("known_trip_count says {} trips, the loop's own bounds make {}, "
                               "which is taken",
                               *stated, *derived.count);
  return derived;
}

std::vector<bool> followsFromStep(const Graph &body) {
  std::vector<bool> follows(body.size());
  for (uint32_t i = 0; i < body.size(); ++i) {
    const Op &op = body.op(OpId{i});
    if (!op.shape.isScalar() || (!isInteger(op.shape.dtype) && op.shape.dtype != DType::Pred))
      continue;
    if (op.opcode == Opcode::Constant) {
      follows[i] = true;
    } else if (op.opcode == Opcode::GetTupleElement) {
      std::optional<int64_t> element = stateElement(body, OpId{i});
      follows[i] = element && stepOf(body, *element);
    } else if (opClass(op.opcode) == OpClass::Elementwise && !op.operands.empty()) {
      follows[i] = std::all_of(op.operands.begin(), op.operands.end(),
                               [&](OpId operand) { return follows[operand.index]; });
    }
  }
  return follows;
}

} // namespace tilewright
