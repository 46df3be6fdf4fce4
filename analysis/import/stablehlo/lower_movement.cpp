// Ops that move elements, and those whose shapes are values.
#include "analysis/import/stablehlo/lowering.h"
#include "analysis/ir/literal.h"
#include "analysis/support/printable.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace tilewright::stablehlo {

bool lowerBroadcastInDim(Lowering &l) {
  Op op = l.make(Opcode::Broadcast);
  if (!l.need("broadcast_dimensions") || !l.integers("broadcast_dimensions", op.attrs.dimensions) ||
      !l.hasResults(1) || !l.hasOperands(1))
    return false;
  return l.finish(std::move(op));
}

/// New dims stand in front.
bool lowerBroadcast(Lowering &l) {
  Op op = l.make(Opcode::Broadcast);
  std::vector<int64_t> sizes;
  if (!l.need("broadcast_sizes") || !l.integers("broadcast_sizes", sizes) || !l.hasOperands(1))
    return false;
  op.attrs.dimensions.resize(l.operand(0).rank());
  std::iota(op.attrs.dimensions.begin(), op.attrs.dimensions.end(),
            static_cast<int64_t>(sizes.size()));
  return l.finish(std::move(op));
}

bool lowerTranspose(Lowering &l) {
  Op op = l.make(Opcode::Transpose);
  return l.need("permutation") && l.integers("permutation", op.attrs.dimensions) &&
         l.finish(std::move(op));
}

bool lowerReverse(Lowering &l) {
  Op op = l.make(Opcode::Reverse);
  return l.need("dimensions") && l.integers("dimensions", op.attrs.dimensions) &&
         l.finish(std::move(op));
}

bool lowerConcatenate(Lowering &l) {
  Op op = l.make(Opcode::Concatenate);
  int64_t dim = 0;
  if (!l.need("dimension") || !l.integer("dimension", dim))
    return false;
  op.attrs.dimensions = {dim};
  return l.finish(std::move(op));
}

namespace {

/// `[0:2, 1:8:3]`
bool readRanges(MlirLexer in, std::vector<SliceDim> &out) {
  if (!in.expect('['))
    return false;
  while (in.peek() != ']') {
    SliceDim dim;
    if ((!out.empty() && !in.expect(',')) || !in.integer(dim.start, "a slice's start") ||
        !in.expect(':') || !in.integer(dim.limit, "a slice's limit") ||
        (in.consume(':') && !in.integer(dim.step, "a slice's step")))
      return false;
    out.push_back(dim);
  }
  return true;
}

/// Slices of equally long lists.
bool slicesOf(Lowering &l, const std::vector<int64_t> &starts, const std::vector<int64_t> &limits,
              std::vector<int64_t> steps, std::vector<SliceDim> &out) {
  if (steps.empty())
    steps.assign(starts.size(), 1);
  if (limits.size() != starts.size() || steps.size() != starts.size())
    return l.fail(fmt::format("{} starts, {} limits and {} strides", starts.size(), limits.size(),
                              steps.size()));
  for (size_t i = 0; i < starts.size(); ++i)
    out.push_back({starts[i], limits[i], steps[i]});
  return true;
}

bool padsOf(Lowering &l, const std::vector<int64_t> &low, const std::vector<int64_t> &high,
            std::vector<int64_t> interior, std::vector<PadDim> &out) {
  if (interior.empty())
    interior.assign(low.size(), 0);
  if (high.size() != low.size() || interior.size() != low.size())
    return l.fail(
        fmt::format("paddings of {}, {} and {} dims", low.size(), high.size(), interior.size()));
  for (size_t i = 0; i < low.size(); ++i)
    out.push_back({low[i], high[i], interior[i]});
  return true;
}

/// The integers of an operand that is a constant, also a broadcast one.
bool constantOperand(Lowering &l, size_t operand, std::vector<int64_t> &out) {
  const Op *op = &l.scope.graph.op(l.text.operands[operand]);
  const Shape shape = op->shape;
  const bool isSplat = op->opcode == Opcode::Broadcast;
  if (isSplat)
    op = &l.scope.graph.op(op->operands[0]);
  const std::optional<int64_t> count = shape.elementCount();
  if (op->opcode != Opcode::Constant || op->isElidedConstant() || !isInteger(shape.dtype) ||
      !count || *count > static_cast<int64_t>(hlo_limits::rank))
    return l.refuse(fmt::format("operand {} decides the shape or the place and is not a constant; "
                                "such values are known at run time only",
                                operand));
  llvm::Expected<Tensor> value = parseLiteral(op->shape, op->literal);
  if (!value)
    return l.fail(takeDiag(value.takeError()).message);
  for (int64_t i = 0; i < *count; ++i)
    out.push_back(value->integer(isSplat ? 0 : i));
  return true;
}

bool isStatic(Lowering &l) {
  return !l.result().isDynamic() ||
         l.refuse(fmt::format("the result {} has extents that are known at run time only",
                              briefText(l.result())));
}

} // namespace

