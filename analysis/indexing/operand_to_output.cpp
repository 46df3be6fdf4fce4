// The way from an operand's element to the output elements that read it.
#include "analysis/indexing/indexing_internal.h"
#include "analysis/support/checked.h"

namespace tilewright {

using namespace indexing;

namespace {

/// Output coordinates that are not determined yet run over their whole extent.
class Builder {
public:
  Builder(const Graph &graph, const Op &op, unsigned operand, ExprContext &ctx)
      : op(op), in(graph.op(op.operands[operand]).shape), out(*resultShape(op, {})), ctx(ctx),
        at(out.rank()) {}

  Expr dim(size_t i) const { return ctx.dim(static_cast<unsigned>(i)); }

  OperandMaps finish() {
    for (size_t i = 0; i < at.size(); ++i) {
      if (at[i]) {
        constraints.push_back({at[i], Interval::ofExtent(out.dims[i]), 1, 0});
        continue;
      }
      at[i] = ctx.range(static_cast<unsigned>(ranges.size()));
      ranges.push_back(rangeVariable(at[i], out.dims[i]));
    }
    std::vector<MapVariable> variables;
    for (size_t i = 0; i < in.rank(); ++i)
      variables.push_back({dim(i), Interval::ofExtent(in.dims[i]), std::nullopt});
    variables.insert(variables.end(), ranges.begin(), ranges.end());
    return exactly(
        IndexMap(ctx, std::move(variables), std::move(at), std::move(constraints)).simplified());
  }

