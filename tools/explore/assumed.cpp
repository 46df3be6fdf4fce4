#include "tools/explore/assumed.h"

#include "analysis/indexing/cumulative.h"
#include "analysis/ir/run_time_extents.h"
#include "tools/explore/grouping.h"

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
  case Opcode::Scan:
    return 1;
  case Opcode::Reduce:
  case Opcode::ReduceWindow:
  case Opcode::Scatter:
    return op.shape.isTuple || isCumulative(op) ? 1 : 0; // with one result there is a kernel
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

const Graph *bodyOf(const Module &module, const Op &fusion) {
  for (const CalledGraph &called : fusion.called)
    if (called.role == CallRole::Calls)
      return &module.graph(called.graph);
  return nullptr;
}

/// Passes over a fusion's operands: those of its ops that go over theirs most often. 0 where it has
/// no such op, or one that is priced in no way at all.
int passesOfFusion(const Module &module, const Op &fusion) {
  const Graph *body = bodyOf(module, fusion);
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

std::optional<AssumedWork> onePass(const Graph &graph, const Op &op) {
  const std::optional<int64_t> written = op.shape.byteSize();
  if (!written)
    return std::nullopt;
  AssumedWork work;
  work.writtenBytes = static_cast<double>(*written);
  for (OpId operand : op.operands) {
    const std::optional<int64_t> bytes = graph.op(operand).shape.byteSize();
    if (!bytes)
      return std::nullopt;
    work.readBytes += static_cast<double>(*bytes);
  }
  return work;
}

double laneRate(const Device &device) {
  return device.smCount * device.fmaPerClock * device.smClock;
}

namespace {

/// Ops that go over their operands in memory, and fusions with such ops.
std::optional<AssumedWork> passesWork(const Module &module, const Graph &graph, const Op &op) {
  const int ofFusion = op.opcode == Opcode::Fusion ? passesOfFusion(module, op) : 0;
  if (ofFusion == 0 && !isAssumed(op))
    return std::nullopt;
  std::optional<AssumedWork> work = onePass(graph, op);
  if (!work)
    return std::nullopt;
  int most = 1;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const int passes = ofFusion > 0 ? ofFusion : passesOver(op, i);
    const auto bytes = static_cast<double>(*graph.op(op.operands[i]).shape.byteSize());
    work->readBytes += (passes - 1) * bytes;
    most = std::max(most, passes);
  }
  work->text = fmt::format("taken as {} over {} and one over its results",
                           most == 1 ? "one pass" : fmt::format("{} passes", most),
                           most == 1 ? "its operands" : "its values");
  return work;
}

/// Ops that a library's kernels make, whatever stands around them.
bool isOfLibrary(const Op &op) {
  switch (op.opcode) {
  case Opcode::Sort:
  case Opcode::TopK:
  case Opcode::Scan:
  case Opcode::Fft:
  case Opcode::Rng:
  case Opcode::RngBitGenerator:
  case Opcode::RaggedDot:
  case Opcode::ScaledDot:
    return true;
  default:
    return opClass(op.opcode) == OpClass::Collective || op.opcode == Opcode::AsyncStart;
  }
}

/// A fusion of one such op and of ops that cost no more than their bytes: the op's work, and at
/// least the fusion's bytes.
std::optional<AssumedWork> workInFusion(const Module &module, const Graph &graph, const Op &fusion,
                                        const Pricing &pricing) {
  const Graph *body = bodyOf(module, fusion);
  std::optional<OpId> found;
  for (uint32_t i = 0; body && i < body->size(); ++i) {
    const Op &op = body->op(OpId{i});
    if (isCollectiveDone(op.opcode))
      continue;
    if (isOfLibrary(op) && !found)
      found = OpId{i};
    else if (isOfLibrary(op) || isHeavy(op.opcode) || isAssumed(op) ||
             op.opcode == Opcode::Fusion || notModelled(*body, OpId{i}))
      return std::nullopt;
  }
  if (!found)
    return std::nullopt;
  std::optional<AssumedWork> all = onePass(graph, fusion);
  std::optional<AssumedWork> work = assumedWork(module, *body, *found, pricing);
  if (!all || !work)
    return std::nullopt;
  work->readBytes = std::max(work->readBytes, all->readBytes);
  work->writtenBytes = std::max(work->writtenBytes, all->writtenBytes);
  return work;
}

} // namespace

std::optional<AssumedWork> assumedWork(const Module &module, const Graph &graph, OpId id,
                                       const Pricing &pricing) {
  const Op &op = graph.op(id);
  if (runTimeExtentRefusal(graph, op))
    return std::nullopt;
  switch (op.opcode) {
  case Opcode::Sort:
    return sortWork(module, graph, op, pricing.device);
  case Opcode::TopK:
    return topKWork(graph, op, pricing.device);
  case Opcode::Scan:
    return scanWork(module, graph, id);
  case Opcode::ReduceWindow:
    return isCumulative(op) ? scanWork(module, graph, id) : passesWork(module, graph, op);
  case Opcode::Scatter:
    return scatterWork(graph, op, pricing.device);
  case Opcode::Fft:
    return fftWork(graph, op, pricing.device);
  case Opcode::Rng:
  case Opcode::RngBitGenerator:
    return randomBitsWork(op, pricing.device);
  case Opcode::RaggedDot:
    return raggedDotWork(module, graph, id, pricing);
  case Opcode::ScaledDot:
    return scaledDotWork(module, graph, id, pricing.device);
  case Opcode::CustomCall:
    if (std::optional<AssumedWork> work = libraryCallWork(graph, id, pricing.device))
      return work;
    if (std::optional<AssumedWork> work = namedCallWork(graph, op, pricing.device))
      return work;
    return blockScaledCallWork(graph, op, pricing.device);
  case Opcode::Fusion:
    if (std::optional<AssumedWork> work = workInFusion(module, graph, op, pricing))
      return work;
    return passesWork(module, graph, op);
  default:
    return opClass(op.opcode) == OpClass::Collective || op.opcode == Opcode::AsyncStart
               ? collectiveWork(module, graph, id, pricing.device)
               : passesWork(module, graph, op);
  }
}

} // namespace tilewright
