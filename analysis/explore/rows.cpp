#include "analysis/explore/rows.h"

#include "analysis/explore/assumed.h"
#include "analysis/indexing/collective_traffic.h"
#include "analysis/indexing/library_call.h"
#include "analysis/ir/run_time_extents.h"
#include "analysis/support/checked.h"

#include <fmt/format.h>

namespace tilewright {

namespace {

/// Ops without a price that read all of their operands at least once.
bool readsAllItsOperands(const Op &op) {
  switch (op.opcode) {
  case Opcode::Scatter:
  case Opcode::SelectAndScatter:
  case Opcode::Sort:
  case Opcode::Fft:
  case Opcode::Cholesky:
  case Opcode::TriangularSolve:
  case Opcode::RngBitGenerator:
    return true;
  default:
    return false;
  }
}

} // namespace

std::string computationName(const Module &module, GraphId id) {
  return id == module.entryId ? "" : module.graph(id).name();
}

std::optional<AssumedOp> assumedRow(const Module &module, GraphId id, const OpReason &entry,
                                    const Device &device, const Calibration &calibration,
                                    CacheState cache) {
  const Graph &graph = module.graph(id);
  std::optional<AssumedTraffic> traffic = assumedTraffic(module, graph, entry.op);
  if (!traffic)
    return std::nullopt;
  const Estimate estimate = estimateStreaming(traffic->readBytes, traffic->writtenBytes, device,
                                              calibration, {.cache = cache});
  return AssumedOp{graph.op(entry.op).name,
                   fmt::format("{}; {}", entry.reason, traffic->text),
                   computationName(module, id),
                   1,
                   true,
                   traffic->readBytes,
                   traffic->writtenBytes,
                   estimate.timeNs,
                   estimate.sigmaLn};
}

UnsupportedOp unsupportedRow(const Module &module, GraphId id, const OpReason &entry) {
  const Graph &graph = module.graph(id);
  UnsupportedOp row{graph.op(entry.op).name, entry.reason, computationName(module, id), {}, {}, {}};
  if (runTimeExtentRefusal(graph, graph.op(entry.op)))
    return row;
  if (std::optional<LibraryCall> call = libraryCall(graph, entry.op)) {
    row.flops = call->flops;
    row.bytes = call->bytes;
    row.reason = fmt::format("custom-call {}: a library's kernel, not priced: {} FLOPs, {} bytes",
                             graph.op(entry.op).attrs.customCallTarget, call->flops, call->bytes);
  } else if (std::optional<CollectiveTraffic> moved = collectiveTraffic(module, graph, entry.op)) {
    row.bytes = moved->bytesRead + moved->bytesWritten;
    row.linkBytes = moved->linkBytes;
    row.reason += fmt::format("; {} bytes read, {} written and {} over the link are not priced",
                              moved->bytesRead, moved->bytesWritten, moved->linkBytes);
  } else if (const Op &op = graph.op(entry.op); readsAllItsOperands(op)) {
    std::optional<int64_t> read = 0, written = op.shape.byteSize();
    for (OpId operand : op.operands) {
      const std::optional<int64_t> bytes = graph.op(operand).shape.byteSize();
      read = read && bytes ? checkedAdd(*read, *bytes) : std::nullopt;
    }
    if (read && written) {
      row.bytes = checkedAdd(*read, *written);
      row.reason += fmt::format("; {} bytes read and {} written are not priced", *read, *written);
    }
  }
  return row;
}

} // namespace tilewright