  const Op &op;
  const Shape &in, &out;
  ExprContext &ctx;
  std::vector<Expr> at;
  std::vector<MapVariable> ranges;
  std::vector<MapConstraint> constraints;
};

bool fits(const std::vector<int64_t> &dims, size_t rank) {
  for (int64_t d : dims)
    if (d < 0 || static_cast<size_t>(d) >= rank)
      return false;
  return true;
}

/// Fills in the output coordinates. Nothing where the op has no such map.
std::optional<OperandMaps> build(Builder &b, const Graph &graph, unsigned operand) {
  const OpAttributes &attrs = b.op.attrs;
  size_t inRank = b.in.rank(), outRank = b.out.rank();
  bool noElements = b.in.elementCount() == 0 || b.out.elementCount() == 0;
  switch (b.op.opcode) {
  case Opcode::Broadcast:
    if (attrs.dimensions.size() != inRank || !fits(attrs.dimensions, outRank))
      return std::nullopt;
    for (size_t i = 0; i < inRank; ++i) {
      size_t to = static_cast<size_t>(attrs.dimensions[i]);
      if (b.in.dims[i] == b.out.dims[to]) // a stretched dim of 1 is read by all of the result's
        b.at[to] = b.dim(i);
    }
    return b.finish();
  case Opcode::Transpose:
    if (attrs.dimensions.size() != outRank || !fits(attrs.dimensions, inRank))
      return std::nullopt;
    for (size_t i = 0; i < outRank; ++i)
      b.at[i] = b.dim(static_cast<size_t>(attrs.dimensions[i]));
    return b.finish();
  case Opcode::Reshape:
  case Opcode::Bitcast: {
    if (noElements)
      return exactly(IndexMap::knownEmpty(b.ctx, b.in.dims, static_cast<unsigned>(b.out.rank())));
    std::vector<Expr> from;
    for (size_t i = 0; i < inRank; ++i)
      from.push_back(b.dim(i));
    if (b.op.opcode == Opcode::Reshape) {
      b.at = reshapeCoordinates(b.ctx, b.in.dims, from, b.out.dims);
      return b.finish();
    }
    std::optional<std::vector<Expr>> moved = bitcastCoordinates(b.ctx, b.in, from, b.out, b.ranges);
    if (!moved)
      return std::nullopt;
    b.at = std::move(*moved);
    return b.finish();
  }
  case Opcode::Slice:
    if (attrs.slice.size() != inRank || outRank != inRank)
      return std::nullopt;
    for (size_t i = 0; i < inRank; ++i) {
      Expr moved = b.dim(i) - attrs.slice[i].start;
      b.at[i] = moved.floorDiv(attrs.slice[i].step);
      if (attrs.slice[i].step > 1)
        b.constraints.push_back({moved, {}, attrs.slice[i].step, 0});
    }
    return b.finish();
  case Opcode::Reverse:
    if (!fits(attrs.dimensions, outRank))
      return std::nullopt;
    for (size_t i = 0; i < inRank; ++i)
      b.at[i] = b.dim(i);
    for (int64_t d : attrs.dimensions)
      b.at[static_cast<size_t>(d)] =
          b.ctx.constant(b.in.dims[static_cast<size_t>(d)] - 1) - b.dim(static_cast<size_t>(d));
    return b.finish();
  case Opcode::Concatenate: {
    if (attrs.dimensions.size() != 1 || !fits(attrs.dimensions, outRank) || inRank != outRank)
      return std::nullopt;
    size_t along = static_cast<size_t>(attrs.dimensions[0]);
    int64_t offset = 0;
    for (unsigned k = 0; k < operand; ++k)
      offset += graph.op(b.op.operands[k]).shape.dims[along];
    for (size_t i = 0; i < inRank; ++i)
      b.at[i] = i == along ? b.dim(i) + offset : b.dim(i);
    return b.finish();
  }
  case Opcode::Pad:
    if (operand != 0 || attrs.padding.size() != inRank || inRank != outRank)
      return std::nullopt;
    for (size_t i = 0; i < inRank; ++i)
      b.at[i] = b.dim(i) * (attrs.padding[i].interior + 1) + attrs.padding[i].low;
    return b.finish();
  case Opcode::Reduce: {
    if (operand >= b.op.operands.size() / 2)
      return b.finish(); // an initial value reaches every output
    size_t next = 0;
    for (size_t i = 0; i < inRank; ++i)
      if (std::find(attrs.dimensions.begin(), attrs.dimensions.end(), static_cast<int64_t>(i)) ==
          attrs.dimensions.end()) {
        if (next >= outRank)
          return std::nullopt;
        b.at[next++] = b.dim(i);
      }
    return b.finish();
  }
  case Opcode::Dot: {
    if (operand > 1)
      return std::nullopt;
    const std::vector<int64_t> &batch = operand ? attrs.dot.rhsBatch : attrs.dot.lhsBatch;
    const std::vector<int64_t> &contracting =
        operand ? attrs.dot.rhsContracting : attrs.dot.lhsContracting;
    std::vector<int64_t> free = freeDims(b.in, batch, contracting);
    if (!fits(batch, inRank) || outRank < batch.size() + free.size())
      return std::nullopt;
    size_t first = operand ? outRank - free.size() : batch.size();
    for (size_t i = 0; i < batch.size(); ++i)
      b.at[i] = b.dim(static_cast<size_t>(batch[i]));
    for (size_t i = 0; i < free.size(); ++i)
      b.at[first + i] = b.dim(static_cast<size_t>(free[i]));
    return b.finish();
  }
  default:
    break;
  }
  bool isElementwise = opClass(b.op.opcode) == OpClass::Elementwise &&
                       b.op.opcode != Opcode::BitcastConvert && b.op.opcode != Opcode::CopyDone;
  if (!isElementwise || (b.in.dims != b.out.dims && !b.in.dims.empty()))
    return std::nullopt;
  for (size_t i = 0; i < inRank; ++i)
    b.at[i] = b.dim(i);
  return b.finish(); // a scalar operand reaches every output
}

} // namespace

llvm::Expected<OperandMaps> operandToOutput(const Graph &graph, OpId id, unsigned operand,
                                            ExprContext &context) {
  const Op &op = graph.op(id);
  if (operand >= op.operands.size())
    return makeError(DiagClass::BadInput, "%{} has {} operands, there is no number {}", op.name,
                     op.operands.size(), operand);
  if (resultShape(op, {}) && !graph.op(op.operands[operand]).shape.isTuple) {
    Builder builder(graph, op, operand, context);
    if (std::optional<OperandMaps> maps = build(builder, graph, operand))
      return std::move(*maps);
  }
  return makeError(DiagClass::Unsupported, "%{}: {} has no map from operand {} to its result",
                   op.name, toString(op.opcode), operand);
}

} // namespace tilewright
