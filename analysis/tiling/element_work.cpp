#include "analysis/tiling/element_work.h"

#include "analysis/indexing/indexing.h"
#include "analysis/support/checked.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace tilewright {

namespace {
/// Limit on a thread's scalar operations in flight: more would spill.
constexpr int64_t maxPendingWork = 512;
/// Limit on registers for a thread's loads in flight: more gains nothing, and addresses and masks
/// beside them would spill.
constexpr int64_t maxLoaded = 64;
} // namespace

bool takesLoop(Opcode opcode) {
  switch (opcode) {
  case Opcode::Dot:
  case Opcode::Convolution:
  case Opcode::Reduce:
  case Opcode::ReduceWindow:
  case Opcode::Scatter:
  case Opcode::SelectAndScatter:
    return true;
  default:
    return false;
  }
}

int64_t workPerElement(const Graph &graph, std::span<const OpId> ops) {
  int64_t work = 1;
  for (OpId id : ops) {
    const Op &op = graph[id];
    if (op.shape.isTuple || opClass(op.opcode) != OpClass::Elementwise)
      continue;
    switch (op.opcode) {
    case Opcode::Exp:
    case Opcode::Expm1:
    case Opcode::Log:
    case Opcode::Log1p:
    case Opcode::Tanh:
    case Opcode::Logistic:
    case Opcode::Erf:
    case Opcode::Power:
    case Opcode::Cbrt:
    case Opcode::Divide:
    case Opcode::Remainder:
      work += 8; // a dozen instructions or two
      break;
    case Opcode::Sine:
    case Opcode::Cosine:
    case Opcode::Tan:
      work += 128; // large angles take a branch, across which everything else stays live
      break;
    default:
      ++work;
    }
  }
  return work;
}

int64_t pendingElements(const Graph &graph, std::span<const OpId> ops,
                        std::span<const OpId> inputs) {
  if (std::any_of(ops.begin(), ops.end(), [&](OpId id) { return takesLoop(graph[id].opcode); }))
    return 0;
  int64_t loaded = 0; // registers an element
  for (OpId id : inputs)
    if (graph[id].shape.rank() > 0)
      loaded += ceilDiv(int64_t(bitWidth(graph[id].shape.dtype)), int64_t(32));
  return std::min(maxPendingWork / workPerElement(graph, ops),
                  maxLoaded / std::max<int64_t>(loaded, 1));
}

namespace {
/// Times that a looping op may make each of its elements: overlapping windows of a pool ask for
/// some of them more than once.
constexpr double maxRepeats = 4;

double elementsOf(const Op &op) {
  const Shape &shape =
      op.shape.isTuple && !op.shape.elements.empty() ? op.shape.elements[0] : op.shape;
  return static_cast<double>(shape.elementCount().value_or(1));
}

/// Elements of operands that one element is made of, by operand.
llvm::Expected<std::vector<double>> readsOf(const Graph &graph, OpId id) {
  ExprContext context;
  auto maps = outputToOperands(graph, id, context);
  if (!maps)
    return maps.takeError();
  std::vector<double> result;
  for (const auto &operand : maps->operands) {
    double reads = 0;
    for (const IndexMap &map : operand.maps) {
      double each = 1;
      for (const MapVariable &range : map.variables(VarKind::Range))
        each *= static_cast<double>(range.domain.hi - range.domain.lo + 1);
      reads += each;
    }
    result.push_back(std::max(reads, 1.0));
  }
  return result;
}
} // namespace

llvm::Expected<std::string> whyNotElementwise(const Graph &graph, std::span<const OpId> ops,
                                              std::span<const OpId> results) {
  const Op &first = graph[results.front()];
  for (OpId id : results)
    if (graph[id].shape.elementCount() != first.shape.elementCount())
      return fmt::format("%{} and %{} are results of one kernel but differ in size: {} and {}",
                         first.name, graph[id].name, first.shape.str(false),
                         graph[id].shape.str(false));
  // How often each op's elements are asked for, all together: at most, since equal questions are
  // answered once.
  std::vector<double> asked(graph.size());
  for (OpId id : results)
    asked[id.index] = elementsOf(graph[id]);
  std::vector<OpId> order(ops.begin(), ops.end());
  std::sort(order.rbegin(), order.rend()); // users before operands
  for (OpId id : order) {
    const Op &op = graph[id];
    const double wanted = asked[id.index];
    if (takesLoop(op.opcode) && wanted > maxRepeats * elementsOf(op))
      return fmt::format(
          "%{}: each of its elements would be made {:.3g} times, each time by a loop", op.name,
          wanted / elementsOf(op));
    if (wanted == 0 || op.operands.empty() || op.opcode == Opcode::Tuple)
      continue;
    auto ask = [&](OpId operand, double times) {
      asked[operand.index] = std::max(asked[operand.index], times);
    };
    if (op.opcode == Opcode::GetTupleElement) {
      ask(op.operands[0], wanted);
      continue;
    }
    auto reads = readsOf(graph, id);
    if (!reads)
      return reads.takeError();
    for (size_t j = 0; j < reads->size(); ++j)
      ask(op.operands[j], wanted * (*reads)[j]);
  }
  return std::string();
}

unsigned leastLanes(const Graph &graph, std::span<const OpId> results) {
  unsigned least = 1;
  for (OpId id : results)
    if (!graph[id].shape.isTuple)
      least = std::max(least, 8 / std::clamp(bitWidth(graph[id].shape.dtype), 1u, 8u));
  return least;
}

int64_t maxLanes(const Graph &graph, std::span<const OpId> ops, std::span<const OpId> inputs) {
  constexpr int64_t any = 128;
  const int64_t pending = pendingElements(graph, ops, inputs);
  if (pending == 0)
    return any;
  // A single vector may be twice as large as several together.
  return static_cast<int64_t>(
      std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(2 * pending, 1))));
}

} // namespace tilewright
