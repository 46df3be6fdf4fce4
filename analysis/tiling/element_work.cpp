#include "analysis/tiling/element_work.h"

#include "analysis/support/checked.h"

#include <algorithm>
#include <bit>

namespace tilewright {

namespace {
/// Scalar operations that may be under way in a thread at once: more would spill.
constexpr int64_t maxPendingWork = 512;
/// Registers for what a thread's loads bring: more in flight gains nothing, and with addresses and
/// masks beside them they spill.
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
      work += 128; // large angles take a branch of their own, across which all else is held
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

unsigned leastLanes(const Graph &graph, std::span<const OpId> results) {
  unsigned least = 1;
  for (OpId id : results)
    if (!graph[id].shape.isTuple)
      least = std::max(least, 8 / std::clamp(bitWidth(graph[id].shape.dtype), 1u, 8u));
  return least;
}

int64_t mostLanes(const Graph &graph, std::span<const OpId> ops, std::span<const OpId> inputs) {
  constexpr int64_t any = 128;
  const int64_t pending = pendingElements(graph, ops, inputs);
  if (pending == 0)
    return any;
  // A vector may be twice what several would be together.
  return static_cast<int64_t>(
      std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(2 * pending, 1))));
}

} // namespace tilewright