bool lowerSlice(Lowering &l) {
  Op op = l.make(Opcode::Slice);
  if (const Attribute *ranges = l.text.attributes.take("ranges")) {
    if (!readRanges(l.at(*ranges), op.attrs.slice))
      return false;
    return l.finish(std::move(op));
  }
  std::vector<int64_t> starts, limits, steps;
  return l.need("start_indices") && l.integers("start_indices", starts) &&
         l.need("limit_indices") && l.integers("limit_indices", limits) &&
         l.integers("strides", steps) && slicesOf(l, starts, limits, steps, op.attrs.slice) &&
         l.finish(std::move(op));
}

bool lowerPad(Lowering &l) {
  Op op = l.make(Opcode::Pad);
  std::vector<int64_t> low, high, interior;
  return l.need("edge_padding_low") && l.integers("edge_padding_low", low) &&
         l.need("edge_padding_high") && l.integers("edge_padding_high", high) &&
         l.integers("interior_padding", interior) &&
         padsOf(l, low, high, interior, op.attrs.padding) && l.finish(std::move(op));
}

bool lowerDynamicSlice(Lowering &l) {
  Op op = l.make(Opcode::DynamicSlice);
  return l.need("slice_sizes") && l.integers("slice_sizes", op.attrs.dynamicSliceSizes) &&
         l.finish(std::move(op));
}

bool lowerDimensionSize(Lowering &l) {
  Op op = l.make(l.row.opcode);
  int64_t dim = 0;
  if (!l.need("dimension") || !l.integer("dimension", dim))
    return false;
  op.attrs.dimensions = {dim};
  return l.finish(std::move(op));
}

/// Ops whose last operand is the result's shape: where the type says it, the operand says nothing
/// new.
bool lowerDynamicShape(Lowering &l) {
  if (!l.hasOperands(l.row.opcode == Opcode::Iota ? 1 : 2) || !l.hasResults(1) || !isStatic(l))
    return false;
  Op op = l.make(l.row.opcode);
  op.operands.pop_back();
  if (l.row.opcode == Opcode::Broadcast &&
      (!l.need("broadcast_dimensions") || !l.integers("broadcast_dimensions", op.attrs.dimensions)))
    return false;
  l.ignore("known_expanding_dimensions");
  l.ignore("known_nonexpanding_dimensions");
  if (l.row.opcode == Opcode::Iota) {
    int64_t dim = 0;
    if (!l.need("iota_dimension") || !l.integer("iota_dimension", dim))
      return false;
    op.attrs.dimensions = {dim};
  }
  return l.finish(std::move(op));
}

bool lowerDynamicPad(Lowering &l) {
  std::vector<int64_t> low, high, interior;
  if (!l.hasOperands(5) || !l.hasResults(1) || !isStatic(l) || !constantOperand(l, 2, low) ||
      !constantOperand(l, 3, high) || !constantOperand(l, 4, interior))
    return false;
  Op op = l.make(Opcode::Pad);
  op.operands.resize(2);
  return padsOf(l, low, high, interior, op.attrs.padding) && l.finish(std::move(op));
}

bool lowerRealDynamicSlice(Lowering &l) {
  std::vector<int64_t> starts, limits, steps;
  if (!l.hasOperands(4) || !l.hasResults(1) || !isStatic(l) || !constantOperand(l, 1, starts) ||
      !constantOperand(l, 2, limits) || !constantOperand(l, 3, steps))
    return false;
  Op op = l.make(Opcode::Slice);
  op.operands.resize(1);
  return slicesOf(l, starts, limits, steps, op.attrs.slice) && l.finish(std::move(op));
}

bool lowerDynamicGather(Lowering &l) {
  std::vector<int64_t> sizes;
  if (!l.hasOperands(3) || !constantOperand(l, 2, sizes))
    return false;
  l.text.operands.pop_back();
  return gatherWith(l, std::move(sizes));
}

} // namespace tilewright::stablehlo
