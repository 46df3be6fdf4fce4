#include "tools/explore/rows.h"

#include "analysis/indexing/collective_traffic.h"
#include "analysis/indexing/library_call.h"
#include "analysis/indexing/op_cost.h"
#include "analysis/ir/run_time_extents.h"
#include "analysis/support/checked.h"
#include "tools/explore/assumed.h"

#include <algorithm>
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
  case Opcode::RaggedDot:
  case Opcode::ScaledDot:
    return true;
  default:
    return false;
  }
}

/// Of a factorisation n³/3 multiplications and additions a matrix, of a substitution n² a right
/// side (Golub & Van Loan, Matrix Computations, 4.2 and 3.1); of other ops what opCost() counts.
std::optional<int64_t> flopsOf(const Module &module, const Graph &graph, OpId id) {
  const Op &op = graph.op(id);
  const bool isFactor = op.opcode == Opcode::Cholesky;
  if (isFactor || op.opcode == Opcode::TriangularSolve) {
    const Shape &matrix = graph.op(op.operands[0]).shape;
    const int64_t n = matrix.dims.back();
    // Elements of the matrices or the right sides, each n times.
    const std::optional<int64_t> terms = checkedMul(op.shape.elementCount(), n);
    return terms && isFactor ? std::optional(*terms / 3) : terms;
  }
  const OpCost cost = opCost(module, graph, id);
  return cost.isCounted && cost.flops > 0 ? std::optional(cost.flops) : std::nullopt;
}

} // namespace

std::string computationName(const Module &module, GraphId id) {
  return id == module.entryId ? "" : module.graph(id).name();
}

std::optional<AssumedOp> assumedRow(const Module &module, GraphId id, const OpReason &entry,
                                    const Device &device, const Calibration &calibration,
                                    CacheState cache) {
  const Graph &graph = module.graph(id);
  const std::optional<AssumedWork> work =
      assumedWork(module, graph, entry.op, {device, calibration, cache});
  if (!work)
    return std::nullopt;
  AssumedOp row;
  row.op = graph.op(entry.op).name;
  const Op &op = graph.op(entry.op);
  const std::string why =
      op.opcode == Opcode::CustomCall
          ? fmt::format("custom-call {}: a library's kernel", op.attrs.customCallTarget)
          : entry.reason;
  row.reason = fmt::format("{}; {}", why, work->text);
  row.computation = computationName(module, id);
  row.readBytes = work->readBytes;
  row.writtenBytes = work->writtenBytes;
  row.flops = work->flops;
  row.linkBytes = work->linkBytes;
  row.sigmaLn = work->sigmaLn;
  row.kernels = work->kernels;
  row.leastNs = work->leastNs;
  row.isProduct = work->isProduct;
  if (work->kernels > 0) {
    const Estimate one =
        estimateStreaming(work->readBytes / work->kernels, work->writtenBytes / work->kernels,
                          device, calibration, {.cache = cache});
    row.timeNs = std::max(work->kernels * one.timeNs, work->leastNs);
    row.sigmaLn = std::max(row.sigmaLn, one.sigmaLn);
  }
  return row;
}

UnsupportedOp unsupportedRow(const Module &module, GraphId id, const OpReason &entry) {
  const Graph &graph = module.graph(id);
  UnsupportedOp row{
      graph.op(entry.op).name, entry.reason, computationName(module, id), {}, {}, {}, {}};
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
    row.reason += fmt::format("; {} bytes read, {} written and {} over the link are not priced, as "
                              "the device's description has no link_bandwidth",
                              moved->bytesRead, moved->bytesWritten, moved->linkBytes);
  } else if (const Op &op = graph.op(entry.op); readsAllItsOperands(op)) {
    std::optional<int64_t> read = 0, written = op.shape.byteSize();
    for (OpId operand : op.operands) {
      const std::optional<int64_t> bytes = graph.op(operand).shape.byteSize();
      read = read && bytes ? checkedAdd(*read, *bytes) : std::nullopt;
    }
    if (read && written) {
      row.bytes = checkedAdd(*read, *written);
      row.flops = flopsOf(module, graph, entry.op);
      row.reason +=
          fmt::format("; {}{} bytes read and {} written are not priced",
                      row.flops ? fmt::format("{} FLOPs, ", *row.flops) : "", *read, *written);
    }
  }
  return row;
}

} // namespace tilewright
