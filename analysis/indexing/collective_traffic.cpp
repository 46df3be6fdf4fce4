#include "analysis/indexing/collective_traffic.h"

#include "analysis/support/checked.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>

namespace tilewright {

namespace {

Opcode synchronous(const Op &op) {
  switch (op.opcode) {
  case Opcode::AllReduceStart:
    return Opcode::AllReduce;
  case Opcode::AllGatherStart:
    return Opcode::AllGather;
  case Opcode::CollectivePermuteStart:
    return Opcode::CollectivePermute;
  case Opcode::AsyncStart:
    return op.attrs.asyncOpcode.value_or(op.opcode);
  default:
    return op.opcode;
  }
}

/// The shape of a -start has its operands before its results, except for all-reduce-start.
const Shape *resultsOf(const Op &op) {
  if ((op.opcode != Opcode::AllGatherStart && op.opcode != Opcode::CollectivePermuteStart &&
       op.opcode != Opcode::AsyncStart) ||
      !op.shape.isTuple) // an all-gather-start may be written as its result alone
    return &op.shape;
  return op.shape.elements.size() > 1 ? &op.shape.elements[1] : nullptr;
}

int64_t countOfModule(const Module &module, llvm::StringRef name) {
  int64_t count = 1;
  for (const RawAttribute &attribute : module.attributes)
    if (attribute.name == name && llvm::StringRef(attribute.text).trim().getAsInteger(10, count))
      return 1;
  return std::max<int64_t>(count, 1);
}

} // namespace

std::optional<CollectiveTraffic> collectiveTraffic(const Module &module, const Graph &graph,
                                                   OpId id) {
  const Op &op = graph.op(id);
  Opcode opcode = synchronous(op);
  const Shape *results = resultsOf(op);
  std::optional<int64_t> in = 0, out = results ? results->byteSize() : std::nullopt;
  for (OpId operand : op.operands) {
    std::optional<int64_t> size = graph.op(operand).shape.byteSize();
    in = in && size ? checkedAdd(*in, *size) : std::nullopt;
  }
  if (!in || !out)
    return std::nullopt;
  CollectiveTraffic traffic{op.attrs.replicaGroups.size, *in, *out, 0};
  int64_t whole = std::max(*in, *out), share = std::min(*in, *out);
  bool isGather = opcode == Opcode::AllGather || opcode == Opcode::ReduceScatter;
  if (traffic.replicas <= 0 && isGather && share > 0)
    traffic.replicas = whole / share;
  if (traffic.replicas <= 0)
    if (std::optional<int64_t> all = checkedMul(countOfModule(module, "num_partitions"),
                                                countOfModule(module, "replica_count")))
      traffic.replicas = *all > 1 ? *all : 0;
  bool isWhole = opcode == Opcode::CollectivePermute || opcode == Opcode::CollectiveBroadcast;
  if (traffic.replicas <= 0 && !isWhole)
    return std::nullopt;
  __int128 link = 0, n = traffic.replicas;
  switch (opcode) {
  case Opcode::AllReduce:
    link = (2 * static_cast<__int128>(*in) * (n - 1) + n - 1) / n;
    break;
  case Opcode::AllGather:
  case Opcode::ReduceScatter:
  case Opcode::AllToAll:
    link = (static_cast<__int128>(whole) * (n - 1) + n - 1) / n;
    break;
  case Opcode::CollectivePermute:
  case Opcode::CollectiveBroadcast:
    link = *in;
    break;
  default:
    return std::nullopt;
  }
  if (link > INT64_MAX)
    return std::nullopt;
  traffic.linkBytes = static_cast<int64_t>(link);
  return traffic;
}

} // namespace tilewright
