// Maps from an operand's element to the output elements that read it.
#include "analysis/indexing/indexing_internal.h"

#include <algorithm>

namespace tilewright {

using namespace indexing;

namespace {

/// reshape and bitcast: the same rearrangement from the other side.
std::optional<OperandMaps> rearranged(const Op &op, const Shape &in, const Shape &out,
                                      ExprContext &ctx) {
  if (in.elementCount() == 0 || out.elementCount() == 0)
    return exactly(IndexMap::knownEmpty(ctx, in.dims, static_cast<unsigned>(out.rank())));
  std::vector<Expr> from;
  std::vector<MapVariable> variables, extra;
  for (size_t i = 0; i < in.rank(); ++i) {
    from.push_back(ctx.dim(static_cast<unsigned>(i)));
    variables.push_back({from.back(), Interval::ofExtent(in.dims[i]), std::nullopt});
  }
  std::optional<std::vector<Expr>> at = op.opcode == Opcode::Reshape
                                            ? reshapeCoordinates(ctx, in.dims, from, out.dims)
                                            : bitcastCoordinates(ctx, in, from, out, extra);
  if (!at)
    return std::nullopt;
  variables.insert(variables.end(), extra.begin(), extra.end());
  return exactly(IndexMap(ctx, std::move(variables), std::move(*at)).simplified());
}

/// The results of an op: itself, or the elements of its tuple, however deep.
void collectResults(const Shape &shape, ResultPath &at, std::vector<ResultPath> &paths) {
  if (!shape.isTuple) {
    paths.push_back(at);
    return;
  }
  for (size_t i = 0; i < shape.elements.size(); ++i) {
    at.push_back(static_cast<int64_t>(i));
    collectResults(shape.elements[i], at, paths);
    at.pop_back();
  }
}

/// The first result that reads the operand. (All results of a reduce do, of a tuple one.)
ResultPath resultThatReads(const Graph &graph, OpId id, unsigned operand, ExprContext &context) {
  const Op &op = graph.op(id);
  if (!op.shape.isTuple)
    return {};
  std::vector<ResultPath> paths;
  ResultPath at;
  if (op.opcode == Opcode::Tuple && operand < op.shape.elements.size()) {
    at.push_back(operand);
    collectResults(op.shape.elements[operand], at, paths);
    return paths.empty() ? at : paths.front();
  }
  collectResults(op.shape, at, paths);
  // If operands and results correspond, the first guess is right.
  if (operand < paths.size())
    std::rotate(paths.begin(), paths.begin() + operand, paths.end());
  for (const ResultPath &path : paths) {
    llvm::Expected<OpIndexing> maps = mapsOf(graph, id, context, path, operand);
    if (!maps) {
      llvm::consumeError(maps.takeError());
      continue;
    }
    if (operand < maps->operands.size() && !maps->operands[operand].maps.empty())
      return path;
  }
  return paths.empty() ? ResultPath{} : paths.front();
}

/// The inverted maps of one result.
llvm::Expected<OperandMaps> readBackwards(const Graph &graph, OpId id, unsigned operand,
                                          ExprContext &context, const ResultPath &path,
                                          const OpIndexing &forward) {
  const Op &op = graph.op(id);
  auto none = [&](std::string_view why) {
    return makeError(DiagClass::Unsupported, "%{}: {} has no map from operand {} to its result{}",
                     op.name, toString(op.opcode), operand, why);
  };
  if (operand >= forward.operands.size() ||
      (forward.isOpaque && forward.operands[operand].maps.empty()))
    return none(forward.reason.empty() ? "" : ": " + forward.reason);
  const OperandMaps &reads = forward.operands[operand];
  const Shape *in = resultShape(graph.op(op.operands[operand]), reads.operandPath);
  const Shape *out = resultShape(op, path);
  if (!in || !out)
    return none("");
  OperandMaps result;
  if (op.opcode == Opcode::Reshape || op.opcode == Opcode::Bitcast) {
    std::optional<OperandMaps> moved = rearranged(op, *in, *out, context);
    if (!moved)
      return none("");
    result = std::move(*moved);
  } else {
    for (const IndexMap &map : reads.maps) {
      if (map.results().size() != in->rank())
        return none("");
      result.maps.push_back(inverted(map, in->dims));
    }
  }
  result.coverage = reads.coverage;
  result.note = reads.note;
  result.operandPath = reads.operandPath;
  result.resultPath = path;
  return result;
}

llvm::Error noSuchOperand(const Op &op, unsigned operand) {
  return makeError(DiagClass::BadInput, "%{} has {} operands, there is no number {}", op.name,
                   op.operands.size(), operand);
}

} // namespace

llvm::Expected<OperandMaps> operandToOutput(const Graph &graph, OpId id, unsigned operand,
                                            ExprContext &context,
                                            std::optional<ResultPath> wanted) {
  const Op &op = graph.op(id);
  if (operand >= op.operands.size())
    return noSuchOperand(op, operand);
  ResultPath path = wanted ? *wanted : resultThatReads(graph, id, operand, context);
  llvm::Expected<OpIndexing> forward = mapsOf(graph, id, context, path, operand);
  if (!forward)
    return forward.takeError();
  return readBackwards(graph, id, operand, context, path, *forward);
}

llvm::Expected<OperandMaps> operandToOutput(const Graph &graph, OpId id, unsigned operand,
                                            ExprContext &context, const OpIndexing &forward) {
  const Op &op = graph.op(id);
  if (operand >= op.operands.size())
    return noSuchOperand(op, operand);
  return readBackwards(graph, id, operand, context, {}, forward);
}

} // namespace tilewright
