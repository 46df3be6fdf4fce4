// Collectives: what the link between devices takes.
//
// Rings and their bytes: Patarasuk & Yuan 2009 (collective_traffic.h). Trees: NCCL's double binary
// tree (Sanders, Speck & Träff 2009), which sends all bytes twice, in 2·log2(n) steps.
#include "analysis/indexing/collective_traffic.h"
#include "costmodel/link.h"
#include "tools/explore/assumed.h"

#include <cmath>
#include <fmt/format.h>

namespace tilewright {

bool isCollectiveDone(Opcode opcode) {
  switch (opcode) {
  case Opcode::AllReduceDone:
  case Opcode::AllGatherDone:
  case Opcode::CollectivePermuteDone:
    return true;
  default:
    return false;
  }
}

namespace {

/// Steps of a ring of n.
double stepsOf(Opcode opcode, double n) {
  switch (opcode) {
  case Opcode::AllReduce:
  case Opcode::AllReduceStart:
    return 2 * (n - 1);
  case Opcode::CollectivePermute:
  case Opcode::CollectivePermuteStart:
  case Opcode::CollectiveBroadcast:
    return 1;
  default:
    return n - 1;
  }
}

} // namespace

std::optional<AssumedWork> collectiveWork(const Module &module, const Graph &graph, OpId id,
                                          const Device &device) {
  const std::optional<DeviceLink> link = linkOf(device);
  const Op &op = graph.op(id);
  if (!link)
    return std::nullopt;
  if (isCollectiveDone(op.opcode)) {
    AssumedWork work;
    work.kernels = 0;
    work.text = "waits for its start, which has the time";
    return work;
  }
  const std::optional<CollectiveTraffic> traffic = collectiveTraffic(module, graph, id);
  if (!traffic)
    return std::nullopt;
  const Opcode opcode =
      op.opcode == Opcode::AsyncStart ? op.attrs.asyncOpcode.value_or(op.opcode) : op.opcode;
  const double n = std::max<double>(1, static_cast<double>(traffic->replicas));
  AssumedWork work;
  work.readBytes = static_cast<double>(traffic->bytesRead);
  work.writtenBytes = static_cast<double>(traffic->bytesWritten);
  work.linkBytes = static_cast<double>(traffic->linkBytes);
  const double steps = stepsOf(opcode, n);
  work.leastNs = work.linkBytes / link->bandwidth + steps * link->latencyNs;
  work.text = fmt::format("a ring of {:.0f}: {} bytes over a link of {:.4g} GB/s in {:.0f} steps",
                          n, traffic->linkBytes, link->bandwidth, steps);
  const bool isAllReduce = opcode == Opcode::AllReduce || opcode == Opcode::AllReduceStart;
  const double treeSteps = 2 * std::ceil(std::log2(n));
  const double treeNs = 2 * work.readBytes / link->bandwidth + treeSteps * link->latencyNs;
  if (isAllReduce && treeNs < work.leastNs) {
    work.leastNs = treeNs;
    work.linkBytes = 2 * work.readBytes;
    work.text = fmt::format("a tree of {:.0f}: {:.0f} bytes over a link of {:.4g} GB/s in {:.0f} "
                            "steps",
                            n, work.linkBytes, link->bandwidth, treeSteps);
  }
  return work;
}

} // namespace tilewright
