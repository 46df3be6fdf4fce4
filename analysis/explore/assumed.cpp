#include "analysis/explore/assumed.h"

#include "analysis/explore/grouping.h"
#include "analysis/ir/run_time_extents.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright {

namespace {

/// How often an op goes over operand i; 0 for ops that are not priced in this way.
int passesOver(const Op &op, size_t i) {
  switch (op.opcode) {
  case Opcode::BatchNormTraining: // the moments, then the values
    return i == 0 ? 2 : 1;
  case Opcode::BatchNormGrad: // the sums, then the gradient
    return i == 0 || i == 4 ? 2 : 1;
  case Opcode::BatchNormInference:
  case Opcode::TopK:
    return 1;
  case Opcode::Reduce:
  case Opcode::ReduceWindow:
  case Opcode::Scatter:
    return op.shape.isTuple ? 1 : 0; // with one result there is a kernel
  default:
    return 0;
  }
}

bool isAssumed(const Op &op) { return passesOver(op, 0) > 0; }

/// Ops that take longer than the bytes that they read and write.
bool isHeavy(Opcode opcode) {
  return opcode == Opcode::Dot || opcode == Opcode::ScaledDot || opcode == Opcode::RaggedDot ||
         opcode == Opcode::Convolution;
}

/// Passes over a fusion's operands: those of its ops that go over theirs most often. 0 where it has
/// no such op, or one that is priced in no way at all.
int passesOfFusion(const Module &module, const Op &fusion) {
  const Graph *body = nullptr;
  for (const CalledGraph &called : fusion.called)
    if (called.role == CallRole::Calls)
      body = &module.graph(called.graph);
  int passes = 0;
  for (uint32_t i = 0; body && i < body->size(); ++i) {
    const Op &op = body->op(OpId{i});
    if (isAssumed(op) && !runTimeExtentRefusal(*body, op)) {
      for (size_t k = 0; k < op.operands.size(); ++k)
        passes = std::max(passes, passesOver(op, k));
      continue;
    }
    if (isHeavy(op.opcode) || op.opcode == Opcode::Fusion || notModelled(*body, OpId{i}))
      return 0;
  }
  return passes;
}

} // namespace

std::optional<AssumedTraffic> assumedTraffic(const Module &module, const Graph &graph, OpId id) {
  const Op &op = graph.op(id);
  if (runTimeExtentRefusal(graph, op))
    return std::nullopt;
  const int ofFusion = op.opcode == Opcode::Fusion ? passesOfFusion(module, op) : 0;
  const std::optional<int64_t> written = op.shape.byteSize();
  if ((ofFusion == 0 && !isAssumed(op)) || !written)
    return std::nullopt;
  AssumedTraffic traffic;
  traffic.writtenBytes = static_cast<double>(*written);
  int most = 1;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const std::optional<int64_t> bytes = graph.op(op.operands[i]).shape.byteSize();
    const int passes = ofFusion > 0 ? ofFusion : passesOver(op, i);
    if (!bytes)
      return std::nullopt;
    traffic.readBytes += passes * static_cast<double>(*bytes);
    most = std::max(most, passes);
  }
  traffic.text = fmt::format("taken as {} over {} and one over its results",
                             most == 1 ? "one pass" : fmt::format("{} passes", most),
                             most == 1 ? "its operands" : "its values");
  return traffic;
}

} // namespace tilewright
